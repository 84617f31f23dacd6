// Package sdkpeers judges rye's wire formats by the official Go SDKs of Anthropic and
// OpenAI, as clients of internal/modelhost and as writers of the requests that agent/provider
// writes. It is a module of its own, so that the SDKs and their twenty modules are no
// dependency of rye; `make peers` runs it. It holds nothing but tests.
package sdkpeers

// Package testkit holds the helpers that the tests of several packages share: files, checks,
// programs and processes. Helpers that need objects or registries are in the packages of those.
package testkit

// Package modelhost is a strict stand-in for services of models, for tests: a server on loopback that
// answers Anthropic Messages (POST /v1/messages) and OpenAI Chat Completions (POST
// /v1/chat/completions), streamed or not, and refuses every request that the service would refuse.
//
// No program and no public package imports it; internal/layers refuses that. A model that answers
// from a script within rye is agent/provider/script. It reads requests leniently, so a thread that
// passes with it may still ask in a way that no service accepts. Tests of what rye sends use this
// host.
//
// # Scripts
//
// A script is that of docs/format/mock.md, and may have more members, since a service can do more:
//
//	models   text or list of texts: the models that are known; another gets 404
//	key      text: the key that a request must carry (x-api-key, Authorization: Bearer); another gets 401
//	cache    true: count from earlier requests which tokens were cached. An entry's usage then has
//	         only output and reasoning
//	turns:
//	  bytes  0 to 16,777,216: so many bytes of generated text behind say, in pieces of 4,096
//	  calls:
//	    raw  text, instead of args: the arguments as they are sent, broken JSON, too; for Anthropic
//	         only in a stream
//	  error:
//	    code text: the code of OpenAI's error; without it the code follows from the status
//	    body text: sent instead of the service's form, as a proxy would (text/html unless the headers
//	         say otherwise)
//
// Tokens without usage are estimated from the prompt as its digest reads it. The same request gets
// the same answer, head and body byte for byte, but for times and cache.
//
// # The cache
//
// Anthropic: the beginning up to a cache_control is kept (5 minutes or 1 hour by its ttl; nothing
// really expires), and read again where a later prompt has a breakpoint at most 20 pieces behind it.
// OpenAI: whatever was the beginning of a prompt before is cached. 65,536 beginnings are remembered.
// There is no smallest size.
//
// # The digest
//
// The digest of a prompt is the SHA-256 of lines, each canonical JSON (keys sorted, no spaces,
// numbers as they were written) and a line feed: ["<format>","<model>"]; each tool; Anthropic: each
// block of the system text, then for each message its role and each of its blocks; OpenAI: each
// message. In tools, blocks and messages cache_control, is_error: false and members that are null
// are left out. A text as content is one block {"text":…,"type":"text"}, as is a text for the system
// or for a message (Anthropic). The limit, the temperature and the stream are no part of it.
//
// # Refusals
//
// Requests are refused in the service's form with 400: unknown members, missing ones (Anthropic:
// max_tokens, the header anthropic-version), values out of range, roles that do not alternate
// (Anthropic), a last message of the assistant (Anthropic), empty texts (Anthropic), calls without a
// result in the next message, results without a call, ids and names of other letters, calls without
// tools (Anthropic), a signature of another thinking (Anthropic), more than four cache_control. JSON
// with a key twice is refused, too. So are requests that this host cannot answer: tools that run at
// the service, several answers (n), sound. 413 above 32 MiB. 421 for a Host that is not loopback.
package modelhost

// Package provider speaks with a model behind an HTTP address: it makes the request, reads
// the answer as it comes, counts usage and cost, and classifies failures.
//
// The facts about a provider (its address, its models and prices, its words for errors)
// are data: a signed item, docs/format/provider.md. The code is two encoders and two
// decoders, for the two formats that nearly every service speaks. The package decides
// nothing about money or retries: it computes the highest cost of a call (Worst), its cost
// (Response.Cost) and the time to wait (Wait), and makes one attempt at a time (Do).
//
// # Reasons
//
// A language that could express every service's stream would be a programming language
// inside signed items. The services differ in addresses, member names, relations of
// counts, words for failures and prices, and these fit in a table.
//
// Pairing is repaired when a request is built. A process that dies between a call and its
// result leaves a history that every service refuses. Editing it would change signed text,
// so the result "unknown" exists in the request only.
//
// `messages` stands last and a bound before it: caches go by the beginning of a prompt.
// Nothing that changes from turn to turn stands before stable parts, and tools have a
// fixed order.
//
// No redirect is followed: it would carry the conversation elsewhere, perhaps with a key.
//
// A hold counts two bytes for a token. One byte can never be exceeded but holds four times
// the cost of prose, so small budgets could not begin. A denser text is billed beyond the
// hold and stops the thread. A service that is worse says so in bytes_per_token. A
// transport that cannot say how much it sent counts as having sent everything, so the hold
// is spent; otherwise money disappears.
package provider

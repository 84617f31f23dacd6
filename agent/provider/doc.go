// Package provider speaks with a model behind an HTTP address: it makes the request, reads
// the answer as it comes, counts usage and cost, and classifies failures.
//
// The facts about a provider (its address, its models and prices, its words for errors) are data: a
// signed item, docs/format/provider.md. The code has two encoders and two decoders, for the two
// formats that nearly every service uses. The package makes no decision about money or retries. It
// computes the highest cost of a call (Worst), its cost (Response.Cost) and the time to wait
// (Wait). It makes one attempt at a time (Do).
//
// # Reasons
//
// A language that could express every service's stream would be a programming language
// inside signed items. The services differ in addresses, member names, relations of
// counts, words for failures and prices, and these fit in a table.
//
// Calls and results are paired when a request is built. A process that dies between a call and its
// result leaves a history that every service refuses. Editing it would change signed text, so the
// result "unknown" exists in the request only.
//
// `messages` comes last in a request and a bound before it, because caches match the beginning of a
// prompt. No part that changes from turn to turn precedes a stable part, and tools have a fixed
// order.
//
// No redirect is followed: it would carry the conversation elsewhere, perhaps with a key.
//
// A hold counts two bytes for a token. A hold of one byte for a token could never be exceeded. But
// it would be four times the cost of prose, so small budgets could not begin. The bill of a denser
// text exceeds the hold and stops the thread. A service with denser tokens states bytes_per_token.
// If a transport cannot report how much it sent, everything counts as sent, so the hold is spent;
// otherwise money would disappear.
package provider

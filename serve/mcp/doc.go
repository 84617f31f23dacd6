// Package mcp serves the four tools of rye (search, load, execute, sign) to any client of
// the Model Context Protocol, over a pair of streams or HTTP. It calls the facade and
// nothing below it, so it cannot go around a check.
//
// The protocol's messages are mark3labs/mcp-go's; the streams are read and written here.
// docs/format/mcp.md describes the tools and their answers.
//
// # Reasons
//
// The streams are read here because mcp-go's loop lacks bounds, order and an end. With
// v1.2.1, twenty calls piped in got no successful answer in three of three runs, because
// the end of the input cancels running calls. A line of 300 MB took 600 MB, a notification
// can arrive after the answer that it precedes, and a queued request cannot be cancelled.
// Its HTTP server reads bodies unbounded, checks Host and not Origin, and knows no token.
// So both transports feed one conn: strict messages, bounded lines and queue, one ordered
// writer, cancellation from the moment a request is read. Leaving mcp-go means replacing
// HandleMessage and the types of a schema.
//
// A full queue stops the reading and refuses no one, since a client that pipelines 10,000
// calls has made no mistake. But a stopped reader cannot hear the answer that a running
// call waits for. So a call that waits for its client gives its turn back, and such calls
// take at most half of the room.
//
// A message is read twice. mcp-go takes Method for method and the last of two members, so
// a pass before it refuses bytes that two readers could see differently. Arguments are
// decoded strictly by the tools, since `dryrun` for `dry_run` must not run a tool; the
// error is a tool error with code usage, so that a model can correct itself.
//
// One stand-in is registered for all resources and one for all prompts, because mcp-go
// tells every client of each registration, and items come, go and differ by caller. Hooks
// fill in the lists. Changes are looked for and not watched: a file watcher cannot see
// trust, policy and records. The look runs only while a client listens, each second or
// less often where it costs more than a fiftieth.
//
// `sign` with content keeps no proposal. The call comes again with the same text, and the
// question holds its digest, so there is no drawer to fill, expire or attack.
//
// Each client has a token, and there is no OAuth: one secret for all could not be taken
// from one client, and OAuth brings a browser and redirects to reach a process of the same
// user. /.well-known/ is a plain 404, upon which clients use their token. Host is checked
// although there is a token, so that a rebound page cannot even try. The order is a tested
// table: Host, Origin, path, token, body.
//
// Streams are not resumed: a store of events would be memory that clients fill. A call
// whose stream broke is cancelled, since no one could read its answer.
//
// Approvals come in two rounds for old clients too: docs/rationale.md, "A person's
// answer". The state that a client carries between them is sealed with a key of this
// process, cannot be used for another call, and costs the server nothing. A table of open
// questions would need a bound, and a bound is a way to push someone's question out.
//
// Output schemas require next to nothing, because some clients check error answers against
// them and would hide the reason.
package mcp

// Package workspace is the door to everything that rye does: a Workspace is one project,
// or none, opened for work, and its methods are the verbs. The command line, the MCP
// server and programs that embed rye call them and nothing below.
//
// Each verb takes a context, a rye.Caller and one request of package rye, and returns one
// report. The caller must hold the capability rye.<verb>; searching, loading, executing
// and signing ask for one that names the item. When the context is cancelled a verb stops,
// ends the processes that it started, and leaves nothing half done. Errors carry a code
// and often a remedy: see package fault.
//
// Verbs that belong together are grouped: w.Keys(), w.Trust(), w.Bundles(), w.Locks(),
// w.Policy(), w.Registry(), w.History() and w.Upkeep().
//
// # Reasons
//
// A verb is a few lines: it refuses a caller that may not, opens a session, and calls one
// room. A sequence that crosses rooms stands here, to be read in one place.
// internal/layers checks the imports and counts no lines and no methods: a limit of 25
// methods was met by spelling methods as functions.
//
// The other verbs of the facade have no kind and no id, so their capability is the name
// spelled out (rye.add, rye.key.rotate), with no stars. Signed items cannot name them: an
// embedding program grants rye.add, and no directive asks for it.
//
// The project's genesis id is a random number and not a commit id: a clone has no store of
// its own yet and must verify local/* items. Public keys travel in allowed_signers,
// because a signature line holds only a fingerprint. A wrong list does no harm, since the
// fingerprint is a SHA-256 of the key and a person agrees before anyone on it is trusted.
//
// Adopting is tried before it is asked: the question shows what would verify after a yes,
// by the real verification against a copy of the trust store that is never saved.
//
// Executions wait in line, because each holds processes, descriptors and bytes. A call
// that waits for a person's answer holds no place, or a few unanswered questions would
// stop everything.
package workspace

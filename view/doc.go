// Package view puts results into the words that a model needs. A hit comes with its
// parameters, a hint as a call, and of a large text the beginning and the end. MCP clients
// and the models of threads read the same.
//
// # Reasons
//
// An answer is text only, with no structured content. Claude Code and Codex show a model
// the structured content where there is any and nothing else; Gemini CLI and opencode show
// the text alone. So neither can hold something that the other lacks, and both together
// cost twice: 8.4 MB for one output. Without structured content there are no output
// schemas, which cost every conversation 3 KB. The first content is JSON for programs. The
// text that the facts are about is a content of its own, because JSON within JSON is
// escaped twice.
//
// Of a long text an MCP client gets 4,000 bytes from each end, and a thread 6,000. Codex
// cuts the middle out of answers over 12,000 bytes, and with 6,000 that middle held the
// address of the whole text. opencode shows no links, so the address is in the text as
// well.
//
// Parameters are one line of text: `name: string (Whom); times?: integer = 1` is a quarter
// of its JSON Schema, and models write calls from it as well.
//
// A hint becomes a call only where the call does exactly the same. `rye sign --upgrade
// tool:acme/x` does not: the call would lose the flag. After a person said no there is no
// hint, or the model would ask again.
//
// A digest over MCP covers the body alone. The digest of the file changes with the time of
// its signature, so the answer could not name what the question named. `integrity` of a
// chain is the digest of the file, as in the lock.
package view

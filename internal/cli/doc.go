// Package cli is the command line of rye: it turns arguments into a request, makes one
// call of the facade, and prints the answer. Results go to standard output and everything
// else to standard error; the exit status is the error's code.
//
// # Reasons
//
// urfave/cli stops at the first argument and takes the flags behind it for arguments, so
// `rye rm tool:acme/x --dry-run` would remove. arrange puts global flags, command, flags,
// -- and arguments in order. A flag may stand before its command, so one name takes a
// value everywhere or nowhere; a test checks that.
//
// urfave/cli sees one command, whose path and flags are handed in. The tree is our own
// specs: completion, help, docs/cli and the manual pages read it through Tree, so the
// program carries no generators. urfave/cli's help is off: it prints to standard output
// for mistakes. It still gives types, defaults and repeated values; leaving it is a day's
// work. Only the command that runs is made, 0.1 ms of a start; the others are made when
// the line is wrong.
//
// One printer makes the lines. Its printf quotes every string, formats are constants, and
// colours and sentences have types of their own. So no name moves the cursor or forges a
// line, in pipes too: an escape in a pipe reaches a terminal later. The form is git's,
// except that a quote or backslash within a name needs no quotes, for prose and Windows
// paths. Blanks at the ends or side by side are quoted, since two blanks part columns.
// Data (an item's text, a tool's output) goes through data.go and is left as it is in
// pipes. internal/layers finds code that prints otherwise.
//
// Quiet drops deeds, not answers, as `sha256sum --check --quiet` does: resultf prints the
// lines that it drops. Lines are broken between words for terminals only, and hints,
// examples and changes never. Colours are the first few of the palette, which every theme
// makes readable. "Working" appears only for commands that ask no one: a redrawn line
// would overwrite the prompt of ssh or a credential helper.
//
// Hints are judged when they are printed. The programs that the tests of cmd/rye build
// note each hint with the parser's verdict, by a variable that only the linker sets. A
// panic exits with 1, because the runtime's 2 means wrong usage.
//
// `-p name=value` is text, since a guess would change version 1.10; `name:=value` is JSON.
//
// A short name is resolved once, by the person's side, before a verb sees it, so policy
// and signatures use the whole name. Two of the user's items under one short name are
// refused, and the library is asked last. Signing another author's work needs the whole
// ref. Words of other programs are aliases where they mean the same (uninstall), and
// otherwise the command to type is shown (install, whoami).
package cli

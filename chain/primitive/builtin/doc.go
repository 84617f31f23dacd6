// Package builtin has the functions behind the tools that rye itself brings: files, shell,
// system. A function runs in a process of its own, which is rye again, started by the
// primitive inside the sandbox with a hidden argument: Arg and the function's name. It
// reads one JSON object from its input (Input) and writes one to its output:
//
//	{"success": true, ...}
//	{"success": false, "error": "read x: no such file", "code": "not_found", "hint": "..."}
//
// The process has no authority of its own. It reads no configuration, key, store or
// environment, and knows nothing but its Input, so a person who starts it by hand gets
// what cat and sed would give. Capabilities, tiers and approvals were decided before.
//
// Two walls stand around the files. The functions themselves open every directory on the
// way by its own handle (tree.go), and the kernel's rules around the process refuse the
// rest. docs/format/builtin.md has the parameters, answers and limits of each function.
//
// # Reasons
//
// A function is a process because a mistake in it would otherwise be a mistake of the
// process that holds keys and trust. It costs 9 ms of processor time. The front runs it
// even for the engine, since its start takes less than half (4.3 and 10.6 ms), and the
// build that answers must be the one that asks.
//
// Paths are walked by our own code. os.Root keeps a path in the project, and a link from
// notes to .git stays in the project. So each directory is opened in its parent and
// compared, by identity, with the entry that was looked at and with the protected ones.
// Systems without Landlock have nothing else.
//
// The sandbox of a write is cut to its call: to the directories that its paths begin with.
// Landlock cannot except, so a file directly in the project needs a right that covers .ai
// and .git too. It is the narrowest one (Sandbox.Create), given only then, and named in
// the result.
//
// Line ids are made from the line, its neighbours and a count where lines are alike, with
// no cache. The line alone would hit the wrong one of two, and the whole file would end
// every id with each edit. Equal short ids both become long, because a short one could
// come to mean the other line.
//
// bash is t2: a person or an author signed every other text that runs. Its answer is for
// the command, so there is no approval of the tool.
//
// lsp starts no program that its caller names, since a language server often runs parts of
// the project. Callers choose from a compiled table, looked up in directories that only an
// administrator fills. For a server elsewhere the user signs a tool that names it. The
// server gets no configuration, because a project's is unsigned.
//
// Logs are the project's: a sandboxed function can read only what every tool can.
package builtin

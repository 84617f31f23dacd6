// Package command says what a command line does: which dangerous acts stand in it, and of
// which tier each is. It reads shell text as a shell would, runs nothing, reads nothing
// but its arguments, and the same arguments always give the same answer.
//
// # Reasons
//
// The findings are the same for every caller, so an audit and a decision agree. The
// package knows no caller, no capability and no file of rules, and internal/layers refuses
// an import of chain/policy. A user's dangerous_patterns come in as arguments.
//
// Commands are parsed by mvdan.cc/sh and walked with values. A rule about one command misses
// `curl -o f … && bash f`, and one about words alarms at a commit message. The walk knows of
// each text the visible part and the source of the rest. Both branches are taken and nothing
// is guessed, so it finds too little rather than too much where a value is not known.
//
// Danger is described by data. programs.go lists the uses of data by programs: they fetch, send, decode,
// print secrets. rulebook.go says which acts are dangerous, in rows about programs by their
// names or roles; rules.go explains the rows. A new act is a row, and a new program is a word.
// The rules say why they exist, and an example each way keeps them honest. The tables are Go
// and not a file of another format: they cost nothing at the start, and two milliseconds at the first use.
//
// What a program makes of a text is not computed. A shell that runs a decoded or changed text
// is a finding by itself, and its author can write the text in the open. Programs in other
// languages are judged by their words, since a parser for each would weigh more than rye, and
// Unread reports them to callers that ask a person.
//
// A matched rule is T3 where a person may mean it and T4 where hardly ever. `rm -rf build`
// is no finding, since a question for each clean build would train people to switch the
// analysis off. `rm -rf "$X"` with an unknown X counts as the worst that X can be.
package command

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
// Commands are parsed by mvdan.cc/sh and not matched. Ryvos' nine regular expressions miss
// 54 of our 95 spellings of these acts and find 22 of our 78 harmless look-alikes. The
// tightened patterns remain for text that is no shell. The parser costs 0.06 ms of a
// start.
//
// Commands are walked with values. A rule about one command misses `curl -o f … && bash
// f`, and one about words alarms at a commit message. The walk knows of each text the
// visible part and the source of the rest, and a rule is about flows: the network into a
// shell, a key into a socket, a text into ~/.bashrc. Both branches are taken and nothing
// is guessed, so it finds too little rather than too much where a value is not known.
// Programs in other languages are judged by patterns, since a parser for each would weigh
// more than rye.
//
// The walk is a machine, with types of their own for variables, files and the working
// directory, descriptors, functions and findings. Lists are data (names.go, acts.go);
// regular expressions are compiled when first needed. A usual line takes 10 to 30 µs.
//
// A matched rule is T3 where a person may mean it and T4 where hardly ever. `rm -rf build`
// is no finding, since a question for each clean build would train people to switch the
// analysis off. `rm -rf "$X"` with an unknown X counts as the worst that X can be.
package command

package primitive

import "sync/atomic"

// This package needs a second process of the same program for two tasks. One lives on for a
// moment when this process is killed, and one enters a sandbox of namespaces before the tool
// does. A program allows that by calling Inside first in main, and Reenter with the path of its
// own file. Without that, everything else works, and results name the missing parts.

// innerArg is the first argument of such a process. It is not a verb, and people never type it.
const innerArg = "__rye-inside"

var self atomic.Pointer[string]

// Reenter sets the absolute path of this program's file. Only programs whose main calls Inside
// may call it.
func Reenter(path string) { self.Store(&path) }

// Inside does the work of a process that this package started as a second one of the program. In
// every other process it does nothing and returns false. args are the program's, without its
// name.
func Inside(args []string) (exit int, mine bool) {
	if len(args) < 2 || args[0] != innerArg {
		return 0, false
	}
	return innerWork(args[1], args[2:]), true
}

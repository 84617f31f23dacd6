package primitive

import "sync/atomic"

// Some of what this package does takes a second process of the same program: one
// that lives on for a moment when this one is killed, and one that enters a
// sandbox of namespaces before the tool does. A program allows it by calling
// Inside first thing in main and Reenter with the path of its own file. One that
// does not gets everything else, and results name what is missing.

// innerArg begins the arguments of such a process. It is no verb: people never
// type it.
const innerArg = "__rye-inside"

var self atomic.Pointer[string]

// Reenter tells the package where this program's file lies, absolute. Only
// programs whose main calls Inside may say so.
func Reenter(path string) { self.Store(&path) }

// Inside does the work of a process that this package started as a second one of
// the program. It reports false, having done nothing, in every other process.
// args are the program's, without its name.
func Inside(args []string) (exit int, mine bool) {
	if len(args) < 2 || args[0] != innerArg {
		return 0, false
	}
	return innerWork(args[1], args[2:]), true
}

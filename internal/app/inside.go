package app

import (
	"os"
	"runtime"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
)

// helperArg is the first argument of a rye that another rye started to read what an
// outsider sent.
const helperArg = "__import"

// helper is how to start this program as one; nil until Inside was called.
var helper []string

// Inside is the first thing that a program does. When it was started as a second
// process of itself, it does that work and mine is true; from then on it may start
// such processes.
func Inside(argv []string) (exit int, mine bool) {
	if len(argv) > 1 && argv[1] == helperArg {
		return rye.ServeHelper(argv[2:]), true
	}
	if exit, mine = primitive.Inside(argv[1:]); mine {
		return exit, true
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false // then there are no second processes, and what needs one says so
	}
	primitive.Reenter(self)
	helper = []string{self, helperArg}
	if runtime.GOOS == "linux" {
		helper[0] = "/proc/self/exe" // the same build, also when the file was replaced meanwhile
	}
	return 0, false
}

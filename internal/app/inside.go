package app

import (
	"os"
	"runtime"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/builtin"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/workspace"
)

// helperArg is the first argument of a rye that another rye started to read what an
// outsider sent.
const helperArg = "__import"

// helper is how to start this program as one; nil until Inside was called.
var helper []string

// Inside is the first thing that a program does. When it was started as a second
// process of itself, it does that work and mine is true: reading what an outsider
// sent, being one of rye's own functions in a tool's sandbox, or guarding a run. Such a
// process reads no environment and costs no more than a start. Any other process may
// start such ones from then on.
func Inside(argv []string) (exit int, mine bool) {
	if len(argv) > 1 && argv[1] == helperArg {
		return workspace.ServeHelper(argv[2:]), true
	}
	if len(argv) > 1 && argv[1] == builtin.Arg { // docs/format/builtin.md
		ctx, stop := Context()
		defer stop()
		return builtin.Main(ctx, argv[2:], build.This().ID, os.Stdin, os.Stdout), true
	}
	if exit, mine = primitive.Inside(argv[1:]); mine {
		return exit, true
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false // what needs a second process says so
	}
	primitive.Reenter(self)
	helper = []string{self, helperArg}
	if runtime.GOOS == "linux" {
		helper[0] = "/proc/self/exe" // the same build, also when the file was replaced meanwhile
	}
	return 0, false
}

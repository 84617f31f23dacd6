package app

import (
	"os"
	"runtime"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/builtin"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/workspace"
)

// helperArg is the first argument of a rye that another rye started to read data from
// outside.
const helperArg = "__import"

// helper is the command line that starts this program as a helper; nil before Inside.
var helper []string

// Inside is the first call of every program. If the program was started as a second
// process of itself, Inside does the work of that process, and mine is true. The work is
// to read data from outside, to run one of rye's own functions in a tool's sandbox, or to
// guard a run. Such a process reads no environment and costs only its start. After the
// call, any other process may start such processes.
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
		return 0, false // work that needs a second process reports that there is none
	}
	primitive.Reenter(self)
	helper = []string{self, helperArg}
	if runtime.GOOS == "linux" {
		helper[0] = "/proc/self/exe" // the same build, even if the file was replaced meanwhile
	}
	return 0, false
}

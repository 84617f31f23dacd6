package cage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The first argument of rye-cage: from Start, with the build behind it, or from a program inside, with
// the address of the proxy, a host and a port.
const (
	insideVerb  = "inside"
	connectVerb = "connect"
)

// Main is rye-cage. args are the program's, with its name. It returns the exit status.
func Main(args []string, build string) int {
	if len(args) == 2 && args[1] == "--build-id" {
		fmt.Println(build)
		return 0
	}
	if len(args) == 5 && args[1] == connectVerb {
		return connect(args[2], args[3], args[4])
	}
	if len(args) != 3 || args[1] != insideVerb {
		fmt.Fprintln(os.Stderr, "rye-cage is started by rye, which runs tools in it")
		return 2
	}
	answer := os.NewFile(fdTalk, "answer")
	unix.CloseOnExec(fdTalk)
	if args[2] != build {
		return refuse(answer, fmt.Errorf("rye-cage is of another build than the rye that started it"))
	}
	return inside(answer)
}

// refuse reports why no program was started.
func refuse(answer *os.File, err error) int {
	word := Refused
	if errors.Is(err, fs.ErrNotExist) {
		word = Missing
	}
	fmt.Fprintf(answer, "%s %s\n", word, strings.ReplaceAll(err.Error(), "\n", " "))
	return 1
}

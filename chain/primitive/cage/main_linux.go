package cage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideVerb is what Start starts rye-cage with, before the build.
const insideVerb = "inside"

// Main is rye-cage: args are the program's, with its name. It returns the exit status.
func Main(args []string, build string) int {
	if len(args) == 2 && args[1] == "--build-id" {
		fmt.Println(build)
		return 0
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

// refuse says why nothing was started.
func refuse(answer *os.File, err error) int {
	word := Refused
	if errors.Is(err, fs.ErrNotExist) {
		word = Missing
	}
	fmt.Fprintf(answer, "%s %s\n", word, strings.ReplaceAll(err.Error(), "\n", " "))
	return 1
}

// handOn tells a group of processes what this one is told.
func handOn(group int) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, handedOn...)
	go func() {
		for s := range signals {
			unix.Kill(-group, s.(syscall.Signal))
		}
	}()
}

// handedOn are the signals that the program is told of.
var handedOn = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH}

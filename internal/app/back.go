package app

import (
	"os"
	"strconv"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/callback"
	"github.com/rye-os/rye/chain/primitive"
)

// back returns the verbs of the outer rye, which runs this one as a part of a tool. They use the
// descriptor that the tool received; nil when there is none. The outer rye checks every call. A
// made-up descriptor leads only to the process that made it.
func back(getenv func(string) string) rye.Verbs {
	fd, err := strconv.ParseUint(getenv(primitive.BackVar), 10, 8)
	if err != nil || fd < 3 || !primitive.IsSocket(int(fd)) {
		return nil
	}
	conn := os.NewFile(uintptr(fd), "rye-call")
	return callback.NewClient(conn, func() (func(), error) { return alone(conn) })
}

// InCall reports whether this process may call the rye that runs it. The outer rye then does
// the work of the engine.
func InCall() bool { return os.Getenv(primitive.BackVar) != "" }

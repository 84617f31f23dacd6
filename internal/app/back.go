package app

import (
	"os"
	"strconv"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/callback"
	"github.com/rye-os/rye/chain/primitive"
)

// back returns the verbs of the rye that runs this one as a part of a tool, over the descriptor
// that the tool was handed; nil where there is none. It answers for what it does: a descriptor
// that somebody made up leads to nobody else than them.
func back(getenv func(string) string) rye.Verbs {
	fd, err := strconv.ParseUint(getenv(primitive.BackVar), 10, 8)
	if err != nil || fd < 3 || !primitive.IsSocket(int(fd)) {
		return nil
	}
	conn := os.NewFile(uintptr(fd), "rye-call")
	return callback.NewClient(conn, func() (func(), error) { return alone(conn) })
}

// InCall reports whether this process may ask the rye that runs it, which then does what it
// would otherwise hand to the engine.
func InCall() bool { return os.Getenv(primitive.BackVar) != "" }

package primitive

import (
	"os"

	"github.com/rye-os/rye/fault"
)

// Pair fails, because this system has no Call.Back.
func Pair() (ours, theirs *os.File, err error) {
	return nil, nil, fault.New(fault.Denied, "a tool cannot call rye back on Windows: a program there cannot inherit descriptors").
		Advise("run it on Linux or macOS, or remove needs.rye from it")
}

// IsSocket reports whether a descriptor of this process is a socket.
func IsSocket(int) bool { return false }

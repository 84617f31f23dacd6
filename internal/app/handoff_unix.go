//go:build unix

package app

import (
	"os"
	"syscall"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
)

// replace executes the program at path in this process, with the same descriptors and
// parent.
func replace(path string, args []string) (int, error) {
	err := syscall.Exec(path, append([]string{engineName}, args...), os.Environ())
	return 0, fault.New(fault.Failed, "start %s: %w", path, err).Mend(build.Install)
}

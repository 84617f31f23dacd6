//go:build unix

package app

import (
	"os"
	"syscall"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
)

// replace becomes the program at path: same process, same descriptors, same parent.
func replace(path string, args []string) (int, error) {
	err := syscall.Exec(path, append([]string{engineName}, args...), os.Environ())
	return 0, fault.New(fault.Failed, "start %s: %w", path, err).Mend(build.Install)
}

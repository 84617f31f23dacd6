//go:build unix

package app

import (
	"os"
	"syscall"

	"github.com/rye-os/rye/fault"
)

// replace becomes the program at path: same process, same descriptors, same parent.
func replace(path string, args []string) (int, error) {
	err := syscall.Exec(path, append([]string{"rye-engine"}, args...), os.Environ())
	return 0, fault.New(fault.Failed, "start %s: %w", path, err).Mend(installCommand)
}

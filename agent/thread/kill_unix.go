//go:build unix

package thread

import (
	"errors"
	"syscall"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

// kill ends the process of a thread, and what it started: it leads a session of its own. The
// lease says which it is, as long as it is held.
func kill(dir string) error {
	alive, holder, err := journal.Alive(dir)
	if err != nil || !alive || holder.PID <= 1 {
		return err
	}
	if err := syscall.Kill(-holder.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fault.New(fault.Failed, "kill process %d: %w", holder.PID, err)
	}
	return nil
}

package thread

import (
	"os"

	"github.com/rye-os/rye/agent/journal"
)

// kill ends the process of a thread. The lease says which it is, as long as it is held.
func kill(dir string) error {
	alive, holder, err := journal.Alive(dir)
	if err != nil || !alive || holder.PID == 0 {
		return err
	}
	p, err := os.FindProcess(holder.PID)
	if err != nil {
		return nil // it is gone
	}
	return p.Kill()
}

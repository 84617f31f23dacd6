package thread

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/agent/loop"
)

// loopMost is what a loop may make its process take in bytes, where the kernel bounds it. A loop
// that takes more than loop.Bounds allow is stopped; one of its operations can ask for more than this
// at once, and then the process dies.
const loopMost = 512 << 20

// loopFile has one byte, which says whether the loop runs: where the process dies meanwhile, the next
// one knows.
const (
	loopFile  = "loop"
	loopRuns  = "1"
	loopWaits = "0"
)

// openMark makes ready to mark when the loop runs, and returns where the process before died.
func (p *process) openMark() (died string, err error) {
	died = diedIn(p.dir)
	p.mark, err = os.OpenFile(filepath.Join(p.dir, loopFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return died, err
}

// bounds returns the bounds of a turn of the loop.
func (p *process) bounds() loop.Bounds {
	if p.o.Confine == nil {
		return loop.Bounds{}
	}
	return loop.Bounds{Confine: func() (func(), error) {
		lift, err := p.o.Confine(loopMost)
		if err != nil {
			return nil, err
		}
		_, err = p.mark.WriteAt([]byte(loopRuns), 0)
		return func() {
			lift()
			_, _ = p.mark.WriteAt([]byte(loopWaits), 0) // at worst a wrong cause is named
		}, err
	}}
}

// diedIn describes where the process of the thread in dir died; "" if that is unknown.
func diedIn(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, loopFile))
	if err != nil || string(raw) != loopRuns {
		return ""
	}
	return fmt.Sprintf(", in its loop, which may take %d MiB of memory", loopMost>>20)
}

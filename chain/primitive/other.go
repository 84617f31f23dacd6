//go:build !linux

package primitive

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/rye-os/rye/fault"
)

// Only S0 exists here. Other Unix systems cannot limit a child from outside before it runs. The
// profile for macOS does not make a tier, because it is untested.
func best() Tier { return S0 }

func probe() (Report, error) {
	return Report{Tier: best(), NoDeeper: noDeeper(runtime.GOOS, noSeatbelt())}, nil
}

// unconfined names the limits that do not bind below S1.
func unconfined(s *Sandbox) []string {
	if noSeatbelt() == "" {
		return seatbeltUnbound(s)
	}
	return []string{"files, network and system calls are not restricted below S2", "resource limits and no_new_privs are not set below S1"}
}

// onlyS0 refuses a call that requires more.
func onlyS0(c *Call) error {
	if c.Sandbox.Tier > S0 {
		return fault.New(fault.Denied, "run %s: %s is required and this system gives S0", c.Argv[0], c.Sandbox.Tier).Advise("rye doctor")
	}
	return nil
}

// child waits for a process.
type child struct {
	done  chan struct{} // closed when the process has ended
	state *os.ProcessState
	err   error
}

func waitFor(p *os.Process) *child {
	c := &child{done: make(chan struct{})}
	go func() {
		c.state, c.err = p.Wait()
		close(c.done)
	}()
	return c
}

func (c *child) confining() time.Duration { return 0 } // without a sandbox

func (c *child) ended() <-chan struct{} { return c.done }

// AdoptOrphans does nothing here: orphans go to the first process, or end with a job.
func AdoptOrphans() error { return nil }

// endMarked does nothing here: processes carry no mark.
func endMarked(Mark, time.Duration) {}

// Common returns the parts of the system that every program sees, and the parts that none sees.
// Here nothing is hidden.
func Common() (seen, never []string) { return nil, nil }

func innerWork(string, []string) int { return 2 }

// SealedPath is the path of Call.Sealed in a program; "" on a system without sealed files.
const SealedPath = ""

func sealFile([]byte) (*os.File, error) { return nil, errors.ErrUnsupported }

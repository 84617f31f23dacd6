package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/rlimit"
)

// notRefused is the exit status of a process in which a greedy program got what it asked for.
const notRefused = 9

// TestGreedy runs each greedy program in a process of its own, bounded as a thread's process is.
// Either the program is stopped, or the process ends. Neither takes more memory than the bound.
func TestGreedy(t *testing.T) {
	const most = 256 << 20
	if body := os.Getenv("RYE_LOOP_GREEDY"); body != "" {
		p, err := loop.Compile("test", []byte(hostileProgram(body)))
		if err == nil {
			_, err = p.Turn(context.Background(), wide{}, json.RawMessage(`{}`), nil, nil, loop.Bounds{Time: 300 * time.Millisecond, Memory: 16 << 20,
				Confine: func() (func(), error) { return rlimit.Memory(most) }})
		}
		if !fault.Is(err, fault.Limit) {
			t.Log(err)
			os.Exit(notRefused)
		}
		os.Exit(0)
	}
	for _, c := range greedy {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestGreedy$")
			cmd.Env = append(os.Environ(), "RYE_LOOP_GREEDY="+c.body)
			out, err := cmd.CombinedOutput()
			var died *exec.ExitError
			if err != nil && !errors.As(err, &died) || cmd.ProcessState.ExitCode() == notRefused {
				t.Errorf("%v\n%.2000s", err, out)
			}
			took := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10 // from KiB
			if took > most>>20+192 {                                           // with what it had before
				t.Errorf("took %d MiB", took)
			}
			t.Logf("%v, %d MiB", err, took)
		})
	}
}

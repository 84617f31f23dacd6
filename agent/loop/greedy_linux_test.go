package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/rlimit"
)

// notRefused is the exit status of a process that gave a greedy program its memory.
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
	if body := os.Getenv("RYE_LOOP_GREEDY_PARENT"); body != "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGreedy$")
		cmd.Env = append(os.Environ(), "RYE_LOOP_GREEDY="+body)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == notRefused {
			os.Stderr.Write(out)
			os.Exit(notRefused)
		}
		fmt.Println(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) // KiB
		os.Exit(0)
	}
	for _, c := range greedy {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// A child inherits the figure of its parent until it runs a program, and this process is large.
			cmd := exec.Command(os.Args[0], "-test.run=^TestGreedy$")
			cmd.Env = append(os.Environ(), "RYE_LOOP_GREEDY_PARENT="+c.body)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			took, err := strconv.Atoi(strings.TrimSpace(string(out)))
			if took >>= 10; err != nil || took > most>>20+192 { // the process has some MiB before the program
				t.Errorf("took %d MiB, %v", took, err)
			}
			t.Logf("%d MiB", took)
		})
	}
}

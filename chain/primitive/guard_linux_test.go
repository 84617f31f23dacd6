package primitive

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// escapees starts processes in every way by which one leaves its parent, session
// and group, and says their ids. None of them ends by itself within the test.
const escapees = `
	trap '' TERM HUP
	sleep 1004 & echo $!
	setsid sleep 1004 & echo $!
	(setsid bash -c 'sleep 1004 & echo $!; exec sleep 1004' & echo $!)
	(setsid setsid bash -c '(trap "" TERM HUP INT; sleep 1004 & echo $!; wait) & echo $!; wait' &)
	(ulimit -r 1; setsid sleep 1004 & echo $!) 2>/dev/null
`

const escaped = 7 // that many ids are said

// Half of what TestKilledRyeLeavesNoProcess needs: a program that runs the
// escapees and is killed meanwhile. RYE_TEST_HOST says where its run lies.
func host() {
	self, _ := os.Executable()
	Reenter(self)
	AdoptOrphans()
	dir, err := Materialise(os.Getenv("RYE_TEST_HOST"), []File{{Path: "x.sh", Data: []byte(escapees + "sleep 1004")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := Call{Argv: []string{"/bin/bash", "--noprofile", "--norc", filepath.Join(dir.Files, "x.sh")}, Temp: dir.Temp, Mark: dir.Mark}
	c.Sandbox.Exec = []string{dir.Files}
	fmt.Sscan(os.Getenv("RYE_TEST_TIER"), &c.Sandbox.Tier)
	_, err = Run(context.Background(), c, os.Stdout, os.Stderr)
	fmt.Println(err)
}

// hosted starts such a program and returns the ids of its tool's processes.
func hosted(t *testing.T, dir string, tier Tier) (*exec.Cmd, []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "RYE_TEST_HOST="+dir, "RYE_TEST_TIER="+strconv.Itoa(int(tier)))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for in := bufio.NewScanner(out); len(pids) < escaped && in.Scan(); {
		pid, err := strconv.Atoi(in.Text())
		if err != nil {
			t.Fatalf("the tool said %q", in.Text())
		}
		pids = append(pids, pid)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		Sweep(dir) // its files are write-protected
	})
	if len(pids) < escaped {
		t.Fatalf("the tool has %d processes only", len(pids))
	}
	for _, pid := range pids {
		if tier < S3 && !alive(pid) { // in namespaces they have other ids
			t.Fatalf("process %d is not there", pid)
		}
	}
	return cmd, pids
}

// guardOf waits for the guard of a hosted program, which stands guardAfter into
// the run and knows of it from its first instruction.
func guardOf(t *testing.T, host *exec.Cmd) int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, pid := range childrenOf(host.Process.Pid) {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(string(line), "rye-guard\x00") {
				return pid
			}
		}
	}
	t.Fatal("no guard stands")
	return 0
}

func waitGone(t *testing.T, what string, pids []int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		var left []int
		for _, pid := range pids {
			if alive(pid) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				unix.Kill(pid, unix.SIGKILL)
			}
			t.Fatalf("%s: processes %v live", what, left)
		}
	}
}

func TestKilledRyeLeavesNoProcess(t *testing.T) {
	program(t, "bash")
	program(t, "setsid")
	for tier := S1; tier <= min(Best(), S2); tier++ {
		cmd, pids := hosted(t, temp(t), tier)
		guardOf(t, cmd)
		begun := time.Now()
		cmd.Process.Kill()
		cmd.Wait()
		waitGone(t, tier.String()+", rye was killed", pids)
		t.Logf("%s: %d processes gone %s after SIGKILL of rye", tier, len(pids), time.Since(begun).Round(time.Millisecond))
	}
}

// When the guard is killed with it, the next rye that sweeps ends what is left.
func TestSweepEndsWhatAKilledRyeAndGuardLeft(t *testing.T) {
	program(t, "bash")
	program(t, "setsid")
	dir := temp(t)
	cmd, pids := hosted(t, dir, min(Best(), S2))
	unix.Kill(guardOf(t, cmd), unix.SIGKILL)
	cmd.Process.Kill()
	cmd.Wait()
	living := 0
	for _, pid := range pids {
		if alive(pid) {
			living++
		}
	}
	if living == 0 {
		t.Error("nothing was left: this test shows nothing")
	}
	if n, err := Sweep(dir); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	waitGone(t, "after the sweep", pids)
}

func childrenOf(pid int) (all []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, f := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(f)
			all = append(all, child)
		}
	}
	return all
}

// Each of several runs at once ends with its own processes, also those that
// started a session of their own, and with nobody else's.
func TestRunsAtOnceEndTheirOwn(t *testing.T) {
	for _, adopt := range []bool{true, false} {
		if adopt {
			if err := AdoptOrphans(); err != nil {
				t.Fatal(err)
			}
		}
		long, stop := context.WithCancel(t.Context())
		pid := make(chan int, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c := outside(bash(t, `(setsid sleep 1005 & echo $!); sleep 1005`))
			Run(long, c, writerFunc(func(p []byte) (int, error) {
				n, _ := strconv.Atoi(strings.TrimSpace(string(p)))
				pid <- n
				return len(p), nil
			}), nil)
		}()
		others := <-pid
		r := mustRun(t, outside(bash(t, `(setsid sleep 1005 & echo $!) ; sleep 0.05`)))
		own, _ := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
		if own == 0 || alive(own) {
			t.Errorf("adopting %v: process %d outlives its run while another goes on", adopt, own)
			unix.Kill(own, unix.SIGKILL)
		}
		if !alive(others) {
			t.Errorf("adopting %v: the end of one run killed process %d of another", adopt, others)
		}
		stop()
		<-done
		if alive(others) {
			t.Errorf("adopting %v: process %d outlives its run", adopt, others)
			unix.Kill(others, unix.SIGKILL)
		}
		adopting.Store(false)
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// Under S2 a process cannot shake off what it is known by.
func TestMarkStays(t *testing.T) {
	needS2(t)
	program(t, "prlimit")
	r := mustRun(t, bash(t, `prlimit --rttime; prlimit --rttime=1 --pid $$ || echo kept; ulimit -R 1 || echo kept; prlimit --rttime --noheadings --raw -o HARD`))
	last := strings.Fields(string(r.Stdout))
	if parseMark(last[len(last)-1]) == 0 || strings.Count(string(r.Stdout), "kept") != 2 {
		t.Errorf("stdout %q, stderr %q", r.Stdout, r.Stderr)
	}
}

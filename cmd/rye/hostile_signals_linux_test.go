package main_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHostileClonesObeySignals: what is still at work in a large tree ends when it is told
// to, within 200 ms of its own time.
func TestHostileClonesObeySignals(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	slowest, stopped, ended := time.Duration(0), 0, 0
	for _, tree := range hostileClones() {
		if !tree.slow {
			continue
		}
		c := v.clone(tree)
		for _, args := range [][]string{{"status"}, {"verify"}, {"list", "--all"}, {"search", "hello"}, {"diff"}, {"bundle", "list"}, {"sign", "--all"}} {
			took, was := v.interrupt(c, args)
			if !was {
				ended++
				continue
			}
			stopped++
			if slowest = max(slowest, took); took > 200*time.Millisecond {
				t.Errorf("%s: rye %s worked on for %v after SIGTERM", tree.name, strings.Join(args, " "), took)
			}
		}
		c.remove()
	}
	t.Logf("%d commands were stopped, at most %v after SIGTERM; %d had ended before", stopped, slowest.Round(time.Millisecond), ended)
	if stopped < 5 {
		t.Errorf("only %d commands were still at work when they were told to end", stopped)
	}
}

// interrupt starts a command, sends SIGTERM when it has worked for a while, and returns how
// much of the processor it took from then on; was is false when it had ended before.
func (v *victim) interrupt(c *clone, args []string) (took time.Duration, was bool) {
	cmd := v.command(c, args)
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	for begun := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		select {
		case <-done:
			return 0, false
		default:
		}
		if cpuOf(cmd.Process.Pid) >= 50*time.Millisecond {
			break
		}
		if time.Since(begun) > 20*time.Second {
			cmd.Process.Kill()
			v.t.Fatalf("rye %s: does not work and does not end", strings.Join(args, " "))
		}
	}
	before := cpuOf(cmd.Process.Pid)
	cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		<-done
		v.t.Errorf("rye %s: SIGTERM was not obeyed", strings.Join(args, " "))
	}
	p := cmd.ProcessState
	ws := p.Sys().(syscall.WaitStatus)
	if killed := ws.Signaled() && ws.Signal() == syscall.SIGTERM; p.ExitCode() != 130 && !killed {
		return 0, false // it was about to end by itself
	}
	return p.UserTime() + p.SystemTime() - before, true
}

// cpuOf returns how much of the processor a process took so far.
func cpuOf(pid int) time.Duration {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the program's name may hold blanks
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // a tick of USER_HZ
}

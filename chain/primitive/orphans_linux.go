package primitive

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// adopting is set once this program adopts the processes that its tools leave.
var adopting atomic.Bool

// AdoptOrphans makes this process the parent of every process whose own parent ended below it
// (PR_SET_CHILD_SUBREAPER). So a tool's descendants are found and killed at the end of its run,
// even when they started a session of their own. Programs call it once, early. It is optional,
// because it changes the whole process: orphans of other children arrive here too, and are left
// alone. On systems without it, it does nothing.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	adopting.Store(true)
	return nil
}

// runs are the programs in progress. The lock is also held during a program's start, so that a
// sweep never takes a new process for an orphan.
var runs struct {
	sync.Mutex
	leaders map[int]Mark
	ended   map[int]bool // earlier leaders that are not reaped yet, and are no orphans
}

func enter(pid int) {
	if runs.leaders == nil {
		runs.leaders, runs.ended = map[int]Mark{}, map[int]bool{}
	}
	runs.leaders[pid] = 0
}

func remember(pid int, m Mark) {
	runs.Lock()
	defer runs.Unlock()
	runs.leaders[pid] = m
}

// leave ends the run of a leader that has ended but is not reaped yet: it kills the leader's
// remaining processes. In a program that adopts orphans they are among its own children, which is
// faster than searching all processes. Without marks, an orphan in its own session cannot be
// assigned to a run. It is killed with the last run.
func leave(pid int, m Mark) {
	if !adopting.Load() {
		endMarked(m, time.Second)
	}
	runs.Lock()
	defer runs.Unlock()
	delete(runs.leaders, pid)
	runs.ended[pid] = true
	if !adopting.Load() {
		return
	}
	// The children of a killed parent become ours, so repeat until there is none.
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		killed := killOrphans(pid, m)
		if len(killed) == 0 {
			return
		}
		reapOrphans(killed, deadline)
	}
}

// reapLeader reaps a leader that has ended and forgets it, in one step. Before that it must not
// be taken for an orphan, and afterwards its pid may belong to another process.
func reapLeader(pid int) (status unix.WaitStatus, err error) {
	runs.Lock()
	defer runs.Unlock()
	for err = unix.EINTR; err == unix.EINTR; {
		_, err = unix.Wait4(pid, &status, 0, nil)
	}
	delete(runs.leaders, pid)
	delete(runs.ended, pid)
	return status, err
}

func killOrphans(leader int, m Mark) (killed []int) {
	for _, child := range children() {
		if _, leads := runs.leaders[child]; leads || runs.ended[child] {
			continue
		}
		if !orphanOf(child, leader, m) {
			continue
		}
		unix.Kill(child, unix.SIGKILL)
		killed = append(killed, child)
	}
	return killed
}

// orphanOf reports whether the ending run left a child behind.
func orphanOf(child, leader int, m Mark) bool {
	if own := markOf(child); own != 0 {
		for _, other := range runs.leaders {
			if own == other {
				return false
			}
		}
		if own == m {
			return true
		}
	}
	session, ours := descent(child)
	return ours && (session == leader || len(runs.leaders) == 0)
}

// reapOrphans waits for killed processes. It leaves a process that hangs in the kernel to the
// next sweep.
func reapOrphans(pids []int, deadline time.Time) {
	for _, pid := range pids {
		for {
			var info unix.Siginfo
			err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG, nil)
			if err != nil && err != unix.EINTR || info.Signo != 0 || time.Now().After(deadline) {
				break
			}
			time.Sleep(200 * time.Microsecond)
		}
	}
}

// children lists the children of all threads of this process.
func children() []int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var out []int
	for _, t := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		for _, f := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// descent returns a child's session, and whether we confined it. A tool cannot remove
// no_new_privs or a filter, and this program's other children (ssh, git) have no more of them
// than the program itself.
func descent(pid int) (session int, ours bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name may hold any byte, so the fields are counted from its last parenthesis.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) > 3 {
		session, _ = strconv.Atoi(string(fields[3]))
	}
	return session, confinement(strconv.Itoa(pid)) > confinement("self")
}

// confinement adds up no_new_privs and the number of filters in /proc.
func confinement(pid string) int {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	sum := 0
	for _, key := range []string{"\nNoNewPrivs:\t", "\nSeccomp_filters:\t"} {
		if _, rest, ok := strings.Cut(string(status), key); ok {
			n, _, _ := strings.Cut(rest, "\n")
			v, _ := strconv.Atoi(n)
			sum += v
		}
	}
	return sum
}

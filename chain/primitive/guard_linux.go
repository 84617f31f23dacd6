package primitive

import (
	"bufio"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The kernel kills a program when its parent dies, and nothing that the program
// had started. So a run that lasts gets a guard: a second process of this
// program, in a session of its own, which reads the marks of the runs in progress
// from a pipe. When the pipe ends and runs are left, this process was killed, and
// the guard kills what carries their marks. It ends with the last run, so that
// nothing stands idle in a server.
//
// Starting it costs some milliseconds of a processor, so a run must last for
// guardAfter first. One that is killed before, or together with its guard, is
// ended by the next Sweep, which finds the mark in the run's directory.
const guardAfter = 20 * time.Millisecond

const guardVerb = "guard"

var guard struct {
	sync.Mutex
	pipe *os.File // to the guard; nil when there is none
	live map[Mark]bool
}

// guardRun has a run guarded until the function that it returns is called.
func guardRun(m Mark) (over func()) {
	exe := reenter()
	if m == 0 || exe == "" {
		return func() {}
	}
	ended := false
	late := time.AfterFunc(guardAfter, func() {
		guard.Lock()
		defer guard.Unlock()
		if ended {
			return
		}
		if guard.pipe == nil {
			guard.pipe, guard.live = startGuard(exe, m), map[Mark]bool{}
		} else {
			tellGuard("+", m)
		}
		guard.live[m] = true
	})
	return func() {
		guard.Lock()
		defer guard.Unlock()
		if ended = true; late.Stop() || !guard.live[m] {
			return
		}
		delete(guard.live, m)
		tellGuard("-", m)
		if len(guard.live) == 0 && guard.pipe != nil {
			guard.pipe.Close()
			guard.pipe = nil
		}
	}
}

// tellGuard needs the lock. A guard that somebody killed is replaced when the
// next run needs one.
func tellGuard(sign string, m Mark) {
	if guard.pipe == nil {
		return
	}
	if _, err := guard.pipe.WriteString(sign + m.String() + "\n"); err != nil {
		guard.pipe.Close()
		guard.pipe = nil
	}
}

// startGuard returns the pipe to a new guard of a run, nil when none can be
// started; the next Sweep is left then. The run is in the pipe before the guard
// lives: there is no moment at which one stands and knows of nothing.
func startGuard(exe string, first Mark) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		w.Close()
		return nil
	}
	defer null.Close()
	w.WriteString("+" + first.String() + "\n") // far less than what a pipe holds
	p, err := os.StartProcess(exe, []string{"rye-guard", innerArg, guardVerb}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{r, null, null},
		Sys: &syscall.SysProcAttr{Setsid: true}, // what ends our group must not end it
	})
	if err != nil {
		w.Close()
		return nil
	}
	go p.Wait()
	return w
}

// standGuard is the life of a guard.
func standGuard() int {
	live := map[Mark]bool{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		text, more := strings.CutPrefix(in.Text(), "+")
		m := parseMark(strings.TrimPrefix(text, "-"))
		if live[m] = true; !more {
			delete(live, m)
		}
	}
	for m := range live {
		endMarked(m, 5*time.Second)
	}
	return 0
}

package primitive

import (
	"bufio"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The kernel kills a program when its parent dies, but not the program's own children. So a long
// run gets a guard: a second process of this program, in a session of its own. The guard reads
// the marks of the current runs from a pipe. If the pipe ends while runs are left, this process
// was killed, and the guard kills every process with their marks. The guard ends with the last
// run, so an idle server has none.
//
// The start of a guard costs some milliseconds of a processor, so a run must first last for
// guardAfter. If a run is killed earlier, or together with its guard, the next Sweep ends it,
// because the mark is in the run's directory.
const guardAfter = 20 * time.Millisecond

const guardVerb = "guard"

var guard struct {
	sync.Mutex
	pipe *os.File // to the guard; nil when there is none
	live map[Mark]bool
}

// guardRun guards a run until the returned function is called.
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

// tellGuard needs the lock. A guard that was killed is replaced when the next run needs one.
func tellGuard(sign string, m Mark) {
	if guard.pipe == nil {
		return
	}
	if _, err := guard.pipe.WriteString(sign + m.String() + "\n"); err != nil {
		guard.pipe.Close()
		guard.pipe = nil
	}
}

// startGuard returns the pipe to a new guard of a run, or nil when it cannot start one. Then the
// next Sweep has to end the run. The run is written to the pipe before the guard starts, so the
// guard never waits without a run.
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
	w.WriteString("+" + first.String() + "\n") // far less than a pipe holds
	p, err := os.StartProcess(exe, []string{"rye-guard", innerArg, guardVerb}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{r, null, null},
		Sys: &syscall.SysProcAttr{Setsid: true}, // a signal to our group must not end it
	})
	if err != nil {
		w.Close()
		return nil
	}
	go p.Wait()
	return w
}

// standGuard is the main function of a guard.
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

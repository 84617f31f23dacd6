package journal

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// waitLock blocks until the lock of f is free. A thread waits in flock(2), without polling. Such a
// call cannot be cancelled: closing the file does not wake it, and Go's signal handlers restart it.
// So dup3 first puts another, unlocked file under the descriptor of the call. Then a signal makes
// the system restart the call, which takes the other file. A call that starts only after dup3 takes
// the other file too, so no order of events can hang.
func waitLock(ctx context.Context, f *os.File) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fd, other, err := lockFiles(f)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	defer unix.Close(other)
	thread, done := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the signal must reach the thread that waits
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		_, err := place.Retry(func() (int, error) { return 0, unix.Flock(fd, unix.LOCK_SH) })
		done <- err
	}()
	id := <-thread
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if err := unix.Dup3(other, fd, unix.O_CLOEXEC); err != nil {
		return err // cannot happen with two open descriptors
	}
	for {
		_ = unix.Tgkill(os.Getpid(), id, unix.SIGURG) // the signal that Go itself uses to preempt threads
		select {
		case <-done:
			return ctx.Err()
		case <-time.After(10 * time.Millisecond): // in case the system drops the signal
		}
	}
}

// lockFiles returns a new descriptor for the open file f, and a descriptor of a file that no other
// process can lock: a pipe.
func lockFiles(f *os.File) (fd, other int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var failed error
	err = raw.Control(func(n uintptr) {
		fd, failed = unix.FcntlInt(n, unix.F_DUPFD_CLOEXEC, 3)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, 0, err
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		unix.Close(fd)
		return 0, 0, err
	}
	unix.Close(ends[1])
	return fd, ends[0], nil
}

// self returns this process in a form that other processes can recognise.
func self() (pid int, started uint64, boot string) {
	pid = os.Getpid()
	return pid, startOf(pid), bootID()
}

func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.TrimSpace(string(raw))
	if err != nil || len(id) != 36 {
		return ""
	}
	return id
}

// startOf returns when a process started, in ticks since the system started; 0 when unknown.
func startOf(pid int) uint64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name in parentheses may contain anything
	if len(fields) < 20 {
		return 0
	}
	n, err := strconv.ParseUint(fields[19], 10, 64) // field 22 in proc(5)
	if err != nil {
		return 0
	}
	return n
}

// Signal sends a signal to the process that took the lease. It never signals another process that
// has the same number by now (fault.NotFound). Ask Alive first: a process that released the lease
// may still run.
func (h Holder) Signal(sig os.Signal) error {
	gone := fault.New(fault.NotFound, "process %d, which took the lease, has ended", h.PID)
	if h.PID < 1 || h.Started == 0 || h.Boot == "" || h.Boot != bootID() {
		return gone
	}
	p, err := os.FindProcess(h.PID) // holds on to the process on systems that support it
	if err != nil {
		return gone
	}
	defer p.Release()
	if startOf(h.PID) != h.Started {
		return gone
	}
	if err := p.Signal(sig); errors.Is(err, os.ErrProcessDone) {
		return gone
	} else if err != nil {
		return fault.New(fault.Failed, "signal process %d: %w", h.PID, err)
	}
	return nil
}

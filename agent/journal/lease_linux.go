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

// waitLock blocks in the system until the lock of f is free: a thread waits in flock(2), and
// nobody polls. A call that waits there cannot be cancelled: closing the file does not wake it,
// and Go's handlers of signals let it go on. So another file, which nobody has locked, is put
// under the number that the call was given, and then a signal makes the system begin the call
// anew, with that file. The order makes it sure: a call that begins only now has the other file
// already.
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
		return err // of two numbers that are open it cannot be
	}
	for {
		_ = unix.Tgkill(os.Getpid(), id, unix.SIGURG) // which Go uses for this very purpose
		select {
		case <-done:
			return ctx.Err()
		case <-time.After(10 * time.Millisecond): // in case that a system drops it
		}
	}
}

// lockFiles returns a number of its own for the open file f, and a file that nobody else can
// have locked: a pipe.
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

// self is this process, as others can know it again.
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

// startOf returns when a process started, in ticks since the system did; 0 for none.
func startOf(pid int) uint64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // a name may hold anything
	if len(fields) < 20 {
		return 0
	}
	n, err := strconv.ParseUint(fields[19], 10, 64) // the 22nd of proc(5)
	if err != nil {
		return 0
	}
	return n
}

// Signal sends a signal to the holder: to the very process that took the lease, and no other
// that has its number by now (fault.NotFound). Ask Alive first; a process that gave the lease
// back may still run.
func (h Holder) Signal(sig os.Signal) error {
	gone := fault.New(fault.NotFound, "process %d, which took the lease, has ended", h.PID)
	if h.PID < 1 || h.Started == 0 || h.Boot == "" || h.Boot != bootID() {
		return gone
	}
	p, err := os.FindProcess(h.PID) // holds on to the process, where the system can
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

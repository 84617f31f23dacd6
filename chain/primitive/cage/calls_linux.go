package cage

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the only actions of a new process before it becomes another program: system calls,
// one after the other. The process runs no Go code, so it can share the memory of this process.
// The child of package syscall runs some Go code. With a user namespace it gets a copy of its
// parent's page tables: 3 ms at 30 MB, 20 ms at 300 MB.
//
// The process writes memory only inside its calls, and uses no stack, because it shares the stack
// of the thread that made it.
type calls struct {
	list  []call
	names []string // of the calls, for errors
	kept  []any    // memory that their arguments point to; allocated memory does not move
	mask  unix.Sigset_t
	failure
}

// call is a system call. cloneAndCall knows the offsets of its fields.
type call struct {
	nr    uintptr
	args  [6]uintptr
	least int // a smaller result is a failure
}

// failure is the call that failed. cloneAndCall knows the offsets of its fields.
type failure struct {
	news   uintptr // the descriptor to which the rest is written
	at     uintptr // the call
	result int
}

// newCalls returns calls that restore the default action of every signal, and this thread's
// signal mask.
func newCalls() *calls {
	const signals, setSize = 64, 8 // _NSIG, and the bytes of a set of them
	c := &calls{}
	var byDefault [4]uint64 // struct sigaction
	for sig := uintptr(1); sig <= signals; sig++ {
		c.add("reset a signal", unix.SYS_RT_SIGACTION, sig, at(c, &byDefault), 0, setSize).least = -int(unix.EINVAL) // SIGKILL cannot be changed
	}
	c.add("let signals come", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, at(c, &c.mask), 0, setSize)
	return c
}

// add appends a call. A negative result is a failure, unless the caller sets least.
func (c *calls) add(name string, nr uintptr, args ...uintptr) *call {
	one := call{nr: nr}
	copy(one.args[:], args)
	c.list, c.names = append(c.list, one), append(c.names, name)
	return &c.list[len(c.list)-1]
}

// at returns the address of v, which is kept as long as c.
func at[T any](c *calls, v *T) uintptr {
	c.kept = append(c.kept, v)
	return uintptr(unsafe.Pointer(v))
}

func (c *calls) text(s string) uintptr {
	return at(c, &append([]byte(s), 0)[0])
}

func (c *calls) texts(all ...string) uintptr {
	v := make([]uintptr, len(all)+1)
	for i, s := range all {
		v[i] = c.text(s)
	}
	return at(c, &v[0])
}

// keepOnly closes all descriptors of the process but these. It is called before the process waits
// for this one: a copy of another waiting process's socket would keep that one from noticing that
// this process ended, and a copy of the standard output its reader.
func (c *calls) keepOnly(fds ...int) {
	slices.Sort(fds)
	next := 0
	for _, fd := range append(fds, math.MaxInt32) {
		if next < fd {
			c.add("close descriptors", unix.SYS_CLOSE_RANGE, uintptr(next), uintptr(fd-1), 0)
		}
		next = fd + 1
	}
}

// start makes the process. On a failure the process writes it to news. c must be kept until the
// process has made its calls. The thread must be locked.
func (c *calls) start(flags uintptr, news int) (pid int, err error) {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	c.news = uintptr(news)
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	// A signal handler would also run in the process, on this thread's stack.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &c.mask); err != nil {
		return 0, err
	}
	pid = cloneAndCall(flags|uintptr(unix.SIGCHLD), &c.list[0], &c.failure)
	unix.PthreadSigmask(unix.SIG_SETMASK, &c.mask, nil)
	if pid < 0 {
		return 0, unix.Errno(-pid)
	}
	return pid, nil
}

// collect reaps a process that was started here, and no other one: the rest of this program reaps
// its own.
func collect(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// told converts the process's message into an error; an empty message is nil.
func (c *calls) told(news []byte) error {
	if len(news) == 0 {
		return nil
	}
	if len(news) == 16 {
		i := (uintptr(binary.NativeEndian.Uint64(news)) - uintptr(unsafe.Pointer(&c.list[0]))) / unsafe.Sizeof(call{})
		if result := int64(binary.NativeEndian.Uint64(news[8:])); i < uintptr(len(c.list)) && result < 0 {
			return fmt.Errorf("%s: %w", c.names[i], unix.Errno(-result))
		} else if i < uintptr(len(c.list)) {
			return fmt.Errorf("%s: too short", c.names[i])
		}
	}
	return fmt.Errorf("a new process reported %q", news)
}

package cage

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are what a new process does until it is another program: system calls, one after the
// other, and nothing else. It runs no Go code, so it can share the memory of this process.
// The child of package syscall does run some, and where it makes a user namespace it has the
// page tables of its parent copied: 3 ms at 30 MB, 20 ms at 300.
//
// It writes no memory but where a call does, and uses no stack: the one it has is that of
// the thread that made it.
type calls struct {
	list  []call
	names []string // of the calls, for errors
	kept  []any    // what their arguments point to; what was allocated does not move
	mask  unix.Sigset_t
	failure
}

// call is a system call; cloneAndCall knows where its fields are.
type call struct {
	nr    uintptr
	args  [6]uintptr
	least int // a smaller result is a failure
}

// failure says which call failed; cloneAndCall knows where its fields are.
type failure struct {
	news   uintptr // the descriptor that the rest is written to
	at     uintptr // the call
	result int
}

// newCalls returns calls after which all signals do what they do by default, and those come
// that come to this thread.
func newCalls() *calls {
	const signals, setSize = 64, 8 // _NSIG, and the bytes of a set of them
	c := &calls{}
	var byDefault [4]uint64 // struct sigaction
	for sig := uintptr(1); sig <= signals; sig++ {
		c.add("reset a signal", unix.SYS_RT_SIGACTION, sig, at(c, &byDefault), 0, setSize).least = -int(unix.EINVAL) // SIGKILL's cannot be changed
	}
	c.add("let signals come", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, at(c, &c.mask), 0, setSize)
	return c
}

// add appends a call. It fails when the kernel says so, unless least is set to something else.
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

// start makes the process, which writes of a failure to news. c must be kept until it has
// made its calls. The thread must be locked.
func (c *calls) start(flags uintptr, news int) (pid int, err error) {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	c.news = uintptr(news)
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	// A handler would run in the process too, on this thread's stack.
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

// collect waits for the end of a process that was started here, and for no other's: the rest of
// this process waits for those.
func collect(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// told turns what the process wrote into an error; nothing is nil.
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
	return fmt.Errorf("a new process said %q", news)
}

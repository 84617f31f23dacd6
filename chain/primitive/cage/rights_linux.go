package cage

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// Confinement is a set of bounds that ordinary code prepares and a thread applies to itself.
type Confinement struct {
	rules  *rules
	filter []unix.SockFilter
}

// Works reports whether this system has everything that Confine needs.
func Works() bool { return ABI() >= 1 && filterKnown && filterWorks() }

// Prepare does all the work that needs the rights that the thread will give up.
func Prepare(b *Bounds) (*Confinement, error) {
	r, err := newRules(b, ABI())
	if err != nil {
		return nil, err
	}
	return &Confinement{r, filter(b)}, nil
}

// Close releases the resources from Prepare. On nil it does nothing.
func (c *Confinement) Close() {
	if c != nil {
		c.rules.close()
	}
}

// Confine applies the bounds to the calling thread, for good. NoNewPrivileges must be called on
// that thread first.
func (c *Confinement) Confine() error {
	if err := c.rules.enforce(); err != nil {
		return errors.Join(errors.New("enforce Landlock rules"), err)
	}
	if err := install(c.filter); err != nil {
		return errors.Join(errors.New("install seccomp filter"), err)
	}
	return nil
}

// OnThrownAwayThread runs f on a thread that never runs another goroutine again. The runtime ends
// a thread whose goroutine ended while locked to it, except for the main thread. So f never runs
// on the main thread.
func OnThrownAwayThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// Holding the main thread makes the runtime use another one.
		over := make(chan struct{})
		go func() {
			defer close(over)
			runtime.LockOSThread()
			f()
		}()
		<-over
		runtime.UnlockOSThread()
	}()
}

// NoNewPrivileges keeps the calling thread and its children from gaining rights by starting a
// program.
func NoNewPrivileges() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// Umask gives the calling thread a umask that refuses writes by other users.
func Umask() {
	if err := unix.Unshare(unix.CLONE_FS); err == nil {
		// The umask belongs to the whole process until this thread has its own.
		old := unix.Umask(0o077)
		unix.Umask(old | 0o022)
	}
}

// FileCapabilities are the capabilities that the superuser keeps outside of namespaces, so that
// files of other owners in its own containers stay usable: CHOWN, DAC_OVERRIDE, FOWNER, FSETID.
const FileCapabilities = 1<<0 | 1<<1 | 1<<3 | 1<<4

// DropCapabilities removes all capabilities outside of keep from the calling thread.
func DropCapabilities(keep uint32) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&hdr, &caps[0]); err != nil {
		return err
	}
	if caps[0].Permitted == 0 && caps[1].Permitted == 0 {
		return nil
	}
	caps[0].Permitted &= keep
	caps[0].Effective &= keep
	caps[0].Inheritable &= keep
	caps[1] = unix.CapUserData{}
	// With no_new_privs an exec by the superuser gives nothing back.
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	err := unix.Capset(&hdr, &caps[0])
	runtime.KeepAlive(&caps)
	return err
}

// noCapabilities removes all capabilities from the calling thread and its children, and every way
// to get them back.
func noCapabilities() error {
	const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7 // SECBIT_NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each locked
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil {
		return err
	}
	for capability := uintptr(0); capability < 64; capability++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err == unix.EINVAL {
			break // there are no more
		} else if err != nil {
			return err
		}
	}
	return DropCapabilities(0)
}

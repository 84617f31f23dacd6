package cage

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Who makes a namespace waits for the process that it started for that, and for no other: one
// that ended meanwhile is found by whoever waits for it.
func TestNamespacesLeaveTheEndsOfOthers(t *testing.T) {
	runtime.LockOSThread() // a wait for just anybody looks at the children of its own thread first, the eldest before
	defer runtime.UnlockOSThread()
	broken := filepath.Join(t.TempDir(), "rye-cage") // it is started, and is no program
	if err := os.WriteFile(broken, []byte("no program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, makes := range map[string]func() error{
		"of users": func() error {
			ns, err := Nobody()
			if err == nil {
				unix.Close(ns)
			}
			if unix.Geteuid() != 0 {
				return nil // only the superuser's needs to succeed
			}
			return err
		},
		"of a program that cannot be started": func() error {
			if pid, err := Start(broken, "", os.Getuid(), os.Getgid(), os.Stdin); err == nil {
				collect(pid)
				t.Error("what is no program was started")
			}
			return nil
		},
	} {
		other := ended(t)
		if err := makes(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var status unix.WaitStatus
		if _, err := unix.Wait4(other, &status, 0, nil); err != nil || status.ExitStatus() != 1 {
			t.Errorf("%s: the wait for another process that has ended: %v, status %d, want 1", name, err, status.ExitStatus())
		}
	}
}

// ended starts a process that ends with 1, and returns when it has: nobody waited for it yet.
func ended(t *testing.T) (pid int) {
	p, err := os.StartProcess("/bin/false", []string{"false"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	pid = p.Pid
	p.Release()
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

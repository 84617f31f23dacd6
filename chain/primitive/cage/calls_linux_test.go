package cage

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCallsTellWhatFailed makes processes that share the memory of this one, while others of
// its goroutines use that, and end at a call that fails.
func TestCallsTellWhatFailed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	over := make(chan struct{})
	defer close(over)
	go func() {
		for garbage := [][]byte(nil); ; garbage = append(garbage[len(garbage)/2:], make([]byte, 1<<16)) {
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	for name, tc := range map[string]struct {
		flags uintptr
		end   func(c *calls)
		want  string
		is    error
	}{
		"an error":           {unix.CLONE_VM, func(c *calls) { c.add("go there", unix.SYS_CHDIR, c.text("/nowhere")) }, "go there: ", unix.ENOENT},
		"with its own":       {0, func(c *calls) { c.add("go there", unix.SYS_CHDIR, c.text("/nowhere")) }, "go there: ", unix.ENOENT},
		"a result too small": {unix.CLONE_VM, func(c *calls) { c.add("wait", unix.SYS_GETPPID).least = 1 << 40 }, "wait: too short", nil},
		"another program": {unix.CLONE_VM, func(c *calls) {
			c.add("start rye-cage", unix.SYS_EXECVE, c.text("/bin/true"), c.texts("true"), c.texts())
		}, "", nil},
	} {
		for range 20 {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			c := newCalls()
			c.add("look", unix.SYS_GETPID)
			tc.end(c)
			pid, err := c.start(tc.flags, int(w.Fd()))
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			news, _ := io.ReadAll(r)
			err = c.told(news)
			runtime.KeepAlive(c)
			collect(pid)
			r.Close()
			if (err != nil) != (tc.want != "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) || !errors.Is(err, tc.is) && tc.is != nil {
				t.Errorf("%s: %v, want %q", name, err, tc.want)
			}
		}
	}
}

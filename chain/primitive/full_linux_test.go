package primitive

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// On a full disk a run is refused with its own code and remedy, and leaves nothing.
// Root mounts one; everybody else gets a limit on the size of files.
func TestFullDisk(t *testing.T) {
	big := []File{{Path: "a/small", Data: []byte("x")}, {Path: "a/big", Data: make([]byte, 1<<20)}}
	check := func(dir string) {
		t.Helper()
		_, err := Materialise(dir, big)
		if !fault.Is(err, fault.Limit) || fault.HintOf(err).IsZero() {
			t.Errorf("Materialise on a full disk = %v (%s)", err, fault.CodeOf(err))
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		if r, err := Materialise(dir, big[:1]); err != nil {
			t.Errorf("what has room: %v", err)
		} else {
			r.Remove()
		}
	}
	if os.Getenv("RYE_TEST_FULL") != "" {
		check(os.Getenv("RYE_TEST_FULL"))
		return
	}
	dir := filepath.Join(temp(t), "disk")
	os.Mkdir(dir, 0o700)
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=256k"); err == nil {
		check(dir)
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	} else {
		t.Logf("no disk can be mounted here: %v", err)
	}
	// The other way, in a process that can afford the limit.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t, "bash"), "-c", `ulimit -f 100; trap '' XFSZ; exec "$0" -test.run '^TestFullDisk$'`, self)
	cmd.Env = append(os.Environ(), "RYE_TEST_FULL="+temp(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with a limit on files: %v\n%s", err, out)
	}
}

package builtin

import (
	"os"
	"syscall"
	"testing"
)

// A second name that the kernel gives to a protected directory does not help.
func TestProtectedBehindAMount(t *testing.T) {
	w := newWorld(t)
	os.MkdirAll(w.path("mnt"), 0o755)
	if err := syscall.Mount(w.path(".ai"), w.path("mnt"), "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("bind mount: %v", err)
	}
	defer syscall.Unmount(w.path("mnt"), 0)
	w.refused("write", m{"path": "mnt/rye.lock", "content": "PWNED"}, "denied")
	w.refused("write", m{"path": "mnt/tools/x.sh", "content": "PWNED"}, "denied")
}

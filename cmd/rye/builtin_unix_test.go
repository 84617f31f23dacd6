//go:build unix

package main_test

import (
	"os"
	"syscall"
	"testing"
)

func (h *home) makeOrdinary() { h.ordinary() }

// TestBuiltinPipe: what would wait for ever is refused at once, through the door.
func TestBuiltinPipe(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("data/x", "x")
	if err := syscall.Mkfifo(h.dir+"/data/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", h.dir+"/data/zero"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{`{"path":"data/fifo"}`, `{"path":"data/zero"}`} {
		if r, exit := h.tool("file-system/read", p); exit != 1 {
			t.Errorf("%s: exit %d, %s", p, exit, r.Data)
		}
	}
	if r, exit := h.tool("file-system/grep", `{"pattern":"."}`); exit != 0 {
		t.Errorf("grep: exit %d, %s", exit, r.Data)
	}
}

//go:build unix

package place

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rye-os/rye/fault"
)

// Nothing that may never begin or end is waited for, whatever leads there.
func TestReadWaitsForNothing(t *testing.T) {
	dir := t.TempDir()
	pipe, socket, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "s"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if len(socket) < 100 { // longer ones have no name
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	} else {
		socket = pipe
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, socket, link, "/dev/zero"} {
		if _, err := Read(path, 10); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", path, err)
		}
	}
}

// The mode that is checked is that of the file which is read.
func TestReadIf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	no := fault.New(fault.Auth, "no")
	got, err := ReadIf(path, 10, func(m fs.FileMode) error {
		if m != 0o640 {
			t.Errorf("mode %v", m)
		}
		return nil
	})
	if err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ReadIf(path, 10, func(fs.FileMode) error { return no }); got != nil || err != no {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{path + "/x", strings.Repeat("x", 5000), path + "\x00"} {
		if _, err := Read(bad, 10); err == nil {
			t.Errorf("%.20q was read", bad)
		}
	}
}

package primitive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// nobodys returns the user namespace of disown, where it can be made.
func nobodys(t *testing.T) int {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("takes the superuser")
	}
	ns := nobody()
	if ns < 0 {
		t.Skip("the file system of /etc cannot be given to nobody")
	}
	return ns
}

// TestDisown: in a tree that was disowned even the superuser reads only what everybody may,
// also what comes there later.
func TestDisown(t *testing.T) {
	ns := nobodys(t)
	dir := temp(t)
	put := func(name string, mode os.FileMode) {
		t.Helper()
		tmp := filepath.Join(dir, name+".new")
		if err := errors.Join(os.WriteFile(tmp, []byte("x"), mode), os.Chmod(tmp, mode), os.Rename(tmp, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	put("public", 0o644)
	put("private", 0o640)
	put("later", 0o644)
	os.Mkdir(filepath.Join(dir, "closed"), 0o700)
	tree, err := cage.Disown(dir, ns)
	if err != nil {
		t.Skip(err) // another file system than that of /etc
	}
	defer unix.Close(tree)
	put("private", 0o600)
	put("later", 0o600)
	put("new", 0o600)
	for name, want := range map[string]error{"public": nil, "private": fs.ErrPermission, "later": fs.ErrPermission, "new": fs.ErrPermission, "closed": fs.ErrPermission} {
		fd, err := unix.Openat(tree, name, unix.O_RDONLY, 0)
		if !errors.Is(err, want) {
			t.Errorf("open %s: %v, want %v", name, err, want)
		}
		unix.Close(fd)
	}
	if _, err := unix.Openat(tree, "public", unix.O_WRONLY, 0); !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) {
		t.Errorf("write: %v", err)
	}
}

// TestDisownWhereNothingIsGiven: what is writable in /etc is shown by another mount, to which
// only rules apply.
func TestDisownWhereNothingIsGiven(t *testing.T) {
	nobodys(t)
	etc := cage.Mount{Kind: cage.Shown, Path: "/etc", Source: "/etc"}
	for name, tc := range map[string]struct {
		view []cage.Mount
		want bool
	}{
		"nothing":    {[]cage.Mount{etc}, true},
		"beside it":  {[]cage.Mount{etc, {Kind: cage.Given, Path: "/etcetera"}}, true},
		"kept there": {[]cage.Mount{etc, {Kind: cage.Kept, Path: "/etc/x"}}, true},
		"in it":      {[]cage.Mount{etc, {Kind: cage.Given, Path: "/etc/x"}}, false},
		"not shown":  {[]cage.Mount{{Kind: cage.Link, Path: "/etc"}}, false},
	} {
		tree := disown(tc.view)
		if got := tree != nil; got != tc.want || got != (tc.view[0].Kind == cage.Handed) {
			t.Errorf("%s: %v, want %v; /etc is of kind %d", name, got, tc.want, tc.view[0].Kind)
		}
		if tree != nil {
			tree.Close()
		}
	}
}

// TestSuperusersToolIsOneOfTheOthers lists a private directory of the system, which rules
// do not prevent.
func TestSuperusersToolIsOneOfTheOthers(t *testing.T) {
	needS3(t)
	nobodys(t)
	c := bash(t, `cat /etc/passwd >/dev/null && cat /etc/shadow; stat -c %u /etc/shadow; cat < /proc/self/root/etc/shadow`)
	c.Temp = RunTemp
	c.Sandbox = Sandbox{Tier: S3}
	if r := mustRun(t, c); string(r.Stdout) != "65534\n" || r.Exit == 0 {
		t.Errorf("exit %d, %q, %q", r.Exit, r.Stdout, r.Stderr)
	}
}

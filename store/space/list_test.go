package space

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestBeneathIsTheRoot lists and reads what a hostile tree may hold by both ways:
// the quick one says the same as os.Root, or leaves the answer to it, and never
// waits for a pipe.
func TestBeneathIsTheRoot(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(outside, "secret.md"), []byte("secret"), 0o600))
	must(os.MkdirAll(filepath.Join(dir, "knowledge", "sub"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "knowledge", "a.md"), []byte("text"), 0o644))
	must(os.WriteFile(filepath.Join(dir, "knowledge", "empty.md"), nil, 0o644))
	must(os.WriteFile(filepath.Join(dir, "knowledge", ".hidden"), nil, 0o644))
	must(os.WriteFile(filepath.Join(dir, "knowledge", "large.md"), make([]byte, 101), 0o644))
	for name, to := range map[string]string{
		"link.md": "a.md", "out.md": filepath.Join(outside, "secret.md"), "up.md": "../../" + filepath.Base(outside) + "/secret.md",
		"outdir": outside, "indir": "sub", "dangling.md": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(dir, "knowledge", name)); err != nil {
			t.Skip(err) // Windows asks for a privilege
		}
	}
	makePipe(t, filepath.Join(dir, "knowledge", "pipe.md"))
	root, err := os.OpenRoot(dir)
	must(err)
	defer root.Close()
	x, err := newBeneath(root)
	must(err)
	defer x.close()

	type named struct {
		regular, dir bool
		stamp        stamp
	}
	gather := func(into map[string]named) func([]byte, fs.FileMode, stamp) bool {
		return func(name []byte, typ fs.FileMode, st stamp) bool {
			into[string(name)] = named{typ.IsRegular(), typ.IsDir(), st}
			return true
		}
	}
	for _, p := range []string{"knowledge", "knowledge/sub", "knowledge/indir", "knowledge/outdir", "nowhere", "knowledge/a.md", ".."} {
		quick, slow := map[string]named{}, map[string]named{}
		qerr, serr := x.list(p, gather(quick)), listSlowly(root, p, gather(slow))
		if !reflect.DeepEqual(quick, slow) || (qerr == nil) != (serr == nil) || errors.Is(qerr, fs.ErrNotExist) != errors.Is(serr, fs.ErrNotExist) {
			t.Errorf("list %s: %v, %v; os.Root says %v, %v", p, quick, qerr, slow, serr)
		}
		if p == "knowledge" && (len(slow) < 8 || !slow["a.md"].regular || slow["a.md"].stamp.size != 4 || slow["link.md"].regular) {
			t.Errorf("list %s: %v", p, slow)
		}
	}
	l := &Layer{Dir: dir}
	defer l.Close()
	for p, want := range map[string]string{
		"knowledge/a.md": "text", "knowledge/empty.md": "", "knowledge/nowhere.md": "missing", "nowhere/a.md": "missing",
		"knowledge/large.md": "else", "knowledge/link.md": "else", "knowledge/out.md": "else", "knowledge/up.md": "else", "knowledge/dangling.md": "else",
		"knowledge/outdir/secret.md": "else", "../" + filepath.Base(outside) + "/secret.md": "else", filepath.Join(outside, "secret.md"): "else",
		"knowledge/pipe.md": "else", "knowledge/sub": "else", "knowledge/a.md/b.md": "else",
	} {
		got := "else"
		if raw, done, err := x.read(p, 100); done {
			got = string(raw)
			if errors.Is(err, fs.ErrNotExist) {
				got = "missing"
			} else if err != nil {
				t.Errorf("read %s: %v", p, err)
			}
		} else if want != "else" {
			continue // a system where everything is asked of os.Root
		}
		if got != want {
			t.Errorf("read %s: %q, want %q", p, got, want)
		}
		_, serr := root.Lstat(p)
		if yes, sure := x.has(p); sure && yes != (serr == nil) {
			t.Errorf("has %s: %v, os.Root says %v", p, yes, serr)
		}
		if raw, err := l.Read(p); strings.Contains(string(raw), "secret") || want == "else" && err == nil && p != "knowledge/large.md" {
			t.Errorf("the layer read %q from %s (%v)", raw, p, err)
		}
	}
}

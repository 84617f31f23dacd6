package records

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
)

// TestKeyVectors holds KeyOf to docs/format/record.md.
func TestKeyVectors(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "format", "record.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][4]string{
		{"/home/ann/weather", "3f0c9a1b8c2d4e5f60718293a4b5c6d7", "0123456789abcdef0123456789abcdef", "1000"},
		{"/home/ann", "", "", "1000"},
	} {
		if key := KeyOf(v[0], v[1], v[2], v[3]); !strings.Contains(string(doc), "`"+key+"`") {
			t.Errorf("KeyOf(%q) = %s, which is not in the page", v, key)
		}
	}
	// No two lists of parts share their bytes.
	if KeyOf("/a", "b", "", "") == KeyOf("/a", "", "b", "") || KeyOf("/a\x00b", "", "", "") == KeyOf("/a", "b", "", "") {
		t.Error("two places have one key")
	}
}

func open(t *testing.T) *Data {
	d := Open(filepath.Join(t.TempDir(), "data"))
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	return d
}

func at(t *testing.T, d *Data, dir string) Place {
	t.Helper()
	p, err := d.At(nil, dir, project)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const project = "3f0c9a1b8c2d4e5f60718293a4b5c6d7"

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestOnePlaceByEveryPath(t *testing.T) {
	d, dir := open(t), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	t.Chdir(dir)
	want := at(t, d, dir)
	for _, path := range []string{".", link, dir + "/", filepath.Join(dir, "x", "..")} {
		if got := at(t, d, path); got != want {
			t.Errorf("At(%q) = %+v, want %+v", path, got, want)
		}
	}
	if other, err := d.At(nil, dir, strings.Repeat("0", 32)); err != nil || other.Key == want.Key {
		t.Errorf("another project at the path has the key %s, %v", other.Key, err)
	}
}

func TestNoteAndKnown(t *testing.T) {
	d, dir := open(t), t.TempDir()
	p := at(t, d, dir)
	if _, ok, err := p.Known(); ok || err != nil {
		t.Fatalf("known before it was noted: %v, %v", ok, err)
	}
	if p.Replaced() {
		t.Error("a place that nobody wrote of was replaced")
	}
	if err := p.Note(now); err != nil {
		t.Fatal(err)
	}
	k, ok, err := p.Known()
	if s, serr := StampOf(dir); err != nil || serr != nil || !ok || k.Place != p || k.Stamp != s || !k.Made.Equal(now) {
		t.Fatalf("known: %+v, %v, %v", k, ok, err)
	}
	later := now.Add(48 * time.Hour)
	for _, when := range []time.Time{now.Add(time.Hour), later} {
		if err := p.Note(when); err != nil {
			t.Fatal(err)
		}
	}
	if k, _, err = p.Known(); err != nil || !k.Made.Equal(now) || !k.Used.Equal(later) {
		t.Errorf("after another day: %+v, %v", k, err)
	}
	if info, err := os.Stat(p.Dir); err != nil || info.Mode().Perm()&0o077 != 0 && os.Getenv("GOOS") != "windows" {
		t.Errorf("others may read the record: %v, %v", info.Mode(), err)
	}
	// What is damaged is written anew, and what a newer rye wrote is left alone.
	file := filepath.Join(p.Dir, placeFile)
	for text, code := range map[string]fault.Code{"format: 1\nnonsense: 1\n": "", "": "", "format: 2\n": fault.Malformed} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Known(); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("Known of %q = %v, want malformed", text, err)
		}
		if err := p.Note(now); code == "" && err != nil {
			t.Errorf("Note over %q = %v", text, err)
		}
	}
}

func TestReplaced(t *testing.T) {
	d := open(t)
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := StampOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Born == 0 {
		t.Skip("this file system keeps no birth times")
	}
	p := at(t, d, dir)
	if err := p.Note(now); err != nil {
		t.Fatal(err)
	}
	if p.Replaced() {
		t.Error("the same directory counts as replaced")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // two ticks of the file system's clock
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if !p.Replaced() {
		t.Error("a directory that was made again counts as the same")
	}
	if err := p.Note(now); err != nil {
		t.Fatal(err)
	}
	if p.Replaced() {
		t.Error("it still counts as replaced after a command wrote")
	}
}

func TestMoveIsOfferedForTheSameDirectoryOnly(t *testing.T) {
	d, top := open(t), t.TempDir()
	old, now2 := filepath.Join(top, "old"), filepath.Join(top, "new")
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	from := at(t, d, old)
	if err := from.Note(now); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from.Dir, "history"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	offered := func(dir string) (Known, bool) {
		t.Helper()
		k, ok, err := d.Moved(at(t, d, dir))
		if err != nil {
			t.Fatal(err)
		}
		return k, ok
	}
	copied := filepath.Join(top, "copy")
	if err := os.Mkdir(copied, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, ok := offered(copied); ok {
		t.Error("a copy is offered the record of a directory that is still there")
	}
	if err := os.Rename(old, now2); err != nil {
		t.Fatal(err)
	}
	if _, ok := offered(copied); ok {
		t.Error("another directory is offered the record of one that was moved")
	}
	s, err := StampOf(now2)
	if err != nil {
		t.Fatal(err)
	}
	k, ok := offered(now2)
	if s.Born != 0 && !ok {
		t.Fatal("a directory that was moved is not offered its record")
	}
	if !ok {
		k, _, err = from.Known()
		if err != nil {
			t.Fatal(err)
		}
	}
	to := at(t, d, now2)
	if err := to.Move(k, now); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(to.Dir, "history")); err != nil || string(raw) != "x" {
		t.Errorf("what the record held: %q, %v", raw, err)
	}
	if got, ok, err := to.Known(); err != nil || !ok || got.Path != to.Path || !got.Made.Equal(now) {
		t.Errorf("the record says %+v, %v", got, err)
	}
	if err := to.Move(k, now); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("moving onto a record = %v, want a conflict", err)
	}
	// A move never takes the record of a directory that is there.
	if err := at(t, d, copied).Move(Known{Place: to}, now); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("taking the record of a directory that is there = %v, want a conflict", err)
	}
}

func TestGone(t *testing.T) {
	top := t.TempDir()
	for path, want := range map[string]bool{top: false, filepath.Join(top, "x"): true, filepath.Join(top, "not", "mounted"): false, "": false} {
		if got := (Known{Place: Place{Path: path}}).Gone(); got != want {
			t.Errorf("Gone(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestDataDirectories(t *testing.T) {
	project := t.TempDir()
	if err := os.MkdirAll(filepath.Join(project, ".ai"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, ".ai", "rye.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	for dir, code := range map[string]fault.Code{
		"": fault.NotFound, "relative": fault.NotFound, project: fault.Auth, filepath.Join(project, "not", "there"): fault.Auth,
		filepath.Join(link, "data"): fault.Auth, filepath.Join(t.TempDir(), "not", "there"): "",
	} {
		if strings.HasPrefix(dir, link) {
			if err := os.Symlink(filepath.Join(project, ".ai"), link); err != nil {
				continue
			}
		}
		d := Open(dir)
		if err := d.Err(); fault.CodeOf(err) != code && (err != nil || code != "") {
			t.Errorf("Open(%q) = %v, want code %q", dir, err, code)
		}
		p, err := d.At(nil, t.TempDir(), "")
		if err != nil || (p.Dir == "") != (d.Err() != nil) {
			t.Errorf("with %q a record lies at %q, %v", dir, p.Dir, err)
		}
	}
}

func TestMachineID(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct{ text, want string }{
		{"0123456789abcdef0123456789abcdef\n", "0123456789abcdef0123456789abcdef"}, {"", ""}, {"uninitialized\n", ""}, {strings.Repeat("a", 1000), ""},
	} {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := machineID(file); got != c.want {
			t.Errorf("machineID of %q = %q, want %q", c.text, got, c.want)
		}
	}
	if got := machineID(filepath.Join(dir, "missing")); got != "" {
		t.Errorf("machineID of nothing = %q", got)
	}
}

func FuzzKnown(f *testing.F) {
	f.Add([]byte("format: 1\npath: /x\nmade: \"2026-01-02T03:04:05Z\"\nused: \"2026-01-02T03:04:05Z\"\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, placeFile), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if k, ok, err := readKnown(dir); ok && (err != nil || k.Made.IsZero() || k.Dir != dir) {
			t.Errorf("readKnown = %+v, %v", k, err)
		}
	})
}

// A directory that another project was in before does not bring the record of that project.
func TestMoveIsOfferedToTheSameProjectOnly(t *testing.T) {
	d, top := open(t), t.TempDir()
	old, moved := filepath.Join(top, "old"), filepath.Join(top, "new")
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	if s, err := StampOf(old); err != nil || s.Born == 0 {
		t.Skip("this file system keeps no birth times")
	}
	if err := at(t, d, old).Note(now); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, moved); err != nil {
		t.Fatal(err)
	}
	other, err := d.At(nil, moved, strings.Repeat("0a", 16))
	if err != nil {
		t.Fatal(err)
	}
	if k, ok, err := d.Moved(other); ok || err != nil {
		t.Errorf("another project is offered the record of %s, %v", k.Path, err)
	}
	if _, ok, err := d.Moved(at(t, d, moved)); !ok || err != nil {
		t.Errorf("the same project is not offered its record, %v", err)
	}
}

package ward

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/table"
)

// remembered is a project that was looked at, and its cache.
func remembered(t testing.TB) (o Options, raw []byte) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("nothing is remembered here")
	}
	dir := many(t, 50)
	put(t, dir, append(gitDir("d01/x.git"), "d02/.envrc", "d03/.vscode/x", "CLAUDE.md", ".github/workflows/x")...)
	time.Sleep(25 * time.Millisecond)
	o = Options{Project: dir, Cache: filepath.Join(t.TempDir(), "cache")}
	look(t, o)
	raw, err := os.ReadFile(o.Cache)
	if err != nil {
		t.Skip("this file system's times are not relied upon:", err)
	}
	return o, raw
}

// walked counts the directories that a look reads.
func walked(t testing.TB, o Options) int {
	t.Helper()
	d, err := openDisk(o.Project)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w := &walker{ctx: context.Background(), d: d, dirs: usualMax, entries: maxEntries, missed: &missed{}}
	if err := w.look(loadCache(o.Cache, d, usualMax).tree); err != nil {
		t.Fatal(err)
	}
	return w.read
}

func TestRemembers(t *testing.T) {
	o, _ := remembered(t)
	want := []string{".github/workflows/", "CLAUDE.md", "d01/x.git/", "d02/.envrc", "d03/.vscode/"}
	equal(t, "protected", mounts(t, look(t, o)), want)
	if n := walked(t, o); n != 0 {
		t.Errorf("%d directories were read again", n)
	}
	// What changed, and nothing else, is read again.
	put(t, o.Project, "d04/new/sub/.envrc")
	if err := os.Chtimes(filepath.Join(o.Project, "d04"), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if n := walked(t, o); n != 3 {
		t.Errorf("%d directories were read again, want 3", n)
	}
	equal(t, "protected", mounts(t, look(t, o)), append(want, "d04/new/sub/.envrc"))

	// Another directory under the same name is another directory.
	if err := os.Rename(filepath.Join(o.Project, "d02"), filepath.Join(o.Project, "d02b")); err != nil {
		t.Fatal(err)
	}
	put(t, o.Project, "d02/x")
	equal(t, "protected", mounts(t, look(t, o)), []string{".github/workflows/", "CLAUDE.md", "d01/x.git/", "d02b/.envrc", "d03/.vscode/", "d04/new/sub/.envrc"})
}

func TestRacyTimes(t *testing.T) {
	read := time.Unix(1_000_000, 500_000_000)
	for _, c := range []struct {
		before time.Duration // the ctime, before the reading
		want   bool
	}{
		{time.Millisecond, true}, {19 * time.Millisecond, true}, {21 * time.Millisecond, false}, {time.Hour, false}, {-time.Hour, true},
		{500 * time.Millisecond, true}, {1500 * time.Millisecond, true}, {2500 * time.Millisecond, false}, // whole seconds
	} {
		if got := racy(read.Add(-c.before).UnixNano(), read); got != c.want {
			t.Errorf("changed %v before it was read: racy %v", c.before, got)
		}
	}
	dir := project(t, "a/x")
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	root := newNode(nil, "")
	w := &walker{ctx: context.Background(), d: d, dirs: 9, entries: 99, missed: &missed{}}
	if err := w.look(root); err != nil || root.ctime != 0 {
		t.Errorf("what was made just now is relied upon: %d, %v", root.ctime, err)
	}
}

// TestRacy: a directory that was read in the moment in which it changed is read again.
func TestRacy(t *testing.T) {
	o, _ := remembered(t)
	for i := range 20 {
		put(t, o.Project, "d05/"+string(rune('a'+i)))
		w := look(t, o)
		put(t, o.Project, "d05/.envrc")
		taken, err := w.After(context.Background(), nil, filepath.Join(t.TempDir(), "to"))
		if err != nil || len(taken) != 1 {
			t.Fatalf("round %d: %v, %v", i, taken, err)
		}
	}
}

// TestCacheIsNotBelieved: a cache that is damaged, of another project, of another bound or
// no file at all changes nothing about what is found.
func TestCacheIsNotBelieved(t *testing.T) {
	o, raw := remembered(t)
	want := mounts(t, look(t, o))
	other, _ := remembered(t)
	check := func(what string) {
		t.Helper()
		w := look(t, o)
		equal(t, what, mounts(t, w), want)
	}
	for i := 0; i < len(raw); i += 97 {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x41
		if err := os.WriteFile(o.Cache, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if walked(t, o) == 0 {
			t.Fatalf("byte %d was changed, and the rest believed", i)
		}
		if err := os.WriteFile(o.Cache, raw[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		if walked(t, o) == 0 {
			t.Fatalf("the first %d bytes were believed", i)
		}
	}
	check("after a torn write")
	if err := os.Rename(other.Cache, o.Cache); err != nil {
		t.Fatal(err)
	}
	check("with another project's")
	if err := os.WriteFile(o.Cache, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	low := o
	low.Max = 10
	if n := len(look(t, low).Unbound()); n != 1 {
		t.Error("another bound was passed over")
	}
	check("with another bound's")
	os.Remove(o.Cache)
	put(t, o.Cache, "directory/")
	check("with a directory in its place")
}

// TestCacheIsStrict: one that somebody made with care, checksum and all, is as worthless.
func TestCacheIsStrict(t *testing.T) {
	id := info{dev: 1, ino: 2}
	tree := func(kids ...string) memory {
		m := memory{tree: newNode(nil, "")}
		m.tree.seen = true
		for _, k := range kids {
			m.tree.kids = append(m.tree.kids, newNode(m.tree, k))
		}
		return m
	}
	sealed := func(raw []byte) []byte {
		binary.LittleEndian.PutUint32(raw[len(cacheMagic):], table.Sum(raw[len(cacheMagic)+4:]))
		return raw
	}
	good := encode(tree("a", "b"), id, 9)
	if m, err := decode(good, id, 9); err != nil || len(m.tree.kids) != 2 {
		t.Fatal(m, err)
	}
	found := tree()
	found.tree.found = []named{{"Makefile", nil}}
	all := tree("a", "b", "c")
	for _, k := range all.tree.kids {
		k.seen = true
	}
	up := tree()
	up.found = []string{"../x"}
	for name, c := range map[string]struct {
		raw  []byte
		id   info
		most int
	}{
		"another project":             {good, info{dev: 1, ino: 3}, 9},
		"another device":              {good, info{dev: 2, ino: 2}, 9},
		"another bound":               {good, id, 8},
		"something behind":            {sealed(append(bytes.Clone(good), 0)), id, 9},
		"names in no order":           {encode(tree("b", "a"), id, 9), id, 9},
		"a name twice":                {encode(tree("a", "a"), id, 9), id, 9},
		"a name that leads up":        {encode(tree(".."), id, 9), id, 9},
		"a name with a zero":          {encode(tree("a\x00b"), id, 9), id, 9},
		"a path that leads up":        {encode(up, id, 9), id, 9},
		"a file of no kind":           {encode(found, id, 9), id, 9},
		"more directories than meant": {encode(all, id, 3), id, 3},
	} {
		if _, err := decode(c.raw, c.id, c.most); err == nil {
			t.Errorf("%s was believed", name)
		}
	}
}

// FuzzCache: what is taken is written again byte for byte, and nothing panics.
func FuzzCache(f *testing.F) {
	o, raw := remembered(f)
	d, err := openDisk(o.Project)
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	body := raw[len(cacheMagic)+4:]
	f.Add(body)
	f.Add(body[:28])
	f.Fuzz(func(t *testing.T, body []byte) {
		raw := append([]byte(cacheMagic), 0, 0, 0, 0)
		raw = append(raw, body...)
		sum := table.Sum(body)
		for i := range 4 {
			raw[len(cacheMagic)+i] = byte(sum >> (8 * i))
		}
		// The head has to fit, or nothing behind it would ever be read.
		copy(raw[len(cacheMagic)+4:], encode(memory{tree: newNode(nil, "")}, d.id, usualMax)[len(cacheMagic)+4:len(cacheMagic)+32])
		sum = table.Sum(raw[len(cacheMagic)+4:])
		for i := range 4 {
			raw[len(cacheMagic)+i] = byte(sum >> (8 * i))
		}
		m, err := decode(raw, d.id, usualMax)
		if err != nil {
			return
		}
		if again := encode(m, d.id, usualMax); !bytes.Equal(again, raw) {
			t.Errorf("taken %x\nwritten %x", raw, again)
		}
	})
}

package ward

import (
	"bytes"
	"context"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
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
		sum := crc32.Checksum(body, castagnoli)
		for i := range 4 {
			raw[len(cacheMagic)+i] = byte(sum >> (8 * i))
		}
		// The head has to fit, or nothing behind it would ever be read.
		copy(raw[len(cacheMagic)+4:], encode(memory{tree: newNode(nil, "")}, d.id, usualMax)[len(cacheMagic)+4:len(cacheMagic)+32])
		sum = crc32.Checksum(raw[len(cacheMagic)+4:], castagnoli)
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

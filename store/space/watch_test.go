package space_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// linesOf is what a look says, a line each.
func linesOf(k *space.Look) (lines []string) {
	for _, r := range k.Rows() {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %q", r.Path, r.Ref, r.State, r.Sum, r.Code, r.Description))
	}
	return lines
}

// TestWatch: whatever is done to a working tree, the next look through a Watch says what a
// look at every file says.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	item := func(i int, says string) (string, []byte) {
		p := fmt.Sprintf("tools/acme/t%d.sh", i)
		return p, w.sign(w.project, p, body("1.0.0", says))
	}
	for i := range 8 {
		p, raw := item(i, "first")
		w.write(w.project, p, raw)
	}
	at := func(p string) string { return filepath.Join(w.project.Dir, p) }
	v := &space.Watch{}
	defer v.Close()
	look := func() *space.Look {
		t.Helper()
		s := w.stack()
		k, err := v.Look(t.Context(), s, s.Project)
		w.must(err)
		return k
	}
	compare := func(what string) {
		t.Helper()
		s := w.stack()
		want, err := s.Look(t.Context(), s.Project)
		w.must(err)
		if got, want := linesOf(look()), linesOf(want); !slices.Equal(got, want) {
			t.Errorf("after %s:\n%q, want\n%q", what, got, want)
		}
	}
	quiet := func() {
		t.Helper()
		for range 4 {
			look()
		}
		if runtime.GOOS == "linux" && look() != look() {
			t.Errorf("nothing happened, and it was looked again")
		}
	}
	quiet()
	elsewhere := t.TempDir()
	for _, c := range []struct {
		what string
		do   func()
	}{
		{"a file that was written anew", func() { p, raw := item(0, "second"); w.write(w.project, p, raw) }},
		{"a file that took its place", func() {
			p, raw := item(1, "third")
			w.must(os.WriteFile(filepath.Join(elsewhere, "t"), raw, 0o644))
			w.must(os.Rename(filepath.Join(elsewhere, "t"), at(p)))
		}},
		{"a byte more at the end", func() {
			f, err := os.OpenFile(at("tools/acme/t2.sh"), os.O_WRONLY|os.O_APPEND, 0)
			w.must(err)
			_, err = f.WriteString("#")
			w.must(err)
			w.must(f.Close())
		}},
		{"a file cut off", func() { w.must(os.Truncate(at("tools/acme/t3.sh"), 20)) }},
		{"a file that is gone", func() { w.remove(w.project, "tools/acme/t4.sh") }},
		{"a link in its place", func() {
			w.remove(w.project, "tools/acme/t5.sh")
			w.must(os.Symlink("/etc/passwd", at("tools/acme/t5.sh")))
		}},
		{"a new file", func() { p, raw := item(9, "new"); w.write(w.project, p, raw) }},
		{"a new kind of item", func() {
			w.write(w.project, "knowledge/acme/k.md", []byte("---\nid: k\ntitle: K\nversion: 1.0.0\n---\ntext\n"))
		}},
		{"a new folder in a new folder", func() { w.write(w.project, "tools/acme/deep/er/x.sh", body("1.0.0", "deep")) }},
		{"a change in that", func() { w.write(w.project, "tools/acme/deep/er/x.sh", body("1.0.1", "deeper")) }},
		{"a folder with another name", func() { w.must(os.Rename(at("tools/acme/deep"), at("tools/acme/shallow"))) }},
		{"a change in that one", func() { w.write(w.project, "tools/acme/shallow/er/x.sh", body("1.0.2", "shallow")) }},
		{"a folder that went elsewhere", func() { w.must(os.Rename(at("tools/acme/shallow"), filepath.Join(elsewhere, "gone"))) }},
		{"a folder that came back", func() { w.must(os.Rename(filepath.Join(elsewhere, "gone"), at("tools/acme/shallow"))) }},
		{"a folder that is gone", func() { w.must(os.RemoveAll(at("tools/acme/shallow"))) }},
		{"another folder of the same name", func() {
			w.must(os.Rename(at("tools/acme"), filepath.Join(elsewhere, "acme")))
			w.write(w.project, "tools/acme/t0.sh", body("1.5.0", "other"))
		}},
		{"a change in the other", func() { w.write(w.project, "tools/acme/t0.sh", body("1.5.1", "other")) }},
		{"a new record", func() {
			p, raw := item(6, "recorded")
			w.write(w.project, p, raw)
			w.record(w.project, store.Change{Path: p, Data: raw})
		}},
		{"a key that nobody trusts", func() { w.must(w.trust.DenyKey(w.key.Public().Fingerprint(), "lost")) }},
		{"another directory in its place", func() {
			w.must(os.Rename(w.project.Dir, filepath.Join(elsewhere, "old")))
			w.write(w.project, "tools/acme/t0.sh", body("2.0.0", "another"))
		}},
		{"a change there", func() { w.write(w.project, "tools/acme/t0.sh", body("2.0.1", "another yet")) }},
		{"no directory", func() { w.must(os.RemoveAll(w.project.Dir)) }},
	} {
		c.do()
		compare(c.what)
		quiet()
	}
}

// TestWatchWhileOthersWrite: a look that begins after a write returned has what was written,
// with several who look and several who write.
func TestWatchWhileOthersWrite(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		for j := range 5 {
			w.write(w.project, fmt.Sprintf("tools/acme/w%d/t%d.sh", i, j), body("1.0.0", "none"))
		}
	}
	v := &space.Watch{}
	defer v.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil && n < 60; n++ {
				p, says := fmt.Sprintf("tools/acme/w%d/t%d.sh", i, n%5), fmt.Sprintf("number %d", n)
				if n%7 == 0 {
					p = fmt.Sprintf("tools/acme/w%d/new%d/t.sh", i, n)
				}
				file := filepath.Join(w.project.Dir, p)
				os.MkdirAll(filepath.Dir(file), 0o755)
				if err := os.WriteFile(file, body("1.0.0", says), 0o644); err != nil {
					t.Error(err)
					return
				}
				s := w.stack()
				k, err := v.Look(t.Context(), s, s.Project)
				if err != nil {
					t.Error(err)
					return
				}
				if !slices.ContainsFunc(k.Rows(), func(r space.Row) bool { return r.Path == p && r.Description == says }) {
					t.Errorf("%s was written, and a look does not say so", p)
					return
				}
			}
		})
	}
	all.Wait()
}

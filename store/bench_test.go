package store

import (
	"bytes"
	"fmt"
	"math/rand"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// itemText is about what an item is: 4.6 KB of text that deflates to 40 %.
func itemText(rng *rand.Rand) []byte {
	words := strings.Fields("the a tool directive knowledge agent runs signed object history limit verify and or when model returns file path")
	var b bytes.Buffer
	for b.Len() < 1000+rng.Intn(7200) {
		fmt.Fprintf(&b, "%s %s %x\n", words[rng.Intn(len(words))], words[rng.Intn(len(words))], rng.Intn(1<<20))
	}
	return b.Bytes()
}

func items(n int) []Change {
	rng := rand.New(rand.NewSource(1))
	cs := make([]Change, n)
	for i := range cs {
		cs[i] = Change{Path: fmt.Sprintf("knowledge/ns%d/d%d/item%d.md", i%7, i/200, i), Data: itemText(rng)}
	}
	return cs
}

// repoOf is a repository of n items in one pack.
func repoOf(b *testing.B, n int) (*Repo, string) {
	b.Helper()
	r := newRepo(b)
	cs := items(n)
	mustEdit(b, r, "items", cs...)
	return r, cs[n/2].Path
}

// BenchmarkReadOne reads one item by path, each time from a freshly opened
// repository: what a short process does. It must not grow with the number of items.
func BenchmarkReadOne(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		if n > 10_000 && testing.Short() {
			continue
		}
		r, path := repoOf(b, n)
		read := func(r *Repo) error {
			tip, err := r.Ref(testHead)
			if err != nil {
				return err
			}
			c, err := r.Commit(tip)
			if err != nil {
				return err
			}
			e, err := r.Lookup(c.Tree, path)
			if err != nil {
				return err
			}
			_, err = r.Blob(e.ID, 0)
			return err
		}
		b.Run(fmt.Sprintf("cold/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := Open(r.Dir())
				if err != nil {
					b.Fatal(err)
				}
				if err := read(r); err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
		b.Run(fmt.Sprintf("warm/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(r); err != nil {
					b.Fatal(err)
				}
			}
		})
		if gitBin != "" {
			b.Run(fmt.Sprintf("git-show/%d", n), func(b *testing.B) {
				for b.Loop() {
					git(b, r.Dir(), "show", "HEAD:"+path)
				}
			})
		}
	}
}

// BenchmarkEdit commits one item of an existing thousand, durably; then without
// waiting for the disk, which is what the commit costs over its fsyncs.
func BenchmarkEdit(b *testing.B) {
	for _, durable := range []bool{true, false} {
		b.Run(fmt.Sprintf("durable=%v", durable), func(b *testing.B) {
			r, path := repoOf(b, 1000)
			testOnlyNoSync = !durable
			defer func() { testOnlyNoSync = false }()
			i := 0
			for b.Loop() {
				i++
				mustEdit(b, r, "edit", put(path, fmt.Sprint("text ", i, b.N)))
			}
		})
	}
}

// BenchmarkTakeIn writes 10,000 items, their trees and one commit, durably, beside
// git fast-import with the same input. Texts are made outside the timing.
func BenchmarkTakeIn(b *testing.B) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	cs := items(n)
	var stream bytes.Buffer
	fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter G <g@example.org> 1700000000 +0000\ndata 2\nm\n\n")
	for _, c := range cs {
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", c.Path, len(c.Data), c.Data)
	}
	b.Run("rye", func(b *testing.B) {
		start := testkit.CPUTime()
		for b.Loop() {
			r := newRepo(b)
			mustEdit(b, r, "items", cs...)
		}
		b.ReportMetric(float64((testkit.CPUTime()-start).Milliseconds())/float64(b.N), "cpu-ms/op")
	})
	if gitBin == "" {
		return
	}
	b.Run("git-fast-import", func(b *testing.B) {
		var cpu time.Duration
		for b.Loop() {
			dir := filepath.Join(b.TempDir(), "g")
			git(b, "", "init", "-q", "--bare", dir)
			cmd := exec.Command(gitBin, "-c", "core.fsync=committed", "fast-import", "--quiet")
			cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnv(), bytes.NewReader(stream.Bytes())
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
	})
}

// BenchmarkSend writes a pack of 10,000 items and takes it in elsewhere.
func BenchmarkSend(b *testing.B) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	r, _ := repoOf(b, n)
	tip, err := r.Ref(testHead)
	if err != nil {
		b.Fatal(err)
	}
	var pack bytes.Buffer
	if err := r.PackFor(b.Context(), &pack, []OID{tip}, nil); err != nil {
		b.Fatal(err)
	}
	b.Run("PackFor", func(b *testing.B) {
		for b.Loop() {
			pack.Reset()
			if err := r.PackFor(b.Context(), &pack, []OID{tip}, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(pack.Len()))
	})
	b.Run("Import", func(b *testing.B) {
		for b.Loop() {
			q, err := newRepo(b).Import(b.Context(), bytes.NewReader(pack.Bytes()), Limits{})
			if err != nil {
				b.Fatal(err)
			}
			q.Discard()
		}
		b.SetBytes(int64(pack.Len()))
	})
	if gitBin == "" {
		return
	}
	b.Run("git-index-pack", func(b *testing.B) {
		for b.Loop() {
			dir := filepath.Join(b.TempDir(), "g")
			git(b, "", "init", "-q", "--bare", dir)
			gitIn(b, dir, pack.Bytes(), "index-pack", "--stdin")
		}
		b.SetBytes(int64(pack.Len()))
	})
}

// BenchmarkHistory follows one item through 300 commits that mostly touch others.
func BenchmarkHistory(b *testing.B) {
	r, path := repoOf(b, 1000)
	testOnlyNoSync = true
	for i := range 300 {
		p := fmt.Sprintf("knowledge/other/%d.md", i%50)
		if i%30 == 0 {
			p = path
		}
		mustEdit(b, r, fmt.Sprint(i), put(p, fmt.Sprint(i)))
	}
	testOnlyNoSync = false
	tip, _ := r.Ref(testHead)
	if gitBin != "" {
		git(b, r.Dir(), "repack", "-adq")
		b.Run("git-log", func(b *testing.B) {
			for b.Loop() {
				git(b, r.Dir(), "log", "--first-parent", "--format=%H", "HEAD", "--", path)
			}
		})
	}
	b.Run("rye", func(b *testing.B) {
		for b.Loop() {
			r, err := Open(r.Dir())
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			if err := r.History(b.Context(), tip, path, func(*Commit, Entry) error { n++; return nil }); err != nil || n != 11 {
				b.Fatal(n, err)
			}
			r.Close()
		}
	})
}

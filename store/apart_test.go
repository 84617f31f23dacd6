package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rye-os/rye/fault"
)

// helper starts this test program as a reader of packs; see TestMain.
func helper(t testing.TB) []string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, "__import"}
}

func apart(t testing.TB, r *Repo, pack []byte) (*Quarantine, error) {
	t.Helper()
	q, err := r.ImportApart(t.Context(), helper(t), bytes.NewReader(pack), Limits{}, nil)
	if err == nil {
		t.Cleanup(q.Discard)
	}
	return q, err
}

// TestImportApart: what the other process reads is the same quarantine.
func TestImportApart(t *testing.T) {
	r := newRepo(t)
	inRepo, err := r.Put(t.Context(), TypeBlob, []byte("in the repository"))
	if err != nil {
		t.Fatal(err)
	}
	hash := func(s string) OID { return SHA1.Hash(TypeBlob, []byte(s)) }
	var p packBuilder
	p.ofs(p.blob("hello"), delta(5, 1, ", you"))
	p.ref(inRepo, delta(17, 1, "?")) // thin: the process looks into the repository
	tree, _ := EncodeTree([]Entry{{"f", ModeFile, hash("elsewhere")}})
	p.entry(TypeTree, int64(len(tree)), nil, tree)
	here, err := importBytes(t, r, p.done(-1), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := apart(t, r, p.done(-1))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(q.Objects(), here.Objects()) || !slices.Equal(q.outside, here.outside) || q.linked != here.linked || len(q.outside) != 1 {
		t.Errorf("apart: %v, %v, here: %v, %v", q.Objects(), q.outside, here.Objects(), here.outside)
	}
	if err := q.Connected(t.Context(), SHA1.Hash(TypeTree, tree)); !fault.Is(err, fault.Malformed) {
		t.Errorf("with a hole: %v", err)
	}
	if err := q.Accept(t.Context(), hash("hello, you"), hash("in the repository?")); err != nil {
		t.Fatal(err)
	}
	if b, err := reopen(t, r).Blob(hash("in the repository?"), 0); err != nil || string(b) != "in the repository?" {
		t.Errorf("after Accept: %q, %v", b, err)
	}
	here.Discard()
	if l := leftovers(t, r); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// TestImportApartBrokenSource: the connection's error comes through, and a pack that
// is refused early ends the reading of what follows.
func TestImportApartBrokenSource(t *testing.T) {
	r := newRepo(t)
	var p packBuilder
	p.blob(strings.Repeat("hello", 1000))
	pack := p.done(-1)
	boom := fault.New(fault.Network, "connection reset")
	_, err := r.ImportApart(t.Context(), helper(t), io.MultiReader(bytes.NewReader(pack[:len(pack)-9]), iotest.ErrReader(boom)), Limits{}, nil)
	if !errors.Is(err, boom) || !fault.Is(err, fault.Network) {
		t.Errorf("broken source: %v", err)
	}
	pr, pw := io.Pipe()
	go pw.Write([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xf0")) // and never more
	_, err = r.ImportApart(t.Context(), helper(t), pr, Limits{}, func() { pr.CloseWithError(io.ErrClosedPipe) })
	if !fault.Is(err, fault.Limit) {
		t.Errorf("refused early: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := r.ImportApart(ctx, helper(t), bytes.NewReader(pack), Limits{}, nil); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("cancelled: %v", err)
	}
	if l := leftovers(t, r); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// TestImportApartChecksTheAnswer: what the process says is compared with the files.
func TestImportApartChecksTheAnswer(t *testing.T) {
	r := newRepo(t)
	var p packBuilder
	p.blob("hello")
	q, err := apart(t, r, p.done(-1))
	if err != nil {
		t.Fatal(err)
	}
	good := fmt.Sprintf("ok %x %s 1 true 0\n", q.sum, filepath.Base(q.path))
	if _, err := r.understand(q.dir, []byte(good)); err != nil {
		t.Fatal(err)
	}
	other := make([]byte, len(q.sum))
	for name, c := range map[string]struct {
		answer string
		code   fault.Code
	}{
		"nothing":          {"", fault.Failed},
		"half":             {good[:20], fault.Failed},
		"another sum":      {fmt.Sprintf("ok %x %s 1 true 0\n", other, filepath.Base(q.path)), fault.Integrity},
		"another count":    {strings.Replace(good, " 1 true", " 2 true", 1), fault.Integrity},
		"a path":           {fmt.Sprintf("ok %x ../%s 1 true 0\n", q.sum, filepath.Base(q.path)), fault.Failed},
		"more ids":         {strings.Replace(good, "true 0", "true 1", 1), fault.Failed},
		"an id that isn't": {strings.Replace(good, "true 0", "true 1", 1) + strings.Repeat("x", 40) + "\n", fault.Failed},
		"a code of none":   {"error nonsense why\n", fault.Failed},
		"refused":          {"error limit too much\n", fault.Limit},
	} {
		if _, err := r.understand(q.dir, []byte(c.answer)); fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want code %q", name, err, c.code)
		}
	}
}

// TestImportApartDies: a process that takes too much memory, or breaks, is an error
// with a code, and costs this process nothing.
func TestImportApartDies(t *testing.T) {
	r := newRepo(t)
	var p packBuilder
	p.blob("hello")
	for what, code := range map[string]fault.Code{"memory": fault.Limit, "panic": fault.Malformed, "kill": fault.Limit} {
		t.Run(what, func(t *testing.T) {
			_, err := r.ImportApart(t.Context(), append(helper(t), what), bytes.NewReader(p.done(-1)), Limits{}, nil)
			if !fault.Is(err, code) {
				t.Errorf("%v, want code %q", err, code)
			}
		})
	}
	if l := leftovers(t, r); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// misbehave is a reader of packs as it should not be; see TestMain.
func misbehave(what string) {
	if err := confine(DefaultLimits); err != nil {
		fmt.Println("error failed", err)
		os.Exit(1)
	}
	switch what {
	case "memory":
		for all := [][]byte{}; len(all) < 1000; {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "panic":
		panic("broken")
	case "kill":
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
	}
}

// BenchmarkImport compares reading a small and a large pack here and apart.
func BenchmarkImport(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		var p packBuilder
		for i := range n {
			p.blob(strings.Repeat(fmt.Sprintf("line %d of a file\n", i), 100))
		}
		pack := p.done(-1)
		r := newRepo(b)
		for _, how := range []string{"here", "apart"} {
			b.Run(fmt.Sprintf("%d/%s", n, how), func(b *testing.B) {
				for b.Loop() {
					var q *Quarantine
					var err error
					if how == "here" {
						q, err = r.Import(b.Context(), bytes.NewReader(pack), Limits{})
					} else {
						q, err = r.ImportApart(b.Context(), helper(b), bytes.NewReader(pack), Limits{}, nil)
					}
					if err != nil {
						b.Fatal(err)
					}
					q.Discard()
				}
			})
		}
	}
}

// FuzzApartAnswer: whatever a reader of packs says, it is refused or true of the files.
func FuzzApartAnswer(f *testing.F) {
	r, err := Init(filepath.Join(f.TempDir(), "r"), testHead)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { r.Close() })
	var p packBuilder
	p.blob("hello")
	q, err := r.Import(context.Background(), bytes.NewReader(p.done(-1)), Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(q.Discard)
	f.Add(fmt.Appendf(nil, "ok %x %s 1 true 0\n", q.sum, filepath.Base(q.path)))
	f.Add(fmt.Appendf(nil, "ok %x %s 1 false 1\n%s\n", q.sum, filepath.Base(q.path), oidA))
	f.Add([]byte("error limit too much\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, err := r.understand(q.dir, answer)
		if err != nil {
			return
		}
		defer got.src.close()
		if !slices.Equal(got.Objects(), q.Objects()) || got.path != q.path {
			t.Fatalf("%q makes a quarantine of %v at %s", answer, got.Objects(), got.path)
		}
	})
}

// FuzzCommitLinks: what reachability takes from a commit is what a strict reader sees,
// where that accepts it, and never panics where it does not.
func FuzzCommitLinks(f *testing.F) {
	f.Add([]byte(commitText("tree "+oidA, "parent "+oidB, "author "+stamp, "committer "+stamp, "gpgsig a\n b", "", "msg")))
	f.Add([]byte(commitText("tree "+oidA, "tree "+oidB, "author "+stamp, "committer "+stamp, "", "msg")))
	f.Add([]byte(commitText("tree "+oidA, "author "+stamp, "encoding x", "committer "+stamp, "", "msg")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tree, parents, when, err := commitLinks(raw)
		c, strict := ParseCommit(raw)
		if strict != nil {
			return
		}
		if err != nil || tree != c.Tree || !slices.Equal(parents, c.Parents) || when != c.Committer.Unix {
			t.Fatalf("%q: %v, %v, %d, %v; strictly %+v", raw, tree, parents, when, err, c)
		}
	})
}

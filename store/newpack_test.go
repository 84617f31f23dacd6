package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPackOfANewName: the same objects, written again, are a pack that git repack cannot
// have listed before.
func TestPackOfANewName(t *testing.T) {
	r := newRepo(t)
	one := func() {
		b := r.NewBatch()
		defer b.Discard()
		_, err := b.Add(TypeBlob, []byte("the same text"))
		must(t, err)
		must(t, b.Flush(t.Context()))
	}
	two := func() {
		var p packBuilder
		p.blob("from outside")
		q, err := r.Import(t.Context(), bytes.NewReader(p.done(-1)), Limits{})
		must(t, err)
		defer q.Discard()
		must(t, q.Accept(t.Context()))
	}
	for n, write := range []func(){one, one, one, two, two, two} {
		write()
		packs, err := filepath.Glob(filepath.Join(r.dir, "objects", "pack", "pack-*.pack"))
		must(t, err)
		if len(packs) != n+1 {
			t.Errorf("after %d: %d packs", n+1, len(packs))
		}
		for _, p := range packs {
			st, err := os.Stat(p)
			if must(t, err); st.Mode().Perm() != 0o444 {
				t.Errorf("%s: mode %v", p, st.Mode())
			}
		}
	}
	for _, text := range []string{"the same text", "from outside"} {
		if got, err := reopen(t, r).Blob(SHA1.Hash(TypeBlob, []byte(text)), 0); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	wrong, err := r.BrokenPacks(t.Context())
	if must(t, err); len(wrong) > 0 {
		t.Error(wrong)
	}
	if text, err := tryGit(r.dir, nil, "fsck", "--strict"); err != nil {
		t.Errorf("git fsck: %v\n%s", err, text)
	}
}

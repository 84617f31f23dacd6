package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// packBytes sums up packs and their indexes.
func packBytes(t testing.TB, dir string) (n int64) {
	t.Helper()
	for _, ext := range []string{"pack", "idx"} {
		names, _ := filepath.Glob(filepath.Join(dir, "objects/pack/*."+ext))
		for _, name := range names {
			fi, err := os.Stat(name)
			must(t, err)
			n += fi.Size()
		}
	}
	return n
}

// byGit returns how many bytes git makes of a copy of a repository.
func byGit(t testing.TB, r *Repo, args ...string) int64 {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "git.git")
	must(t, os.CopyFS(dir, os.DirFS(r.Dir())))
	git(t, dir, append([]string{"-c", "repack.writeBitmaps=false", "-c", "pack.threads=1"}, args...)...)
	return packBytes(t, dir)
}

// wantSmall compacts and fails where git gc, or git repack -adf, makes much less of it.
func wantSmall(t *testing.T, r *Repo) Compacted {
	t.Helper()
	gc := byGit(t, r, "gc", "--quiet", "--prune=now")
	c, err := r.Compact(t.Context(), CompactOptions{})
	must(t, err)
	ours := packBytes(t, r.Dir())
	again := byGit(t, r, "repack", "-adfq")
	t.Logf("%d objects: %d bytes, git gc %d, then git repack -adf %d", c.Objects, ours, gc, again)
	for what, theirs := range map[string]int64{"git gc": gc, "git repack -adf": again} {
		if 10*ours > 13*theirs {
			t.Errorf("%d bytes; %s makes %d", ours, what, theirs)
		}
	}
	fsck(t, r.Dir())
	return c
}

// signedItem is a text of n bytes with a line that is another for each version, as
// signatures are.
func signedItem(r *rand.Rand, text []byte) []byte {
	line := fmt.Sprintf("<!-- rye:signed:v2:2026-11-22T15:04:05Z:%x:%s -->\n", randomBytes(r, 32), base64.RawURLEncoding.EncodeToString(randomBytes(r, 96)))
	return append([]byte(line), text...)
}

// signedHistory makes commits of one item each, of items that are 1 to 4 KB long.
func signedHistory(t testing.TB, r *Repo, commits, items int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(commits)))
	text := make([][]byte, items)
	for i := range commits {
		n := i % items
		if i < items {
			text[n] = prose(rnd, 1000+rnd.IntN(3000))
		} else {
			text[n] = edited(rnd, text[n], 3)
		}
		change := Change{Path: fmt.Sprintf("knowledge/acme/t%d/item-%d.md", n%5, n), Data: signedItem(rnd, text[n])}
		o := opts(fmt.Sprint("sign knowledge:acme/item-", n))
		o.Signer = randomSigner{rnd}
		if _, err := r.Edit(context.Background(), testHead, []Change{change}, o); err != nil {
			t.Fatal(err)
		}
	}
}

// randomSigner makes what is as long as a signature by ssh-keygen, and as hard to deflate.
type randomSigner struct{ r *rand.Rand }

func (s randomSigner) SignCommit(context.Context, []byte) (string, error) {
	key := "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgq1VtGpJf1mXc2oVqQm9c\n7yH4v0sZ3hH0AAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAUwAAAAtzc2gtZWQyNTUx\nOQAAAEA"
	sig := base64.StdEncoding.EncodeToString(randomBytes(s.r, 64))
	return "-----BEGIN SSH SIGNATURE-----\n" + key + sig[:10] + "\n" + sig[10:70] + "\n" + sig[70:] + "\n-----END SSH SIGNATURE-----", nil
}

func TestCompactIsSmall(t *testing.T) {
	needGit(t)
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	r := newRepo(t)
	signedHistory(t, r, 500, 60)
	wantSmall(t, r)
}

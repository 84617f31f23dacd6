package store

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// graph is a repository with merges, a root commit as second parent, a revert,
// and clocks that run backwards here and there.
func graph(t testing.TB, seed int64, n int) (*Repo, []OID) {
	t.Helper()
	r := newRepo(t)
	rng := rand.New(rand.NewSource(seed))
	b := r.NewBatch()
	defer b.Discard()
	var commits []OID
	trees := map[OID]OID{}
	for i := range n {
		o := opts(fmt.Sprint("c", i))
		o.When = testTime.AddDate(0, 0, i-3*rng.Intn(3))
		var parents []OID
		var base OID
		if i > 0 && rng.Intn(8) > 0 {
			parents = []OID{commits[max(0, i-1-rng.Intn(3))]}
			base = trees[parents[0]]
			if other := commits[rng.Intn(i)]; rng.Intn(4) == 0 && other != parents[0] {
				parents = append(parents, other)
			}
		}
		tree, err := b.EditTree(base, []Change{put(fmt.Sprintf("d%d/f%d", rng.Intn(3), rng.Intn(4)), fmt.Sprint(rng.Intn(6)))})
		if err != nil {
			t.Fatal(err)
		}
		id, err := b.Commit(t.Context(), tree, parents, o)
		if err != nil {
			t.Fatal(err)
		}
		trees[id] = tree
		commits = append(commits, id)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, id := range commits {
		swap(t, r, fmt.Sprintf("refs/heads/c%03d", i), OID{}, id)
	}
	return r, commits
}

// closure is everything reachable from ids, found the slow way.
func closure(t testing.TB, r *Reader, ids ...OID) map[OID]bool {
	t.Helper()
	seen := map[OID]bool{}
	for todo := slices.Clone(ids); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		links, err := r.links(id)
		if err != nil {
			t.Fatal(err)
		}
		todo = append(todo, links...)
	}
	return seen
}

func TestReachIsNeverTooLittle(t *testing.T) {
	for seed := range int64(5) {
		r, commits := graph(t, seed, 40)
		rng := rand.New(rand.NewSource(seed + 100))
		for range 40 {
			want := []OID{commits[rng.Intn(40)], commits[rng.Intn(40)]}
			var have []OID
			for range rng.Intn(3) {
				have = append(have, commits[rng.Intn(40)])
			}
			got, err := r.Reach(t.Context(), want, append(have, oidOf(bytes.Repeat([]byte{9}, 20))), ReachOptions{})
			if err != nil {
				t.Fatal(err)
			}
			theirs := closure(t, &r.Reader, have...)
			need := closure(t, &r.Reader, want...)
			listed := map[OID]bool{}
			for _, id := range got.Objects {
				if listed[id] {
					t.Fatalf("%s listed twice", id)
				}
				listed[id] = true
				if !need[id] {
					t.Fatalf("%s is not reachable from what is wanted", id)
				}
			}
			extra := 0
			for id := range need {
				if !theirs[id] && !listed[id] {
					ty, _, _ := r.Stat(id)
					t.Fatalf("seed %d: %s %s is missing", seed, ty, id)
				}
				if theirs[id] && listed[id] {
					extra++
				}
			}
			if len(have) == 0 && len(listed) != len(need) {
				t.Fatalf("%d objects, want %d", len(listed), len(need))
			}
			if extra > 12 {
				t.Errorf("seed %d: %d of %d objects are had already", seed, extra, len(listed))
			}
		}
	}
}

func TestPackForIsReadByGit(t *testing.T) {
	needGit(t)
	r, commits := graph(t, 7, 30)
	git(t, r.Dir(), "repack", "-adfq", "--depth=50") // deltas of git are sent, too
	mustEdit(t, r, "loose", put("x", "y"))
	tip, err := r.Ref(testHead)
	if err != nil {
		t.Fatal(err)
	}
	dst := newRepo(t)
	var have []OID
	for _, want := range [][]OID{{commits[10]}, {commits[20], commits[29]}, {tip}} {
		var b bytes.Buffer
		if err := r.PackFor(t.Context(), &b, want, have); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(t.TempDir(), "g")
		git(t, "", "init", "-q", "--bare", other)
		if len(have) == 0 {
			gitIn(t, other, b.Bytes(), "index-pack", "--strict", "--stdin")
		}
		q, err := importBytes(t, dst, b.Bytes(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Connected(t.Context(), want...); err != nil {
			t.Fatal(err)
		}
		if err := q.Accept(t.Context(), want...); err != nil {
			t.Fatal(err)
		}
		for i, id := range want {
			swap(t, dst, fmt.Sprintf("refs/heads/w%d-%d", len(have), i), OID{}, id)
		}
		q.Release()
		have = append(have, want...)
	}
	fsck(t, dst.Dir())
}

// TestWritePackCopiesRaw: what our packs hold is sent as it is, few or many, and
// a broken entry is not.
func TestWritePackCopiesRaw(t *testing.T) {
	r := newRepo(t)
	b := r.NewBatch()
	var ids []OID
	for i := range 400 {
		id, err := b.Add(TypeBlob, []byte(strings.Repeat(fmt.Sprint("text ", i), 50)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	pack, err := os.ReadFile(only(t, filepath.Join(r.Dir(), "objects/pack/*.pack")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.WritePack(t.Context(), &out, ids); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), pack) {
		t.Error("the whole pack is not sent as it lies")
	}
	out.Reset()
	if err := r.WritePack(t.Context(), &out, append(ids[:3:3], ids[0])); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes()[packHead:out.Len()-20], pack[packHead:out.Len()-20]) {
		t.Error("three entries are not sent as they lie")
	}
	if q, err := importBytes(t, newRepo(t), out.Bytes(), Limits{}); err != nil || len(q.Objects()) != 3 {
		t.Errorf("three entries: %v", err)
	}
	path := only(t, filepath.Join(r.Dir(), "objects/pack/*.pack"))
	os.Chmod(path, 0o644)
	pack[100] ^= 1
	if err := os.WriteFile(path, pack, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reopen(t, r).WritePack(t.Context(), &out, ids); !fault.Is(err, fault.Integrity) {
		t.Errorf("a broken pack: %v", err)
	}
	missing := SHA1.Hash(TypeBlob, []byte("missing"))
	if err := r.WritePack(t.Context(), &out, []OID{missing}); !isMissing(err) {
		t.Errorf("a missing object: %v", err)
	}
}

// TestReachFiltersAndDepth plays a shallow client against us.
func TestReachFiltersAndDepth(t *testing.T) {
	r := newRepo(t)
	var c []OID
	for i := range 6 {
		c = append(c, mustEdit(t, r, fmt.Sprint(i), put("a/f", strings.Repeat("x", i*100)), put("g", "same")))
	}
	types := func(ids []OID) (s string) {
		n := map[Type]int{}
		for _, id := range ids {
			ty, _, err := r.Stat(id)
			if err != nil {
				t.Fatal(err)
			}
			n[ty]++
		}
		return fmt.Sprintf("%dc %dt %db", n[TypeCommit], n[TypeTree], n[TypeBlob])
	}
	hex := func(ids []OID) (s string) {
		for _, id := range ids {
			s += fmt.Sprint(slices.Index(c, id))
		}
		return s
	}
	f, _ := r.treeOf(c[5])
	e, err := r.Lookup(f, "a/f")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name                string
		want, have          []OID
		o                   ReachOptions
		types, shallow, uns string
	}{
		{"all", c[5:], nil, ReachOptions{}, "6c 12t 7b", "", ""},
		{"one step", c[5:], c[4:5], ReachOptions{}, "1c 2t 1b", "", ""},
		{"nothing new", c[5:], c[5:], ReachOptions{}, "0c 0t 0b", "", ""},
		{"older", c[2:3], c[5:], ReachOptions{}, "0c 0t 0b", "", ""},
		{"no blobs", c[5:], nil, ReachOptions{NoBlobs: true}, "6c 12t 0b", "", ""},
		{"no trees", c[5:], nil, ReachOptions{NoTrees: true}, "6c 0t 0b", "", ""},
		{"small blobs", c[5:], nil, ReachOptions{BlobLimit: 300}, "6c 12t 4b", "", ""},
		{"a blob", []OID{e.ID}, nil, ReachOptions{NoBlobs: true}, "0c 0t 1b", "", ""},
		{"a tree", []OID{f}, nil, ReachOptions{}, "0c 2t 2b", "", ""},
		{"depth 1", c[5:], nil, ReachOptions{Depth: 1}, "1c 2t 2b", "5", ""},
		{"depth 2", c[5:], nil, ReachOptions{Depth: 2}, "2c 4t 3b", "4", ""},
		{"depth beyond", c[5:], nil, ReachOptions{Depth: 99}, "6c 12t 7b", "", ""},
		{"deepen by one", c[5:], c[5:], ReachOptions{Depth: 2, Shallow: c[5:]}, "1c 2t 1b", "4", "5"},
		{"unshallow", c[5:], c[5:], ReachOptions{Depth: 1 << 30, Shallow: c[5:]}, "5c 10t 5b", "", "5"},
		{"same depth", c[5:], c[5:], ReachOptions{Depth: 1, Shallow: c[5:]}, "0c 0t 0b", "", ""},
		{"fetch into shallow", c[5:], c[3:4], ReachOptions{Shallow: c[3:4]}, "2c 4t 2b", "", ""},
	} {
		got, err := r.Reach(t.Context(), row.want, row.have, row.o)
		if err != nil {
			t.Fatal(err)
		}
		if s := types(got.Objects); s != row.types || hex(got.Shallow) != row.shallow || hex(got.Unshallow) != row.uns {
			t.Errorf("%s: %s, shallow %q, unshallow %q; want %s, %q, %q", row.name, s, hex(got.Shallow), hex(got.Unshallow), row.types, row.shallow, row.uns)
		}
	}
	if _, err := r.Reach(t.Context(), []OID{oidOf(bytes.Repeat([]byte{9}, 20))}, nil, ReachOptions{}); !isMissing(err) {
		t.Errorf("an unknown id wanted: %v", err)
	}
}

func TestReachTags(t *testing.T) {
	needGit(t)
	r := newRepo(t)
	tip := mustEdit(t, r, "one", put("a", "1"))
	git(t, r.Dir(), "tag", "-a", "-m", "m", "v1", tip.String())
	git(t, r.Dir(), "tag", "-a", "-m", "m", "v2", "v1")
	v2, err := r.Ref("refs/tags/v2")
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Reach(t.Context(), []OID{v2}, nil, ReachOptions{})
	if err != nil || len(got.Objects) != 5 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = r.Reach(t.Context(), []OID{v2}, []OID{tip}, ReachOptions{}); err != nil || len(got.Objects) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

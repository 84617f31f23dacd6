package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// files lists the files of the tree at the tip of the test branch.
func namesIn(t testing.TB, r *Repo) map[string]string {
	t.Helper()
	tip, err := r.Ref(testHead)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Commit(tip)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	err = r.Walk(t.Context(), c.Tree, func(path string, e Entry) error {
		if e.IsDir() {
			return nil
		}
		b, err := r.Blob(e.ID, 0)
		got[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func del(path string) Change { return Change{Path: path, Delete: true} }

func TestEditTree(t *testing.T) {
	start := []Change{put("a/b/c", "1"), put("a/d", "2"), put("e", "3")}
	cases := []struct {
		name    string
		changes []Change
		want    string // files of the result, or the code of the error
	}{
		{"add", []Change{put("a/b/x", "4"), put("n/m", "5")}, "a/b/c=1 a/b/x=4 a/d=2 e=3 n/m=5"},
		{"replace", []Change{put("a/d", "9")}, "a/b/c=1 a/d=9 e=3"},
		{"last wins", []Change{put("a/d", "9"), put("a/d", "8")}, "a/b/c=1 a/d=8 e=3"},
		{"delete file", []Change{del("a/d")}, "a/b/c=1 e=3"},
		{"delete last of directory", []Change{del("a/b/c")}, "a/d=2 e=3"},
		{"delete directory", []Change{del("a")}, "e=3"},
		{"delete missing", []Change{del("x/y"), del("a/b/c/d"), del("e/f")}, "a/b/c=1 a/d=2 e=3"},
		{"delete all", []Change{del("a"), del("e")}, ""},
		{"put then delete", []Change{put("z", "1"), del("z")}, "a/b/c=1 a/d=2 e=3"},
		{"delete then put", []Change{del("e"), put("e", "7")}, "a/b/c=1 a/d=2 e=7"},
		{"directory over file", []Change{put("e/f", "1")}, "conflict"},
		{"directory for file", []Change{del("e"), put("e/f", "1")}, "a/b/c=1 a/d=2 e/f=1"},
		{"file over directory", []Change{put("a", "1")}, "conflict"},
		{"file for directory", []Change{del("a"), put("a", "1")}, "a=1 e=3"},
		{"file for emptied directory", []Change{del("a/b/c"), del("a/d"), put("a", "1")}, "a=1 e=3"},
		{"file and directory", []Change{put("n", "1"), put("n/m", "1")}, "conflict"},
		{"move", []Change{del("a/b"), put("q/c", "1")}, "a/d=2 e=3 q/c=1"},
		{"empty file", []Change{{Path: "z"}}, "a/b/c=1 a/d=2 e=3 z="},
		{"empty path", []Change{put("", "1")}, "malformed"},
		{"empty name", []Change{put("a//b", "1")}, "malformed"},
		{"absolute", []Change{put("/a", "1")}, "malformed"},
		{"dot dot", []Change{put("a/../b", "1")}, "malformed"},
		{"dot git", []Change{put("a/.GIT/config", "1")}, "malformed"},
		{"short name of dot git", []Change{put("git~1/x", "1")}, "malformed"},
		{"dot git that HFS folds", []Change{put(".g\u200cit/x", "1")}, "malformed"},
		{"control character", []Change{put("a\nb", "1")}, "malformed"},
		{"backslash", []Change{put(`a\b`, "1")}, "malformed"},
		{"symlink", []Change{{Path: "l", Mode: ModeSymlink}}, "usage"},
		{"unknown object", []Change{{Path: "l", ID: oidOf([]byte(strings.Repeat("x", 20)))}}, "not_found"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t)
			mustEdit(t, r, "start", start...)
			o := opts("change")
			o.AllowEmpty = true
			_, err := r.Edit(t.Context(), testHead, c.changes, o)
			var got []string
			for path, text := range namesIn(t, r) {
				got = append(got, path+"="+text)
			}
			slices.Sort(got)
			if err != nil {
				got = []string{string(fault.CodeOf(err))}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q (%v)", s, c.want, err)
			}
			fsck(t, r.Dir())
		})
	}
}

func TestEditCommits(t *testing.T) {
	r := newRepo(t)
	first := mustEdit(t, r, "first", put("a", "1"))
	if same := mustEdit(t, r, "again", put("a", "1"), del("none")); same != first {
		t.Error("an edit that changes nothing made a commit")
	}
	o := opts("empty")
	o.AllowEmpty = true
	second, err := r.Edit(t.Context(), testHead, nil, o)
	if err != nil || second == first {
		t.Errorf("AllowEmpty: %v, %v", second, err)
	}
	side := someCommits(t, r, 1)[0]
	o = opts("merge")
	o.Parents = []OID{side}
	third, err := r.Edit(t.Context(), testHead, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Commit(third)
	if err != nil || !slices.Equal(c.Parents, []OID{second, side}) || c.Author.Name != "Ann" || !c.Author.Time().Equal(testTime) {
		t.Errorf("%+v, %v", c, err)
	}
	for name, bad := range map[string]CommitOptions{
		"no newline": {Message: "x", Author: Ident{"A", "a"}, When: testTime},
		"no message": {Author: Ident{"A", "a"}, When: testTime},
		"no time":    {Message: "x\n", Author: Ident{"A", "a"}},
		"bad name":   {Message: "x\n", Author: Ident{"A\n", "a"}, When: testTime},
		"not UTF-8":  {Message: "\xff\n", Author: Ident{"A", "a"}, When: testTime},
	} {
		if id, err := r.Edit(t.Context(), testHead, []Change{put("z", "1")}, bad); err == nil {
			t.Errorf("%s: commit %v", name, id)
		}
	}
	fsck(t, r.Dir())
	if len(leftovers(t, r)) > 0 {
		t.Errorf("left in the nest: %v", leftovers(t, r))
	}
}

// TestLargeEditIsOnePack: many objects go into a pack, which is protected only
// while the ref moves.
func TestLargeEditIsOnePack(t *testing.T) {
	r := newRepo(t)
	var many []Change
	for i := range 300 {
		many = append(many, put(fmt.Sprintf("d%d/f%d", i%17, i), fmt.Sprint(i)))
	}
	mustEdit(t, r, "many", many...)
	only(t, filepath.Join(r.Dir(), "objects/pack/*.pack"))
	if k, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.keep")); len(k) > 0 {
		t.Errorf("kept: %v", k)
	}
	if got := len(namesIn(t, r)); got != 300 {
		t.Errorf("%d files", got)
	}
	fsck(t, r.Dir())
}

func TestLogHistoryDiff(t *testing.T) {
	r := newRepo(t)
	c1 := mustEdit(t, r, "1", put("t/a", "1"), put("t/b", "1"), put("z", "1"))
	c2 := mustEdit(t, r, "2", put("t/b", "2"))
	c3 := mustEdit(t, r, "3", put("t/a", "2"))
	c4 := mustEdit(t, r, "4", del("t/a"))
	c5 := mustEdit(t, r, "5", put("z", "2"))
	c6 := mustEdit(t, r, "6", put("t/a", "1"))
	log := func(from OID) (got []string) {
		err := r.Log(t.Context(), from, func(c *Commit) error {
			got = append(got, strings.TrimSpace(c.Message))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := strings.Join(log(c6), ""); got != "654321" {
		t.Errorf("Log = %s", got)
	}
	history := func(path string) (got string) {
		err := r.History(t.Context(), c6, path, func(c *Commit, e Entry) error {
			got += strings.TrimSpace(c.Message)
			if e.ID.IsZero() {
				got += "-"
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for path, want := range map[string]string{"t/a": "64-31", "t/b": "21", "z": "51", "t": "64321", "": "654321", "none": ""} {
		if got := history(path); got != want {
			t.Errorf("History(%q) = %s, want %s", path, got, want)
		}
	}
	n := 0
	if err := r.History(t.Context(), c6, "t/a", func(*Commit, Entry) error { n++; return SkipAll }); err != nil || n != 1 {
		t.Errorf("SkipAll: %d visits, %v", n, err)
	}
	diff := func(a, b OID) (got []string) {
		ta, _ := r.treeOf(a)
		tb, err := r.treeOf(b)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Diff(t.Context(), ta, tb, func(path string, old, new Entry) error {
			switch {
			case old.ID.IsZero():
				path = "+" + path
			case new.ID.IsZero():
				path = "-" + path
			}
			got = append(got, path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := strings.Join(diff(c1, c5), " "); got != "-t/a t/b z" {
		t.Errorf("Diff = %s", got)
	}
	if got := diff(c3, c3); len(got) != 0 {
		t.Errorf("Diff of one tree: %v", got)
	}
	_, _ = c2, c4
	tree, _ := r.treeOf(c1)
	var got []string
	r.Diff(t.Context(), OID{}, tree, func(path string, _, _ Entry) error { got = append(got, path); return nil })
	if strings.Join(got, " ") != "t/a t/b z" {
		t.Errorf("Diff from nothing: %v", got)
	}
}

// TestDiffAgrees compares Diff with git diff-tree on random trees.
func TestDiffAgrees(t *testing.T) {
	needGit(t)
	r := newRepo(t)
	prev := mustEdit(t, r, "0", put("a", "0"), put("a-b/c", "0"), put("d/e/f", "0"))
	for i, cs := range [][]Change{
		{del("a"), put("a/x", "1")},
		{put("a/y", "1"), del("a-b")},
		{del("a"), put("a", "1"), put("d/e.x", "2")},
		{del("d"), put("d", "1"), put("d.x", "1")},
	} {
		next := mustEdit(t, r, fmt.Sprint(i+1), cs...)
		var got []string
		ta, _ := r.treeOf(prev)
		tb, _ := r.treeOf(next)
		if err := r.Diff(t.Context(), ta, tb, func(path string, _, _ Entry) error { got = append(got, path); return nil }); err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(git(t, r.Dir(), "diff-tree", "-r", "--no-renames", "--name-only", ta.String(), tb.String()))
		if !slices.Equal(got, want) {
			t.Errorf("step %d: %v, git says %v", i, got, want)
		}
		prev = next
	}
}

// TestDiffAgreesAtRandom: the same for random edits of files and directories whose names sort apart.
func TestDiffAgreesAtRandom(t *testing.T) {
	needGit(t)
	r, rnd := newRepo(t), rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a-b", "a.c", "a0", "b", "b/a", "b/a-", "b/a/x", "b/a/y", "b0", "c/d/e", "c/d/f", "c/d-", "c.d"}
	prev, now := mustEdit(t, r, "0", put("a", "0")), map[string]bool{"a": true}
	for i := range 60 {
		var cs []Change
		for _, name := range names {
			clash := slices.ContainsFunc(names, func(n string) bool {
				return now[n] && (strings.HasPrefix(n, name+"/") || strings.HasPrefix(name, n+"/"))
			})
			switch k := rnd.IntN(4); {
			case k == 0 && !clash:
				cs, now[name] = append(cs, put(name, fmt.Sprint(i, rnd.IntN(3)))), true
			case k == 1 && now[name] && len(now) > 1:
				cs = append(cs, del(name))
				delete(now, name)
			}
		}
		if len(cs) == 0 {
			continue
		}
		next := mustEdit(t, r, fmt.Sprint("random ", i), cs...)
		ta, _ := r.treeOf(prev)
		tb, _ := r.treeOf(next)
		var got []string
		if err := r.Diff(t.Context(), ta, tb, func(path string, _, _ Entry) error { got = append(got, path); return nil }); err != nil {
			t.Fatal(err)
		}
		if want := strings.Fields(git(t, r.Dir(), "diff-tree", "-r", "--no-renames", "--name-only", ta.String(), tb.String())); !slices.Equal(got, want) {
			t.Errorf("step %d: %v, git says %v", i, got, want)
		}
		prev = next
	}
}

func TestWalk(t *testing.T) {
	r := newRepo(t)
	tip := mustEdit(t, r, "1", put("a/b/c", "1"), put("a/d", "1"), put("e", "1"))
	tree, err := r.treeOf(tip)
	if err != nil {
		t.Fatal(err)
	}
	walk := func(f func(path string) error) (got []string) {
		err := r.Walk(t.Context(), tree, func(path string, e Entry) error {
			got = append(got, path)
			return f(path)
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := walk(func(string) error { return nil }); strings.Join(got, " ") != "a a/b a/b/c a/d e" {
		t.Errorf("Walk: %v", got)
	}
	if got := walk(func(p string) error {
		if p == "a/b" {
			return SkipDir
		}
		return nil
	}); strings.Join(got, " ") != "a a/b a/d e" {
		t.Errorf("SkipDir: %v", got)
	}
	if got := walk(func(p string) error { return SkipAll }); len(got) != 1 {
		t.Errorf("SkipAll: %v", got)
	}
	for _, p := range []string{"a//b", "/a", "a/"} {
		if _, err := r.Lookup(tree, p); err == nil {
			t.Errorf("Lookup(%q) worked", p)
		}
	}
	for _, p := range []string{"x", "a/b/c/d", "a/x"} {
		if _, err := r.Lookup(tree, p); !isMissing(err) {
			t.Errorf("Lookup(%q): %v", p, err)
		}
	}
}

// TestEditOfLargeObjects: a tree of several stored blocks, and objects that are deflated
// and written side by side, are read by git as they were meant.
func TestEditOfLargeObjects(t *testing.T) {
	r := newRepo(t)
	var wide []Change
	for i := range 2500 {
		wide = append(wide, put(fmt.Sprintf("wide/entry-number-%04d.md", i), fmt.Sprint(i)))
	}
	mustEdit(t, r, "wide", wide...)
	text := strings.Repeat("a line of some text\n", 2000)
	id := mustEdit(t, r, "large", put("wide/entry-number-1234.md", "changed"), put("large/a", text), put("large/b", text+"b"))
	c, err := r.Commit(id)
	must(t, err)
	e, err := r.Lookup(c.Tree, "wide")
	must(t, err)
	raw, err := os.ReadFile(looseFile(r, e.ID))
	if must(t, err); len(raw) < zlibBlock || raw[0] != 0x78 || raw[1] != 1 || raw[2] != 0 {
		t.Errorf("the tree's file: %d bytes, beginning with %x; want several stored blocks", len(raw), raw[:3])
	}
	large, err := r.Lookup(c.Tree, "large/b")
	must(t, err)
	if raw, err := os.ReadFile(looseFile(r, large.ID)); err != nil || len(raw) > len(text)/10 {
		t.Errorf("the blob's file: %d bytes, %v; want it deflated", len(raw), err)
	}
	fresh := reopen(t, r)
	for path, want := range map[string]string{"wide/entry-number-1234.md": "changed", "wide/entry-number-2499.md": "2499", "large/b": text + "b"} {
		e, err := fresh.Lookup(c.Tree, path)
		must(t, err)
		if got, err := fresh.Blob(e.ID, 0); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v, want %d", path, len(got), err, len(want))
		}
		if gitBin != "" {
			if got := git(t, r.Dir(), "cat-file", "blob", id.String()+":"+path); got != want {
				t.Errorf("git reads %d bytes of %s, want %d", len(got), path, len(want))
			}
		}
	}
	fsck(t, r.Dir())
}

// A change that says what was there is left out when something else is: who made it by an
// older look at the record takes nothing back.
func TestEditOnlyWhereItWas(t *testing.T) {
	r := newRepo(t)
	const ref = testHead
	edit := func(c ...Change) OID {
		t.Helper()
		id, err := r.Edit(t.Context(), ref, c, opts("edit"))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	at := func(id OID, path string) OID {
		t.Helper()
		c, err := r.Commit(id)
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Lookup(c.Tree, path)
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	one := edit(Change{Path: "a", Data: []byte("one")}, Change{Path: "new", Data: []byte("n"), Was: &OID{}})
	was := at(one, "a")
	edit(Change{Path: "a", Data: []byte("two")})
	last := edit(Change{Path: "a", Data: []byte("one again"), Was: &was}, Change{Path: "new", Data: []byte("m"), Was: &OID{}}, Change{Path: "b", Data: []byte("b")})
	if got, want := at(last, "a"), r.Format().Hash(TypeBlob, []byte("two")); got != want {
		t.Errorf("a holds %s, want what replaced it meanwhile, %s", got, want)
	}
	if got, want := at(last, "new"), r.Format().Hash(TypeBlob, []byte("n")); got != want {
		t.Errorf("new holds %s, want %s", got, want)
	}
	at(last, "b")
	now := at(last, "a")
	if got, want := at(edit(Change{Path: "a", Data: []byte("three"), Was: &now}), "a"), r.Format().Hash(TypeBlob, []byte("three")); got != want {
		t.Errorf("a holds %s, want %s", got, want)
	}
}

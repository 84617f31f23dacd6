package merging

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
)

var marks = diff.Marks{Ours: "ours", Theirs: "theirs"}

// sign puts a signature line of the right form into a body. Nothing here verifies it.
func sign(t testing.TB, p, body string, day int) string {
	t.Helper()
	s := objects.Signature{Digest: objects.DigestOf([]byte(body))}
	s.SignedAt = s.SignedAt.AddDate(2025, 0, day)
	raw, err := objects.WithSignature(p, []byte(body), s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSortOf(t *testing.T) {
	for p, want := range map[string]Sort{
		".ai/tools/acme/hello.py": Item, "sub/.ai/config/acme/x.yaml": Item, ".ai/bundles/acme/b/data.txt": Item,
		".ai/bundles/acme/b/rye.bundle.yaml": Manifest, ".ai/rye.lock": Lock,
		".ai/allowed_signers": Personal, ".ai/denied": Personal, ".ai/denied-keys": Personal, ".ai/rye.yaml": Personal, ".ai/policy.yaml": Personal,
		"src/auth.c": Text, "rye.lock": Text, ".AI/tools/x.py": Text, ".ai/x/.ai/tools/a.py": Text, ".ai/tools/.AI/a.py": Text,
		".ai/tools": Text, ".ai/.gitignore": Text, ".ai/tools/rye.lock": Item, "tools/x.py": Text, ".ai": Text, "": Text, ".ai/threads/x": Text,
	} {
		if got, _ := SortOf(p); got != want {
			t.Errorf("SortOf(%q) = %d, want %d", p, got, want)
		}
	}
}

// TestMergeItem: a signature line survives only above the text that it was made for.
func TestMergeItem(t *testing.T) {
	const p = ".ai/tools/acme/hello.py"
	text := func(a, b string) string { return "x = " + a + "\n1\n2\n3\n4\n5\ny = " + b + "\n" }
	base := sign(t, p, text("0", "0"), 1)
	ours, theirs := sign(t, p, text("1", "0"), 2), sign(t, p, text("0", "1"), 3)
	again := sign(t, p, text("0", "0"), 4)
	both := text("1", "1")
	lineOf := func(a, b string) string {
		return "# " + objects.MergeLine{Ours: objects.DigestOf([]byte(a)), Theirs: objects.DigestOf([]byte(b))}.Line() + "\n"
	}
	line := lineOf(text("1", "0"), text("0", "1"))
	for _, c := range []struct {
		name, base, ours, theirs, want string // want holds a conflict if it holds a mark
	}{
		{"different places", base, ours, theirs, line + both},
		{"one changed, the other signed again", base, ours, again, ours},
		{"one signed again, the other changed", base, again, theirs, theirs},
		{"both signed the same text", base, ours, sign(t, p, text("1", "0"), 9), ours},
		{"both signed the old text again", base, again, sign(t, p, text("0", "0"), 9), again},
		{"the same text, one of them not signed", base, text("1", "0"), ours, ours},
		{"theirs is part of ours", base, sign(t, p, both, 5), theirs, sign(t, p, both, 5)},
		{"ours is not signed", base, text("1", "0"), theirs, line + both},
		{"nobody signed", text("0", "0"), text("1", "0"), text("0", "1"), both},
		{"a merge of a merge", base, line + both, sign(t, p, text("0", "0")+"1\n2\nz\n", 5),
			lineOf(both, text("0", "0")+"1\n2\nz\n") + strings.Replace(both, "y = 1\n", "<<<<<<< ours\ny = 1\n=======\ny = 0\n1\n2\nz\n>>>>>>> theirs\n", 1)},
		{"one place", base, ours, sign(t, p, text("2", "0"), 3),
			lineOf(text("1", "0"), text("2", "0")) + strings.Replace(text("0", "0"), "x = 0\n", "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n", 1)},
		{"both added it", "", ours, theirs,
			line + "<<<<<<< ours\nx = 1\n=======\nx = 0\n>>>>>>> theirs\n1\n2\n3\n4\n5\n<<<<<<< ours\ny = 0\n=======\ny = 1\n>>>>>>> theirs\n"},
	} {
		got := Merge(p, Sides{[]byte(c.base), []byte(c.ours), []byte(c.theirs)}, marks)
		if string(got.Text) != c.want || (got.Conflicts > 0) != strings.Contains(c.want, "<<<<<<<") {
			t.Errorf("%s: %d conflicts\n%s\nwant\n%s", c.name, got.Conflicts, got.Text, c.want)
		}
		if got.Unsigned != strings.Contains(string(got.Text), "rye:merged:") {
			t.Errorf("%s: unsigned %v", c.name, got.Unsigned)
		}
	}
	for name, c := range map[string][3]string{
		"a base with marks":                   {"<<<<<<< a\n" + base + "=======\n" + base + ">>>>>>> b\n", ours, theirs},
		"two signature lines on one side":     {base, ours, "# rye:signed:v2:x\n" + theirs},
		"a line converted to CR LF":           {base, ours, strings.Replace(theirs, "\n", "\r\n", 1)},
		"a signature line and a line merged:": {base, ours, line + theirs},
	} {
		if got := Merge(p, Sides{[]byte(c[0]), []byte(c[1]), []byte(c[2])}, marks); got.Conflicts == 0 {
			t.Errorf("%s: clean\n%s", name, got.Text)
		}
	}
	if got := Merge("src/hello.py", Sides{[]byte(base), []byte(ours), []byte(theirs)}, marks); got.Conflicts == 0 {
		t.Error("outside of .ai signature lines are text")
	}
	if got := Merge(".ai/allowed_signers", Sides{[]byte("a\n"), []byte("a\nb\n"), []byte("c\na\n")}, marks); got.Conflicts == 0 || string(got.Text) != "a\nb\n" {
		t.Errorf("allowed_signers was merged: %q", got.Text)
	}
	if got := Merge(".ai/rye.lock", Sides{nil, []byte("a\n"), []byte("b\n")}, marks); got.Conflicts == 0 || !strings.HasPrefix(string(got.Text), "<<<<<<< ours\na\n") {
		t.Errorf("locks that cannot be read: %q", got.Text)
	}
}

// TestMergeItemKeepsCode: a line that only looks like a signature line is code, and an edit of
// it is not lost.
func TestMergeItemKeepsCode(t *testing.T) {
	const p = ".ai/tools/acme/hello.js"
	base := "a()\n/* rye:signed: */ one();\n1\n2\n3\nb()\n"
	ours, theirs := strings.Replace(base, "one", "two", 1), strings.Replace(base, "b()", "c()", 1)
	got := Merge(p, Sides{[]byte(base), []byte(ours), []byte(theirs)}, marks)
	if !strings.Contains(string(got.Text), "two();") || !strings.Contains(string(got.Text), "c()") {
		t.Errorf("%s", got.Text)
	}
}

func manifest(t testing.TB, version string, files ...string) string {
	t.Helper()
	m := objects.Manifest{ID: "acme/bundle/b", Version: version}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		m.Files = append(m.Files, objects.File{Path: name, Size: int64(len(text)), Sum: objects.DigestOf([]byte(text))})
	}
	raw, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, objects.ManifestName, string(raw), 1)
}

func TestMergeManifest(t *testing.T) {
	const p = ".ai/bundles/acme/b/rye.bundle.yaml"
	base := manifest(t, "1.0.0", "a=1", "m=1")
	for _, c := range []struct {
		name, ours, theirs, want string // want is "" for a conflict
	}{
		{"two added files", manifest(t, "1.0.0", "a=1", "b=1", "m=1"), manifest(t, "1.0.0", "a=1", "c=1", "m=1"), manifest(t, "1.0.0", "a=1", "b=1", "c=1", "m=1")},
		{"two neighbours changed", manifest(t, "1.0.0", "a=2", "m=1"), manifest(t, "1.0.0", "a=1", "m=2"), manifest(t, "1.0.0", "a=2", "m=2")},
		{"one removed, one changed another", manifest(t, "1.0.0", "a=1"), manifest(t, "1.0.0", "a=2", "m=1"), manifest(t, "1.0.0", "a=2")},
		{"a version", manifest(t, "1.1.0", "a=1", "m=1"), manifest(t, "1.0.0", "a=1", "m=2"), manifest(t, "1.1.0", "a=1", "m=2")},
		{"one file twice", manifest(t, "1.0.0", "a=2", "m=1"), manifest(t, "1.0.0", "a=3", "m=1"), ""},
		{"removed and changed", manifest(t, "1.0.0", "m=1"), manifest(t, "1.0.0", "a=3", "m=1"), ""},
		{"two versions", manifest(t, "1.1.0", "a=1", "m=1"), manifest(t, "1.2.0", "a=1", "m=1"), ""},
		{"names that differ in case", manifest(t, "1.0.0", "B=1", "a=1", "m=1"), manifest(t, "1.0.0", "a=1", "b=1", "m=1"), ""},
		{"not a manifest", manifest(t, "1.0.0", "a=2", "m=1"), "hello\n", ""},
	} {
		got := Merge(p, Sides{[]byte(base), []byte(c.ours), []byte(c.theirs)}, marks)
		if (got.Conflicts > 0) != (c.want == "") {
			t.Errorf("%s: %d conflicts\n%s", c.name, got.Conflicts, got.Text)
			continue
		}
		if c.want == "" {
			continue
		}
		body, _, ok := objects.SplitMerged(objects.ManifestName, got.Text)
		want, _, _, _ := objects.Split(objects.ManifestName, []byte(c.want))
		if !ok || !bytes.Equal(body, want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got.Text, want)
		}
		if _, err := objects.ParseManifest(got.Text); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// FuzzMerge: a result that is neither side has no signature line of a side.
func FuzzMerge(f *testing.F) {
	const p = ".ai/tools/acme/a.py"
	f.Add(p, sign(f, p, "a\nb\nc\n", 1), sign(f, p, "A\nb\nc\n", 2), sign(f, p, "a\nb\nC\n", 3))
	f.Add(".ai/bundles/acme/b/rye.bundle.yaml", manifest(f, "1.0.0", "a=1"), manifest(f, "1.0.0", "a=2"), manifest(f, "1.0.0", "a=1", "b=1"))
	f.Add(".ai/rye.lock", "", "{}", "version: 1\n")
	f.Add(".ai/knowledge/a/b.md", "---\n---\n", "---\nx: 1\n---\n", "<!-- rye:merged:")
	f.Add("a", "a", "b", "c")
	f.Fuzz(func(t *testing.T, p, base, ours, theirs string) {
		got := Merge(p, Sides{[]byte(base), []byte(ours), []byte(theirs)}, marks)
		sort, below := SortOf(p)
		text := string(got.Text)
		if got.Conflicts > 0 || text == ours || text == theirs || sort != Item && sort != Manifest {
			return
		}
		if _, sig, legacy, err := objects.Split(below, got.Text); err != nil || sig == nil && legacy == nil {
			return
		}
		for _, side := range []string{ours, theirs} {
			if _, sig, legacy, err := objects.Split(below, []byte(side)); err == nil && (sig != nil || legacy != nil) {
				t.Fatalf("%q keeps a signature line: %q", p, text)
			}
		}
	})
}

package store

import (
	"strings"
	"testing"
)

// TestWholeComparesTypes: a ref is not whole that leads to an object of another type than
// what names it.
func TestWholeComparesTypes(t *testing.T) {
	r := newRepo(t)
	put := func(typ Type, raw string) OID {
		id, err := r.Put(t.Context(), typ, []byte(raw))
		must(t, err)
		return id
	}
	entry := func(mode, name string, id OID) string { return mode + " " + name + "\x00" + string(id.Bytes()) }
	commit := func(tree OID, parents ...OID) string {
		text := "tree " + tree.String() + "\n"
		for _, p := range parents {
			text += "parent " + p.String() + "\n"
		}
		return text + "author t <t@e> 1700000000 +0000\ncommitter t <t@e> 1700000000 +0000\n\nm\n"
	}
	tag := func(id OID, typ string) string {
		return "object " + id.String() + "\ntype " + typ + "\ntag x\ntagger t <t@e> 1700000000 +0000\n\nm\n"
	}
	blob := put(TypeBlob, "b")
	tree := put(TypeTree, entry("100644", "f", blob))
	c := put(TypeCommit, commit(tree))
	for name, x := range map[string]struct {
		id   OID
		want string
	}{
		"refs/heads/sound":  {c, ""},
		"refs/heads/file":   {put(TypeCommit, commit(put(TypeTree, entry("100644", "f", tree)))), "f: "},
		"refs/heads/folder": {put(TypeCommit, commit(put(TypeTree, entry("40000", "d", blob)))), "d: "},
		"refs/heads/deep":   {put(TypeCommit, commit(put(TypeTree, entry("40000", "a", put(TypeTree, entry("40000", "d", c)))))), "a/d: "},
		"refs/heads/tree":   {put(TypeCommit, commit(c)), "where a tree belongs"},
		"refs/heads/parent": {put(TypeCommit, commit(tree, tree)), "where a commit belongs"},
		"refs/heads/no":     {tree, "a branch names a commit"},
		"refs/tags/lies":    {put(TypeTag, tag(blob, "commit")), "where a commit belongs"},
		"refs/tags/of-blob": {put(TypeTag, tag(blob, "blob")), ""},
		"refs/tags/of-tree": {tree, ""},
	} {
		durably(t, r, name, x.id.String()+"\n")
		broken, err := BrokenRefs(t.Context(), r)
		must(t, err)
		switch {
		case x.want == "" && len(broken) > 0:
			t.Errorf("%s: %v", name, broken[0].Why)
		case x.want != "" && (len(broken) != 1 || !strings.Contains(broken[0].Why.Error(), x.want)):
			t.Errorf("%s: %v, want %q", name, broken, x.want)
		}
		must(t, r.files.unlink(name))
	}
}

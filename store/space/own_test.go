package space_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// Asked for many at once, a layer says of each item what it says of it alone,
// whatever state it is in.
func TestOwnAllAsAlone(t *testing.T) {
	w := newWorld(t)
	var refs []objects.Ref
	path := func(name string) string {
		refs = append(refs, ref("tool:acme/"+name))
		return "tools/acme/" + name + ".sh"
	}
	for i := range 65 {
		w.put(w.project, path(fmt.Sprintf("clean%d", i)), "1.0.0", "hi")
	}
	changed := path("changed")
	raw := w.put(w.project, changed, "1.0.0", "before")
	w.write(w.project, changed, []byte(strings.Replace(string(raw), "echo before", "echo after", 1)))
	newer := path("newer")
	w.put(w.project, newer, "1.0.0", "before")
	w.write(w.project, newer, w.sign(w.project, newer, body("1.1.0", "after")))
	older := path("older")
	old := w.put(w.project, older, "1.0.0", "before")
	w.put(w.project, older, "1.1.0", "after")
	w.write(w.project, older, old)
	w.write(w.project, path("unsigned"), body("1.0.0", "hi"))
	gone := path("gone")
	w.put(w.project, gone, "1.0.0", "hi")
	w.remove(w.project, gone)
	path("never")

	s := w.stack()
	found, err := ownAll(t, s, refs)
	w.must(err)
	count := map[objects.State]int{}
	for i, f := range found {
		alone, ok, err := w.stack().In(t.Context(), objects.Project, refs[i])
		w.must(err)
		count[f.State]++
		if ok != (f.State != "") || f.State != alone.State || fault.CodeOf(f.Err) != fault.CodeOf(alone.Err) ||
			f.Path != alone.Path || f.Blob != alone.Blob || f.Recorded != alone.Recorded || f.Verified.IsZero() != alone.Verified.IsZero() {
			t.Errorf("%s: %s %v %v, alone %s %v %v", refs[i], f.State, f.Recorded, f.Err, alone.State, alone.Recorded, alone.Err)
		}
	}
	want := map[objects.State]int{objects.Signed: 66, objects.Modified: 1, objects.Older: 1, objects.Unsigned: 1, objects.Absent: 1, "": 1}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("states %v, want %v", count, want)
	}
}

func ownAll(t *testing.T, s *space.Stack, refs []objects.Ref) ([]space.Finding, error) {
	found := make([]space.Finding, len(refs))
	return found, s.OwnAll(t.Context(), s.Project, refs, func(i int, f space.Finding) { found[i] = f })
}

// A file that no longer is what a manifest lists is refused among many, too.
func TestOwnAllInBundles(t *testing.T) {
	w := newWorld(t)
	var refs []objects.Ref
	for i := range 65 {
		name := fmt.Sprintf("i%d", i)
		p := "tools/acme/kit/" + name + ".sh"
		raw := w.sign(w.project, p, bytes.Replace(body("1.0.0", "hi"), []byte("category: acme"), []byte("category: acme/kit"), 1))
		w.write(w.project, p, raw)
		w.record(w.project, store.Change{Path: p, Data: raw})
		refs = append(refs, ref("tool:acme/kit/"+name))
	}
	// A manifest that nobody signed: nothing beside it may be used.
	w.write(w.project, "tools/acme/kit/"+objects.ManifestName, []byte("rye-bundle: 1\n"))
	s := w.stack()
	found, err := ownAll(t, s, refs)
	w.must(err)
	for i, f := range found {
		if f.Err == nil || !f.Verified.IsZero() {
			t.Errorf("%s: used, beside a manifest that cannot be believed", refs[i])
		}
	}
	// And one that the record holds and the disk does not.
	p := "tools/acme/kit/" + objects.ManifestName
	w.record(w.project, store.Change{Path: p, Data: []byte("rye-bundle: 1\n")})
	w.remove(w.project, p)
	s = w.stack()
	found, err = ownAll(t, s, refs)
	w.must(err)
	for i, f := range found {
		if f.Err == nil {
			t.Errorf("%s: used, where its manifest is gone", refs[i])
		}
	}
}

// Two files for one ref are a conflict among many, too, whatever the second one is.
func TestOwnAllTwoFiles(t *testing.T) {
	w := newWorld(t)
	var refs []objects.Ref
	for i := range 65 {
		name := fmt.Sprintf("i%d", i)
		raw := w.sign(w.project, "tools/acme/"+name+".sh", body("1.0.0", "hi"))
		w.write(w.project, "tools/acme/"+name+".sh", raw)
		refs = append(refs, ref("tool:acme/"+name))
	}
	second := filepath.Join(w.project.Dir, "tools/acme/i7.py")
	for what, lay := range map[string]func() error{
		"a file":   func() error { return os.WriteFile(second, []byte("x"), 0o644) },
		"a folder": func() error { return os.Mkdir(second, 0o755) },
		"a link":   func() error { return os.Symlink("nowhere", second) },
	} {
		if err := lay(); err != nil {
			t.Logf("%s: %v", what, err) // links need a right on some systems
			continue
		}
		s := w.stack()
		if _, err := ownAll(t, s, refs); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("%s beside it: %v, want a conflict", what, err)
		}
		read := s.Project.Drafts(refs)
		if _, err := read(refs[7]); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("draft, %s beside it: %v, want a conflict", what, err)
		}
		if it, err := read(refs[8]); err != nil || it.Ref != refs[8] {
			t.Errorf("draft of another: %v", err)
		}
		w.must(os.Remove(second))
	}
}

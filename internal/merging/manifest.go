package merging

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
)

// mergeManifest merges the lists of two manifests entry by entry, so that files which the
// sides added do not collide. An entry that both sides changed is a conflict, and so is a
// manifest that cannot be read. Manifests have no signature lines here.
func mergeManifest(base, ours, theirs []byte, marks diff.Marks) ([]byte, int) {
	a, err1 := objects.ParseManifest(ours)
	b, err2 := objects.ParseManifest(theirs)
	if err1 != nil || err2 != nil {
		return unlessClean(base, ours, theirs, marks)
	}
	old, err := objects.ParseManifest(base)
	if err != nil {
		old = &objects.Manifest{}
	}
	// Both results hold the merged entries. Where the sides differ, each has its own.
	toOurs, toTheirs := *a, *b
	toOurs.ID, toTheirs.ID = pick(old.ID, a.ID, b.ID)
	toOurs.Version, toTheirs.Version = pick(old.Version, a.Version, b.Version)
	toOurs.Deps, toTheirs.Deps = pickAll(old.Deps, a.Deps, b.Deps)
	toOurs.Origin, toTheirs.Origin = pickBy(reflect.DeepEqual, old.Origin, a.Origin, b.Origin)
	toOurs.Needs, toTheirs.Needs = pickBy(reflect.DeepEqual, old.Needs, a.Needs, b.Needs)
	filesA, filesB := pickAll(byPath(old), byPath(a), byPath(b))
	toOurs.Files, toTheirs.Files = inOrder(filesA), inOrder(filesB)
	textA, err1 := toOurs.Encode()
	textB, err2 := toTheirs.Encode()
	if err1 != nil || err2 != nil {
		return unlessClean(base, ours, theirs, marks)
	}
	if bytes.Equal(textA, textB) {
		return textA, 0
	}
	return mergeText(nil, textA, textB, marks) // without a base, each difference is a conflict
}

// unlessClean merges by lines a manifest that cannot be merged by entries. It is never clean:
// then everything is one conflict.
func unlessClean(base, ours, theirs []byte, marks diff.Marks) ([]byte, int) {
	text, n := mergeText(base, ours, theirs, marks)
	if n > 0 {
		return text, n
	}
	return mergeText(nil, ours, theirs, marks)
}

// pick merges one value. Where both sides changed it, each keeps its own.
func pick[T comparable](base, ours, theirs T) (T, T) {
	return pickBy(func(a, b any) bool { return a == b }, base, ours, theirs)
}

// pickBy is pick for values that equal compares.
func pickBy[T any](equal func(a, b any) bool, base, ours, theirs T) (T, T) {
	switch {
	case equal(base, ours):
		return theirs, theirs
	case equal(base, theirs):
		return ours, ours
	}
	return ours, theirs
}

// pickAll merges mappings key by key. A missing key is a value, too.
func pickAll[V comparable](base, ours, theirs map[string]V) (a, b map[string]V) {
	type value struct {
		v  V
		is bool
	}
	at := func(m map[string]V, k string) value { v, is := m[k]; return value{v, is} }
	a, b = map[string]V{}, map[string]V{}
	for _, m := range []map[string]V{ours, theirs} {
		for k := range m {
			x, y := pick(at(base, k), at(ours, k), at(theirs, k))
			if x.is {
				a[k] = x.v
			}
			if y.is {
				b[k] = y.v
			}
		}
	}
	return a, b
}

func byPath(m *objects.Manifest) map[string]objects.File {
	all := map[string]objects.File{}
	for _, f := range m.Files {
		all[f.Path] = f
	}
	return all
}

func inOrder(files map[string]objects.File) (list []objects.File) {
	for _, p := range slices.Sorted(maps.Keys(files)) {
		list = append(list, files[p])
	}
	return list
}

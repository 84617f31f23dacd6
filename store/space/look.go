package space

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Files calls visit for every item file of the working tree, sorted by path. It returns the
// paths that are no items (foreign names, links) with the reason.
func (l *Layer) Files(ctx context.Context, visit func(p string, ref objects.Ref) error) (foreign map[string]error, err error) {
	w := newWalk(ctx, l, visit)
	w.weigh = true // callers of Files read the files too
	return w.everything()
}

// foreign is Files for a caller that needs only the paths that are no items, and reads no file.
func (l *Layer) foreign(ctx context.Context) (map[string]error, error) {
	return newWalk(ctx, l, func(string, objects.Ref) error { return nil }).everything()
}

// everything walks through all folders that hold items.
func (w *walk) everything() (foreign map[string]error, err error) {
	for _, dir := range topFolders() {
		if err := w.folder(dir, 1); err != nil {
			return w.foreign, err
		}
	}
	return w.foreign, nil
}

// topFolders returns the directories below .ai that hold items.
func topFolders() []string {
	var all []string
	for _, k := range objects.Kinds {
		all = append(all, k.Dir())
	}
	return append(all, objects.BundlesDir)
}

// walk is one walk through item files of a working tree, sorted by path.
type walk struct {
	l       *Layer
	room    *room
	foreign map[string]error // the paths that are no items, with the reason
	visit   func(p string, ref objects.Ref) error
	weigh   bool // the sizes of files count against MaxBytes
}

func newWalk(ctx context.Context, l *Layer, visit func(p string, ref objects.Ref) error) *walk {
	return &walk{l: l, room: newRoom(ctx, l.Space), foreign: map[string]error{}, visit: visit}
}

// folder walks through one folder, a slash path below .ai with depth folders above it.
func (w *walk) folder(dir string, depth int) error {
	if err := w.l.load(); err != nil || w.l.root == nil {
		return err
	}
	list, err := w.l.names(dir, w.weigh)
	if err != nil {
		return err
	}
	for _, e := range list {
		p := dir + "/" + e.name
		if !w.room.take(e.size) {
			return w.room.full()
		}
		ref, err := itemAt(p, e.typ, depth)
		if err != nil {
			w.foreign[p] = err
			continue
		}
		if e.typ.IsDir() {
			err = w.folder(p, depth+1)
		} else {
			err = w.visit(p, ref)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leftOut reports whether rye ignores a name: editors and interpreters leave such files, and
// no id can name them.
func leftOut[T string | []byte](name T) bool {
	return len(name) > 0 && (name[0] == '.' || name[len(name)-1] == '~') || string(name) == "__pycache__"
}

// itemAt returns the ref of a file at p, the zero Ref for a folder, or the reason why p is
// neither. depth is the number of folders above p.
func itemAt(p string, typ fs.FileMode, depth int) (objects.Ref, error) {
	if typ.IsDir() {
		if depth >= objects.MaxIDSegments {
			return objects.Ref{}, fault.New(fault.Limit, "%s: deeper than %d folders", p, objects.MaxIDSegments)
		}
		return objects.Ref{}, nil
	}
	ref, _, err := objects.RefOfPath(p)
	if !typ.IsRegular() {
		err = irregular(p)
	}
	return ref, err
}

// byRef orders refs by kind and id, then paths; foreign files come first.
func byRef(a, b objects.Ref, pa, pb string) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(pa, pb))
}

func sortFindings(all []Finding) {
	slices.SortFunc(all, func(a, b Finding) int { return byRef(a.Ref, b.Ref, a.Path, b.Path) })
}

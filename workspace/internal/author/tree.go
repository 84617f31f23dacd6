package author

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/unpack"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
)

// folder reads a folder of the user's disk. No link is followed, and nothing outside is
// opened.
func folder(ctx context.Context, dir string) (foreign.Tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return foreign.Tree{}, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return foreign.Tree{}, err
	}
	defer root.Close()
	w := &walk{root: root, tree: foreign.Tree{Name: filepath.Base(abs)}}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return w.entry(p, d)
	})
	return w.tree, err
}

// walk is one walk through a folder, with its counts against the limits.
type walk struct {
	root    *os.Root
	tree    foreign.Tree
	entries int
	total   int64
}

// elsewhere are folders without files of the user's own.
var elsewhere = map[string]bool{".git": true, "node_modules": true, "__pycache__": true, ".venv": true, ".hg": true, ".svn": true}

func (w *walk) entry(p string, d fs.DirEntry) error {
	if w.entries++; w.entries > unpack.MaxEntries {
		return fault.New(fault.Limit, "add: more than %d files and folders", unpack.MaxEntries).Advise("name a folder further down")
	}
	switch {
	case d.IsDir() && elsewhere[d.Name()]:
		return fs.SkipDir
	case d.IsDir() && strings.Count(p, "/") >= unpack.MaxDepth:
		return fault.New(fault.Limit, "add: %q is deeper than %d folders", words.Brief(p), unpack.MaxDepth)
	case d.IsDir():
		return nil
	case !d.Type().IsRegular():
		w.tree.Passed = append(w.tree.Passed, foreign.Passed{Path: p, Why: "a link or a device, which is not followed"})
		return nil
	}
	st, err := d.Info()
	if err != nil {
		return err
	}
	if st.Size() > objects.MaxItemSize {
		w.tree.Passed = append(w.tree.Passed, foreign.Passed{Path: p, Why: "larger than 8 MiB"})
		return nil
	}
	if w.total += st.Size(); w.total > unpack.MaxTotal {
		return fault.New(fault.Limit, "add: more than %d bytes", int64(unpack.MaxTotal)).Advise("name a folder further down")
	}
	data, err := place.ReadIn(w.root, p, objects.MaxItemSize)
	if err != nil {
		return err
	}
	w.tree.Files = append(w.tree.Files, foreign.File{Path: p, Data: data})
	return nil
}

// archive reads an archive. It removes one folder around everything, which packers add; its
// name becomes the name of the tree.
func archive(file string, data []byte) (foreign.Tree, error) {
	files, err := unpack.Read(data)
	if err != nil {
		return foreign.Tree{}, err
	}
	name := filepath.Base(file)
	for _, ext := range []string{".gz", ".tgz", ".tar", ".zip", ".skill"} {
		name = strings.TrimSuffix(name, ext)
	}
	t := foreign.Tree{Name: name}
	top := common(files)
	if top != "" {
		t.Name = top
	}
	for _, f := range files {
		p := strings.TrimPrefix(f.Path, top)
		t.Files = append(t.Files, foreign.File{Path: path.Clean(strings.TrimPrefix(p, "/")), Data: f.Data})
	}
	return t, nil
}

// common returns the one folder that contains everything; "" when there is none.
func common(files []unpack.File) string {
	top := ""
	for i, f := range files {
		dir, _, ok := strings.Cut(f.Path, "/")
		if !ok || i > 0 && dir != top || strings.HasPrefix(dir, ".") && dir != ".ai" {
			return ""
		}
		top = dir
	}
	return top
}

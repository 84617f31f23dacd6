package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
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

// folder reads a folder of the user's disk. Nothing outside of it is opened: objects/foreign
// follows the links, inside what was read.
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
	return FolderIn(ctx, root, abs)
}

// FolderIn reads a folder that is open, as Add does. abs is its path.
func FolderIn(ctx context.Context, root *os.Root, abs string) (foreign.Tree, error) {
	w := &walk{root: root, modes: place.KeepsModes(abs), skills: map[string]bool{}}
	w.tree = foreign.Tree{Name: filepath.Base(abs), At: "/" + strings.TrimPrefix(filepath.ToSlash(abs), "/"), Origin: here(abs)}
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if errors.Is(err, fs.ErrPermission) && p != "." {
			w.pass(p, "permission denied", fault.Failed)
			return nil
		}
		if err != nil {
			return err
		}
		return w.entry(p, d)
	})
	return w.tree, err
}

// LocalSource names a folder or an archive of this machine in an origin.
func LocalSource(file string) string { return here(file).Source }

// here returns the origin of a folder or an archive of this machine. Its place on the disk means
// nothing elsewhere, so only its name is kept.
func here(file string) objects.Origin {
	return objects.Origin{Source: "file:" + url.PathEscape(strings.ToValidUTF8(filepath.Base(file), "_"))}
}

// walk is one walk through a folder, with its counts against the limits.
type walk struct {
	root    *os.Root
	modes   bool            // the disk keeps executable bits
	skills  map[string]bool // folders that are skills, or lie in one
	tree    foreign.Tree
	entries int
	total   int64
}

// versions are folders and files of version control, which are no content.
var versions = map[string]bool{".git": true, ".hg": true, ".svn": true}

// installed are folders with files that a program put there. In a skill they are a part of it.
var installed = map[string]bool{"node_modules": true, "__pycache__": true, ".venv": true}

func (w *walk) pass(p, why string, code fault.Code) {
	w.tree.Passed = append(w.tree.Passed, foreign.Passed{Path: p, Why: why, Code: code})
}

func (w *walk) entry(p string, d fs.DirEntry) error {
	if w.entries++; w.entries > unpack.MaxEntries {
		return fault.New(fault.Limit, "add: more than %d files and folders", unpack.MaxEntries).Advise("name a folder further down")
	}
	switch {
	case versions[d.Name()] && p != ".":
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case d.IsDir():
		return w.folder(p, d)
	case d.Type() == fs.ModeSymlink:
		target, err := w.root.Readlink(filepath.FromSlash(p))
		if err != nil {
			return err
		}
		w.tree.Links = append(w.tree.Links, foreign.Link{Path: p, Target: filepath.ToSlash(target)})
		return nil
	case !d.Type().IsRegular():
		w.pass(p, "neither a file nor a link", fault.Malformed)
		return nil
	}
	return w.file(p, d)
}

// folder decides about a folder.
func (w *walk) folder(p string, d fs.DirEntry) error {
	skill := w.skills[path.Dir(p)]
	if installed[d.Name()] && !skill && p != "." {
		w.pass(p, "installed by a program, and not searched", "")
		return fs.SkipDir
	}
	if strings.Count(p, "/") >= unpack.MaxDepth {
		return fault.New(fault.Limit, "add: %q is deeper than %d folders", words.Brief(p), unpack.MaxDepth)
	}
	if !skill {
		_, err := w.root.Lstat(filepath.FromSlash(path.Join(p, objects.SkillFile)))
		skill = err == nil && p != "."
	}
	w.skills[p] = skill
	return nil
}

// file reads a file.
func (w *walk) file(p string, d fs.DirEntry) error {
	st, err := d.Info()
	if err != nil {
		return err
	}
	limit := int64(objects.MaxItemSize)
	if w.skills[path.Dir(p)] {
		limit = objects.MaxBundleFile // the digest of a skill is that of all its files
	}
	if st.Size() > limit {
		w.pass(p, fmt.Sprintf("more than %d MiB", limit>>20), fault.Limit)
		return nil
	}
	if w.total += st.Size(); w.total > unpack.MaxTotal {
		return fault.New(fault.Limit, "add: more than %d bytes", int64(unpack.MaxTotal)).Advise("name a folder further down")
	}
	data, err := place.ReadIn(w.root, p, limit)
	if errors.Is(err, fs.ErrPermission) {
		w.pass(p, "permission denied", fault.Failed)
		return nil
	}
	if err != nil {
		return err
	}
	executable := st.Mode()&0o111 != 0
	if !w.modes {
		executable = bytes.HasPrefix(data, []byte("#!"))
	}
	w.tree.Files = append(w.tree.Files, foreign.File{Path: p, Data: data, Executable: executable})
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
	t := foreign.Tree{Name: name, Origin: here(file)}
	top := common(files)
	if top != "" {
		t.Name = top
	}
	for _, f := range files {
		p := path.Clean(strings.TrimPrefix(strings.TrimPrefix(f.Path, top), "/"))
		if f.Link != "" {
			t.Links = append(t.Links, foreign.Link{Path: p, Target: f.Link})
			continue
		}
		t.Files = append(t.Files, foreign.File{Path: p, Data: f.Data, Executable: f.Executable})
	}
	t.At = t.Name
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

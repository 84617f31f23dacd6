package origin

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// AddPath is Add for a folder, an archive or a file of this machine. What came into a project is
// compared with its folder or archive later.
func AddPath(ctx context.Context, d *custody.Desk, q rye.AddRequest) ([]rye.AddReport, error) {
	var here []author.Package
	reports, err := author.Add(ctx, d, q, func(ctx context.Context, d *custody.Desk, q rye.AddRequest, t foreign.Tree) ([]rye.AddReport, error) {
		t, err := within(t, q.Folder)
		if err != nil {
			return nil, fault.Wrap(err, "add %s", words.Quote(q.Path))
		}
		if q.NoVendor && len(foreign.Elsewhere(t)) == 0 {
			return nil, onlyReached(q.Path)
		}
		reports, packages, err := addTree(ctx, d, q, t, nil)
		here = packages
		return reports, err
	})
	if q.DryRun || len(here) == 0 {
		return reports, err
	}
	return reports, cmp.Or(err, rememberPath(ctx, d, q, here))
}

// rememberPath records where on this machine bundles of the project came from. The user's state has
// the path without links, so that a folder that becomes one is noticed; no manifest names it.
func rememberPath(ctx context.Context, d *custody.Desk, q rye.AddRequest, packages []author.Package) error {
	if l, err := session.LayerOf(d.Session, q.Space); err != nil || l.Space != objects.Project || d.Place.Dir == "" {
		return err
	}
	file, err := canonical(q.Path)
	if err != nil {
		return err
	}
	src, err := objects.ParseSource(file)
	if err != nil || src.Address != file || src.Kind != objects.SourceFolder && src.Kind != objects.SourceArchive {
		return nil // a name that no state can hold, or that means something else
	}
	return noteCame(ctx, d, packages, came{src: src, now: sources{Typed: true}, as: q.As})
}

// canonical returns an absolute path without links.
func canonical(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// localTree reads a folder or an archive of this machine again. A path that leads elsewhere now, by a
// link in its place or above it, is refused: what lies there is not what the person named.
func localTree(ctx context.Context, file string) (t foreign.Tree, digest string, err error) {
	st, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, "", fault.New(fault.NotFound, "%s is not there any more", words.Quote(file))
	}
	if err != nil {
		return t, "", err
	}
	dir, base := file, ""
	if !st.IsDir() {
		dir, base = filepath.Split(file)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return t, "", err
	}
	defer root.Close()
	if err := sameFolder(root, filepath.Clean(dir)); err != nil {
		return t, "", err
	}
	if base == "" {
		t, err = author.FolderIn(ctx, root, file)
		return t, "", err
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		return t, "", becameLink(file)
	}
	data, err := place.ReadIn(root, base, author.MaxArchive)
	if err != nil {
		return t, "", err
	}
	t, err = author.Archive(file, data)
	return t, objects.DigestOf(data).String(), err
}

// sameFolder refuses an open folder that is not the one at a path without links.
func sameFolder(root *os.Root, dir string) error {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	is, err := root.Stat(".")
	if err != nil {
		return err
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if at != dir || !os.SameFile(is, named) {
		return becameLink(dir)
	}
	return nil
}

func becameLink(file string) error {
	return fault.New(fault.Denied, "%s was no link when it was added, and leads elsewhere now", words.Quote(file)).
		Advise("if that is right, add it again: rye add %s --force", words.Quote(file))
}

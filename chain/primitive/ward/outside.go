package ward

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// A Link is a symbolic link in a git directory.
type Link struct {
	Target  string
	Changed time.Time // the zero value where the file system has no such time
}

// Links lists the links in directories of git's that a run may write, by their absolute paths. The
// directories are objects, refs and logs of a repository: of objects only the first names are read.
func Links(dirs []string) map[string]Link {
	out := map[string]Link{}
	for _, dir := range dirs {
		d, err := openDisk(dir)
		if err != nil {
			continue
		}
		c := &collector{d: d, missed: &missed{}}
		left := maxOpened
		c.linksIn("", filepath.Base(dir) != "objects", &left)
		for _, t := range c.things {
			l := Link{}
			if l.Target, _ = d.root.Readlink(local(t.path)); t.ctime != 0 {
				l.Changed = time.Unix(0, t.ctime)
			}
			out[d.abs(t.path)] = l
		}
		d.Close()
	}
	return out
}

// Away moves paths in a directory that is not the project's below the directory to. The paths are relative,
// with slashes.
func Away(ctx context.Context, dir string, paths []string, to string) ([]Taken, error) {
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t := &taker{ctx: ctx, d: d, to: to}
	for _, p := range paths {
		t.away(p, "part of a git directory", "new", "")
	}
	return t.taken, errors.Join(t.failed...)
}

package space

import (
	"io/fs"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Beside is what a bundle's directory on disk has beside the manifest: none of it reaches a
// run, and none of it is a difference of content. Paths are slash paths below the bundle.
type Beside struct {
	Dirs    []string // directories whose names begin with a dot; what they hold is not read
	Added   []string // executable on disk, and not by the manifest
	Removed []string // the other way round
}

// Beside looks at the names and modes in the bundle's directory. Names of editors and
// interpreters other than directories are left out.
func (c *Cover) Beside(l *Layer) (b Beside, err error) {
	if err := l.load(); err != nil || l.root == nil {
		return b, err
	}
	listed := map[string]objects.File{}
	for _, f := range c.Files() {
		listed[f.Path] = f
	}
	names := 0
	err = fs.WalkDir(l.root.FS(), c.Dir, func(p string, d fs.DirEntry, err error) error {
		if names++; err != nil || p == c.Dir {
			return err
		}
		if names > MaxFiles {
			return fault.New(fault.Limit, "%s holds more than %d names", c.Dir, MaxFiles)
		}
		rel := c.rel(p)
		switch f, ok := listed[rel]; {
		case d.IsDir() && strings.HasPrefix(path.Base(p), "."):
			b.Dirs = append(b.Dirs, rel)
			return fs.SkipDir
		case d.IsDir() && leftOut(d.Name()):
			return fs.SkipDir
		case ok && d.Type().IsRegular():
			st, err := d.Info()
			if err != nil {
				return err
			}
			switch executable := st.Mode()&0o111 != 0; {
			case executable && !f.Executable:
				b.Added = append(b.Added, rel)
			case !executable && f.Executable:
				b.Removed = append(b.Removed, rel)
			}
		}
		return nil
	})
	return b, err
}

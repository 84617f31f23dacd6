package space

import (
	"io/fs"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Beside lists differences between a bundle's directory on disk and its manifest that do not
// reach a run and do not change content. Paths are slash paths below the bundle.
type Beside struct {
	Dirs    []string // directories whose names begin with a dot, without a listed file; they are not read
	Added   []string // executable on disk, but not in the manifest
	Removed []string // executable in the manifest, but not on disk
}

// Beside reads the names and modes in the bundle's directory. It omits names that editors and
// interpreters leave, except directories that begin with a dot.
func (c *Cover) Beside(l *Layer) (b Beside, err error) {
	if err := l.load(); err != nil || l.root == nil {
		return b, err
	}
	m := &objects.Manifest{Files: c.Files()}
	names := 0
	err = fs.WalkDir(l.root.FS(), c.Dir, func(p string, d fs.DirEntry, err error) error {
		if names++; err != nil || p == c.Dir {
			return err
		}
		if names > MaxFiles {
			return fault.New(fault.Limit, "%s holds more than %d names", c.Dir, MaxFiles)
		}
		rel := c.rel(p)
		switch f, ok := m.File(rel); {
		case d.IsDir() && m.Litter(rel):
			if strings.HasPrefix(path.Base(p), ".") {
				b.Dirs = append(b.Dirs, rel)
			}
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

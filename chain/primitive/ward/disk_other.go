//go:build !linux

package ward

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Only Linux has the sandbox that this package is for. On other systems it finds the same things,
// more slowly. It remembers nothing from run to run, and a file counts as the same while its size
// and time are the same.

func openDisk(project string) (*disk, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	d := &disk{root: root}
	if d.id, err = d.stat(""); err != nil {
		root.Close()
		return nil, err
	}
	return d, nil
}

func (d *disk) stat(rel string) (info, error) {
	st, err := d.root.Lstat(local(rel))
	if err != nil {
		return info{}, err
	}
	return infoOf(st), nil
}

func infoOf(st fs.FileInfo) info {
	mode := st.Mode()
	if mode.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
		mode = mode.Perm() | fs.ModeIrregular
	}
	i := info{mode: mode, bytes: st.Size(), ctime: st.ModTime().UnixNano()}
	if !st.IsDir() {
		i.ino = uint64(st.ModTime().UnixNano()) ^ uint64(st.Size())<<40
	}
	return i
}

func (d *disk) list(rel string, most int, _ bool) (listing, error) {
	f, err := d.root.Open(local(rel))
	if err != nil {
		return listing{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return listing{}, err
	}
	l := listing{info: infoOf(st)}
	all, err := f.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return l, err
	}
	if l.more = len(all) > most; l.more {
		all = all[:most]
	}
	for _, e := range all {
		l.entries = append(l.entries, entry{e.Name(), e.Type()})
	}
	return l, nil
}

func (d *disk) widen(rel string, perm uint32) error {
	st, err := d.root.Lstat(local(rel))
	if err != nil {
		return err
	}
	return d.root.Chmod(local(rel), st.Mode().Perm()|fs.FileMode(perm))
}

func (d *disk) move(rel, to string) error {
	return os.Rename(filepath.Join(d.root.Name(), filepath.FromSlash(rel)), to)
}

func crossed(err error) bool { return errors.Is(err, syscall.EXDEV) }

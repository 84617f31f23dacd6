package ward

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// info has the remembered facts of a file, a directory, or another named thing.
type info struct {
	dev, ino uint64
	ctime    int64 // nanoseconds; only the kernel sets it. 0 where there is none
	mode     fs.FileMode
	links    uint64 // number of names
	bytes    int64
}

func (i info) dir() bool  { return i.mode.IsDir() }
func (i info) link() bool { return i.mode&fs.ModeSymlink != 0 }
func (i info) file() bool { return i.mode.IsRegular() }

// same reports whether i and j are of one thing.
func (i info) same(j info) bool {
	return i.dev == j.dev && i.ino == j.ino && i.mode.Type() == j.mode.Type()
}

// An entry is one name of a directory.
type entry struct {
	name string
	mode fs.FileMode // only its type
}

// A listing is the content of a directory.
type listing struct {
	info
	entries []entry
	more    bool // than were read
}

// disk is the project's directory. Paths are relative to it, with slashes; "" is the directory
// itself. No lookup follows a link or leaves the file system. The fast half is in disk_linux.go;
// os.Root does the rare operations.
type disk struct {
	root    *os.Root
	handle  *os.File // on Linux
	buf     [32 << 10]byte
	id      info
	trusted bool // ctime is the kernel's, and changes with the directory
}

func (d *disk) Close() {
	d.root.Close()
	if d.handle != nil {
		d.handle.Close()
	}
}

// abs returns the absolute path of rel.
func (d *disk) abs(rel string) string { return filepath.Join(d.root.Name(), filepath.FromSlash(rel)) }

// local returns rel for os.Root.
func local(rel string) string {
	if rel == "" {
		return "."
	}
	return filepath.FromSlash(rel)
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// split is path.Split without the slash.
func split(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/')
	return rel[:max(i, 0)], rel[i+1:]
}

// below reports whether p is dir or is inside it.
func below(p, dir string) bool {
	return dir == "" || p == dir || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

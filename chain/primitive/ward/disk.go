package ward

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// info is what is remembered of a file, a directory, or whatever else has a name.
type info struct {
	dev, ino uint64
	ctime    int64 // nanoseconds; nobody but the kernel sets it. 0 where there is none
	mode     fs.FileMode
	links    uint64 // names that it has
	bytes    int64
}

func (i info) dir() bool  { return i.mode.IsDir() }
func (i info) link() bool { return i.mode&fs.ModeSymlink != 0 }
func (i info) file() bool { return i.mode.IsRegular() }

// same reports whether two looks saw one thing.
func (i info) same(j info) bool {
	return i.dev == j.dev && i.ino == j.ino && i.mode.Type() == j.mode.Type()
}

// An entry is one name of a directory.
type entry struct {
	name string
	mode fs.FileMode // its type alone
}

// A listing is what a directory held.
type listing struct {
	info
	entries []entry
	more    bool // than were read
}

// disk is the project's directory. Paths are relative to it, with slashes; "" is itself.
// No path is looked up through a link, and none leaves the file system: the fast half is
// in disk_linux.go, what is seldom done is done by os.Root.
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

// local is rel for os.Root.
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

// below reports whether p is dir or lies in it.
func below(p, dir string) bool {
	return dir == "" || p == dir || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

package space

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// beneath does for paths below a root what os.Root does, but in one system call instead of one
// per folder: openat2 resolves a path without leaving the root and without following a link.
// In all doubtful cases (an old kernel, a filter, a race, a link) os.Root decides. It is safe
// for concurrent use.
type beneath struct {
	root *os.Root
	top  *os.File
}

func newBeneath(root *os.Root) (*beneath, error) {
	top, err := place.Open(root.Name())
	if err == nil {
		here, err := root.Stat(".")
		there, terr := top.Stat()
		if err == nil && terr == nil && os.SameFile(here, there) {
			return &beneath{root, top}, nil
		}
		top.Close() // another folder has this name now
	}
	if top, err = root.Open("."); err != nil {
		return nil, err
	}
	return &beneath{root, top}, nil
}

func (x *beneath) close() error { return x.top.Close() }

func (x *beneath) open(p string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	return place.Retry(func() (int, error) { return unix.Openat2(int(x.top.Fd()), p, &how) })
}

// has reports whether p exists, even as a link; sure is false if the caller must ask os.Root.
func (x *beneath) has(p string) (yes, sure bool) {
	fd, err := x.open(p, unix.O_PATH|unix.O_NOFOLLOW)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil, err == nil || err == unix.ENOENT
}

// read returns the bytes of a regular file of at most limit bytes; done is false if the caller
// must use os.Root.
func (x *beneath) read(p string, limit int64) (raw []byte, done bool, err error) {
	// Opening never blocks, and another kind of file at p is left alone.
	fd, err := x.open(p, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err == unix.ENOENT {
		return nil, true, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	if err != nil {
		return nil, false, nil
	}
	defer unix.Close(fd)
	raw, err = place.ReadFd(fd, p, limit, func(fs.FileMode) error { return nil })
	if c := fault.CodeOf(err); c == fault.Malformed || c == fault.Limit {
		return nil, false, nil // the way over os.Root reports the kind of file
	}
	return raw, true, err
}

// list calls visit for each name in the folder dir. The name is valid until visit returns.
// Regular files come with their stamp, which is zero for a file that was just removed. The
// list ends when visit returns false.
func (x *beneath) list(dir string, visit func(name []byte, typ fs.FileMode, st stamp) (more bool)) error {
	done, err := x.names(dir, true, visit)
	if !done {
		return listSlowly(x.root, dir, visit)
	}
	return err
}

// names calls visit for each name in the folder dir, without ignored names; done is false if
// the caller must use os.Root. With stamps, regular files come with theirs. The list ends when
// visit returns false.
func (x *beneath) names(dir string, stamps bool, visit func(name []byte, typ fs.FileMode, st stamp) (more bool)) (done bool, err error) {
	return x.records(dir, func(fd int, b []byte) bool { return eachName(fd, b, stamps, visit) })
}

// recordBuffers hold the data that records reads: touching new memory costs more than reading
// a folder's names.
var recordBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// records calls visit for each piece of directory data of the folder dir, until visit returns
// false.
func (x *beneath) records(dir string, visit func(fd int, b []byte) (more bool)) (done bool, err error) {
	fd, err := x.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.ENOENT {
		return true, fs.ErrNotExist
	}
	if err != nil {
		return false, nil
	}
	defer unix.Close(fd)
	buf := recordBuffers.Get().(*[32 << 10]byte)
	defer recordBuffers.Put(buf)
	for {
		n, err := place.Retry(func() (int, error) { return unix.ReadDirent(fd, buf[:]) })
		if err != nil {
			return true, &fs.PathError{Op: "readdir", Path: dir, Err: err}
		}
		if n <= 0 || !visit(fd, buf[:n]) {
			return true, nil
		}
	}
}

// eachName decodes the output of getdents64(2): inode and offset of eight bytes each, length
// of the record in two, type in one, and the name up to a zero byte. With stamps, files get
// their stamp. The result is false if visit returned false.
func eachName(fd int, b []byte, stamps bool, visit func(name []byte, typ fs.FileMode, st stamp) (more bool)) bool {
	var space unix.Stat_t // it is on the heap: one for all
	for len(b) > 19 {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= 19 || size > len(b) {
			return false // never comes from the kernel
		}
		raw, kind, gone := b[19:size], b[18], binary.NativeEndian.Uint64(b) == 0
		b = b[size:]
		end := bytes.IndexByte(raw, 0)
		if end < 0 {
			return false // never comes from the kernel
		}
		whole := raw[:end+1]
		if raw = raw[:end]; gone || leftOut(raw) {
			continue
		}
		typ, st := typeOf(kind), stamp{}
		if stamps && typ == 0 || kind == unix.DT_UNKNOWN {
			if typ, st = stampAt(fd, whole, &space); kind == unix.DT_REG {
				typ = 0
			}
		}
		if !visit(raw, typ, st) {
			return false
		}
	}
	return true
}

// typeOf decodes the type that a directory stores with a name.
func typeOf(kind byte) fs.FileMode {
	switch kind {
	case unix.DT_REG, unix.DT_UNKNOWN:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}

// stampAt returns type and stamp of one name in an open folder. It never follows a link. The
// name ends in a zero byte; st is memory for the result.
func stampAt(fd int, name []byte, st *unix.Stat_t) (fs.FileMode, stamp) {
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = fstatat(fd, name, st)
	}
	if err != nil {
		return 0, stamp{}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0, stamp{size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), inode: st.Ino, isFile: true}
	case unix.S_IFDIR:
		return fs.ModeDir, stamp{}
	case unix.S_IFLNK:
		return fs.ModeSymlink, stamp{}
	}
	return fs.ModeIrregular, stamp{}
}

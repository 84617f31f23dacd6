package space

import "io/fs"

// stamp is the system's information about a file without reading it. Two equal stamps of one
// path mean the same bytes. The exception is a write within one tick of the file system's
// clock after the read; see racy.
type stamp struct {
	size   int64
	mtime  int64  // nanoseconds since 1970
	ctime  int64  // the same, for the last change of the inode; 0 if unavailable
	inode  uint64 // 0 if unavailable
	isFile bool
}

func stampOf(st fs.FileInfo) stamp {
	s := stamp{size: st.Size(), mtime: st.ModTime().UnixNano(), isFile: st.Mode().IsRegular()}
	s.ctime, s.inode = inodeOf(st)
	return s
}

// Ticks of file systems' clocks: some keep only whole seconds (FAT keeps even ones). Others
// keep nanoseconds, but read the clock at the system's timer.
const (
	coarseTick = 2e9
	fineTick   = 5e7
)

// racy reports whether a file could have changed without a new stamp after a read that began
// at when (nanoseconds since 1970). This is git's rule for its index.
func (s stamp) racy(when int64) bool {
	last := max(s.mtime, s.ctime)
	tick := int64(fineTick)
	if s.mtime%1e9 == 0 && s.ctime%1e9 == 0 {
		tick = coarseTick
	}
	return last >= when-tick
}

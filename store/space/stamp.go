package space

import "io/fs"

// stamp is what the system says about a file without reading it. Two equal stamps
// of one path mean the same bytes, unless the file was written within one tick of
// its file system's clock after it was read; see racy.
type stamp struct {
	size   int64
	mtime  int64  // nanoseconds since 1970
	ctime  int64  // likewise, of the last change of the inode; 0 where there is none
	inode  uint64 // 0 where there is none
	isFile bool
}

func stampOf(st fs.FileInfo) stamp {
	s := stamp{size: st.Size(), mtime: st.ModTime().UnixNano(), isFile: st.Mode().IsRegular()}
	s.ctime, s.inode = inodeOf(st)
	return s
}

// Ticks of file systems' clocks: those that keep whole seconds only (FAT keeps
// even ones), and those that keep nanoseconds but look at the clock with the
// system's timer.
const (
	coarseTick = 2e9
	fineTick   = 5e7
)

// racy reports whether a file could have been changed, at this stamp, after a
// reading that began at when (nanoseconds since 1970): git's rule for its index.
func (s stamp) racy(when int64) bool {
	last := max(s.mtime, s.ctime)
	tick := int64(fineTick)
	if s.mtime%1e9 == 0 && s.ctime%1e9 == 0 {
		tick = coarseTick
	}
	return last >= when-tick
}

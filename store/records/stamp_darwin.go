package records

import (
	"bytes"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

func stamp(_ string, st fs.FileInfo) Stamp {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}
	}
	return Stamp{Inode: s.Ino, Born: s.Birthtimespec.Nano()}
}

// spelling returns the name under which the system keeps a directory.
func spelling(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer f.Close()
	var buf [1024]byte // MAXPATHLEN of <sys/param.h>
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETPATH, uintptr(unsafe.Pointer(&buf[0])))
	if n := bytes.IndexByte(buf[:], 0); errno == 0 && n > 0 {
		return string(buf[:n])
	}
	return path
}

// machine returns "": macOS has an id, but reading it needs cgo or another program.
func machine() string { return "" }

package place

import (
	"errors"
	"syscall"
)

// Held reports whether another process holds the lock of the file at path: whether it has the file
// open, as every holder has. It waits for nothing. A missing file is held by nobody.
func Held(path string) bool {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return false
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ, 0, nil, syscall.OPEN_EXISTING, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err == nil {
		syscall.CloseHandle(h)
	}
	return errors.Is(err, errorSharingViolation)
}

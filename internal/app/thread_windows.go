package app

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession detaches a process from the console where it was started.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

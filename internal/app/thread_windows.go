package app

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession keeps a process apart from the console that it was started at.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

//go:build unix

package app

import "syscall"

// ownSession keeps a process apart from the terminal that it was started at.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

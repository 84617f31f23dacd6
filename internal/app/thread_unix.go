//go:build unix

package app

import "syscall"

// ownSession detaches a process from the terminal where it was started.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

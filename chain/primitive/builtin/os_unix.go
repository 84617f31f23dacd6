//go:build unix

package builtin

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// keepOwner gives a new file the owner of the file that it replaces, if the system allows that:
// root works on files of other users.
func keepOwner(dir *os.Root, name string, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		dir.Chown(name, int(st.Uid), int(st.Gid))
	}
}

// group makes a command the leader of a process group, which its Cancel kills.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// exitCode returns the status that a shell would give: 128 + n for signal n.
func exitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

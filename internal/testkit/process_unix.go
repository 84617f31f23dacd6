//go:build unix

package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// CPUTime returns the processor time that this process has used; 0 where a process cannot ask.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// NeedPermissions skips a test of permissions for root, whom no permission binds. Name the test
// in a call of RunAsNobody.
func NeedPermissions(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root may do everything; TestAsNobody runs this as an ordinary user")
	}
}

// RunAsNobody runs tests of this test program as an ordinary user, and wants each to pass. It
// skips if the user is ordinary.
func RunAsNobody(t testing.TB, tests ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("they run as an ordinary user anyway")
	}
	self, err := os.Executable()
	Must(t, err)
	dir, err := os.MkdirTemp("", "rye-nobody-") // t.TempDir is in a directory of root's
	Must(t, err)
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, filepath.Base(self))
	WriteFile(t, program, ReadFile(t, self), 0o755)
	const nobody = 65534
	Must(t, os.Chown(dir, nobody, nobody))
	cmd := exec.Command(program, "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	for _, name := range tests {
		if err != nil || !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Fatalf("%s as nobody: %v\n%s", name, err, out)
		}
	}
}

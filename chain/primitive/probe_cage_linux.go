package primitive

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/internal/words"
)

// NoNamespaces returns the reason why namespaces cannot be used here, or "". Only a mount inside
// one shows that, because some systems allow making namespaces and forbid every use. That takes
// some milliseconds once, and afterwards one read of a file.
func NoNamespaces() string {
	namespaces.Do(func() { namespaces.answer = makeNamespaces() })
	return namespaces.why
}

var namespaces struct {
	sync.Once
	answer
}

func makeNamespaces() (a answer) {
	c := Call{Argv: []string{cageProgram(), "--build-id"}, Timeout: 10 * time.Second, Sandbox: Sandbox{Tier: S3}, fresh: true}
	if err := noCage(&c); err != nil {
		return answer{why: err.Error()}
	}
	key := machineNow()
	if a, ok := remembered(cageUsed().Memo, key); ok {
		return a
	}
	if _, err := Run(context.Background(), c, nil, nil); err != nil {
		a.why = words.Clip(strings.ReplaceAll(err.Error(), "\n", " "), 300)
	}
	if !passing(a.why) {
		remembers(cageUsed().Memo, key, a)
	}
	return a
}

// passing reports whether the reason is a temporary one.
func passing(why string) bool {
	for _, e := range []unix.Errno{unix.ENOSPC, unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EUSERS} {
		if strings.Contains(why, e.Error()) {
			return true
		}
	}
	return false
}

// answer is the result of making namespaces.
type answer struct{ why string }

// machineNow identifies everything that the answer depends on: this start of the system, the
// user, the confinement of this process, and the program.
func machineNow() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	label, _ := os.ReadFile("/proc/self/attr/current")
	status, _ := os.ReadFile("/proc/self/status")
	around := ""
	for line := range strings.Lines(string(status)) {
		for _, name := range []string{"CapBnd:", "NoNewPrivs:", "Seccomp:"} {
			if strings.HasPrefix(line, name) {
				around += strings.TrimSpace(line[len(name):]) + " "
			}
		}
	}
	for _, name := range []string{"user", "pid", "mnt"} { // a container has the boot id of its host
		id, _ := os.Readlink("/proc/self/ns/" + name)
		around += id + " "
	}
	var st unix.Stat_t
	unix.Stat(cageProgram(), &st)
	return fmt.Sprintf("%s%s %d %q %d %d %d", around, bytes.TrimSpace(boot), unix.Geteuid(), bytes.Trim(label, "\x00\n"), st.Ino, st.Mtim.Nano(), st.Size)
}

// maxMemo is the largest memo, in bytes.
const maxMemo = 4 << 10

func remembered(file, key string) (a answer, ok bool) {
	if file == "" {
		return a, false
	}
	raw, err := os.ReadFile(file)
	if err != nil || len(raw) > maxMemo {
		return a, false
	}
	was, why, ok := strings.Cut(string(raw), "\n")
	if !ok || was != key || !strings.HasSuffix(why, "\n") {
		return a, false
	}
	return answer{why: strings.TrimSuffix(why, "\n")}, true
}

// remembers writes the file again. If it cannot, the next start makes namespaces again.
func remembers(file, key string, a answer) {
	if file == "" {
		return
	}
	tmp := fmt.Sprintf("%s.%d", file, os.Getpid())
	if os.WriteFile(tmp, []byte(key+"\n"+a.why+"\n"), 0o600) == nil {
		os.Rename(tmp, file)
	}
}

// foresee names the limits that will not bind in a run.
func foresee(c *Call) []string { return unbound(c, tracing()) }

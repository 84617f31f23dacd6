package primitive

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runDeeds take a run of their own: they end it, or are looked at after its end.
var runDeeds = []deed{
	{"a file beyond the limit", "E19", "arrr", "", nil},
	{"memory beyond the limit", "E19", "arrr", "", nil},
	{"processor time beyond the limit", "E19", "arrr", "", nil},
	{"processes beyond the limit", "E19", "aaaa aaar", "count processes of the user, not of the run", nil},
	{"temporary files beyond the limit", "E19", "aaar", "no limit on temporary files", nil},
	{"a process that stays: in the background", "", "rrrr", "", nil},
	{"a process that stays: in a session of its own", "", "rrrr", "", nil},
	{"a process that stays: forked twice", "", "rrrr", "", nil},
	{"a process that stays: deaf to signals", "", "rrrr", "", nil},
	{"a process that stays: beside its parent", "", "rrrr", "", nil},
}

// exceed is the tool that does one of them. It says "ok" when nothing kept it.
func exceed(args []string) {
	what, dir := args[0], args[1]
	switch {
	case strings.HasPrefix(what, "a file"), strings.HasPrefix(what, "temporary"):
		if grow(filepath.Join(dir, "grown")) {
			fmt.Println("ok")
		}
	case strings.HasPrefix(what, "memory"):
		if mem, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err == nil {
			mem[0] = 1
			fmt.Println("ok")
		}
	case strings.HasPrefix(what, "processor"):
		// A shell ends by the first signal about it, which Go passes over.
		syscall.Exec("/bin/sh", []string{"sh", "-c", "i=0; while [ $i -lt 5000000 ]; do i=$((i+1)); done; echo ok"}, nil)
	case strings.HasPrefix(what, "processes"):
		if multiply(60) {
			fmt.Println("ok")
		}
	default:
		linger(what, args[2])
	}
}

// grow writes 4 MiB.
func grow(p string) bool {
	f, err := os.Create(p)
	if err != nil {
		return false
	}
	defer os.Remove(p)
	defer f.Close()
	for range 64 {
		if _, err := f.Write(make([]byte, 64<<10)); err != nil {
			return false
		}
	}
	return true
}

// multiply starts processes that stay.
func multiply(n int) bool {
	for range n {
		cmd := exec.Command("/bin/sleep", "5")
		if cmd.Start() != nil {
			return false
		}
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
	}
	return true
}

// linger leaves a process that would stay for long. Its argument is known to who looks for it.
func linger(what, name string) {
	script := map[string]string{
		"a process that stays: in the background":       `sleep %s & `,
		"a process that stays: in a session of its own": `setsid sleep %s & `,
		"a process that stays: forked twice":            `(setsid sh -c 'sleep %s & wait' &) `,
		"a process that stays: deaf to signals":         `(trap '' TERM HUP INT; setsid sleep %s &) `,
		"a process that stays: beside its parent":       `(exec setsid -f sleep %s) `,
	}[what]
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("exec >/dev/null 2>&1 </dev/null; "+script, name))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: strings.HasSuffix(what, "parent")}
	cmd.Run()
	time.Sleep(30 * time.Millisecond)
}

// attemptRuns adds what came of each.
func attemptRuns(t *testing.T, tier Tier, all map[string]found) {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i, d := range runDeeds {
		wait.Go(func() {
			f := runDeed(t, tier, d.name, fmt.Sprintf("3600.%d%d%03d", os.Getpid(), tier, i))
			mu.Lock()
			defer mu.Unlock()
			all[d.name] = f
		})
	}
	wait.Wait()
}

func runDeed(t *testing.T, tier Tier, name, token string) found {
	self, _ := os.Executable()
	dir := temp(t)
	c := Call{Argv: []string{self, name, dir, token}, Dir: dir, Temp: temp(t), Timeout: 30 * time.Second, Env: map[string]string{"RYE_TEST_ACT": "exceed"}}
	c.Sandbox = Sandbox{Tier: tier, Exec: []string{self}, Write: []string{dir}}
	l := &c.Sandbox.Limits
	switch {
	case strings.HasPrefix(name, "a file"):
		l.File = 1 << 20
	case strings.HasPrefix(name, "memory"):
		l.Memory = 256 << 20
	case strings.HasPrefix(name, "processor"):
		l.CPU = 1
	case strings.HasPrefix(name, "processes"):
		if l.Procs = 30; tier < S3 {
			l.Procs = 0 // it would count this user's others
		}
	case strings.HasPrefix(name, "temporary"):
		l.Temp = 1 << 20
		c.Argv[2] = c.Temp
	}
	if tier >= S3 {
		c.Temp = RunTemp
		if l.Temp > 0 {
			c.Argv[2] = RunTemp
		}
	}
	r, err := Run(context.Background(), c, nil, nil)
	if err != nil {
		t.Errorf("%s: %s: %v", tier, name, err)
		return found{void, err.Error()}
	}
	if strings.HasPrefix(name, "a process that stays") {
		return lingers(token)
	}
	said := fmt.Sprintf("exit %d %s, %q", r.Exit, r.Signal, r.Stderr[:min(len(r.Stderr), 100)])
	if string(r.Stdout) == "ok\n" {
		return found{allowed, said}
	}
	return found{refused, said}
}

// lingers looks for a process that has the token among its arguments, and ends it.
func lingers(token string) found {
	procs, _ := os.ReadDir("/proc")
	for _, p := range procs {
		raw, _ := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		var pid int
		if fmt.Sscan(p.Name(), &pid); strings.Contains(string(raw), "sleep\x00"+token) && alive(pid) {
			unix.Kill(pid, unix.SIGKILL)
			return found{allowed, "it lives"}
		}
	}
	return found{refused, "it ended"}
}

package primitive

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/fault"
)

// The test program is also the hostile tool: with RYE_TEST_ACT set it commits the
// forbidden acts and prints what came of them.
func act() {
	switch os.Getenv("RYE_TEST_ACT") {
	case "commit":
		sceneOf(os.Getenv("RYE_TEST_SCENE")).commit()
		return
	case "victim":
		victim()
		return
	case "exceed":
		exceed(os.Args[1:])
		return
	}
	var s site
	json.Unmarshal([]byte(os.Getenv("RYE_TEST_ACT")), &s)
	var acts []Act
	as := judge
	if os.Getenv("RYE_TEST_INSIDE") != "" {
		as = judgeInside
	}
	for _, f := range forbidden {
		acts = append(acts, as(f.name, f.do(&s)))
	}
	json.NewEncoder(os.Stdout).Encode(acts)
}

// needS2 asks the kernel itself what it has: that rye finds nothing to confine programs with
// is no reason to pass over the tests that it does.
func needS2(t testing.TB) {
	t.Helper()
	if Best() >= S2 {
		return
	}
	abi, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == 0 {
		t.Fatalf("this kernel has Landlock %d, and rye gives %s", abi, Best())
	}
	t.Skipf("this kernel has no Landlock: %v", errno)
}

func TestProbe(t *testing.T) {
	needS2(t)
	rep, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range rep.Acts {
		if !a.Refused {
			t.Errorf("%s: %s", a.Name, a.Answer)
		}
	}
	if len(rep.Acts) < 50 {
		t.Errorf("attempted %d acts only", len(rep.Acts))
	}
	// The thread that was confined must not have been ours.
	if _, err := os.ReadFile("/proc/self/environ"); err != nil {
		t.Errorf("the test itself is confined: %v", err)
	}
}

// attempt runs the hostile tool and returns its report by act.
func attempt(t *testing.T, tier Tier, change func(*Call)) map[string]Act {
	t.Helper()
	site, closeSite, err := newSite(temp(t))
	if err != nil {
		t.Fatal(err)
	}
	defer closeSite()
	victim := exec.Command(program(t, "sleep"), "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { victim.Process.Kill(); victim.Wait() }()
	site.Victim = victim.Process.Pid
	aim, _ := json.Marshal(site)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Call{Argv: []string{self}, Temp: temp(t), Env: map[string]string{"RYE_TEST_ACT": string(aim)}, Sandbox: Sandbox{Tier: tier}}
	if change != nil {
		change(&c)
	}
	r := mustRun(t, c)
	var acts []Act
	if err := json.Unmarshal(r.Stdout, &acts); err != nil {
		t.Fatalf("the tool said %q, %q (exit %d %s)", r.Stdout, r.Stderr, r.Exit, r.Signal)
	}
	out := map[string]Act{}
	for _, a := range acts {
		out[a.Name] = a
	}
	return out
}

func TestForbiddenActsOfATool(t *testing.T) {
	needS2(t)
	for name, a := range attempt(t, S2, nil) {
		if !a.Refused {
			t.Errorf("S2: %s: %s", name, a.Answer)
		}
	}
}

// What the tests above refuse must be possible without the sandbox, or they would
// prove nothing.
func TestForbiddenActsAreHarmlessWithoutSandbox(t *testing.T) {
	needS2(t)
	acts := attempt(t, S0, nil)
	for _, name := range []string{"read a file outside", "write a file outside", "create a file outside", "truncate a file outside",
		"list a directory outside", "read another process's environment", "signal another process", "TCP over IPv4", "UDP",
		"sockets of this machine", "a datagram pair aimed anew", "the key ring", "clone3", "type into a terminal", "add a key",
		"change another process's limits", "enter a namespace"} {
		if acts[name].Refused {
			t.Logf("%s is refused without a sandbox too: %s", name, acts[name].Answer)
		}
		if name == "read a file outside" && acts[name].Answer != "allowed" {
			t.Errorf("%s without a sandbox: %s", name, acts[name].Answer)
		}
	}
}

func TestForbiddenActsOfAnOrdinaryUser(t *testing.T) {
	needS2(t)
	if os.Getuid() != 0 {
		t.Skip("already an ordinary user")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test program lies in a private directory; nobody needs a copy.
	dir, err := os.MkdirTemp("/tmp", "rye-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777)
	prog := filepath.Join(dir, "primitive.test")
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(prog, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(prog, "-test.run", "^(TestProbe|TestForbiddenActsOfATool|TestProjectIsConfined|TestLimits|TestRun|TestOrphan|TestKilledRye|TestMark|TestForbiddenActsInNamespaces|TestProjectInNamespaces|TestNamespaces)", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + SafePath}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestForbiddenActsOfATool") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// project makes a project with everything that must stay out of reach.
func project(t *testing.T) string {
	t.Helper()
	dir := temp(t)
	for path, text := range map[string]string{
		"data/in.txt": "in", "script.sh": "#!/bin/sh\necho ran", ".ai/rye.yaml": "format: 1", ".ai/tools/x.sh": "x",
		".git/config": "[core]", ".git/hooks/x": "x", "home/.ssh/id_ed25519": "KEY", "home/other": "other",
	} {
		p := filepath.Join(dir, path)
		os.MkdirAll(filepath.Dir(p), 0o755)
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Links by which a hostile clone would name what it must not reach.
	os.Symlink(filepath.Join(dir, "home/.ssh"), filepath.Join(dir, "keys"))
	os.Symlink("/etc", filepath.Join(dir, "etc"))
	return dir
}

func TestProjectIsConfined(t *testing.T) {
	needS2(t)
	dir := project(t)
	script := `
		try() { if eval "$2" 2>/dev/null; then echo "$1 yes"; else echo "$1 no"; fi; }
		try read-data       'cat data/in.txt >/dev/null'
		try write-data      'echo x > data/out.txt'
		try make-dir        'mkdir data/sub && echo x > data/sub/y'
		try move-within     'mv data/out.txt data/sub/z'
		try delete          'rm -r data/sub'
		try write-temp      'echo x > $TMPDIR/x'
		try write-home      'echo x > $HOME/.bashrc'
		try exec-project    './script.sh >/dev/null'
		try read-ai         'cat .ai/rye.yaml >/dev/null'
		try write-ai        'echo x > .ai/rye.yaml'
		try append-ai       'echo x >> .ai/tools/x.sh'
		try create-ai       'echo x > .ai/tools/new.sh'
		try delete-ai       'rm .ai/tools/x.sh'
		try rename-ai       'mv .ai ai2'
		try link-ai         'ln .ai/tools/x.sh data/x.sh'
		try truncate-ai     'truncate -s 0 .ai/rye.yaml'
		try write-git       'echo x > .git/hooks/post-checkout'
		try create-in-root  'echo x > new.txt'
		try read-key        'cat home/.ssh/id_ed25519'
		try read-key-link   'cat keys/id_ed25519'
		try read-key-dots   'cat data/../home/.ssh/id_ed25519'
		try read-key-proc   'cat /proc/self/cwd/home/.ssh/id_ed25519'
		try write-key       'echo x > home/.ssh/authorized_keys'
		try read-beside-key 'cat home/other >/dev/null'
		try write-etc-link  'echo x > etc/rye-test'
		try write-tmp       'echo x > /tmp/rye-test-outside'
		try dev-tcp         'echo x > /dev/tcp/127.0.0.1/1'
		try shadow          'cat /etc/shadow'
		try shm             'echo x > /dev/shm/rye-test'
	`
	c := bash(t, script)
	c.Dir = dir
	// The run's own directory lies in a protected cache.
	cache := temp(t)
	c.Temp = filepath.Join(cache, "run", "tmp")
	if err := os.MkdirAll(c.Temp, 0o700); err != nil {
		t.Fatal(err)
	}
	c.Sandbox = Sandbox{Tier: S2, Exec: []string{dir}, Write: []string{dir},
		Protect: []string{filepath.Join(dir, ".ai"), filepath.Join(dir, ".git"), cache}, Hide: []string{filepath.Join(dir, "home/.ssh")}}
	r := mustRun(t, c)
	yes := map[string]bool{"read-data": true, "write-data": true, "make-dir": true, "move-within": true, "delete": true,
		"write-temp": true, "write-home": true, "exec-project": true, "read-ai": true, "read-beside-key": true}
	lines := strings.Split(strings.TrimSpace(string(r.Stdout)), "\n")
	if len(lines) != 29 {
		t.Errorf("%d answers: %s\n%s", len(lines), r.Stdout, r.Stderr)
	}
	for _, l := range lines {
		name, got, _ := strings.Cut(l, " ")
		if (got == "yes") != yes[name] {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Create makes and replaces files where something protected lies, and nothing else:
// and the result says what is no longer kept by the kernel.
func TestCreateBesideTheProtected(t *testing.T) {
	needS2(t)
	dir := project(t)
	c := bash(t, `
		try() { if eval "$2" 2>/dev/null; then echo "$1 yes"; else echo "$1 no"; fi; }
		try create  'echo x > new.txt'
		try mkdir   'mkdir sub && echo x > sub/y'
		try replace 'mv new.txt newer.txt'
		try link    'ln -s /etc here'
		try hard    'ln data/in.txt sub/hard'
		try pipe    'mkfifo p'
		try cut     'truncate -s 0 .ai/rye.yaml'
		try key     'cat home/.ssh/id_ed25519'
		try outside 'echo x > ../x'
	`)
	c.Dir = dir
	c.Sandbox = Sandbox{Tier: S2, Exec: []string{dir}, Create: []string{dir},
		Protect: []string{filepath.Join(dir, ".ai"), filepath.Join(dir, ".git")}, Hide: []string{filepath.Join(dir, "home/.ssh")}}
	r := mustRun(t, c)
	want := "create yes\nmkdir yes\nreplace yes\nlink no\nhard no\npipe no\ncut no\nkey no\noutside no\n"
	if cage.ABI() < 3 {
		want = strings.Replace(want, "cut no", "cut yes", 1)
	}
	if got := string(r.Stdout); got != want {
		t.Errorf("got\n%s\nwant\n%s\n%s", got, want, r.Stderr)
	}
	if !strings.Contains(strings.Join(r.Unbound, "\n"), dir) {
		t.Errorf("unbound does not say so: %q", r.Unbound)
	}
}

func TestRegistryToolsReadAndDoNotWrite(t *testing.T) {
	needS2(t)
	dir := project(t)
	c := bash(t, `cat data/in.txt; echo x > data/out.txt || echo refused; ./script.sh || echo refused`)
	c.Dir = dir
	c.Sandbox = Sandbox{Tier: S2, Read: []string{dir}}
	if got := string(mustRun(t, c).Stdout); got != "inrefused\nrefused\n" {
		t.Errorf("stdout %q", got)
	}
}

func TestNetworkWhenAllowed(t *testing.T) {
	needS2(t)
	net := func(ports []uint16) func(*Call) {
		return func(c *Call) { c.Sandbox.Net, c.Sandbox.Ports = true, ports }
	}
	acts := attempt(t, S2, net(nil))
	for name, want := range map[string]bool{"TCP over IPv4": false, "UDP": false, "netlink": false, "raw IP": true, "raw packets": true,
		"sockets of this machine": true, "virtual machine sockets": true} {
		if acts[name].Refused != want {
			t.Errorf("%s: refused %v, %s", name, acts[name].Refused, acts[name].Answer)
		}
	}
	if cage.ABI() >= 4 {
		if a := attempt(t, S2, net([]uint16{443}))["TCP over IPv4"]; !a.Refused {
			t.Errorf("another port than the one asked for: %s", a.Answer)
		}
	}
}

func TestLimits(t *testing.T) {
	c := bash(t, `ulimit -c; ulimit -n; ulimit -t; ulimit -f; ulimit -n 4096 2>/dev/null && echo raised; umask; grep NoNewPrivs /proc/self/status`)
	c.Sandbox.Limits = Limits{CPU: 5, Files: 99, File: 1 << 20}
	if Best() < S1 {
		t.Fatal("every Linux has limits")
	}
	want := "0\n99\n5\n1024\n0022\nNoNewPrivs:\t1\n"
	if got := string(mustRun(t, c).Stdout); got != want {
		t.Errorf("limits %q, want %q", got, want)
	}
	c = bash(t, `head -c 3000000 /dev/zero > $TMPDIR/big; ls -l $TMPDIR/big | cut -d' ' -f5`)
	c.Sandbox.Limits = Limits{File: 1 << 20}
	if got := strings.TrimSpace(string(mustRun(t, c).Stdout)); got != "1048576" {
		t.Errorf("file grew to %s bytes", got)
	}
	c = bash(t, `while :; do :; done`)
	c.Sandbox.Limits = Limits{CPU: 1}
	if r := mustRun(t, c); r.Signal != "SIGKILL" && r.Signal != "SIGXCPU" {
		t.Errorf("processor time: %+v", r)
	}
	// A program stands still until its limits are there: the very first thing that
	// a program can do already sees them.
	for range 50 {
		c := Call{Argv: []string{program(t, "cat"), "/proc/self/limits"}, Sandbox: Sandbox{Tier: S1, Limits: Limits{Files: 77}}}
		if r := mustRun(t, c); !strings.Contains(string(r.Stdout), "77                   77") {
			t.Fatalf("limits came late: %s", r.Stdout)
		}
	}
}

func TestOrphansEndWithTheirRun(t *testing.T) {
	if err := AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	defer adopting.Store(false)
	for name, script := range map[string]string{
		"background":     `sleep 1001 >/dev/null 2>&1 & echo $!`,
		"own session":    `setsid sleep 1001 >/dev/null 2>&1 & sleep 0.1; pgrep -f 'sleep 1001' -s 0 >/dev/null; echo $!`,
		"double fork":    `(setsid bash -c 'sleep 1001 & echo $! ; wait' & ) ; sleep 0.2`,
		"ignores TERM":   `(trap '' TERM; setsid sleep 1001 & echo $!; wait) & sleep 0.1`,
		"holds the pipe": `setsid sleep 1001 & echo $!`,
	} {
		r := mustRun(t, outside(bash(t, script)))
		begun := time.Now()
		for _, f := range strings.Fields(string(r.Stdout)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatalf("%s: said %q %q", name, r.Stdout, r.Stderr)
			}
			if alive(pid) {
				t.Errorf("%s: process %d lives after its run", name, pid)
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("%s: took %s", name, d)
		}
	}
	// Other children of this program are none of the tools' business.
	other := exec.Command(program(t, "sleep"), "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	mustRun(t, bash(t, `setsid sleep 1001 &`))
	if !alive(other.Process.Pid) {
		t.Error("an innocent child was killed")
	}
	other.Process.Kill()
	other.Wait()
}

func TestTimeoutLeavesNoProcess(t *testing.T) {
	c := outside(bash(t, `sleep 1002 & (trap '' TERM; sleep 1002) & echo $!; sleep 1002`))
	c.Timeout = 300 * time.Millisecond
	r, err := Run(context.Background(), c, nil, nil)
	if !fault.Is(err, fault.Limit) {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	if pid == 0 || alive(pid) {
		t.Errorf("process %d lives after the time limit", pid)
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestKilledParentTakesTheProgramAlong(t *testing.T) {
	if os.Getenv("RYE_TEST_PARENT") != "" {
		c := outside(bash(t, `echo $$ >&2; exec sleep 1003`))
		Run(context.Background(), c, nil, os.Stdout)
		return
	}
	self, _ := os.Executable()
	cmd := exec.Command(self, "-test.run", "^TestKilledParentTakesTheProgramAlong$")
	cmd.Env = append(os.Environ(), "RYE_TEST_PARENT=1", "TMPDIR="+temp(t)) // it is killed before it could remove its files
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	fmt.Fscan(out, &pid)
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(2 * time.Second); pid == 0 || alive(pid); time.Sleep(time.Millisecond) {
		if pid == 0 || time.Now().After(deadline) {
			t.Fatalf("program %d outlived its killed parent", pid)
		}
	}
}

func TestDescriptorsStayHere(t *testing.T) {
	leak, err := os.Open("/dev/null")
	if err != nil {
		t.Skip(err)
	}
	defer leak.Close()
	unix.FcntlInt(leak.Fd(), unix.F_SETFD, 0) // as a careless parent leaves it
	if got := string(mustRun(t, bash(t, `echo /proc/$$/fd/*`)).Stdout); strings.Count(got, "/fd/") > 4 {
		t.Errorf("descriptors in the program: %s", got)
	}
}

package primitive

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/fault"
)

// needS3 makes the test program one that can start itself again, and skips where
// namespaces cannot be made.
func needS3(t testing.TB) {
	t.Helper()
	needS2(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	Reenter(self)
	t.Cleanup(func() { Reenter("") })
	if why := NoNamespaces(); why != "" {
		t.Skip(why)
	}
}

func TestForbiddenActsInNamespaces(t *testing.T) {
	needS3(t)
	acts := attempt(t, S3, func(c *Call) { c.Env["RYE_TEST_INSIDE"] = "1"; c.Sandbox.Exec = c.Argv[:1] })
	if len(acts) < 50 {
		t.Errorf("attempted %d acts only", len(acts))
	}
	for name, a := range acts {
		if !a.Refused {
			t.Errorf("S3: %s: %s", name, a.Answer)
		}
	}
}

func TestProbeInNamespaces(t *testing.T) {
	needS3(t)
	rep, err := Probe()
	if err != nil || rep.NoDeeper != "" || len(rep.Deeper) < 50 {
		t.Fatalf("Probe = %+v, %v", rep, err)
	}
	for _, a := range rep.Deeper {
		if !a.Refused {
			t.Errorf("S3: %s: %s", a.Name, a.Answer)
		}
	}
}

// The acts that S2 cannot stop, and S3 does, beside what both allow; in a project on the disk, and
// in one in shared memory, which the view otherwise shows as temporary files.
func TestProjectInNamespaces(t *testing.T) {
	needS3(t)
	for _, at := range []string{os.TempDir(), cage.SharedDir} {
		t.Run(at, func(t *testing.T) {
			if _, err := os.Stat(at); err != nil {
				t.Skipf("this system has no %s: %v", at, err)
			}
			t.Setenv("TMPDIR", at)
			projectInNamespaces(t)
		})
	}
}

func projectInNamespaces(t *testing.T) {
	dir := project(t)
	outside := filepath.Join(temp(t), "mine")
	os.WriteFile(outside, []byte("x"), 0o644)
	script := `
		try() { if eval "$2" >/dev/null 2>&1; then echo "$1 yes"; else echo "$1 no"; fi; }
		try read-data       'cat data/in.txt'
		try write-data      'echo x > data/out.txt'
		try delete          'rm data/out.txt'
		try write-temp      'echo x > $TMPDIR/x'
		try write-tmp       'echo x > /tmp/rye-test-private'
		try read-ai         'cat .ai/rye.yaml'
		try write-ai        'echo x > .ai/rye.yaml'
		try create-ai       'echo x > .ai/tools/new.sh'
		try chmod-ai        'chmod 600 .ai/tools/x.sh'
		try touch-ai        'touch .ai/tools/x.sh'
		try write-git       'echo x > .git/hooks/post-checkout'
		try chmod-git       'chmod 777 .git/config'
		try read-key        'cat home/.ssh/id_ed25519'
		try see-key         'test -e home/.ssh/id_ed25519'
		try read-key-link   'cat keys/id_ed25519'
		try see-outside     'test -e ` + outside + `'
		try chmod-outside   'chmod 600 ` + outside + `'
		try see-home        'test -e /home'
		try write-root      'echo x > /new'
		try write-usr       'echo x > /usr/new'
		try see-processes   'test -e /proc/` + strconv.Itoa(os.Getpid()) + `/cmdline'
		try see-loopback    'test -e /proc/net/dev && grep -q "lo:.* [1-9]" /proc/net/dev'
		try hostname        'test "$(uname -n)" != rye'
		try new-userns      'unshare -Ur true'
		try set-id          'cp /bin/true data/t; chmod 4755 data/t'
		try write-top       'echo x > new.txt && mv new.txt newer.txt && mkdir -p build/x && rm -r build newer.txt'
	`
	c := bash(t, script)
	c.Dir = dir
	c.Sandbox = Sandbox{Tier: S3, Exec: []string{dir}, Write: []string{dir},
		Protect: []string{filepath.Join(dir, ".ai"), filepath.Join(dir, ".git")}, Hide: []string{filepath.Join(dir, "home/.ssh")}}
	r := mustRun(t, c)
	yes := map[string]bool{"read-data": true, "write-data": true, "delete": true, "write-temp": true, "read-ai": true, "write-tmp": true, "write-top": true}
	lines := strings.Split(strings.TrimSpace(string(r.Stdout)), "\n")
	if len(lines) != 26 {
		t.Errorf("%d answers: %s\n%s", len(lines), r.Stdout, r.Stderr)
	}
	for _, l := range lines {
		name, got, _ := strings.Cut(l, " ")
		if (got == "yes") != yes[name] {
			t.Errorf("%s: %s", name, got)
		}
	}
	if r.Tier != S3 {
		t.Errorf("tier %s", r.Tier)
	}
}

func TestNamespacesBehaveLikeARun(t *testing.T) {
	needS3(t)
	s3 := func(c Call) Call { c.Sandbox.Tier = S3; return c }
	c := s3(bash(t, `cat; echo "out $1 $X"; echo err >&2; echo /proc/self/fd/*; ulimit -n; exit 7`, "$HOME {x}"))
	c.Stdin, c.Env = []byte("in "), map[string]string{"X": "y"}
	c.Sandbox.Limits.Files = 99
	r := mustRun(t, c)
	out := strings.Split(string(r.Stdout), "\n")
	if out[0] != "in out $HOME {x} y" || out[2] != "99" || string(r.Stderr) != "err\n" || r.Exit != 7 {
		t.Errorf("result %+v: %q, %q", r, r.Stdout, r.Stderr)
	}
	if n := strings.Count(out[1], "/fd/"); n > 4 {
		t.Errorf("descriptors in the tool: %s", out[1])
	}
	for name, tc := range map[string]struct {
		call Call
		want fault.Code
	}{
		"missing program":    {Call{Argv: []string{"/nowhere/program"}}, fault.NotFound},
		"missing write path": {Call{Argv: c.Argv, Sandbox: Sandbox{Write: []string{"/nowhere"}}}, fault.Denied},
	} {
		if _, err := Run(context.Background(), s3(tc.call), nil, nil); fault.CodeOf(err) != tc.want {
			t.Errorf("%s: Run = %v (%s), want %s", name, err, fault.CodeOf(err), tc.want)
		}
	}
	c = s3(bash(t, `echo begun; trap 'echo polite; exit 3' TERM; while :; do sleep 0.05; done`))
	c.Timeout, c.Grace = 500*time.Millisecond, 5*time.Second
	if r, err := Run(context.Background(), c, nil, nil); !fault.Is(err, fault.Limit) || string(r.Stdout) != "begun\npolite\n" {
		t.Errorf("time limit: %+v, %v, %q", r, err, r.Stdout)
	}
	c = s3(bash(t, `trap '' TERM; (setsid sleep 1006 &) ; while :; do sleep 0.05; done`))
	c.Timeout, c.Mark = 500*time.Millisecond, newMark()
	if _, err := Run(context.Background(), c, nil, nil); !fault.Is(err, fault.Limit) {
		t.Errorf("stubborn: %v", err)
	}
	for deadline := time.Now().Add(2 * time.Second); len(marked(c.Mark)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes %v outlive the namespaces", marked(c.Mark))
		}
	}
}

func TestKilledRyeLeavesNoNamespace(t *testing.T) {
	needS3(t)
	cmd, inner := hosted(t, temp(t), S3)
	// The tool says the ids that its processes have inside; outside they are those
	// with the mark of the only run there is.
	var pids []int
	for _, pid := range descendants(cmd.Process.Pid) {
		if markOf(pid) != 0 {
			pids = append(pids, pid)
		}
	}
	if len(pids) < len(inner) {
		t.Fatalf("found %d of %d processes", len(pids), len(inner))
	}
	cmd.Process.Kill()
	cmd.Wait()
	waitGone(t, "S3, rye was killed", pids)
}

func descendants(pid int) []int {
	all := childrenOf(pid)
	for _, child := range all {
		all = append(all, descendants(child)...)
	}
	return all
}

func TestS3IsRefusedWhereItCannotBe(t *testing.T) {
	was := cageUsed()
	defer UseCage(func() Cage { return was })
	c := bash(t, "true")
	c.Sandbox.Tier = S3
	for name, other := range map[string]Cage{
		"no rye-cage":             {},
		"no program of this name": {Program: "/nowhere/rye-cage", Build: testBuild},
		"of another build":        {Program: was.Program, Build: "another"},
	} {
		UseCage(func() Cage { return other })
		if _, err := Run(context.Background(), c, nil, nil); !fault.Is(err, fault.Denied) || fault.HintOf(err).IsZero() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArrange(t *testing.T) {
	m := func(path string, rank int) mount {
		return mount{cage.Mount{Kind: []cage.Kind{cage.Shown, cage.Given, cage.Kept, cage.Gone}[rank], Path: path}, rank}
	}
	for name, tc := range map[string]struct {
		in   []mount
		want string
	}{
		"parents first":               {[]mount{m("/p/out", given), m("/p", shown)}, "/p=0 /p/out=1"},
		"write wins over read":        {[]mount{m("/p", shown), m("/p", given)}, "/p=1"},
		"read in write stays write":   {[]mount{m("/p", given), m("/p/data", shown)}, "/p=1"},
		"protected in write":          {[]mount{m("/p", given), m("/p/.ai", kept)}, "/p=1 /p/.ai=2"},
		"write in protected":          {[]mount{m("/p", given), m("/p/.ai", kept), m("/p/.ai/x", given)}, "/p=1 /p/.ai=2"},
		"but the run's own temp":      {[]mount{m("/p", given), m("/p/c", kept), m("/p/c/tmp", given)}, "/p=1 /p/c=2 /p/c/tmp=1"},
		"protected and not in view":   {[]mount{m("/q", kept), m("/r", gone)}, ""},
		"hidden in read":              {[]mount{m("/p", shown), m("/p/.ssh", gone), m("/p/.ssh/x", shown)}, "/p=0 /p/.ssh=3"},
		"hidden wins":                 {[]mount{m("/p", shown), m("/p/k", gone), m("/p/k", given)}, "/p=0 /p/k=3"},
		"a name that begins the same": {[]mount{m("/p", shown), m("/p-x", given)}, "/p-x=1 /p=0"},
	} {
		var got []string
		for _, m := range arrange(tc.in, "/p/c/tmp") {
			got = append(got, m.Path+"="+strconv.Itoa(m.rank))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestSuperuserActsAsTheOwner: root that works in somebody's project does there what they
// may, and nothing that only root may.
func TestSuperuserActsAsTheOwner(t *testing.T) {
	needS3(t)
	if os.Getuid() != 0 {
		t.Skip("takes the superuser")
	}
	const owner, group = 12345, 23456
	dir, err := os.MkdirTemp("/tmp", "rye-owner-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "roots"), []byte("x"), 0o600)
	for _, err := range []error{os.Chown(dir, owner, group)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c := bash(t, `id -u; id -g; id -G; cat roots; cat /etc/shadow; echo x > mine && stat -c '%u %g' mine; chown 0 mine; grep Cap.*: /proc/self/status | tr -d '\t' | sort -u`)
	c.Temp, c.Dir = RunTemp, dir
	c.Sandbox = Sandbox{Tier: S3, Write: []string{dir}, Owner: owner, OwnerGroup: group}
	r := mustRun(t, c)
	want := "12345\n23456\n23456\n12345 23456\nCapAmb:0000000000000000\nCapBnd:0000000000000000\nCapEff:0000000000000000\nCapInh:0000000000000000\nCapPrm:0000000000000000\n"
	if string(r.Stdout) != want || strings.Count(string(r.Stderr), "ermission denied") != 2 {
		t.Errorf("%s\n%s", r.Stdout, r.Stderr)
	}
}

// TestHostReplacesWhatIsKept: a mount over a file goes when the file is replaced outside.
// That is told, so that what came in its place can be looked at.
func TestHostReplacesWhatIsKept(t *testing.T) {
	needS3(t)
	dir := temp(t)
	file, kept := filepath.Join(dir, ".envrc"), filepath.Join(dir, ".vscode")
	os.WriteFile(file, []byte("old"), 0o644)
	os.Mkdir(kept, 0o755)
	c := bash(t, `echo evil > .envrc; echo evil > .vscode/tasks.json; mv .vscode x; rm -r .envrc .vscode; echo begun; while [ ! -e go ]; do sleep 0.01; done; cat .envrc; echo evil > .envrc`)
	c.Dir = dir
	c.Sandbox = Sandbox{Tier: S3, Exec: []string{dir}, Write: []string{dir}, Protect: []string{file, kept}}
	r, err := Run(t.Context(), c, writerFunc(func(p []byte) (int, error) {
		if strings.HasPrefix(string(p), "begun") {
			os.WriteFile(file+".new", []byte("new"), 0o644)
			os.Rename(file+".new", file)
			os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
		}
		return len(p), nil
	}), nil)
	if err != nil || string(r.Stdout) != "begun\nnew" {
		t.Fatalf("%v: %q, %q", err, r.Stdout, r.Stderr)
	}
	if got, _ := os.ReadDir(kept); len(got) != 0 {
		t.Errorf("%v in a directory that was kept", got)
	}
	if len(r.Vanished) != 1 || r.Vanished[0] != file {
		t.Errorf("vanished: %q", r.Vanished)
	}
	// Who is killed tells nothing, so a file is not known to have been kept.
	c = bash(t, `trap '' TERM; while :; do sleep 0.05; done`)
	c.Dir, c.Timeout = dir, 300*time.Millisecond
	c.Sandbox = Sandbox{Tier: S3, Exec: []string{dir}, Write: []string{dir}, Protect: []string{file, kept}}
	if r, err = Run(t.Context(), c, nil, nil); !fault.Is(err, fault.Limit) || len(r.Vanished) != 1 || r.Vanished[0] != file {
		t.Errorf("killed: %v, vanished: %q", err, r.Vanished)
	}
}

// TestNothingWritesAfterTheEnd: when Run returns nobody of the run is left to write.
func TestNothingWritesAfterTheEnd(t *testing.T) {
	needS3(t)
	dir := temp(t)
	for range 20 {
		c := bash(t, `for i in 1 2 3 4; do setsid bash -c 'while :; do echo x >> f; done' & done; sleep 0.02`)
		c.Dir = dir
		c.Sandbox = Sandbox{Tier: S3, Exec: []string{dir}, Write: []string{dir}}
		mustRun(t, c)
		at, _ := os.Stat(filepath.Join(dir, "f"))
		time.Sleep(2 * time.Millisecond)
		if later, _ := os.Stat(filepath.Join(dir, "f")); at.Size() != later.Size() {
			t.Fatalf("%d bytes at the end, %d afterwards", at.Size(), later.Size())
		}
	}
}

// A process that lets nobody look into it starts tools in namespaces, too, as an ordinary user
// as well (TestForbiddenActsOfAnOrdinaryUser), and stays hidden.
func TestNamespacesFromAHiddenProcess(t *testing.T) {
	needS3(t)
	const inChild = "RYE_TEST_HIDDEN"
	if os.Getenv(inChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestNamespacesFromAHiddenProcess$")
		cmd.Env = append(os.Environ(), inChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("hidden: %v\n%s", err, out)
		}
		return
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	ours, err := os.Readlink("/proc/thread-self/ns/user")
	if err != nil {
		ours = "" // an ordinary user cannot look at its own
	}
	c := bash(t, "readlink /proc/self/ns/user")
	c.Sandbox.Tier = S3
	if r := mustRun(t, c); r.Exit != 0 || strings.TrimSpace(string(r.Stdout)) == ours || !strings.HasPrefix(string(r.Stdout), "user:") {
		t.Errorf("the tool is in %q, this in %q (exit %d)", r.Stdout, ours, r.Exit)
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		t.Errorf("dumpable = %d, %v, want 0", n, err)
	}
}

package primitive

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/fault"
)

// program finds a program of the system, resolved, or skips.
func program(t testing.TB, name string) string {
	t.Helper()
	p, err := exec.LookPath("/usr/bin/" + name)
	if err != nil {
		if p, err = exec.LookPath("/bin/" + name); err != nil {
			t.Skipf("no %s on this machine", name)
		}
	}
	return p
}

func temp(t testing.TB) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// bash is a call of a script at the best tier there is.
func bash(t testing.TB, script string, args ...string) Call {
	argv := append([]string{program(t, "bash"), "--noprofile", "--norc", "-c", script, "bash"}, args...)
	return Call{Argv: argv, Temp: temp(t), Timeout: 20 * time.Second, Grace: 200 * time.Millisecond, Sandbox: Sandbox{Tier: Best()}}
}

// outside has c run without namespaces: its processes have the ids that it knows.
func outside(c Call) Call {
	c.Sandbox.Tier = min(c.Sandbox.Tier, S2)
	return c
}

func mustRun(t testing.TB, c Call) Result {
	t.Helper()
	r, err := Run(context.Background(), c, nil, nil)
	if err != nil {
		t.Fatalf("Run(%q) = %v; stderr %s", c.Argv, err, r.Stderr)
	}
	return r
}

func TestRunGivesOutputAndExit(t *testing.T) {
	c := bash(t, `cat; echo "out $1"; echo err >&2; exit 7`, "$HOME {x} ${X}")
	c.Stdin = []byte("in ")
	var live bytes.Buffer
	r, err := Run(context.Background(), c, &live, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Stdout), "in out $HOME {x} ${X}\n"; got != want || live.String() != want {
		t.Errorf("stdout = %q, live %q, want %q", got, live.String(), want)
	}
	if string(r.Stderr) != "err\n" || r.Exit != 7 || r.Signal != "" || r.Tier != Best() {
		t.Errorf("stderr %q, exit %d, signal %q, tier %s", r.Stderr, r.Exit, r.Signal, r.Tier)
	}
}

func TestRunTellsSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	r := mustRun(t, bash(t, `kill -SEGV $$`))
	if r.Exit != 139 || r.Signal != "SIGSEGV" {
		t.Errorf("exit %d, signal %q, want 139, SIGSEGV", r.Exit, r.Signal)
	}
}

func TestEnvironmentIsMadeFromNothing(t *testing.T) {
	for _, kv := range []string{"LD_PRELOAD=/tmp/evil.so", "BASH_ENV=/tmp/evil", "AWS_SECRET_ACCESS_KEY=canary", "PYTHONPATH=/tmp/evil", "GIT_DIR=/tmp"} {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	c := bash(t, `env | cut -d= -f1 | sort | tr '\n' ' '`)
	c.Env = map[string]string{"RYE_PARAMS": "{}"}
	got := strings.Fields(string(mustRun(t, c).Stdout))
	for _, name := range got {
		switch name {
		case "PATH", "HOME", "TMPDIR", "LANG", "RYE_PARAMS", "RYE_RUN", "TAR_OPTIONS", "PWD", "SHLVL", "_", "OLDPWD":
		default:
			t.Errorf("variable %s reached the program", name)
		}
	}
}

func TestInjectingVariablesAreRefused(t *testing.T) {
	for _, name := range []string{"LD_PRELOAD", "ld_library_path", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "NODE_OPTIONS", "BASH_FUNC_ls%%", "SSH_AUTH_SOCK", "PYTHONSTARTUP", "GIT_SSH_COMMAND"} {
		c := bash(t, "true")
		c.Env = map[string]string{name: "x"}
		if _, err := Run(context.Background(), c, nil, nil); !fault.Is(err, fault.Denied) {
			t.Errorf("Run with %s = %v, want denied", name, err)
		}
	}
	for name, want := range map[string]bool{"API_URL": true, "GIT_DIR": false, "PYTHONPATH": false, "RYE_PARAMS": false, "PATH": false, "https_proxy": false, "LD_PRELOAD": false} {
		if FromFile(name) != want {
			t.Errorf("FromFile(%q) = %v", name, !want)
		}
	}
}

func TestCallsThatMakeNoSense(t *testing.T) {
	sh := program(t, "bash")
	for name, tc := range map[string]struct {
		call Call
		want fault.Code
	}{
		"no program":       {Call{}, fault.Usage},
		"relative":         {Call{Argv: []string{"bash"}}, fault.Usage},
		"NUL in argument":  {Call{Argv: []string{sh, "a\x00b"}}, fault.Usage},
		"NUL in variable":  {Call{Argv: []string{sh}, Env: map[string]string{"A": "\x00"}}, fault.Usage},
		"'=' in name":      {Call{Argv: []string{sh}, Env: map[string]string{"A=B": ""}}, fault.Usage},
		"missing program":  {Call{Argv: []string{"/nowhere/program"}}, fault.NotFound},
		"tier beyond this": {Call{Argv: []string{sh}, Sandbox: Sandbox{Tier: S3 + 1}}, fault.Denied},
	} {
		if _, err := Run(context.Background(), tc.call, nil, nil); fault.CodeOf(err) != tc.want {
			t.Errorf("%s: Run = %v (%s), want %s", name, err, fault.CodeOf(err), tc.want)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	c := bash(t, `head -c 100000000 /dev/zero | tr '\0' x; echo end`)
	c.MaxOutput = 1 << 16
	r := mustRun(t, c)
	if !r.Truncated || len(r.Stdout) > c.MaxOutput+100 {
		t.Errorf("kept %d bytes, truncated %v", len(r.Stdout), r.Truncated)
	}
	if !bytes.HasSuffix(r.Stdout, []byte("xend\n")) || !bytes.Contains(r.Stdout, []byte("[rye: 99934")) {
		t.Errorf("no marker or no end: ...%q", r.Stdout[len(r.Stdout)-20:])
	}
}

func TestBounded(t *testing.T) {
	for size := range 40 {
		for chunk := 1; chunk < 9; chunk++ {
			b := bounded{max: 10}
			in := []byte("0123456789abcdefghijklmnopqrstuvwxyzABCD")[:size]
			for rest := in; len(rest) > 0; {
				k := min(chunk, len(rest))
				b.Write(rest[:k])
				rest = rest[k:]
			}
			got := b.Bytes()
			if size <= 10 && !bytes.Equal(got, in) || size > 10 && (!bytes.HasPrefix(got, in[:5]) || !bytes.HasSuffix(got, in[size-5:])) || b.dropped != int64(max(0, size-10)) {
				t.Fatalf("size %d in chunks of %d: %q, dropped %d", size, chunk, got, b.dropped)
			}
		}
	}
}

func TestToolThatNeverReadsItsInput(t *testing.T) {
	c := bash(t, `exec 0<&-; echo done`)
	c.Stdin = bytes.Repeat([]byte("x"), 10<<20)
	if r := mustRun(t, c); string(r.Stdout) != "done\n" {
		t.Errorf("stdout %q", r.Stdout)
	}
	c = bash(t, `echo done`) // holds the pipe and never reads
	c.Stdin = bytes.Repeat([]byte("x"), 10<<20)
	if r := mustRun(t, c); string(r.Stdout) != "done\n" {
		t.Errorf("stdout %q", r.Stdout)
	}
}

func TestTimeLimit(t *testing.T) {
	c := bash(t, `echo begun; trap 'echo polite; exit 3' TERM; while :; do sleep 0.05; done`)
	c.Timeout = 300 * time.Millisecond
	c.Grace = 5 * time.Second
	r, err := Run(context.Background(), c, nil, nil)
	if !fault.Is(err, fault.Limit) || !r.TimedOut || string(r.Stdout) != "begun\npolite\n" || r.Exit != 3 {
		t.Errorf("Run = %+v, %v", r, err)
	}
	c = bash(t, `trap '' TERM; while :; do sleep 0.05; done`)
	c.Timeout = 200 * time.Millisecond
	r, err = Run(context.Background(), c, nil, nil)
	if !fault.Is(err, fault.Limit) || r.Signal != "SIGKILL" {
		t.Errorf("stubborn program: Run = %+v, %v", r, err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := bash(t, `echo begun; sleep 1000`)
	out := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if _, err := Run(ctx, c, out, nil); !fault.Is(err, fault.Interrupt) {
		t.Errorf("Run = %v, want interrupted", err)
	}
	if _, err := Run(ctx, c, nil, nil); !fault.Is(err, fault.Interrupt) {
		t.Errorf("Run with a dead context = %v, want interrupted", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "rye-cage" { // the test program is that one, too
		os.Exit(cage.Main(os.Args, testBuild))
	}
	if exit, mine := Inside(os.Args[1:]); mine {
		os.Exit(exit)
	}
	if self, err := os.Executable(); err == nil {
		UseCage(func() Cage { return Cage{Program: self, Build: testBuild} })
	}
	if os.Getenv("RYE_TEST_HOST") != "" {
		host()
		return
	}
	if os.Getenv("RYE_TEST_ACT") != "" {
		act()
		return
	}
	os.Exit(m.Run())
}

const testBuild = "of the tests"

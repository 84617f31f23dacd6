package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rye-os/rye/internal/testkit"
)

// bin holds the two programs, built once, as make builds them.
var bin string

// disk is a directory for temporary files that is not in memory.
var disk string

func TestMain(m *testing.M) {
	if os.Getenv(servantEnv) != "" {
		servant()
		return
	}
	if os.Getenv(reachEnv) != "" {
		reach()
		return
	}
	if os.Getenv(measureEnv) != "" {
		measure()
		return
	}
	os.Exit(withPrograms(m))
}

func withPrograms(m *testing.M) int {
	disk = os.TempDir()
	testkit.UseMemory()
	dir, err := os.MkdirTemp("", "rye-cmd-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if bin, err = filepath.EvalSymlinks(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	const pkg = module + "/internal/build."
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator),
		"-ldflags", "-s -w -X "+pkg+"id=test -X "+pkg+"version=v0.0.0-test -X "+module+"/internal/cli.testOnlyHints="+hintsFile(), "./cmd/...")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	build = exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(bin, "hinted", filepath.Base(program("rye"))), "./testdata/hinted")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build what tries hints: %v\n%s", err, out)
		return 1
	}
	if err := os.Mkdir(filepath.Join(bin, "tried"), 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	overlap()
	code := m.Run()
	wrong, err := wrongHints() // at the end, because tests that run at once note them in one file
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, w := range wrong {
		fmt.Fprintln(os.Stderr, w)
		code = max(code, 1)
	}
	if *hintsInto != "" {
		if err := listHints(*hintsInto); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// overlap runs one test more at once than there are processors, unless -parallel says how many: the
// tests spend a twelfth of their time in waiting for limits and pauses of hosts.
func overlap() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1))
	}
}

func program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(bin, name)
}

// TestScript runs testdata/script: one file for each command and case. Besides
// testscript's own, the commands are
//
//	exits 11 rye run tool:acme/hello    run it and compare its exit status
//	grant rye -C clone                      grant all that a project asks for, by its digest
//	remember dir                            note every file below dir, …
//	unchanged dir                           … and fail when one changed, came or went
//	webserver                               start a server on loopback; its address is $URL
//	requests 2                              it was asked so often since the last time
//
// and the condition [s3] holds where something can be mounted in namespaces of one's own.
//
//	languageserver path                     build the language server of the builtins' tests there
//	where STORE record                      set $STORE to where rye says that the record is
//	thread ID                               set $ID to the id of the newest thread
//
// The project is $WORK; homes are made outside of it, in $TOP, the first as $TOP/home.
//
// Every hint that a command shows is noted, and each command among them is typed once in
// the state in which it was shown (testdata/hinted); wrongHints returns one that is refused,
// or that neither changes anything nor asks, and -hints file lists them all.
func TestScript(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	p := scripts("")
	p.Files = slices.DeleteFunc(slices.Clone(all), onDisk)
	testscript.Run(t, p)
	p.Files = slices.DeleteFunc(all, func(file string) bool { return !onDisk(file) })
	if p.WorkdirRoot, err = os.MkdirTemp(disk, "rye-cmd-test"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(p.WorkdirRoot) })
	testscript.Run(t, p)
}

// onDisk reports whether a script needs directories on the disk: above them no file system begins,
// and nothing counts as shared memory.
func onDisk(file string) bool {
	return slices.Contains([]string{"execute_denied", "key_trust", "mistake_01_no_init"}, strings.TrimSuffix(filepath.Base(file), ".txtar"))
}

// scripts are those of a directory of testdata, or of none, and the world that they run in.
func scripts(dir string) testscript.Params {
	if dir != "" {
		dir = filepath.Join("testdata", dir)
	}
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			top := e.WorkDir + ".homes" // a home in the project would be refused
			home := filepath.Join(top, "home")
			e.Setenv("TOP", top)
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("APPDATA", filepath.Join(home, "appdata"))
			e.Setenv("LOCALAPPDATA", filepath.Join(home, "localappdata"))
			list := string(filepath.ListSeparator)
			e.Setenv("PATH", filepath.Join(bin, "hinted")+list+bin+list+os.Getenv("PATH"))
			e.Setenv("RYE_TEST_BIN", bin)
			e.Setenv("RYE_TEST_HINTS", hintsFile())
			e.Setenv("RYE_TEST_FOUND", triedFile())
			e.Setenv("RYE_TEST_TRIED", filepath.Join(bin, "tried"))
			e.Setenv("RYE_TEST_STATE", e.WorkDir+list+top)
			e.Setenv("RYE_BIN", bin)
			e.Values[remembered{}] = map[string]string{}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "s3" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return namespaces(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"grant":     grantAll,
			"remember":  remember,
			"unchanged": unchanged,
			"webserver": webserver,
			"githost":   serveRepositories,
			"requests":  requests,
			"where":     where,

			"languageserver": languageServer,
			"thread":         newestThread,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
}

// namespaces asks the system itself, and not rye.
var namespaces = sync.OnceValue(func() bool {
	return exec.Command("unshare", "-Urmpf", "mount", "-t", "proc", "proc", "/proc").Run() == nil
})

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits status program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
}

// grantAll is what somebody does who got the digest of the statement from outside.
func grantAll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: grant rye [args...]")
	}
	ts.Check(ts.Exec(args[0], append(slices.Clone(args[1:]), "trust", "--dry-run", "--json")...))
	var statement struct{ Digest string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &statement))
	ts.Check(ts.Exec(args[0], append(slices.Clone(args[1:]), "trust", "--accept", statement.Digest)...))
}

func where(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: where VARIABLE place")
	}
	ts.Check(ts.Exec("rye", "where", args[1]))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// languageServerOf is the server of the builtins' tests, built once.
var languageServerOf = sync.OnceValues(func() (string, error) {
	program := program("languageserver")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "../../chain/primitive/builtin/testdata/languageserver").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return program, err
})

func languageServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: languageserver path")
	}
	built, err := languageServerOf()
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	raw, err := os.ReadFile(built)
	ts.Check(err)
	ts.Check(os.WriteFile(path, raw, 0o755))
}

func newestThread(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: thread VARIABLE")
	}
	ts.Check(ts.Exec("rye", "thread", "list", "--limit", "1", "--json"))
	var info struct {
		ID string `json:"thread_id"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &info))
	ts.Setenv(args[0], info.ID)
}

type remembered struct{}

func remember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: remember dir")
	}
	ts.Value(remembered{}).(map[string]string)[args[0]] = listing(ts, args[0])
}

func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unchanged dir")
	}
	was, ok := ts.Value(remembered{}).(map[string]string)[args[0]]
	if !ok {
		ts.Fatalf("%s was not remembered", args[0])
	}
	if now := listing(ts, args[0]); now != was {
		ts.Fatalf("%s changed; it was\n%s\nand is\n%s", args[0], was, now)
	}
}

func listing(ts *testscript.TestScript, dir string) string {
	root := ts.MkAbs(dir)
	var lines []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		lines = append(lines, fmt.Sprintf("%s %x", filepath.ToSlash(rel), sha256.Sum256(raw)))
		return err
	})
	ts.Check(err)
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

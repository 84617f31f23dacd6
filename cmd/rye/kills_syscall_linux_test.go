package main_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// acting are the system calls by which rye changes files or speaks with a host.
var acting = map[uint64]bool{
	syscall.SYS_RENAMEAT: true, syscall.SYS_LINKAT: true, syscall.SYS_UNLINKAT: true, syscall.SYS_MKDIRAT: true,
	syscall.SYS_FSYNC: true, syscall.SYS_WRITE: true, syscall.SYS_PWRITE64: true, syscall.SYS_FTRUNCATE: true, syscall.SYS_FLOCK: true,
	syscall.SYS_CONNECT: true, syscall.SYS_UTIMENSAT: true,
}

// killedAt runs rye and kills it, with everything that it started, before the nth call by which
// it acts. It reports false when there were not so many.
func (h *home) killedAt(n int, args ...string) bool {
	h.t.Helper()
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := h.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); errors.Is(err, os.ErrPermission) {
		h.t.Skipf("nothing may be traced here: %v", err)
	} else if err != nil {
		h.t.Fatal(err)
	}
	defer cmd.Process.Release()
	pid, begun := cmd.Process.Pid, false
	for calls := 0; ; {
		var ws syscall.WaitStatus
		at, err := syscall.Wait4(-pid, &ws, syscall.WALL, nil) // its own group: a host's programs are no concern of ours
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			h.t.Fatalf("rye %s: %v", strings.Join(args, " "), err)
		}
		switch {
		case at == pid && (ws.Exited() || ws.Signaled()):
			return ws.Signaled()
		case !ws.Stopped():
			continue
		case !begun:
			begun = true
			err = syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|syscall.PTRACE_O_TRACEFORK|syscall.PTRACE_O_TRACEVFORK|exitKill)
			if err != nil {
				h.t.Fatal(err)
			}
		}
		pass := ws.StopSignal()
		switch {
		case pass == syscall.SIGTRAP|0x80:
			pass = 0
			if info, errno := callOf(at); errno == 0 && info.op == 1 && acting[info.nr] {
				if calls++; calls == n {
					syscall.Kill(-pid, syscall.SIGKILL)
					continue
				}
			}
		case pass == syscall.SIGTRAP, pass == syscall.SIGSTOP:
			pass = 0
		}
		syscall.PtraceSyscall(at, int(pass)) // one that is gone meanwhile is waited for
	}
}

// TestKilledAtEverySystemCall: push, fetch, add and update, killed before each call by which
// they change something, or a part of these without RYE_SOAK. What is run next needs no
// repair; what was published is there once, and what is locked is what was agreed to.
func TestKilledAtEverySystemCall(t *testing.T) {
	t.Parallel()
	needGit(t)
	root := t.TempDir()
	g := &gitHost{repo: bareRepo(t, root, "reg.git")}
	s := httptest.NewServer(backend(t, root, false))
	t.Cleanup(s.Close)
	g.url = s.URL + "/reg.git"
	alice, bob := g.person(t, "acme"), g.person(t, "local")
	alice.publishable("a", 0)
	alice.rye("registry", "init", g.url, "--yes")
	alice.rye("push", "--all")
	bob.rye("registry", "add", g.url, "--yes")
	bob.rye("add", "acme/knowledge/a", "--yes")
	operations := func() int { return strings.Count(alice.rye("registry", "log", "acme"), "\n") }
	patch := 0
	news := func() {
		patch++
		alice.publishable("a", patch)
	}
	locked := func() {
		t.Helper()
		if lock := bob.read(".ai/rye.lock"); !strings.Contains(lock, fmt.Sprintf("1.0.%d", patch)) {
			t.Fatalf("the lock is not at 1.0.%d:\n%s", patch, lock)
		}
		bob.rye("lock", "verify")
	}
	for _, verb := range []struct {
		name   string
		before func()
		run    func(kill func(h *home, args ...string))
	}{
		{"push", news, func(kill func(h *home, args ...string)) {
			was := operations()
			kill(alice, "push", "--all")
			alice.rye("push", "--all") // published it, or finds it there
			if n := operations(); n != was+1 {
				t.Fatalf("%d operations after one more version, want %d", n, was+1)
			}
		}},
		{"fetch", func() { news(); alice.rye("push", "--all") }, func(kill func(h *home, args ...string)) {
			kill(bob, "fetch")
			bob.rye("load", "knowledge:acme/a")
			bob.rye("fetch")
		}},
		{"update", func() { news(); alice.rye("push", "--all") }, func(kill func(h *home, args ...string)) {
			kill(bob, "update", "--yes")
			bob.rye("load", "knowledge:acme/a") // the old one or the new one, verified
			bob.rye("update", "--yes")
			locked()
		}},
		{"add", func() { bob.rye("update", "--yes"); bob.rye("rm", "knowledge:acme/a", "--yes") }, func(kill func(h *home, args ...string)) {
			kill(bob, "add", "acme/knowledge/a", "--yes")
			bob.rye("add", "acme/knowledge/a", "--yes")
			bob.rye("load", "knowledge:acme/a")
			locked()
		}},
	} {
		kills, step := 0, 23
		if soak {
			step = 1
		}
		for n, more := 1, true; more; n += step {
			verb.before()
			verb.run(func(h *home, args ...string) {
				if more = h.killedAt(n, args...); more {
					kills++
				}
			})
		}
		if kills == 0 {
			t.Errorf("%s was killed nowhere: the test proves nothing", verb.name)
		}
		t.Logf("%s: killed %d times", verb.name, kills)
	}
	bob.rye("registry", "verify")
	fsck(t, g.repo)
}

// saved keeps a person's files and those of the project, and returns what puts them back.
func (h *home) saved() (restore func()) {
	h.t.Helper()
	top := filepath.Dir(h.dir)
	kept := filepath.Join(h.t.TempDir(), "kept")
	run := func(program string, args ...string) {
		h.t.Helper()
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			h.t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	run("cp", "-a", top, kept)
	return func() {
		h.t.Helper()
		if err := os.RemoveAll(top); err != nil {
			h.t.Fatal(err)
		}
		run("cp", "-a", kept, top)
	}
}

// TestKilledBetweenFileAndRecord: commands that change files and their record, killed before
// each call by which they change something, or a part of these without RYE_SOAK. Until the
// next command that changes items nothing is refused that was not, and status reports what is
// due. After it, the files, what status shows and what verify answers are those of before the
// command or those of after it.
func TestKilledBetweenFileAndRecord(t *testing.T) {
	t.Parallel()
	for _, c := range changers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.rye("new", "knowledge", "acme/style")
			for _, name := range []string{"a", "b", "c"} {
				h.write(packDir+"/"+name+".txt", name+"\n")
			}
			h.rye("sign", "--all", "knowledge:acme/style", packDir)
			if c.before != nil {
				c.before(h)
			}
			prepare := h.saved()
			// Digests and dates differ from one time to the next.
			digests := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
			shape := func() string {
				said, _ := h.status("verify")
				words := digests.ReplaceAllString(h.rye("status", "--all")+said, "<digest>")
				_, err := os.Lstat(h.dir + "/" + styleFile)
				files, _ := os.ReadDir(h.dir + "/" + packDir)
				files = slices.DeleteFunc(files, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".rye-tmp-") }) // rye gc removes them
				return fmt.Sprint(words, err == nil, len(files))
			}
			before := shape()
			h.rye(c.args...)
			after := shape()
			kills, due, finished, step := 0, 0, 0, 7
			if soak {
				step = 1
			}
			for n := 1; ; n += step {
				prepare()
				if !h.killedAt(n, c.args...) {
					break
				}
				kills++
				said, code := h.status("status", "--all")
				if code != 0 || strings.Contains(said, "returned") {
					t.Fatalf("killed before call %d: rye status: exit %d\n%s", n, code, said)
				}
				if strings.Contains(said, "interrupted: ") {
					due++
				}
				if out, code := h.status("verify"); code == 13 || code == 19 {
					t.Fatalf("killed before call %d: rye verify: exit %d\n%s", n, code, out)
				}
				h.rye("new", "knowledge", fmt.Sprintf("acme/other%d", n))
				if err := os.Remove(fmt.Sprintf("%s/.ai/knowledge/acme/other%d.md", h.dir, n)); err != nil {
					t.Fatal(err)
				}
				switch is := shape(); is {
				case before:
				case after:
					finished++
				default:
					t.Fatalf("killed before call %d of rye %s: it is\n%s\nwant, as before:\n%s\nor, as after:\n%s", n, strings.Join(c.args, " "), is, before, after)
				}
				if said, _ := h.status("status"); strings.Contains(said, "interrupted: ") {
					t.Fatalf("killed before call %d: nobody finished it\n%s", n, said)
				}
			}
			if kills == 0 || finished == 0 || due == 0 {
				t.Errorf("killed %d times, %d times in the middle, finished %d times: the test proves nothing", kills, due, finished)
			}
			t.Logf("killed %d times, %d of these in the middle; %d were finished", kills, due, finished)
		})
	}
}

// TestKilledRotationIsGoneOnWith: a rotation that is killed between retiring the old key and
// exchanging the files leaves a key that signs nothing. Who signs is told to rotate again,
// which ends it.
func TestKilledRotationIsGoneOnWith(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	h.rye("sign", "--all")
	between := 0
	for n := 1; h.killedAt(n, "key", "rotate", "--yes"); n++ {
		out, code := h.status("sign", "--all")
		if code == 12 {
			between++
			if !strings.Contains(out, "hint: rye key rotate default\n") {
				t.Fatalf("killed before call %d: rye sign says\n%s", n, out)
			}
			h.rye("key", "rotate", "default", "--yes")
			h.rye("sign", "--all")
		} else if code != 0 {
			t.Fatalf("killed before call %d: rye sign: exit %d\n%s", n, code, out)
		}
	}
	if between == 0 {
		t.Error("it was killed nowhere between retiring and exchanging: the test proves nothing")
	}
}

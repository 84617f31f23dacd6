package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal runs a command of rye at a pseudo-terminal of its own, types the moment
// that the prompt comes, as only a machine can, and returns what was shown and the
// exit status. What is hidden must be hidden by then.
func terminal(t *testing.T, h *home, prompt, typed string, args ...string) (shown string, exit int) {
	t.Helper()
	return terminalWhile(t, h, prompt, func() string { return typed }, args...)
}

// terminalWhile is terminal for a test that does something while the prompt waits, and then
// says what to type.
func terminalWhile(t *testing.T, h *home, prompt string, then func() (typed string), args ...string) (shown string, exit int) {
	t.Helper()
	return atTerminal(t, h.command(args...), prompt, then)
}

// atTerminal is terminalWhile for any program.
func atTerminal(t *testing.T, cmd *exec.Cmd, prompt string, then func() (typed string)) (shown string, exit int) {
	t.Helper()
	master, slave := openPTY(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	var mu sync.Mutex
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		asked := false
		for {
			n, err := master.Read(buf)
			mu.Lock()
			out.Write(buf[:n])
			now := !asked && strings.Contains(out.String(), prompt)
			asked = asked || now
			mu.Unlock()
			if now {
				master.WriteString(then())
			}
			if err != nil {
				return // EIO: nobody has the other side open any more
			}
		}
	}()
	killer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer killer.Stop()
	cmd.Wait()
	<-read
	return out.String(), cmd.ProcessState.ExitCode()
}

func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	const getNumber, unlock = 0x80045430, 0x40045431 // TIOCGPTN and TIOCSPTLCK of asm-generic/ioctls.h
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	var number uint32
	var no int32
	for _, c := range []struct {
		call uintptr
		arg  unsafe.Pointer
	}{{unlock, unsafe.Pointer(&no)}, {getNumber, unsafe.Pointer(&number)}} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), c.call, uintptr(c.arg)); e != 0 {
			t.Skip(e)
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	return master, slave
}

// TestTerminalAsks: on a terminal rye asks; no is no, yes is yes, and an
// interrupt is neither.
func TestTerminalAsks(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	url := t.TempDir() + "/registry.git"
	h.rye("registry", "init", url, "--yes", "--name", "mine")
	bob := newHome(t)
	for _, c := range []struct {
		name, typed string
		exit        int
		pinned      bool
	}{
		{"interrupted", "\x03", 130, false},
		{"end of input", "\x04", 16, false},
		{"empty", "\n", 16, false},
		{"no", "n\n", 16, false},
		{"yes", "y\n", 0, true},
	} {
		shown, exit := terminal(t, bob, "[y/N]", c.typed, "registry", "add", url)
		if exit != c.exit || !strings.Contains(shown, "identity sha256:") {
			t.Errorf("%s: exit %d, want %d; shown:\n%s", c.name, exit, c.exit, shown)
		}
		if pinned := strings.Contains(bob.rye("registry", "list"), url); pinned != c.pinned {
			t.Errorf("%s: pinned %v, want %v", c.name, pinned, c.pinned)
		}
	}
}

// TestTerminalCompletes: bash with nothing but this script completes refs with a colon, ids and
// bare names.
func TestTerminalCompletes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	h := newHome(t)
	h.rye("init", "--namespace", "acme")
	h.rye("new", "knowledge", "acme/greeting", "--description", "Hello from this page")
	rc := filepath.Join(t.TempDir(), "rc")
	script := "PATH=" + filepath.Dir(program("rye")) + ":$PATH\nPS1='ready> '\nsource <(rye completion bash)\n"
	if err := os.WriteFile(rc, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, typed := range []string{"knowledge:acme/gre", "knowledge:ac", "acme/gr", "greet", "-C . knowledge:acme/g"} {
		cmd := h.command()
		cmd.Path, _ = exec.LookPath("bash")
		cmd.Args = []string{"bash", "--noprofile", "--rcfile", rc, "-i"}
		shown, exit := atTerminal(t, cmd, "ready> ", func() string { return "rye show " + typed + "\t\nexit\n" })
		if exit != 0 || !strings.Contains(shown, "Hello from this page") {
			t.Errorf("rye show %s<tab> ends with %d:\n%s", typed, exit, shown)
		}
	}
}

// TestTerminalHidesNothing: what an item holds cannot act on the terminal.
func TestTerminalHidesNothing(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.write(".ai/tools/acme/nasty.sh", strings.Replace(failingTool, "exit 3", `printf 'A\033[2JB\342\200\256C\n'`, 1))
	h.rye("sign", "--all")
	shown, exit := terminal(t, h, "\x00", "", "execute", "tool:acme/nasty")
	if exit != 0 || !strings.Contains(shown, `A\u001b[2JB\u202eC`) || strings.ContainsAny(shown, "\x1b\u202e") {
		t.Errorf("exit %d, shown %q", exit, shown)
	}
}

// TestTerminalPassphrase: it is asked twice, and not shown.
func TestTerminalPassphrase(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("true"); err != nil {
		t.Skip(err)
	}
	h := newHome(t)
	shown, exit := terminal(t, h, "passphrase: ", "hunter2\nhunter2\n", "key", "new", "safe", "--passphrase")
	if exit != 0 || strings.Contains(shown, "hunter2") || !strings.Contains(shown, "repeat it: ") {
		t.Errorf("exit %d, shown %q", exit, shown)
	}
	h.env = append(h.env, "RYE_KEY=safe")
	h.rye("new", "knowledge", "acme/style")
	if shown, exit := terminal(t, h, "passphrase", "wrong\n", "sign", "--all"); exit == 0 {
		t.Errorf("a wrong passphrase signed: %q", shown)
	}
	if shown, exit := terminal(t, h, "passphrase", "hunter2\n", "sign", "--all"); exit != 0 || strings.Contains(shown, "hunter2") {
		t.Errorf("exit %d, shown %q", exit, shown)
	}
}

// TestTerminalTakesOver: a person in a linked git worktree is asked once whether what was
// granted in the main working tree holds there too. No changes nothing.
func TestTerminalTakesOver(t *testing.T) {
	t.Parallel()
	git := h2git(t)
	bob := newHome(t)
	bob.write(noteFile, attackNote)
	bob.rye("sign", "--all")
	alice := newHome(t)
	key := alice.key("default")
	bob.rye("trust", "pin", key.SSH, "--namespace", "other", "--space", "project", "--fingerprint", key.Fingerprint, "--yes")
	git(bob.dir, "init", "-q", "-b", "main")
	git(bob.dir, "add", "-A")
	git(bob.dir, "commit", "-qm", "x")
	tree := bob.at(bob.beside("tree"))
	git(bob.dir, "worktree", "add", "-q", tree.dir)
	before := bob.trustFile()
	for _, c := range []struct {
		name, typed string
		exit        int
	}{{"no", "n\n", 16}, {"yes", "y\n", 0}} {
		shown, exit := terminal(t, tree, "trust? [y/N]", c.typed, "trust")
		if exit != c.exit || !strings.Contains(shown, "signer other "+key.SSH[:60]) {
			t.Errorf("%s: exit %d; shown:\n%s", c.name, exit, shown)
		}
		if same := bob.trustFile() == before; same != (c.exit != 0) {
			t.Errorf("%s: trust.yaml is the same: %v", c.name, same)
		}
	}
	tree.rye("load", noteRef)
	if out, code := tree.status("trust"); code != 0 || strings.Contains(out, "in a linked worktree") {
		t.Errorf("asked again: exit %d, %s", code, out)
	}
}

// TestTerminalOffersTrust: at the first refusal in a clone the same screen is shown, and
// after a yes the command goes on. No leaves everything as it was; --yes was said to the
// command and not to that; and nobody is asked where nothing would be granted.
func TestTerminalOffersTrust(t *testing.T) {
	t.Parallel()
	needBash(t)
	alice := newHome(t)
	alice.write(".ai/tools/acme/hello.sh", strings.Replace(failingTool, "exit 3", "echo went on", 1))
	alice.rye("sign", "--all")
	bob := newHome(t)
	bob.dir = alice.dir // whose key is not Bob's
	for _, c := range []struct {
		name, typed string
		args        []string
		exit        int
		asked, runs bool
	}{
		{"no", "n\n", []string{"execute", "tool:acme/hello"}, 11, true, false},
		{"no, at a look", "n\n", []string{"verify"}, 11, true, false},
		{"end of input", "\x04", []string{"execute", "tool:acme/hello"}, 11, true, false},
		{"by --yes", "", []string{"execute", "tool:acme/hello", "--yes"}, 11, false, false},
		{"yes", "y\n", []string{"execute", "tool:acme/hello"}, 0, true, true},
		{"again", "", []string{"execute", "tool:acme/hello"}, 0, false, true},
	} {
		shown, exit := terminal(t, bob, "trust? [y/N]", c.typed, c.args...)
		asked := strings.Contains(shown, "for everything in acme/")
		runs := strings.Contains(shown, "went on")
		if exit != c.exit || asked != c.asked || runs != c.runs {
			t.Errorf("%s: exit %d, asked %v, ran %v; want %d, %v, %v; shown:\n%s", c.name, exit, asked, runs, c.exit, c.asked, c.runs, shown)
		}
	}
}

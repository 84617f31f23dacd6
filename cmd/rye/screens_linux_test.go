package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rye-os/rye/internal/words"
)

// screenLines are what people type on the screens that are kept.
var screenLines = [][]string{
	{"list", "--space", "project"},
	{"status"},
	{"show", "fetcher"},
	{"verify"},
	{"search", "style", "--space", "project"},
	{"help"},
	{"help", "sandbox"},
	{"show", "tool:acme/fetchr"},
	{"undo", "knowledge:acme/gone"},
	{"diff"},
	{"config", "namespace"},
}

// TestScreens shows the same commands on terminals of 40 and 60 columns, dark ones and light
// ones, on one that knows no colours, with NO_COLOR, and in a pipe, and compares with what is
// kept in testdata/screens. No line is wider than the terminal but for a word, a hint or an
// example, which are whole; and colours are none that one background would hide.
func TestScreens(t *testing.T) {
	t.Parallel()
	needBash(t)
	m := newMistaken(t)
	shown := map[string]string{}
	for _, c := range []struct {
		name    string
		columns int // 0 is a pipe
		env     []string
	}{
		{"40-dark", 40, []string{"TERM=xterm-256color", "COLORFGBG=15;0"}},
		{"40-light", 40, []string{"TERM=xterm-256color", "COLORFGBG=0;15"}},
		{"60-dark", 60, []string{"TERM=xterm-256color", "COLORFGBG=15;0"}},
		{"60-dumb", 60, []string{"TERM=dumb"}},
		{"60-no-color", 60, []string{"TERM=xterm-256color", "NO_COLOR=1"}},
		{"pipe", 0, []string{"TERM=xterm-256color"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := m.screens(t, c.columns, c.env)
			shown[c.name] = got
			if c.columns > 0 {
				checkWidth(t, got, c.columns)
			}
			if colours := strings.Contains(got, "\x1b"); colours != strings.HasSuffix(c.name, "-dark") && c.name != "40-light" {
				t.Errorf("coloured: %v", colours)
			}
			for _, code := range regexp.MustCompile("\x1b\\[([0-9;]*)m").FindAllStringSubmatch(got, -1) {
				if !strings.Contains(" 0 1 2 31 32 33 36 ", " "+code[1]+" ") {
					t.Errorf("colour %q is not seen on every background", code[1])
				}
			}
			golden(t, filepath.Join("testdata", "screens", c.name+".txt"), strings.ReplaceAll(got, "\x1b", "^["))
		})
	}
	if shown["40-dark"] != shown["40-light"] {
		t.Error("a light and a dark terminal are shown different things")
	}
}

// screens types every line on a terminal of some columns, or into a pipe.
func (m *mistaken) screens(t *testing.T, columns int, env []string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range screenLines {
		h := *m.home
		h.env = append(append(h.env[:len(h.env):len(h.env)], "NO_COLOR="), env...)
		out, exit := "", 0
		if columns == 0 {
			raw, _ := h.command(line...).CombinedOutput()
			out = string(raw)
		} else {
			out, exit = screen(t, &h, columns, line...)
		}
		fmt.Fprintf(&b, "$ rye %s\n%s", strings.Join(line, " "), m.steady(out))
		if exit != 0 {
			fmt.Fprintf(&b, "(exit %d)\n", exit)
		}
	}
	return b.String()
}

var signedLine = regexp.MustCompile(`rye:signed:v2:\S+`)

// steady is plain for screens: what changes from run to run keeps its width.
func (m *mistaken) steady(out string) string {
	same := func(s string) string { return strings.Repeat("#", len(s)) }
	out = strings.ReplaceAll(strings.ReplaceAll(out, "\r\n", "\n"), m.variable("HOME"), "$HOME")
	out = strings.ReplaceAll(out, m.dir, "$PROJECT")
	return signedLine.ReplaceAllStringFunc(changing.ReplaceAllStringFunc(out, same), same)
}

// screen runs a command on a terminal of so many columns, where nobody types.
func screen(t *testing.T, h *home, columns int, args ...string) (shown string, exit int) {
	t.Helper()
	master, slave := openPTY(t)
	size := struct{ rows, columns, x, y uint16 }{24, uint16(columns), 0, 0}
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, slave.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); e != 0 {
		t.Fatal(e)
	}
	cmd := h.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	var out bytes.Buffer
	read := make(chan struct{})
	go func() { out.ReadFrom(master); close(read) }()
	killer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer killer.Stop()
	cmd.Wait()
	<-read
	return out.String(), cmd.ProcessState.ExitCode()
}

// checkWidth refuses a line that is wider than the terminal although it could be broken.
func checkWidth(t *testing.T, shown string, columns int) {
	t.Helper()
	change := false // is shown: as it is
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "$ rye ") {
			change = line == "$ rye diff"
		}
		whole := change || strings.HasPrefix(line, "$ rye") || strings.HasPrefix(line, "rye: hint:") || strings.HasPrefix(line, "  rye ") ||
			strings.HasPrefix(line, "next:") || len(strings.Fields(line)) <= 1
		if words.Width(line) > columns && !whole {
			t.Errorf("%d columns on a terminal of %d: %q", words.Width(line), columns, line)
		}
	}
}

// golden compares with what is kept in a file, or keeps it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s: got\n%s\nwant\n%s\n%v; read it, then: go test ./cmd/rye -run %s -update", file, got, want, err, t.Name())
	}
}

// TestPipeClosedEarly: that somebody reads only the beginning (head) ends a command as it ends
// others, and is no message.
func TestPipeClosedEarly(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	for _, line := range []string{"rye list", "rye help", "rye load knowledge:rye/reference/trust", "rye list --json"} {
		cmd := exec.Command("bash", "-c", "set -o pipefail; "+line+" | head -n 1 >/dev/null")
		cmd.Dir, cmd.Env = h.dir, append(h.env, "PATH="+bin+":"+os.Getenv("PATH"))
		const pipe = 128 + int(syscall.SIGPIPE)
		out, _ := cmd.CombinedOutput()
		if exit := cmd.ProcessState.ExitCode(); exit != 0 && exit != pipe || strings.Contains(string(out), "rye:") || strings.Contains(string(out), "goroutine") {
			t.Errorf("%s: exit %d, %q", line, exit, out)
		}
	}
}

package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	taskCommands = regexp.MustCompile(`(?m)^# commands: (\d+)$`)
	taskOfWeek   = regexp.MustCompile(`(?m)^# week: (\d+)$`)
	typed        = regexp.MustCompile(`(?m)^(\[[^\]]*\] )*(exec|exits \d+) rye( |$)`)
)

// A newcomer's week is 56 tasks. These of them have tests elsewhere: `make quickstart`, the README's
// tour, a passphrase and an agent of ssh, more rights in an update, a plugin, items of RyeOS, and
// Ctrl-C.
var tasksElsewhere = map[int]string{1: "TestQuickstart", 2: "TestTours", 24: "TestTerminalProtectedKey", 25: "TestAgentSigns",
	32: "update_consent.txtar", 42: "add_foreign.txtar", 43: "sign_upgrade.txtar", 49: "TestInterrupt"}

// TestTasks runs testdata/tasks: what a newcomer wants to do, in the words that one would type,
// each with the number of commands that it may take, written down beforehand. Besides those of
// TestScript the commands are
//
//	as bob        from here on somebody with a home of their own types, on a machine of their own
//	sshhost       an ssh on PATH that reaches one host, which is this machine
//	text NAME c   set $NAME to what a command prints, without the line's end
//
// No task has a dead end: what a refused command hints at is typed, as for every script.
func TestTasks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "tasks", "*.txtar"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d tasks, want 40 (%v)", len(files), err)
	}
	week := map[int]bool{}
	for n := range tasksElsewhere {
		week[n] = true
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(raw), "\n-- ")
		if n := taskOfWeek.FindStringSubmatch(script); n != nil {
			task, _ := strconv.Atoi(n[1])
			week[task] = true
		}
		said := taskCommands.FindStringSubmatch(script)
		if said == nil {
			t.Errorf("%s does not say how many commands it takes: # commands: N", f)
			continue
		}
		if got := len(typed.FindAllString(script, -1)); strconv.Itoa(got) != said[1] {
			t.Errorf("%s takes %d commands, and says %s", f, got, said[1])
		}
	}
	for n := 1; n <= 56; n++ {
		if !week[n] {
			t.Errorf("task %d of the week has no script", n)
		}
	}
	p := scripts("tasks")
	p.Cmds["as"], p.Cmds["sshhost"], p.Cmds["text"] = as, sshHost, textOf
	testscript.Run(t, p)
}

func as(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: as somebody")
	}
	home := filepath.Join(ts.Getenv("TOP"), args[0])
	ts.Check(os.MkdirAll(home, 0o755))
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "APPDATA": filepath.Join(home, "appdata"), "LOCALAPPDATA": filepath.Join(home, "localappdata")} {
		ts.Setenv(name, value)
	}
}

// sshHost puts an ssh on PATH that runs the remote command here, by a shell, as sshd does.
func sshHost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: sshhost")
	}
	dir := filepath.Join(ts.Getenv("TOP"), "ssh")
	ts.Check(os.MkdirAll(dir, 0o755))
	const script = "#!/bin/sh\ncase \"$*\" in *\" git.example.org \"*|*\"@git.example.org \"*) ;; *) echo \"ssh: Could not resolve hostname elsewhere.example.org: Name or service not known\" >&2; exit 255;; esac\nfor last; do :; done\nexec sh -c \"$last\"\n"
	ts.Check(os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755))
	ts.Setenv("PATH", dir+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

func textOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: text NAME program args...")
	}
	ts.Check(ts.Exec(args[1], args[2:]...))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

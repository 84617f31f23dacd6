package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/words"
)

// A person has a home directory and one project in it.
type person struct {
	w       *world
	name    string
	home    string
	project string
}

func (w *world) newPerson(name string) (*person, error) {
	p := &person{w: w, name: name, home: filepath.Join(w.dir, name)}
	p.project = filepath.Join(p.home, "project")
	return p, os.MkdirAll(p.project, 0o755)
}

// env returns the environment of a fresh login: a home, a PATH and little else.
func (p *person) env() []string {
	env := []string{"HOME=" + p.home, "PATH=" + filepath.Dir(p.w.rye) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"LANG=C.UTF-8", "NO_COLOR=1", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	env = append(env, "GIT_AUTHOR_NAME="+p.name, "GIT_AUTHOR_EMAIL="+p.name+"@example.org", "GIT_COMMITTER_NAME="+p.name, "GIT_COMMITTER_EMAIL="+p.name+"@example.org")
	if runtime.GOOS == "windows" {
		env = append(env, "USERPROFILE="+p.home, "APPDATA="+filepath.Join(p.home, "AppData"),
			"LOCALAPPDATA="+filepath.Join(p.home, "Local"), "SystemRoot="+os.Getenv("SystemRoot"), "TEMP="+os.TempDir(), "TMP="+os.TempDir())
	}
	return env
}

// An outcome is the expected result of a command; the zero value is success.
type outcome struct {
	exit  int
	words []string // that must be in its output
	lines int      // of its output that are shown, beside the lines of a difference; 0 is all
}

// command is one program that p will run in the project; args[0] is its name.
func (p *person) command(ctx context.Context, args ...string) *exec.Cmd {
	path := args[0]
	if path == "rye" {
		path = p.w.rye
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Env = p.project, p.env()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run shows a command and its output, and checks both against want.
func (p *person) run(ctx context.Context, want outcome, args ...string) (string, error) {
	fmt.Fprintf(p.w.out, "%s$ %s\n", p.name, p.tidy(quote(args)))
	p.w.commands++
	var out bytes.Buffer
	cmd := p.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := out.String()
	shown := strings.TrimSpace(text)
	if want.exit != 0 {
		shown += fmt.Sprintf("  (exit code %d)", want.exit)
	}
	p.show(shown, want.lines)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return text, fmt.Errorf("run %s: %w", quote(args), errors.Join(err, ctx.Err()))
	}
	if got := cmd.ProcessState.ExitCode(); got != want.exit {
		return text, fmt.Errorf("%s: exit code %d, want %d", quote(args), got, want.exit)
	}
	for _, word := range want.words {
		if !strings.Contains(text, word) {
			return text, fmt.Errorf("%s: %q is not in its output", quote(args), word)
		}
	}
	return text, nil
}

// all runs commands that must succeed.
func (p *person) all(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		if _, err := p.run(ctx, outcome{}, args...); err != nil {
			return err
		}
	}
	return nil
}

// write shows that a file is written, and writes it; path is relative to home.
func (p *person) write(path, content string) error {
	fmt.Fprintf(p.w.out, "%s writes ~/%s\n", p.name, path)
	full := filepath.Join(p.home, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, []byte(content), 0o644)
}

// edit changes a file of the project in place, once.
func (p *person) edit(path, old, new string) error {
	full := filepath.Join(p.project, filepath.FromSlash(path))
	text, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	if strings.Count(string(text), old) != 1 {
		return fmt.Errorf("edit %s: %q stands there %d times, want once", path, old, strings.Count(string(text), old))
	}
	return os.WriteFile(full, []byte(strings.Replace(string(text), old, new, 1)), 0o644)
}

// show prints an output, indented, with the temporary directories as ~. lines bounds it, but not
// the changed lines of a difference; 0 is all.
func (p *person) show(text string, lines int) {
	var shown []string
	left := false
	for line := range strings.Lines(p.tidy(text)) {
		line = strings.TrimRight(line, "\r\n")
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "", strings.Contains(line, "you are root"): // few people are
		case lines == 0 || len(shown) < lines || strings.HasPrefix(trimmed, "+") || strings.HasPrefix(trimmed, "-"):
			shown = append(shown, words.Clip(line, 150))
		default:
			left = true
		}
	}
	for i, line := range shown {
		if left && i == len(shown)-1 {
			line += "  …"
		}
		fmt.Fprintln(p.w.out, " ", line)
	}
}

// chain runs quiet commands that must succeed, and shows them as one line.
func (p *person) chain(ctx context.Context, commands ...[]string) error {
	var line []string
	for _, args := range commands {
		line = append(line, p.tidy(quote(args)))
	}
	fmt.Fprintf(p.w.out, "%s$ %s\n", p.name, strings.Join(line, " && "))
	for _, args := range commands {
		p.w.commands++
		if out, err := p.command(ctx, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", quote(args), err, out)
		}
	}
	return nil
}

func (p *person) tidy(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, p.home, "~"), p.w.dir, "/tmp")
}

// say prints the conclusion of the previous step.
func (w *world) say(text string) {
	fmt.Fprintln(w.out, "  ->", text)
}

func quote(args []string) string {
	q := make([]string, len(args))
	for i, a := range args {
		q[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'$*?{}()<>|&;") {
			q[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(q, " ")
}

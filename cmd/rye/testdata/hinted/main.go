// Hinted stands before rye on the PATH of the scripts. It runs rye, and when rye showed a
// command as a hint, it types that command in the very state in which it was shown: it
// notes the state, runs the command without a terminal, looks whether anything changed or
// a question came, and puts everything back. Where rye had failed, it types that command
// again before, and follows the hints that come then, as a person would. The result is one
// line of JSON in a file for the test.
//
// Its environment: RYE_TEST_BIN is the directory of the real programs, RYE_TEST_HINTS the
// file in which they note hints, RYE_TEST_STATE the directories that are the state,
// RYE_TEST_TRIED a directory with a file for each hint that was tried, RYE_TEST_FOUND the
// file for what was found.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// shown is a hint as the programs note it.
type shown struct {
	Hint  string   `json:"hint"`
	Words []string `json:"words"`
	Args  []string `json:"args"`
	Dir   string   `json:"dir"`
	PID   int      `json:"pid"`
}

// found is what became of a hint that was typed.
type found struct {
	Hint    string   `json:"hint"`
	Args    []string `json:"args"` // of the rye that showed it
	Dir     string   `json:"dir"`
	Exit    int      `json:"exit"`
	Changed bool     `json:"changed"`
	Output  string   `json:"output"`

	Failed bool     `json:"failed"` // rye had failed
	Mended bool     `json:"mended"` // then the same command succeeded, after these
	Path   []string `json:"path"`   // further commands, and how each ended
}

func main() {
	exit, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hinted:", err)
		exit = 99
	}
	os.Exit(exit)
}

func run() (int, error) {
	env := withoutSelf(os.Environ())
	before := size(os.Getenv("RYE_TEST_HINTS"))
	cmd := exec.Command(real("rye"), os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	signal.Ignore(syscall.SIGINT) // as a shell does: rye gets it, too
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	werr := cmd.Wait()
	var exit *exec.ExitError
	if werr != nil && !errors.As(werr, &exit) {
		return 0, werr
	}
	hints, err := since(os.Getenv("RYE_TEST_HINTS"), before, cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	for _, h := range hints {
		if len(h.Words) > 0 && first(h) {
			if err := try(h, env, cmd.ProcessState.ExitCode() != 0); err != nil {
				return 0, fmt.Errorf("try %q: %w", h.Hint, err)
			}
		}
	}
	return cmd.ProcessState.ExitCode(), nil
}

func real(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(os.Getenv("RYE_TEST_BIN"), name)
}

// withoutSelf takes this program out of PATH: rye looks who is called by its name.
func withoutSelf(env []string) []string {
	self, _ := os.Executable()
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH":
			var dirs []string
			for _, d := range filepath.SplitList(value) {
				if d != filepath.Dir(self) {
					dirs = append(dirs, d)
				}
			}
			kv = "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
		case strings.HasPrefix(name, "RYE_TEST_"):
			continue
		}
		out = append(out, kv)
	}
	return out
}

func size(path string) int64 {
	if st, err := os.Stat(path); err == nil {
		return st.Size()
	}
	return 0
}

// since returns what a process noted behind an offset.
func since(path string, offset int64, pid int) ([]shown, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.NewSectionReader(f, offset, 1<<40))
	if err != nil {
		return nil, err
	}
	var all []shown
	for line := range bytes.Lines(raw) {
		var s shown
		if json.Unmarshal(line, &s) == nil && s.PID == pid { // another process may be writing the last one
			all = append(all, s)
		}
	}
	return all, nil
}

var names = regexp.MustCompile(`[a-z2-7]{52}|SHA256:\S+|sha256:\S+|[0-9a-f]{12,}`)

// first reports whether nobody tried such a hint before: one that says the same of
// another item, key or directory is the same.
func first(h shown) bool {
	text := h.Hint
	for _, dir := range states() {
		text = strings.ReplaceAll(text, dir, "$")
	}
	text = regexp.MustCompile(`(tool|knowledge|directive|config)[: ]\S+`).ReplaceAllString(names.ReplaceAllString(text, "#"), "$1:#")
	sum := sha256.Sum256([]byte(states()[0] + text))
	f, err := os.OpenFile(filepath.Join(os.Getenv("RYE_TEST_TRIED"), fmt.Sprintf("%x", sum[:8])), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func states() []string { return filepath.SplitList(os.Getenv("RYE_TEST_STATE")) }

// try types the command and puts back what it changed.
func try(h shown, env []string, failed bool) error {
	kept, err := os.MkdirTemp(os.Getenv("RYE_TEST_TRIED"), "kept")
	if err != nil {
		return err
	}
	defer os.RemoveAll(kept)
	for i, dir := range states() {
		err := match(dir, filepath.Join(kept, fmt.Sprint(i)))
		if errors.Is(err, os.ErrPermission) {
			return nil // a script took rights away: what cannot be kept could not be put back
		}
		if err != nil {
			return err
		}
	}
	was, err := digest()
	if err != nil {
		return err
	}
	f := found{Hint: h.Hint, Args: h.Args, Dir: h.Dir}
	if f.Exit, f.Output, _, err = typed(h, env); err != nil {
		return err
	}
	is, err := digest()
	if err != nil {
		return err
	}
	f.Changed = was != is
	if f.Failed = failed; failed {
		if f.Mended, f.Path, err = mends(h, f, env); err != nil {
			return err
		}
	}
	for i, dir := range states() {
		if err := match(filepath.Join(kept, fmt.Sprint(i)), dir); err != nil {
			return fmt.Errorf("put %s back: %w", dir, err)
		}
	}
	return report(f)
}

// mostSteps bounds how many hints are followed for one command.
const mostSteps = 5

// mends types the command that failed again, after its hint, and follows each hint that comes
// instead. A command that asks is typed with the answer.
func mends(h shown, after found, env []string) (ok bool, path []string, err error) {
	enter := func(words []string) (int, string, []shown) {
		before := size(os.Getenv("RYE_TEST_HINTS"))
		exit, output, pid, terr := typed(shown{Words: words, Dir: h.Dir}, env)
		hints, herr := since(os.Getenv("RYE_TEST_HINTS"), before, pid)
		err = errors.Join(err, terr, herr)
		path = append(path, fmt.Sprintf("%s: %d", strings.Join(words, " "), exit))
		return exit, output, hints
	}
	again := append([]string{"rye"}, h.Args...)
	if len(h.Args) > 3 && h.Args[0] == "--for" { // as the engine is started
		again = append([]string{"rye"}, h.Args[3:]...)
	}
	hint, exit, output := h.Words, after.Exit, after.Output
	seen := map[string]bool{h.Hint: true}
	for range mostSteps {
		var hints []shown
		if answer := answerTo(hint, output); exit != 0 && answer != nil {
			exit, output, hints = enter(append(slices.Clone(hint), answer...))
		}
		if exit == 0 && hint[0] == "rye" && verb(hint) == verb(again) {
			return true, path, err // the hint is the same command with other arguments
		}
		if exit == 0 {
			exit, output, hints = enter(again)
			if exit == 0 || err != nil {
				return exit == 0, path, err
			}
		}
		hint = nil
		for _, next := range hints {
			if len(next.Words) > 0 && !seen[next.Hint] {
				hint, seen[next.Hint] = next.Words, true
				break
			}
		}
		if hint == nil {
			return false, append(path, output), err
		}
		exit, output, _ = enter(hint)
	}
	return false, append(path, output), err
}

var stated = regexp.MustCompile(`(?m)^statement +(sha256:[0-9a-f]{64})`)

// answerTo returns the flags by which a person answers the question of a command without a
// terminal; nil where it put none.
func answerTo(command []string, output string) []string {
	if m := stated.FindStringSubmatch(output); m != nil && strings.Contains(verb(command), "trust") {
		return []string{"--accept", m[1]} // a person who compared it
	}
	if strings.Contains(output, "--yes") && !slices.Contains(command, "--yes") {
		return []string{"--yes"}
	}
	return nil
}

// groups are commands that have commands.
var groups = []string{"bundle", "key", "lock", "mcp", "policy", "registry", "thread", "token", "trust"}

// verb returns the words that name a command of rye.
func verb(words []string) (name string) {
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-C":
			i++
		case strings.Trim(w, "abcdefghijklmnopqrstuvwxyz-") != "" || strings.HasPrefix(w, "-"):
			return name
		case !slices.Contains(groups, w):
			return name + " " + w
		default:
			name += " " + w
		}
	}
	return name
}

// typed runs the command as a person would who has no terminal.
func typed(h shown, env []string) (exit int, output string, pid int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	program := h.Words[0]
	if program == "rye" {
		program = real("rye")
	}
	cmd := exec.CommandContext(ctx, program, h.Words[1:]...)
	cmd.Dir, cmd.Env = h.Dir, env
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return 127, err.Error(), 0, nil
	}
	return cmd.ProcessState.ExitCode(), string(out), cmd.Process.Pid, nil
}

func report(f found) error {
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(os.Getenv("RYE_TEST_FOUND"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = out.Write(append(line, '\n'))
	return err
}

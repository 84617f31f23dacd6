package primitive

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
)

// maxVersion bounds the parts of a version, and the digits of each part.
const maxVersion = 8

// ParseVersion finds the version in an interpreter's output: the first word that, after an
// optional v, begins with at least two numbers joined by dots ("v22.18.0", "Python 3.11.2", "GNU
// bash, version 5.2.15(1)-release").
func ParseVersion(text string) (string, bool) {
	for _, word := range strings.Fields(text) {
		if v := leadingVersion(strings.TrimPrefix(word, "v")); strings.Contains(v, ".") {
			return v, true
		}
	}
	return "", false
}

// leadingVersion returns the version at the beginning of s, or "".
func leadingVersion(s string) string {
	end := 0
	for part := 0; part < maxVersion; part++ {
		at := end
		if part > 0 {
			if !strings.HasPrefix(s[end:], ".") {
				break
			}
			at++
		}
		n := digits(s[at:])
		if n == 0 || n > maxVersion {
			break
		}
		end = at + n
	}
	return s[:end]
}

// IsVersion reports whether s is a valid min_version: one to eight numbers, joined by dots.
func IsVersion(s string) bool { return s != "" && leadingVersion(s) == s }

// AtLeast compares two versions by their numbers; a missing number is 0.
func AtLeast(have, want string) bool {
	h, w := strings.Split(have, "."), strings.Split(want, ".")
	for i := range max(len(h), len(w)) {
		if a, b := number(h, i), number(w, i); a != b {
			return a > b
		}
	}
	return true
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i])
	return n
}

// told remembers the versions of programs by the facts of their files, because asking starts the
// program. A replaced program is asked again.
var told sync.Map

type toldBy struct {
	path string
	size int64
	mod  time.Time
}

// CheckVersion refuses a program that is older than spec.MinVersion, before any run with it. It
// asks the program, in a sandbox where the program can read itself and reach nothing. The error
// is NotFound when the program is too old or reports no version.
func CheckVersion(ctx context.Context, spec Spec, p Program) error {
	if spec.MinVersion == "" {
		return nil
	}
	have, err := p.version(ctx)
	if err == nil && AtLeast(have, spec.MinVersion) {
		return nil
	}
	mend := "install " + spec.name() + " " + spec.MinVersion + " or later"
	if spec.Var != "" {
		mend += ", or set " + spec.Var + " to the path of one"
	}
	if err != nil {
		return fault.Wrap(err, "interpreter %s: ask for its version, want %s or later", p.Path, spec.MinVersion).Advise("%s", mend)
	}
	return fault.New(fault.NotFound, "interpreter %s is version %s, want %s or later", p.Path, have, spec.MinVersion).Advise("%s", mend)
}

// Start starts a program with arguments in a sandbox where it reads itself and reaches nothing. The
// error has the reason why it does not start.
func (p Program) Start(ctx context.Context, args ...string) error {
	c := Call{Argv: append([]string{p.Path}, args...), Timeout: 10 * time.Second, MaxOutput: 4096}
	c.Sandbox.Exec = p.Prefixes
	out, err := Run(ctx, c, nil, nil)
	if err != nil || out.Exit == 0 {
		return err
	}
	said := strings.TrimSpace(string(out.Stderr))
	return fault.New(fault.Failed, "it ended with %d: %.200q", out.Exit, said[strings.LastIndexByte(said, '\n')+1:])
}

func (p Program) version(ctx context.Context) (string, error) {
	info, err := os.Stat(p.Path)
	if err != nil {
		return "", fault.New(fault.NotFound, "%w", err)
	}
	who := toldBy{p.Path, info.Size(), info.ModTime()}
	if v, ok := told.Load(who); ok {
		return v.(string), nil
	}
	c := Call{Argv: []string{p.Path, "--version"}, Timeout: 10 * time.Second, MaxOutput: 4096}
	c.Sandbox.Exec = p.Prefixes
	out, err := Run(ctx, c, nil, nil)
	if err != nil {
		return "", err
	}
	v, ok := ParseVersion(string(out.Stdout))
	if !ok || out.Exit != 0 {
		return "", fault.New(fault.NotFound, "it printed %.80q", out.Stdout)
	}
	told.Store(who, v)
	return v, nil
}

package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// MaxMerged bounds one side of a merge, in bytes.
const MaxMerged = 16 << 20

// ReadSide reads a file that git passes to a merge driver. A missing file is NotFound; a
// file larger than MaxMerged is Limit.
func ReadSide(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "merge locks: %w", err)
	}
	if err == nil && !st.Mode().IsRegular() {
		err = fault.New(fault.Malformed, "merge locks: %s is no regular file", path)
	}
	if err == nil && st.Size() > MaxMerged {
		err = fault.New(fault.Limit, "merge locks: %s is larger than %d bytes", path, MaxMerged)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Unmerged returns the versions of a file below .ai that the user's git keeps during an
// unfinished merge: base, ours and theirs, nil for a missing one. A file without a
// conflict is a Usage error, and so is a machine without git.
func (a *App) Unmerged(ctx context.Context, name string) (sides [3][]byte, err error) {
	if a.Project == "" {
		return sides, fault.New(fault.NotFound, "no project here").Mend("rye init")
	}
	git := a.lookup("git")
	if git == "" {
		return sides, fault.New(fault.Usage, "merge .ai/%s: git is missing, so rye cannot read both sides", name).
			Advise("rye lock merge <base> <ours> <theirs>")
	}
	found := false
	for i := range sides {
		text, ok, err := a.stage(ctx, git, i+1, name)
		if err != nil {
			return sides, err
		}
		sides[i], found = text, found || ok
	}
	if !found {
		return sides, fault.New(fault.Usage, "merge .ai/%s: git reports no conflict in it", name).Advise("rye lock verify")
	}
	return sides, nil
}

// harmless are git arguments that stop a repository's configuration from running a program:
// no monitor, hook or pager. They also stop git from treating a directory of a clone as a
// bare repository.
var harmless = []string{"--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
	"-c", "safe.bareRepository=explicit", "-c", "core.untrackedCache=false"}

// gitVariables are the environment variables that git gets: for the user's configuration, and
// for programs on Windows. Any other variable could redirect git, or make it load or start a
// program.
var gitVariables = []string{"HOME", "PATH", "TMPDIR", "XDG_CONFIG_HOME",
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "HOMEDRIVE", "HOMEPATH"}

// gitEnv returns the environment for a git that only reads: it takes no locks, asks no
// questions, and fetches no missing objects.
func gitEnv(environ []string) []string {
	env := []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0"}
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(gitVariables, strings.ToUpper(name)) {
			env = append(env, kv)
		}
	}
	return env
}

// stage reads one entry of git's index; ok is false when there is none.
func (a *App) stage(ctx context.Context, git string, n int, name string) (text []byte, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	spec := ":" + string(rune('0'+n)) + ":./" + name
	cmd := exec.CommandContext(ctx, git, append(harmless, "cat-file", "blob", spec)...)
	cmd.Dir = filepath.Join(a.Project, ".ai")
	cmd.Env = gitEnv(os.Environ())
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, false, err
	}
	text, err = io.ReadAll(io.LimitReader(out, MaxMerged+1))
	if len(text) > MaxMerged {
		cancel()
		err = fault.New(fault.Limit, "merge .ai/%s: larger than %d bytes", name, MaxMerged)
	}
	werr := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err != nil:
		return nil, false, err
	case errors.As(werr, &exit) && ctx.Err() == nil:
		return nil, false, gitSays(complaint.String(), name)
	}
	return text, werr == nil, werr
}

// gitSays returns an error for a complaint of git, and nil for a missing entry.
func gitSays(complaint, name string) error {
	if strings.Contains(complaint, "not a git repository") {
		return fault.New(fault.Usage, "merge .ai/%s: the project is in no git repository", name).Advise("rye lock merge <base> <ours> <theirs>")
	}
	return nil
}

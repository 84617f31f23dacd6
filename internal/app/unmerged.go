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
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// MaxMerged bounds one side of a file that is merged, in bytes.
const MaxMerged = 16 << 20

// ReadSide reads a file that git hands to a merge driver. One that is not there is
// NotFound, one beyond MaxMerged Limit, by its size.
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

// Unmerged returns what the user's git keeps of a file below .ai while a merge of it
// is unfinished: base, ours and theirs, nil for a side that has none. A file that is
// not in conflict, and a machine without git, are Usage errors.
func (a *App) Unmerged(ctx context.Context, name string) (sides [3][]byte, err error) {
	if a.Project == "" {
		return sides, fault.New(fault.NotFound, "no project here").Mend("rye init")
	}
	git := a.lookup("git")
	if git == "" {
		return sides, fault.New(fault.Usage, "merge .ai/%s: there is no git here to ask for both sides", name).
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
		return sides, fault.New(fault.Usage, "merge .ai/%s: git knows of no conflict in it", name).Mend("rye lock verify")
	}
	return sides, nil
}

// stage reads one entry of git's index; ok is false when there is none.
func (a *App) stage(ctx context.Context, git string, n int, name string) (text []byte, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	spec := ":" + string(rune('0'+n)) + ":./" + name
	cmd := exec.CommandContext(ctx, git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "cat-file", "blob", spec)
	cmd.Dir = filepath.Join(a.Project, ".ai")
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1")
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

// gitSays tells "no such entry" from what is worth telling.
func gitSays(complaint, name string) error {
	if strings.Contains(complaint, "not a git repository") {
		return fault.New(fault.Usage, "merge .ai/%s: the project is in no git repository", name).Advise("rye lock merge <base> <ours> <theirs>")
	}
	return nil
}

package app

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// installCommand puts both programs, of one build, beside each other.
const installCommand = "go install github.com/rye-os/rye/cmd/...@latest"

// Handoff replaces this process with the engine, which gets args. It returns
// only on failure, or, where processes cannot be replaced, with the engine's
// exit status. The engine refuses a front of another build by itself, which
// spares a second start.
func (a *App) Handoff(args ...string) (int, error) {
	path, err := EnginePath()
	if err != nil {
		return 0, err
	}
	a.Screen.Done()
	return replace(path, append([]string{"--for", ThisBuild().ID}, args...))
}

// EnginePath returns the engine that belongs to this program: the one beside the
// resolved executable. PATH is not searched, because what is found there need
// not have come with this rye.
func EnginePath() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fault.New(fault.Failed, "find the engine: where is this program: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), engineName())
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", fault.New(fault.NotFound, "find the engine: there is no %s beside %s", engineName(), self).Mend(installCommand)
	}
	return path, nil
}

func engineName() string {
	if runtime.GOOS == "windows" {
		return "rye-engine.exe"
	}
	return "rye-engine"
}

// EngineBuild asks the engine beside this program for its build id.
func EngineBuild(ctx context.Context) (path, id string, err error) {
	path, err = EnginePath()
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--build-id").Output()
	if err != nil {
		return path, "", fault.New(fault.Failed, "ask %s for its build id: %w", path, err).Mend(installCommand)
	}
	return path, strings.TrimSpace(string(out)), nil
}

// CheckBuild is the engine's side: it refuses to serve a front of another build.
func CheckBuild(front string) error {
	if own := ThisBuild().ID; front != own {
		return fault.New(fault.Conflict, "this rye-engine is build %q and the rye that called it is %q: they must come from one build", own, front).Mend(installCommand)
	}
	return nil
}

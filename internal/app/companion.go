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
	"github.com/rye-os/rye/internal/build"
)

// The programs that are installed together. Each companion answers --build-id. Its caller
// passes its own build with --for, and both builds must be equal.
const (
	frontName  = "rye"
	engineName = "rye-engine"
	cageName   = "rye-cage"
)

// companions are the programs beside the front. A test compares them with cmd.
var companions = []string{cageName, engineName}

// beside returns the path of a companion in the directory of the resolved executable. It
// does not search PATH, because a program there may belong to another rye.
func beside(name string) (string, error) {
	self, err := resolved()
	if err != nil {
		return "", fault.New(fault.Failed, "find %s: the path of this program: %w", name, err)
	}
	path := filepath.Join(filepath.Dir(self), name+exeSuffix())
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", fault.New(fault.NotFound, "find %s: no %s beside %s", name, filepath.Base(path), self).Mend(build.Install)
	}
	return path, nil
}

// resolved returns the file of this program, after following links.
func resolved() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(self)
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// buildOf asks a program beside this one for its build id.
func buildOf(ctx context.Context, name string) (path, id string, err error) {
	path, err = beside(name)
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--build-id").Output()
	if err != nil {
		return path, "", fault.New(fault.Failed, "ask %s for its build id: %w", path, err).Mend(build.Install)
	}
	return path, strings.TrimSpace(string(out)), nil
}

// Handoff replaces this process with the engine, which gets args. It returns only on
// failure or, on systems that cannot replace a process, with the engine's exit status.
// The engine itself refuses a front of another build, which saves starting it twice.
func (a *App) Handoff(args ...string) (int, error) {
	path, err := beside(engineName)
	if err != nil {
		return 0, err
	}
	a.Screen.Done()
	return replace(path, append([]string{"--for", build.This().ID}, args...))
}

// HandoffCommand is Handoff for a whole command line, which the engine runs like the front.
func HandoffCommand(s *Screen, argv []string) (int, error) {
	path, err := beside(engineName)
	if err != nil {
		return 0, err
	}
	s.Done()
	return replace(path, append([]string{"--for", build.This().ID, CommandFace}, argv...))
}

// CommandFace is the face of the engine that runs a command line of the front.
const CommandFace = "command"

// Programs returns the files of rye's programs that are installed together, and the link by which
// a shell starts them, if there is one.
func (a *App) Programs() (all []string) {
	self, err := resolved()
	if err != nil {
		return nil
	}
	if found := a.startedAs(); found != self && sameFile(found, self) {
		all = append(all, found)
	}
	all = append(all, self)
	for _, name := range companions {
		if path, err := beside(name); err == nil {
			all = append(all, path)
		}
	}
	return all
}

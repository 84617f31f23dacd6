package app

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
)

// Checks checks the programs themselves: the companions, whether a shell starts this rye, and
// which MCP clients start it.
func (a *App) Checks(ctx context.Context) []rye.DoctorCheck {
	var all []rye.DoctorCheck
	for _, name := range companions {
		all = append(all, companionCheck(ctx, name))
	}
	return append(append(all, a.pathCheck()), clientChecks(a)...)
}

// companionCheck checks one companion. The check of rye-engine has the name "engine".
func companionCheck(ctx context.Context, name string) rye.DoctorCheck {
	c := rye.DoctorCheck{Name: strings.TrimPrefix(name, frontName+"-")}
	path, id, err := buildOf(ctx, name)
	switch {
	case err != nil:
		c.Text, c.Mend = err.Error(), fault.HintOf(err)
	case id != build.This().ID:
		c.Text, c.Mend = path+" is build "+id+", this is "+build.This().ID, fault.Command(build.Install)
	default:
		c.OK, c.Text = true, path
	}
	return c
}

// pathCheck notices another program named rye, such as the Python manager.
func (a *App) pathCheck() rye.DoctorCheck {
	c := rye.DoctorCheck{Name: "path", OK: true, Text: "rye is this program"}
	self, err := os.Executable()
	if err != nil {
		c.OK, c.Text = false, err.Error()
		return c
	}
	found := a.lookup("rye")
	switch {
	case found == "":
		c.Text = "rye is not on PATH; this is " + self
	case !sameFile(found, self):
		c.OK = false
		c.Text = "the command rye starts " + found + ", this is " + self
		c.Mend = fault.Advice("put %s first in PATH", filepath.Dir(self))
	}
	return c
}

// lookup finds the file that a shell would start, without the guesses that
// exec.LookPath makes for the current directory.
func (a *App) lookup(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(a.getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return path
		}
	}
	return ""
}

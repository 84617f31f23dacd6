package app

import (
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
)

// self returns the program that runs builtins, and the build that it must be. For the
// engine it is the front beside it, which starts in a fraction of the time.
func self() (program, build string, err error) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", "", fault.New(fault.Failed, "where is this program: %w", err).Advise("start it again: it was replaced or removed while it ran")
	}
	if filepath.Base(path) == engineName() {
		front := filepath.Join(filepath.Dir(path), "rye"+filepath.Ext(path))
		if info, err := os.Stat(front); err == nil && info.Mode().IsRegular() {
			path = front
		}
	}
	return path, ThisBuild().ID, nil
}

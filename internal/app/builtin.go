package app

import (
	"path/filepath"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
)

// self returns the program that runs builtins, and the build that it must have. For the
// engine it is the front beside it, which starts much faster.
func self() (program, id string, err error) {
	path, err := resolved()
	if err != nil {
		return "", "", fault.New(fault.Failed, "find the path of this program: %w", err).Advise("start rye again: its file was replaced or removed")
	}
	if filepath.Base(path) == engineName+exeSuffix() {
		if front, err := beside(frontName); err == nil {
			path = front
		}
	}
	return path, build.This().ID, nil
}

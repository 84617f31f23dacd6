package session

import (
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Shown is a file's path for people: below the project's directory, or, in the user space, in
// full.
func Shown(l *space.Layer, p string) string {
	if l.Space == objects.Project {
		return ".ai/" + p
	}
	return l.Dir + "/" + p
}

// SpaceFlag is the flag for a space in the commands of hints.
func SpaceFlag(l *space.Layer) string {
	if l.Space == objects.Project {
		return ""
	}
	return " --space " + l.Space.String()
}

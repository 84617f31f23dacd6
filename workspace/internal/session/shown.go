package session

import (
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Shown is how people are told of a file of a space: below the directory that they are in,
// or, of the user's, in full.
func Shown(l *space.Layer, p string) string {
	if l.Space == objects.Project {
		return ".ai/" + p
	}
	return l.Dir + "/" + p
}

// SpaceFlag is the flag by which commands that a hint shows reach a space.
func SpaceFlag(l *space.Layer) string {
	if l.Space == objects.Project {
		return ""
	}
	return " --space " + l.Space.String()
}

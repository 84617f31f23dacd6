package primitive

import (
	"os"
	"path/filepath"
	"strings"
)

// A way is everything that the kernel passes when it opens a path.
type way struct {
	links []string // the links on the way; each path has no link above it
	real  string   // the end of the way, without links
	dead  string   // the missing path, if the way has no end
}

// maxLinks is the number of links that the kernel also follows (path_resolution(7)).
const maxLinks = 40

// wayTo follows an absolute path as the kernel does: ".." leaves the directory behind a link, and
// not the directory that the text names.
func wayTo(path string) (w way, ok bool) {
	volume := filepath.VolumeName(path)
	at, rest := volume+string(filepath.Separator), steps(path[len(volume):])
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			w.dead = next
			return w, false
		}
		if info.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if err != nil || len(w.links) == maxLinks {
			return w, false
		}
		w.links = append(w.links, next)
		if filepath.IsAbs(to) {
			volume := filepath.VolumeName(to)
			at, to = volume+string(filepath.Separator), to[len(volume):]
		}
		rest = append(steps(to), rest...)
	}
	w.real = at
	return w, true
}

func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}

// Missing returns the path at which the way to a path ends, or "" where it leads to something.
func Missing(path string) string {
	w, _ := wayTo(path)
	return w.dead
}

// Way returns the links on the way to a path, and the path without links. Under S3 a program
// follows a path only where it sees each of these links. It returns false for a path that leads
// nowhere.
func Way(path string) (links []string, real string, ok bool) {
	w, ok := wayTo(path)
	return w.links, w.real, ok
}

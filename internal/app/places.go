package app

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rye-os/rye/internal/place"
)

// Places are the directories of a run, all absolute; "" for none.
type Places struct {
	Project string   // holds .ai/rye.yaml
	Ended   string   // where and why the search for a project stopped early; "" if it did not
	Over    []string // projects around Project, the nearest first
	User    string   // holds the user space's .ai
	Config  string   // keys, trust.yaml, policy.yaml
	Data    string   // records of projects and of the user space
	State   string   // statements of registries that rye has seen; not a cache
	Cache   string   // may be deleted at any time
}

func findPlaces(dir, home string, getenv func(string) string) Places {
	p := Places{
		User:   userSpace(dir, home, getenv),
		Config: configDir(home, getenv),
		Data:   dataDir(home, getenv),
		State:  stateDir(home, getenv),
		Cache:  cacheDir(getenv),
	}
	p.Project, p.Ended = FindProject(dir, p.User, home)
	p.Over = enclosing(p.Project, p.User, home)
	return p
}

// enclosing returns the projects around a project, the nearest first, as far up as
// FindProject looks. There are none around "".
func enclosing(project, user, home string) (all []string) {
	for project != "" {
		here, err := os.Stat(project)
		up := filepath.Dir(project)
		if err != nil || up == project || !place.SameDevice(here, up) {
			return all
		}
		if project, _ = FindProject(up, user, home); project != "" {
			all = append(all, project)
		}
	}
	return all
}

// FindProject returns the nearest directory at or above dir that has a .ai/rye.yaml, or "".
// It stops below the home directory and at the border of a file system, because other
// people may control the directories above. Home and the user space are never a project, so
// that rye never treats the user's own items as a project's. If the search stops before the
// top, ended is the reason.
func FindProject(dir, user, home string) (project, ended string) {
	for {
		here, err := os.Stat(dir)
		if err != nil {
			return "", ""
		}
		if isSame(here, home) {
			return "", "the home directory " + dir + " is never a project"
		}
		if isFile(filepath.Join(dir, ".ai"), fs.ModeDir) && isFile(filepath.Join(dir, ".ai", "rye.yaml"), 0) && !isSame(here, user) {
			return dir, ""
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ""
		}
		if !place.SameDevice(here, parent) {
			return "", "another file system is mounted at " + dir + ", so the directories above it are ignored"
		}
		dir = parent
	}
}

// isFile reports whether path is a file of this type. It does not follow a link.
func isFile(path string, typ fs.FileMode) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == typ
}

// isSame reports whether path leads to the directory dir; false for "".
func isSame(dir fs.FileInfo, path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && os.SameFile(dir, info)
}

// sameFile reports whether two paths lead to the same file or directory; false for "".
func sameFile(a, b string) bool {
	if a == b {
		return a != ""
	}
	ai, errA := os.Stat(a)
	bi, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ai, bi)
}

// userSpace returns RYE_USER, else USER_SPACE (RYE OS's name for it), else home.
func userSpace(dir, home string, getenv func(string) string) string {
	for _, name := range []string{"RYE_USER", "USER_SPACE"} {
		if v := getenv(name); filepath.IsAbs(v) {
			return filepath.Clean(v)
		} else if v != "" {
			return filepath.Join(dir, v)
		}
	}
	return home
}

func configDir(home string, getenv func(string) string) string {
	if runtime.GOOS == "windows" {
		return below(xdg(getenv, "XDG_CONFIG_HOME"), getenv("APPDATA"), "rye")
	}
	return below(xdg(getenv, "XDG_CONFIG_HOME"), inHome(home, ".config"), "rye")
}

func dataDir(home string, getenv func(string) string) string {
	if runtime.GOOS == "windows" {
		return below(xdg(getenv, "XDG_DATA_HOME"), getenv("LOCALAPPDATA"), filepath.Join("rye", "data"))
	}
	return below(xdg(getenv, "XDG_DATA_HOME"), inHome(home, ".local", "share"), "rye")
}

func stateDir(home string, getenv func(string) string) string {
	if runtime.GOOS == "windows" {
		return below(xdg(getenv, "XDG_STATE_HOME"), getenv("LOCALAPPDATA"), filepath.Join("rye", "state"))
	}
	return below(xdg(getenv, "XDG_STATE_HOME"), inHome(home, ".local", "state"), "rye")
}

func cacheDir(getenv func(string) string) string {
	platform, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(platform) {
		platform = "" // unknown
	}
	name := "rye"
	if runtime.GOOS == "windows" {
		name = filepath.Join("rye", "cache") // %LOCALAPPDATA% holds the state, too
	}
	return below(xdg(getenv, "XDG_CACHE_HOME"), platform, name)
}

// xdg returns a base directory variable. It ignores a relative value, as the
// specification requires.
func xdg(getenv func(string) string, name string) string {
	if v := getenv(name); filepath.IsAbs(v) {
		return v
	}
	return ""
}

func inHome(home string, elem ...string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, elem...)...)
}

// below returns name in first, or in second when first is "".
func below(first, second, name string) string {
	if dir := cmp.Or(first, second); dir != "" {
		return filepath.Join(dir, name)
	}
	return ""
}

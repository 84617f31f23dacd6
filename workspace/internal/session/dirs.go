package session

import (
	"path/filepath"

	"github.com/rye-os/rye/fault"
)

// Dirs are the user's own directories: absolute, or "" where there is none.
type Dirs struct {
	ConfigDir string // keys, trust.yaml, policy.yaml
	StateDir  string // remembered states of registries, and the log of verdicts
	CacheDir  string // may be deleted at any time
}

// inDir returns a name in a directory of the user's; "" where there is none. A bare name would
// be one in the working directory, which anyone may have written.
func inDir(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// UserFile is a file of the user's configuration; "" where there is none.
func (d Dirs) UserFile(name string) string { return inDir(d.ConfigDir, name) }

// NeedConfig returns fault.NotFound where the user has no configuration directory.
func (d Dirs) NeedConfig() error { return needDir(d.ConfigDir, "configuration", "XDG_CONFIG_HOME") }

// NeedCache returns fault.NotFound where there is no directory for caches.
func (d Dirs) NeedCache() error { return needDir(d.CacheDir, "cache", "XDG_CACHE_HOME") }

func needDir(dir, what, variable string) error {
	if dir != "" {
		return nil
	}
	return fault.New(fault.NotFound, "no %s directory: neither %s nor a home directory is set", what, variable).
		Advise("set HOME, or %s to an absolute path", variable)
}

// TrustPath is the user's trust store.
func (d Dirs) TrustPath() string { return inDir(d.ConfigDir, "trust.yaml") }

// KeyDir is where the user's key files are.
func (d Dirs) KeyDir() string { return inDir(d.ConfigDir, "keys") }

// RunsDir is where runs get their files.
func (d Dirs) RunsDir() string { return inDir(d.CacheDir, "run") }

// ServingDir is where servers note that they run.
func (d Dirs) ServingDir() string { return inDir(d.CacheDir, "serving") }

// HostsDir is the directory for the known abilities of git hosts.
func (d Dirs) HostsDir() string { return inDir(d.CacheDir, "hosts") }

// Registries returns the directories for caches of registries, and for their remembered
// states.
func (d Dirs) Registries() (cache, state string) {
	return inDir(d.CacheDir, "registries"), inDir(d.StateDir, "registries")
}

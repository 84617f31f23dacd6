package app

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// Set by the linker: make builds both programs with one version and one build id.
var (
	version string // -X github.com/rye-os/rye/internal/app.version=v1.2.3
	buildID string // -X github.com/rye-os/rye/internal/app.buildID=...
)

// Build says which program this is. The engine serves only a front of the same ID.
type Build struct {
	Version string `json:"version"`
	ID      string `json:"build_id"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit
	Dirty   bool   `json:"dirty,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// ThisBuild returns what the linker and the go command recorded.
var ThisBuild = sync.OnceValue(func() Build {
	b := Build{Version: version, ID: buildID, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	if b.ID == "" {
		b.ID = derivedID(b, info.Main.Sum)
	}
	return b
})

// derivedID stands in for the linker's id: programs of one commit, or of one
// module version, belong together.
func derivedID(b Build, sum string) string {
	id := b.Version
	if sum != "" {
		id += "+" + sum
	}
	if b.Commit != "" {
		id += "+" + b.Commit
	}
	if b.Dirty {
		id += "+dirty"
	}
	return id
}

// Version returns the version of this program: a tag, a pseudo-version, or "(devel)".
func Version() string {
	if version != "" {
		return version // without reading the build information: every start asks
	}
	return ThisBuild().Version
}

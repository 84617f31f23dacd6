package build

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/rye-os/rye/fault"
)

// Install is the command that installs all programs, from one build, in one directory.
const Install = "go install github.com/rye-os/rye/cmd/...@latest"

// Set by the linker: make builds every program with one version and one build id.
var (
	version string // -X github.com/rye-os/rye/internal/build.version=v1.2.3
	id      string // -X github.com/rye-os/rye/internal/build.id=...
)

// Build identifies a program. Programs serve only programs with the same ID.
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

// This returns the Build of this program, from the records of the linker and the go command.
var This = sync.OnceValue(func() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	_, file, _, _ := runtime.Caller(0)
	return read(info, file)
})

// read makes a Build from the go command's record and the name under which this file was
// compiled.
func read(info *debug.BuildInfo, file string) Build {
	b := Build{Version: version, ID: id, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
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
		b.ID = derivedID(b, info.Main.Sum, file)
	}
	return b
}

// derivedID replaces a missing linker id. A module's sum, or a commit without local
// changes, identifies the source of a program. Without either, the programs of one
// checkout belong together: the name of this file shows the checkout, unless -trimpath
// cut it.
func derivedID(b Build, sum, file string) string {
	id := b.Version
	if sum != "" {
		return id + "+" + sum
	}
	if b.Commit != "" {
		id += "+" + b.Commit
	}
	if b.Commit != "" && !b.Dirty {
		return id
	}
	id += "+local"
	if filepath.IsAbs(file) {
		id += fmt.Sprintf("-%x", sha256.Sum256([]byte(filepath.Dir(file))))[:1+12]
	}
	return id
}

// Version returns the version of this program: a tag, a pseudo-version, or "(devel)".
func Version() string {
	if version != "" {
		return version // every start calls this, so it does not read the build information
	}
	return This().Version
}

// Check refuses to serve a caller of another build.
func Check(program, caller string) error {
	if own := This().ID; caller != own {
		return fault.New(fault.Conflict, "this %s is build %q and the program that called it is %q: they must come from one build", program, own, caller).Mend(Install)
	}
	return nil
}

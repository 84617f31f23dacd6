package build

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// made is what the go command records for one program.
type made struct {
	version, sum, commit string
	dirty                bool
	file                 string
}

func (m made) id() string {
	info := &debug.BuildInfo{Main: debug.Module{Version: m.version, Sum: m.sum}}
	if m.commit != "" {
		info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: m.commit}, {Key: "vcs.modified", Value: map[bool]string{true: "true", false: "false"}[m.dirty]}}
	}
	return read(info, m.file).ID
}

func TestID(t *testing.T) {
	const here, there, trimmed = "/home/a/rye/internal/build/build.go", "/home/a/rye2/internal/build/build.go", "github.com/rye-os/rye/internal/build/build.go"
	for _, c := range []struct {
		name string
		a, b made
		same bool
	}{
		{"one version", made{version: "v0.1.0", sum: "h1:a=", file: here}, made{version: "v0.1.0", sum: "h1:a=", file: there}, true},
		{"two versions", made{version: "v0.1.0", sum: "h1:a="}, made{version: "v0.1.1", sum: "h1:b="}, false},
		{"one version with other content", made{version: "v0.1.0", sum: "h1:a="}, made{version: "v0.1.0", sum: "h1:b="}, false},
		{"a version and a checkout of its commit", made{version: "v0.1.0", sum: "h1:a="}, made{version: "v0.1.0", commit: "c1", file: here}, false},
		{"one commit in two checkouts", made{version: "v0.1.0", commit: "c1", file: here}, made{version: "v0.1.0", commit: "c1", file: there}, true},
		{"two commits", made{version: "(devel)", commit: "c1", file: here}, made{version: "(devel)", commit: "c2", file: here}, false},
		{"a commit with and without changes", made{commit: "c1", file: here}, made{commit: "c1", dirty: true, file: here}, false},
		{"changes in one checkout", made{commit: "c1", dirty: true, file: here}, made{commit: "c1", dirty: true, file: here}, true},
		{"changes in two checkouts", made{commit: "c1", dirty: true, file: here}, made{commit: "c1", dirty: true, file: there}, false},
		{"nothing known of one directory", made{file: here}, made{file: here}, true},
		{"nothing known of two directories", made{file: here}, made{file: there}, false},
		{"a trimmed commit with and without changes", made{commit: "c1", file: trimmed}, made{commit: "c1", dirty: true, file: trimmed}, false},
	} {
		a, b := c.a.id(), c.b.id()
		if (a == b) != c.same {
			t.Errorf("%s: %q and %q, want same %v", c.name, a, b, c.same)
		}
		if strings.Contains(a+b, "home") {
			t.Errorf("%s: %q names a directory", c.name, a)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := Check("rye-engine", This().ID); err != nil {
		t.Error(err)
	}
	err := Check("rye-engine", "another")
	if !fault.Is(err, fault.Conflict) || fault.HintOf(err).String() != Install || !fault.HintOf(err).IsCommand() {
		t.Errorf("another build: %v, hint %q", err, fault.HintOf(err))
	}
}

package oplog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Whatever dependencies an item may name, its line can be read.
func TestLargestDepsFitALine(t *testing.T) {
	e := Entry{Ref: mustRef("acme/tool/x"), Version: "1.0.0", Path: "tools/acme/x.sh", Size: 1, Seq: 2, Time: testTime, Status: StatusOK,
		Sum: objects.DigestOf([]byte("x")), Author: newKey("ada").pub.Fingerprint(), Publisher: newKey("ada").pub.Fingerprint(), Commit: emptyTree}
	e.Meta.Deps = map[string]string{}
	for size := 0; ; {
		name, want := fmt.Sprintf("acme/tool/%s%02d", strings.Repeat("n", 20), len(e.Meta.Deps)), strings.TrimSpace(strings.Repeat("<9 ", 16))
		if size += len(name) + len(want); size > objects.MaxDepsSize || len(e.Meta.Deps) == maxDeps {
			break
		}
		e.Meta.Deps[name] = want
	}
	if err := e.check(); err != nil {
		t.Fatal(err)
	}
	line := e.AppendLine(nil)
	if _, err := ParseEntry(line[:len(line)-1]); err != nil {
		t.Errorf("a line of %d bytes: %v", len(line), err)
	}
	e.Meta.Deps["acme/tool/"+strings.Repeat("m", 90)] = "1.0.0 || 1.0.1 || 1.0.2 || 1.0.3 || 1.0.4 || 1.0.5 || 1.0.6 || 1.0.7"
	if err := e.check(); err == nil {
		t.Error("more than fits")
	}
}

// TestPackageEntry: the line of a package is for its manifest in its place, and no other line
// is for a file of a package.
func TestPackageEntry(t *testing.T) {
	good := Entry{Ref: mustRef("acme/bundle/kit"), Version: "1.0.0", Path: "bundles/acme/kit/rye.bundle.yaml", Sum: objects.DigestOf(nil), Size: 1,
		Author: newKey("ada").fp(), Commit: emptyTree}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Entry){
		"another package's place": func(e *Entry) { e.Path = "bundles/acme/other/rye.bundle.yaml" },
		"another namespace's":     func(e *Entry) { e.Path = "bundles/beta/kit/rye.bundle.yaml" },
		"a file of it":            func(e *Entry) { e.Path = "bundles/acme/kit/main.sh" },
		"no package":              func(e *Entry) { e.Ref, e.Path = mustRef("acme/bundle/tools/kit"), "tools/acme/kit/rye.bundle.yaml" },
		"a member":                func(e *Entry) { e.Ref, e.Path = mustRef("acme/tool/kit/x"), "bundles/acme/kit/tools/x.sh" },
		"an entry":                func(e *Entry) { e.Ref, e.Path = mustRef("acme/knowledge/kit"), "bundles/acme/kit/SKILL.md" },
	} {
		e := good
		change(&e)
		if err := e.check(); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

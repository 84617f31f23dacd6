package registry

import (
	"fmt"
	"strings"
	"testing"

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
	line := e.appendLine(nil)
	if _, err := ParseEntry(line[:len(line)-1]); err != nil {
		t.Errorf("a line of %d bytes: %v", len(line), err)
	}
	e.Meta.Deps["acme/tool/"+strings.Repeat("m", 90)] = "1.0.0 || 1.0.1 || 1.0.2 || 1.0.3 || 1.0.4 || 1.0.5 || 1.0.6 || 1.0.7"
	if err := e.check(); err == nil {
		t.Error("more than fits")
	}
}

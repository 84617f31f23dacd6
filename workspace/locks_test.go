package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
)

// What is locked while lock files of RYE OS are taken over stays locked.
func TestLockImportAmongOthers(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.write("tools/acme/other.sh", greet)
	p.sign("tool:acme/greet", "tool:acme/other")
	it, err := objects.Parse("tools/acme/greet.sh", []byte(p.read("tools/acme/greet.sh")))
	if err != nil {
		t.Fatal(err)
	}
	sum := objects.RyeOSDigest(it).Hex()
	p.write("lockfiles/acme/greet@1.0.0.lock.json", fmt.Sprintf(`{"lockfile_version": 1, "generated_at": "2025-01-01T00:00:00Z",
"root": {"tool_id": "acme/greet", "version": "1.0.0", "integrity": %q},
"resolved_chain": [{"item_id": "acme/greet", "space": "project", "tool_type": "bash", "executor_id": null, "integrity": %q}]}`, sum, sum))
	for range 20 {
		os.Remove(p.path("rye.lock"))
		var wg sync.WaitGroup
		var one, two error
		wg.Go(func() { _, one = p.Locks().Import(t.Context(), rye.Terminal(), rye.LockImportRequest{}) })
		wg.Go(func() {
			_, two = p.Locks().Lock(t.Context(), rye.Terminal(), rye.LockRequest{Targets: []rye.Target{"tool:acme/other"}})
		})
		wg.Wait()
		if err := errors.Join(one, two); err != nil {
			t.Fatal(err)
		}
		text := p.read("rye.lock")
		if !strings.Contains(text, "acme/greet") || !strings.Contains(text, "acme/other") {
			t.Fatalf("the lock lost a pin:\n%s", text)
		}
	}
}

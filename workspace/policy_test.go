package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace"
)

// Approvals that are given at once are all remembered.
func TestPolicyAllowAmongOthers(t *testing.T) {
	const tools = 8
	p := project(t)
	p.enter(p.dir)
	for i := range tools {
		p.write(fmt.Sprintf("tools/acme/t%d.sh", i), greet)
	}
	p.sign("*")
	var wg sync.WaitGroup
	for i := range tools {
		wg.Go(func() {
			if _, err := p.Policy().Allow(t.Context(), rye.Terminal(), rye.AllowRequest{Ref: refOf(fmt.Sprintf("tool:acme/t%d", i))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(filepath.Join(p.o.ConfigDir, workspace.PolicyFile))
	if err != nil {
		t.Fatal(err)
	}
	for i := range tools {
		if !strings.Contains(string(text), fmt.Sprintf("acme/t%d", i)) {
			t.Errorf("the approval of tool:acme/t%d was lost", i)
		}
	}
}

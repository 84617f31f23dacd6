package workspace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
)

// rules are the rules by which an audit found something.
func (p *person) rules() string {
	p.t.Helper()
	rep, err := p.Upkeep().Audit(p.t.Context(), rye.Terminal(), rye.AuditRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, f := range rep.Findings {
		all = append(all, f.Rule+" "+f.Severity)
	}
	return strings.Join(all, ", ")
}

// What a registry called fresh until some time is stale after it, without network, and grave
// where the policy says so.
func TestAuditOfWhatIsStale(t *testing.T) {
	alice, bob, _ := published(t)
	if _, err := alice.Registry().Checkpoint(t.Context(), rye.Terminal(), rye.CheckpointRequest{Fresh: time.Hour}); err != nil {
		t.Fatal(err)
	}
	bob.add("acme/tool/greet")
	if got := bob.rules(); got != "" {
		t.Errorf("fresh: %s", got)
	}
	now := bob.o.Now
	bob.o.Now = func() time.Time { return now().Add(25 * time.Hour) }
	bob.enter(bob.dir)
	if got := bob.rules(); got != "stale medium" {
		t.Errorf("a day later: %q", got)
	}
}

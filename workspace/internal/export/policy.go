package export

import (
	"context"

	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/session"
)

// demands returns what the policy demands of each bundle. It refuses an export from a project whose
// policy was loosened, or whose lock does not match where the policy demands that.
func demands(ctx context.Context, s *session.Session, rehearsal bool) (policy.Demands, error) {
	rules, err := s.Acting(rehearsal)
	if err != nil || !rules.Demands.NoDrift {
		return rules.Demands, err
	}
	if s.LockConflict != nil {
		return rules.Demands, s.LockConflict
	}
	if s.Lock != nil {
		_, err = locks.Verify(ctx, s)
	}
	return rules.Demands, err
}

// denied is the refusal of bundles that the policy does not allow.
func (p *plan) denied() error {
	for _, l := range p.left {
		if l.code == fault.Denied {
			return fault.New(fault.Denied, "export: %s", l.why).Advise("rye policy explain shows what the policy demands")
		}
	}
	return nil
}

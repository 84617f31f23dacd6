package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/internal/words"
)

// Looser returns the fields in which one policy of a project allows more than an earlier one, in words. An empty
// text is a policy that says nothing. It is strict: a change that cannot be compared counts as looser.
func Looser(old, now []byte) ([]string, error) {
	a, err := decode(old)
	if err != nil || a == nil {
		return nil, err
	}
	b, err := decode(now)
	if err != nil {
		return nil, err
	}
	if b == nil {
		b = &file{}
	}
	was, err := a.read()
	if err != nil {
		return nil, err
	}
	is, err := b.read()
	if err != nil {
		return nil, err
	}
	c := &comparison{}
	c.tiers("", a.Limits, b.Limits)
	c.tiers("sub_agent_policy: ", a.SubAgents, b.SubAgents)
	c.atMost("approval_timeout_secs", a.Timeout, b.Timeout)
	c.lost("allow_legacy", a.AllowLegacy != nil && !*a.AllowLegacy, b.AllowLegacy != nil && !*b.AllowLegacy)
	c.lost("older", was.RefuseOlder, is.RefuseOlder)
	c.lost("stale", was.RefuseStale, is.RefuseStale)
	c.age(a, b, was, is)
	c.kept("deny", a.Deny, b.Deny)
	c.callers(a.Callers, b.Callers)
	for _, id := range slices.Sorted(maps.Keys(a.Tools)) {
		if t, ok := b.Tools[id]; !ok || t < a.Tools[id] {
			c.add("tool_overrides no longer has %s: %s", words.Brief(id), a.Tools[id])
		}
	}
	c.kept("dangerous_patterns", a.patterns(), b.patterns())
	c.lost("sandbox "+a.Sandbox, a.Sandbox != "", b.Sandbox >= a.Sandbox)
	c.net(a.Net, b.Net)
	c.lost("locked_only", a.Locked, b.Locked)
	c.lost("fail_on_drift", a.NoDrift, b.NoDrift)
	c.lost("require_origin", a.Origin, b.Origin)
	c.lost("require_review", a.Review, b.Review)
	c.only("allowed_sources", listed(a.Sources), listed(b.Sources))
	return c.lines, nil
}

// comparison collects what became looser.
type comparison struct{ lines []string }

func (c *comparison) add(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// lost notes a condition that held and no longer does.
func (c *comparison) lost(name string, was, is bool) {
	if was && !is {
		c.add("%s no longer holds", name)
	}
}

func (c *comparison) tiers(prefix string, a, b limits) {
	const most = command.T4 + 1
	wasAsk, wasDeny := a.or(most, most)
	isAsk, isDeny := b.or(most, most)
	if isAsk > wasAsk {
		c.add("%sauto_approve_up_to was %s", prefix, wasAsk)
	}
	if isDeny > wasDeny {
		c.add("%sdeny_from was %s", prefix, wasDeny)
	}
}

func (c *comparison) atMost(name string, a, b *int) {
	if a != nil && (b == nil || *b > *a) {
		c.add("%s was %d", name, *a)
	}
}

// age compares min_age and the items that it excepts.
func (c *comparison) age(a, b *file, was, is Rules) {
	if len(was.Ages) == 0 {
		return
	}
	if len(is.Ages) == 0 || is.Ages[0].Least < was.Ages[0].Least {
		c.add("min_age was %s", a.MinAge)
		return
	}
	for _, x := range b.AgeExcept {
		if !slices.Contains(a.AgeExcept, x) {
			c.add("min_age_except has %s, too", words.Brief(x))
		}
	}
}

// kept notes restrictions that a list has lost.
func (c *comparison) kept(name string, a, b []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			c.add("%s no longer has %s", name, words.Brief(x))
		}
	}
}

// only notes what a list of permissions has gained. A missing list permits everything.
func (c *comparison) only(name string, a, b []string) {
	switch {
	case a == nil:
	case b == nil:
		c.add("%s no longer holds", name)
	default:
		for _, x := range b {
			if !slices.Contains(a, x) {
				c.add("%s has %s, too", name, words.Brief(x))
			}
		}
	}
}

func (c *comparison) callers(a, b map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		was, is := a[name], []string(nil)
		if caps, ok := b[name]; ok {
			is = listed(&caps)
		}
		c.only("callers."+words.Brief(name), listed(&was), is)
	}
}

func (c *comparison) net(a, b *netFile) {
	if a == nil {
		return
	}
	n := cmp.Or(b, &netFile{})
	c.only("net.allow", listed(a.Allow), listed(n.Allow))
	c.kept("net.deny", a.Deny, n.Deny)
	c.lost("net.proxy: false", a.Proxy != nil && !*a.Proxy, n.Proxy != nil && !*n.Proxy)
}

// listed returns a list that may be missing: nil then, and not nil for an empty one.
func listed(p *[]string) []string {
	if p == nil {
		return nil
	}
	return append([]string{}, *p...)
}

// patterns returns its dangerous patterns, each with all of its fields.
func (f *file) patterns() (all []string) {
	for _, p := range f.Patterns {
		t := command.T4
		if p.Tier != nil {
			t = *p.Tier
		}
		all = append(all, fmt.Sprintf("%s (%s, %s)", p.Pattern, p.Label, t))
	}
	return all
}

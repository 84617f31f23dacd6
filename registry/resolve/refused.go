package resolve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// ConflictError reports that no version of an item is in all requested ranges. Its code is
// Conflict; Revoked if all fitting versions were revoked; Denied if they are too young; NotFound if
// the item was never published.
type ConflictError struct {
	Item  objects.Ref
	Wants []string // each with the chain that leads to it, as "a@1.2.0 wants ^1"; none if obvious
	Why   string   // "" if the ranges contradict each other
}

func (e *ConflictError) Error() string {
	if e.Why != "" && len(e.Wants) == 0 {
		return e.Item.Published() + ": " + e.Why
	}
	if e.Why != "" {
		return fmt.Sprintf("%s: %s (%s)", e.Item.Published(), e.Why, strings.Join(e.Wants, "; "))
	}
	return fmt.Sprintf("%s: no version fits: %s", e.Item.Published(), strings.Join(e.Wants, "; "))
}

// refused explains why no version of an item was left, at a depth of the search.
type refused struct {
	depth int
	err   error
}

// blocked records that no version of an item is left. It keeps the error nearest to the root:
// deeper ones depend on choices that were still open.
func (s *search) blocked(n *node) {
	if s.worst != nil && s.worst.depth <= len(s.order) {
		return
	}
	s.worst = &refused{len(s.order), s.explain(n)}
}

// clash is an item with a decided version, and the wants for other versions.
type clash struct {
	n     *node
	wants []string
}

// maxClash bounds how many of these wants are shown.
const maxClash = 8

// clash records the wants for other versions of an item than the decided one.
func (s *search) clash(n *node) {
	i := slices.IndexFunc(s.clashes, func(c *clash) bool { return c.n == n })
	if i < 0 {
		i = len(s.clashes)
		s.clashes = append(s.clashes, &clash{n: n})
	}
	c := s.clashes[i]
	for _, l := range n.limits {
		if text := l.chained(); len(c.wants) < maxClash && !slices.Contains(c.wants, text) {
			c.wants = append(c.wants, text)
		}
	}
}

// refusal returns why there is no solution: an item without any version left, or else an item for
// which each version violates some range.
func (s *search) refusal() error {
	if s.worst != nil {
		return s.worst.err
	}
	c := s.clashes[0]
	return fault.New(fault.Conflict, "%w", &ConflictError{Item: c.n.ref, Wants: c.wants}).
		Advise("rye add %s@<range>, with a range that fits all", c.n.name)
}

// explain returns why no version of an item fits.
func (s *search) explain(n *node) error {
	e := &ConflictError{Item: n.ref}
	for _, c := range n.limits {
		if text := c.chained(); !slices.Contains(e.Wants, text) {
			e.Wants = append(e.Wants, text)
		}
	}
	if len(n.all) == 0 {
		if len(n.limits) == 1 && n.limits[0].of == nil {
			e.Wants = nil // obvious to the user who named it
		}
		e.Why = "namespace " + n.ref.ID.Namespace() + " has published nothing of this name"
		return fault.New(fault.NotFound, "%w", e).Advise("rye registry log %s", n.ref.ID.Namespace())
	}
	fits := func(v Version) bool {
		parsed, err := objects.ParseVersion(v.Version)
		return err == nil && !slices.ContainsFunc(n.limits, func(c constraint) bool { return !c.Range.Allows(parsed) })
	}
	i := slices.IndexFunc(n.all, func(v Version) bool { return fits(v) && !v.Status.Gone() })
	if i < 0 {
		i = slices.IndexFunc(n.all, fits)
	}
	switch {
	case i < 0 && len(e.Wants) == 1:
		e.Why = "no version fits; the newest is " + n.all[0].Entry.Version
	case i < 0:
	case n.all[i].Status.Gone():
		e.Why = n.all[i].Entry.Version + " " + s.refuses(n.ref, n.all[i])
		return fault.New(fault.Revoked, "%w", e)
	case n.all[i].Status == oplog.StatusYanked:
		e.Why = n.all[i].Entry.Version + " " + s.refuses(n.ref, n.all[i])
		return s.instead(n, fault.New(fault.Conflict, "%w", e))
	default:
		e.Why = n.all[i].Entry.Version + " " + s.refuses(n.ref, n.all[i])
		return fault.New(fault.Denied, "%w", e).Advise("wait until %s, or see min_age in the policy", s.oldEnough(n.ref, n.all[i]).Format(time.RFC3339))
	}
	return fault.New(fault.Conflict, "%w", e).Advise("rye add %s@<range>, with a range that fits all", n.name)
}

// instead adds the version to take in place of yanked ones.
func (s *search) instead(n *node, err *fault.Error) error {
	if to := Instead(n.all, "", func(v Version) bool { return s.refuses(n.ref, v) == "" }); to != "" {
		return err.Mend("rye add %s@%s", n.name, to)
	}
	return err.Advise("nothing replaces it; locks that have it keep working")
}

// Instead returns the range that replaces a version: a caret on the newest allowed release if that
// is newer, otherwise exactly the newest allowed one; "" for none.
func Instead(all []Version, of string, may func(Version) bool) string {
	old, _ := objects.ParseVersion(of)
	var best objects.Version
	found := false
	for _, v := range all {
		parsed, err := objects.ParseVersion(v.Version)
		if err != nil || parsed.Pre != "" || !may(v) || v.Entry.Version == of || found && parsed.Compare(best) <= 0 {
			continue
		}
		best, found = parsed, true
	}
	switch {
	case !found:
		return ""
	case best.Compare(old) > 0:
		return "^" + best.String()
	}
	return best.String()
}

// chain describes why an item is wanted.
func (n *node) chain() string {
	for _, c := range n.limits {
		if !c.Limit && c.of != nil && c.of != n {
			return c.chained() + " " + n.name
		}
	}
	return n.name
}

// maxChain bounds how many steps of a chain are shown.
const maxChain = 6

// chained describes a want and what led to it: "your rye.yaml wants acme/tool/b ^1, so
// acme/tool/b@1.2.0 wants ^2".
func (c constraint) chained() string {
	var steps []string
	last := fmt.Sprintf("%s wants %s", c.who(), c.Range)
	seen := map[*node]bool{}
	for n := c.of; n != nil && !seen[n]; {
		seen[n] = true
		i := slices.IndexFunc(n.limits, func(c constraint) bool { return !c.Limit && (c.of == nil || !seen[c.of]) })
		if i < 0 {
			break
		}
		up := n.limits[i]
		steps = append(steps, fmt.Sprintf("%s wants %s %s", up.who(), n.name, up.Range))
		n = up.of
	}
	slices.Reverse(steps)
	if len(steps) > maxChain {
		steps = append(steps[:maxChain:maxChain], "…")
	}
	return strings.Join(append(steps, last), ", so ")
}

func (c constraint) who() string {
	if c.of != nil && c.of.chosen != nil {
		return c.of.chosen.Name()
	}
	return c.By
}

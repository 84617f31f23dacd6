// Package resolve chooses one version of every wanted item, so that all ranges hold.
//
// It reads nothing and knows no time but the one it is given. The search is a depth-first
// one with backjumping: the items are decided in a fixed order (those that shall stay,
// those that were asked for, the rest; each by name), the versions of each are tried in a
// fixed order of preference, and the first solution counts. So the answer does not depend
// on the order of the input, there is one whenever there is any, and what a hostile
// catalogue can cost is bounded by Limits: beyond them the answer is fault.Limit.
package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// Want is a requested range for an item.
type Want struct {
	Item  objects.Ref
	Range objects.Range
	By    string // source of the want, for people: "your rye.yaml"
	Limit bool   // applies only if another want includes the item
}

// Version is one published version, with the time since which it was certainly available.
type Version struct {
	oplog.Entry
	Since time.Time // zero: old enough for any MinAge
}

// Source returns every version of an item, in any order; none is no error. It is called once for
// each item.
type Source func(objects.Ref) ([]Version, error)

// Request is the input of Resolve.
type Request struct {
	Wants  []Want
	Pinned map[objects.Ref]string // versions in use; accepted in any status but revoked
	Moving func(objects.Ref) bool // reports which pinned items should be as new as possible; nil: none
	Source Source

	MinAge func(objects.Ref) time.Duration // minimum age of versions that are not pinned; nil: no minimum
	Now    time.Time
}

// Limits of a resolution: items it looks at, versions it tries, and versions it compares with a
// range.
const (
	MaxItems = 2_000
	maxTries = 20_000
	maxCells = 20_000_000
)

// Choice is the chosen version of an item.
type Choice struct {
	Version
	By []string // the wants and their ranges, sorted: "your rye.yaml wants ^1"
}

// Passed is a version newer than the chosen one that was not taken.
type Passed struct {
	Item    objects.Ref
	Version string
	Until   time.Time // when it is old enough; zero if it is not too young
	Why     string
}

// Solution holds one version of every wanted item.
type Solution struct {
	Chosen map[objects.Ref]Choice
	Passed []Passed // at most one for each item and reason, sorted by item
}

// Resolve chooses versions. Its errors are ConflictError, fault.Limit beyond the bounds, and errors
// from Source.
func Resolve(q Request) (*Solution, error) {
	s := &search{q: q, nodes: map[objects.Ref]*node{}}
	for _, w := range q.Wants {
		n, err := s.node(w.Item)
		if err != nil {
			return nil, err
		}
		n.add(constraint{Want: w})
		n.root = n.root || !w.Limit
	}
	all := slices.SortedFunc(maps.Values(s.nodes), func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, n := range all {
		slices.SortFunc(n.limits, func(a, b constraint) int { // the order of the input must not matter
			return cmp.Or(strings.Compare(a.By, b.By), strings.Compare(a.Range.String(), b.Range.String()))
		})
	}
	for _, n := range all {
		if !n.root {
			continue
		}
		if err := s.load(n); err != nil {
			return nil, err
		}
		if !s.viable(n) {
			s.blocked(n)
			return nil, s.refusal()
		}
	}
	ok, _, err := s.solve()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, s.refusal()
	}
	return s.solution(), nil
}

// node is an item.
type node struct {
	ref    objects.Ref
	name   string
	root   bool
	loaded bool

	tries  []*candidate // in order of preference
	all    []Version    // newest first, for explanations
	limits []constraint
	chosen *candidate // nil while undecided

	allows map[string][]bool // by range: which of tries it allows
}

// constraint is a range for an item, from the request or from a chosen version.
type constraint struct {
	Want
	of *node // nil: from the request
}

type candidate struct {
	Version
	v    objects.Version
	read bool // deps are read
	deps []dep
}

type dep struct {
	item objects.Ref
	rng  objects.Range
}

func (n *node) add(c constraint) { n.limits = append(n.limits, c) }

func (n *node) wanted() bool {
	return slices.ContainsFunc(n.limits, func(c constraint) bool { return !c.Limit })
}

// search is one Resolve under way.
type search struct {
	q     Request
	nodes map[objects.Ref]*node
	order []*node // decided items

	tried, cells int
	worst        *refused // why nothing fits, nearest to the root
	clashes      []*clash // wants for other versions of decided items
}

func (s *search) node(ref objects.Ref) (*node, error) {
	if n := s.nodes[ref]; n != nil {
		return n, nil
	}
	if len(s.nodes) >= MaxItems {
		return nil, fault.New(fault.Limit, "resolve: more than %d items would be added", MaxItems).Advise("leave out the item that brings so many")
	}
	n := &node{ref: ref, name: ref.Published(), allows: map[string][]bool{}}
	s.nodes[ref] = n
	return n, nil
}

// load reads the versions of an item and sorts the allowed ones.
func (s *search) load(n *node) error {
	if n.loaded {
		return nil
	}
	all, err := s.q.Source(n.ref)
	if err != nil {
		return fault.Wrap(err, "%s", n.chain())
	}
	n.loaded = true
	parsed := make(map[string]objects.Version, len(all))
	for _, v := range all {
		if parsed[v.Version], err = objects.ParseVersion(v.Version); err != nil {
			return err
		}
	}
	n.all = slices.SortedFunc(slices.Values(all), func(a, b Version) int {
		return cmp.Or(parsed[b.Version].Compare(parsed[a.Version]), strings.Compare(b.Version, a.Version))
	})
	pin, pinned := s.q.Pinned[n.ref]
	moving := s.q.Moving != nil && s.q.Moving(n.ref)
	for _, v := range n.all {
		if v.Version != pin && s.refuses(n.ref, v) != "" || v.Status.Gone() {
			continue
		}
		n.tries = append(n.tries, &candidate{Version: v, v: parsed[v.Version]})
	}
	if pinned && !moving { // otherwise newest first
		slices.SortStableFunc(n.tries, func(a, b *candidate) int {
			return cmp.Compare(other(a.Version.Version, pin), other(b.Version.Version, pin))
		})
	}
	return nil
}

func other(version, pin string) int {
	if version == pin {
		return 0
	}
	return 1
}

// refuses returns why a version may not be newly chosen; "" if it may.
func (s *search) refuses(ref objects.Ref, v Version) string {
	switch {
	case v.Status != oplog.StatusOK && v.Status != oplog.StatusDeprecated:
		return "was " + string(v.Status) + ": " + v.Reason
	case s.young(ref, v):
		return "is too young, until " + s.oldEnough(ref, v).Format(time.RFC3339)
	}
	return ""
}

// young reports whether a version is below its minimum age. Without a minimum, the clock does not
// matter.
func (s *search) young(ref objects.Ref, v Version) bool {
	return s.q.MinAge != nil && s.q.MinAge(ref) > 0 && s.q.Now.Before(v.Since.Add(s.q.MinAge(ref)))
}

// oldEnough returns from when on a version can be chosen.
func (s *search) oldEnough(ref objects.Ref, v Version) time.Time {
	if s.q.MinAge == nil {
		return v.Since
	}
	return v.Since.Add(s.q.MinAge(ref)).UTC().Truncate(time.Second)
}

func depsOf(v Version) ([]dep, error) {
	var all []dep
	for _, name := range slices.Sorted(maps.Keys(v.Meta.Deps)) {
		ref, err := objects.ParseRef(name)
		if err != nil {
			return nil, err
		}
		rng, err := objects.ParseRange(v.Meta.Deps[name])
		if err != nil {
			return nil, err
		}
		all = append(all, dep{ref, rng})
	}
	return all, nil
}

// fits reports which tries of a node a range allows.
func (s *search) fits(n *node, rng objects.Range) []bool {
	got, ok := n.allows[rng.String()]
	if !ok {
		got = make([]bool, len(n.tries))
		for i, c := range n.tries {
			got[i] = rng.Allows(c.v)
		}
		s.cells += 16 * len(got) // a comparison costs more than reading its result
		n.allows[rng.String()] = got
	}
	s.cells += len(got)
	return got
}

// viable reports whether all ranges together allow some version.
func (s *search) viable(n *node) bool {
	left := make([]bool, len(n.tries))
	for i := range left {
		left[i] = true
	}
	for _, c := range n.limits {
		for i, ok := range s.fits(n, c.Range) {
			left[i] = left[i] && ok
		}
	}
	return slices.Contains(left, true)
}

// next returns the item to decide now, or nil if all wanted items are decided.
func (s *search) next() *node {
	var best *node
	s.cells += len(s.nodes)
	for _, n := range s.nodes {
		if n.chosen == nil && n.wanted() && (best == nil || s.before(n, best)) {
			best = n
		}
	}
	return best
}

func (s *search) before(a, b *node) bool {
	return cmp.Or(cmp.Compare(s.rank(a), s.rank(b)), strings.Compare(a.name, b.name)) < 0
}

func (s *search) rank(n *node) int {
	_, pinned := s.q.Pinned[n.ref]
	switch {
	case pinned && (s.q.Moving == nil || !s.q.Moving(n.ref)):
		return 0
	case n.root:
		return 1
	}
	return 2
}

// blame holds the decided items that together exclude a solution.
type blame map[*node]bool

func (b blame) add(cs ...constraint) {
	for _, c := range cs {
		if c.of != nil {
			b[c.of] = true
		}
	}
}

// solve decides the open items. Without a solution, it returns the items whose choices are the
// reason; other versions of other items need not be tried.
func (s *search) solve() (bool, blame, error) {
	n := s.next()
	if n == nil {
		return true, nil, nil
	}
	if err := s.load(n); err != nil {
		return false, nil, err
	}
	why := blame{}
	if !n.root {
		why.add(n.limits[slices.IndexFunc(n.limits, func(c constraint) bool { return !c.Limit })])
	}
	for i, c := range n.tries {
		if s.tried++; s.tried > maxTries || s.cells > maxCells {
			return false, nil, tooMuch(n, s.tried)
		}
		if x := slices.IndexFunc(n.limits, func(l constraint) bool { return !s.fits(n, l.Range)[i] }); x >= 0 {
			why.add(n.limits[x])
			continue
		}
		ok, sub, err := s.try(n, c)
		if ok || err != nil {
			return ok, nil, err
		}
		if !sub[n] {
			return false, sub, nil // no other version of this item would help
		}
		delete(sub, n)
		maps.Copy(why, sub)
	}
	return false, why, nil
}

func tooMuch(n *node, tried int) error {
	return fault.New(fault.Limit, "resolve: gave up after %d versions, at %s: too many ranges conflict", tried, n.name).
		Advise("name exact versions: rye add %s@=<version>", n.name)
}

// try chooses one version and goes on.
func (s *search) try(n *node, c *candidate) (_ bool, _ blame, err error) {
	if !c.read {
		if c.deps, err = depsOf(c.Version); err != nil {
			return false, nil, err
		}
		c.read = true
	}
	n.chosen = c
	s.order = append(s.order, n)
	var gave []*node
	undo := func() {
		for _, m := range gave {
			m.limits = m.limits[:len(m.limits)-1]
		}
		n.chosen, s.order = nil, s.order[:len(s.order)-1]
	}
	for _, d := range c.deps {
		m, err := s.node(d.item)
		if err != nil {
			return false, nil, err
		}
		m.add(constraint{Want: Want{Item: d.item, Range: d.rng}, of: n})
		gave = append(gave, m)
		why, err := s.check(m, d.rng)
		if err != nil {
			return false, nil, err
		}
		if why != nil {
			if m.chosen == nil {
				s.blocked(m)
			} else {
				s.clash(m)
			}
			why[n] = true
			undo()
			return false, why, nil
		}
	}
	ok, why, err := s.solve()
	if ok || err != nil {
		return ok, nil, err
	}
	undo()
	return false, why, nil
}

// check returns the items whose choices exclude every version of m, which has just received one
// more range; nil if some version is left.
func (s *search) check(m *node, rng objects.Range) (blame, error) {
	if m.chosen != nil {
		if rng.Allows(m.chosen.v) {
			return nil, nil
		}
		return blame{m: true}, nil
	}
	if err := s.load(m); err != nil {
		return nil, err
	}
	if s.viable(m) {
		return nil, nil
	}
	why := blame{}
	why.add(m.limits...)
	return why, nil
}

// solution collects the decisions.
func (s *search) solution() *Solution {
	out := &Solution{Chosen: map[objects.Ref]Choice{}}
	slices.SortFunc(s.order, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, n := range s.order {
		c := Choice{Version: n.chosen.Version}
		for _, l := range n.limits {
			c.By = append(c.By, l.text())
		}
		slices.Sort(c.By)
		out.Chosen[n.ref] = c
		out.Passed = append(out.Passed, s.passed(n)...)
	}
	return out
}

// passed returns versions newer than the chosen one: the newest that is too young, and the newest
// that a range or its own dependencies exclude.
func (s *search) passed(n *node) (all []Passed) {
	young, held := false, false
	_, pinned := s.q.Pinned[n.ref]
	stays := pinned && (s.q.Moving == nil || !s.q.Moving(n.ref))
	for _, v := range n.all {
		parsed, _ := objects.ParseVersion(v.Version)
		if parsed.Compare(n.chosen.v) <= 0 || stays {
			break
		}
		if v.Status != oplog.StatusOK && v.Status != oplog.StatusDeprecated {
			continue
		}
		by := slices.IndexFunc(n.limits, func(l constraint) bool { return !l.Range.Allows(parsed) })
		switch until := s.oldEnough(n.ref, v); {
		case by < 0 && !held && s.refuses(n.ref, v) == "":
			held = true
			all = append(all, Passed{Item: n.ref, Version: v.Version, Why: "its dependencies do not fit"})
		case by < 0 && !young && s.refuses(n.ref, v) != "":
			young = true
			all = append(all, Passed{Item: n.ref, Version: v.Version, Until: until, Why: "it is too young"})
		case by >= 0 && !held && n.limits[by].of != nil && !slices.ContainsFunc(n.limits, func(l constraint) bool { return l.of == nil && !l.Range.Allows(parsed) }):
			held = true
			all = append(all, Passed{Item: n.ref, Version: v.Version, Why: n.limits[by].text()})
		}
	}
	return all
}

// text describes a want with its range.
func (c constraint) text() string {
	by := c.By
	if c.of != nil {
		by = c.of.chosen.Name()
	}
	return fmt.Sprintf("%s wants %s", by, c.Range)
}

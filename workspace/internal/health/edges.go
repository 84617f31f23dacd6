package health

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// asker is the project itself at the head of chains.
const asker = session.ProjectFile

// survey is the graph of uses between items. It is safe for concurrent use while it is made.
type survey struct {
	mu    sync.Mutex
	edges []edge
	roots []string
	facts map[string]fact
}

// fact holds an item's details for a tree, besides its name.
type fact struct{ version, space string }

// surveyOf reads every present or locked item, in any state: the question why something is
// here includes unsigned items.
func surveyOf(ctx context.Context, s *session.Session) (*survey, error) {
	v := &survey{facts: map[string]fact{}}
	for sp := objects.Project; sp >= objects.System; sp-- {
		if _, err := s.Stack.Layer(sp); err != nil && sp != objects.System {
			continue
		}
		found, err := look.Scan(ctx, s, sp, v.note)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			v.note(&f)
		}
	}
	if err := v.bundles(ctx, s); err != nil {
		return nil, err
	}
	for name, rng := range s.Project.Deps {
		if ref, err := objects.ParseRef(name); err == nil {
			v.edges = append(v.edges, edge{asker, ref.String(), "asks for " + rng})
		}
	}
	v.roots = append(v.roots, asker)
	if s.Lock == nil {
		return v, nil
	}
	for ref, pin := range s.Lock.Items {
		if f, ok := v.facts[ref.String()]; !ok || f.version == "" {
			v.facts[ref.String()] = fact{pin.Version, "locked"}
		}
		at := ref.String()
		for _, next := range pin.Chain {
			v.edges = append(v.edges, edge{at, next.String(), runsThrough})
			at = next.String()
		}
	}
	return v, nil
}

// bundles notes what bundles depend on, besides their members, and where they came from.
func (v *survey) bundles(ctx context.Context, s *session.Session) error {
	dirs, err := look.BundlesAt(ctx, s.Stack.Project, ".")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		raw, err := s.Stack.Project.Read(dir + "/" + objects.ManifestName)
		if err != nil {
			continue // rye verify reports it
		}
		if m, err := objects.ParseManifest(raw); err == nil {
			v.bundle(m, objects.Project.String())
		}
	}
	if s.Lock == nil {
		return nil
	}
	for ref := range s.Lock.Items {
		if p := s.Stack.LockedPackage(ref); p != nil && p.Manifest() != nil {
			v.bundle(p.Manifest(), "locked")
		}
	}
	return nil
}

func (v *survey) bundle(m *objects.Manifest, where string) {
	name := look.BundleRef(m.ID)
	v.facts[name] = fact{m.Version, where}
	for dep, rng := range m.Deps {
		if ref, err := objects.ParseRef(dep); err == nil {
			v.edges = append(v.edges, edge{name, ref.String(), "uses " + rng})
		}
	}
	if o := m.Origin; o != nil {
		v.edges = append(v.edges, edge{name, o.String(), "comes from"})
		v.facts[o.String()] = fact{"", "source"}
	}
}

const runsThrough = "runs through"

// note keeps the references of one finding. The highest space's facts about an item are used.
func (v *survey) note(f *space.Finding) {
	if f.Ref.Kind == "" || f.Item == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	name, where := f.Ref.String(), f.Space.String()
	if f.Registry != "" {
		where = "locked"
	}
	if old, ok := v.facts[name]; ok && old.space != where {
		return
	}
	m := &f.Item.Meta
	v.facts[name] = fact{m.Version, where}
	if where == objects.Project.String() {
		v.roots = append(v.roots, name)
	}
	if f.Ref.Kind == objects.Tool && m.Executor != "" {
		v.edges = append(v.edges, edge{name, objects.Ref{Kind: objects.Tool, ID: m.Executor}.String(), runsThrough})
	}
	for dep, rng := range m.Deps {
		if ref, err := objects.ParseRef(dep); err == nil {
			v.edges = append(v.edges, edge{name, ref.String(), "uses " + rng})
		}
	}
	if f.Bundle != "" {
		bundle := look.BundleRef(f.Bundle)
		v.facts[bundle] = fact{"", where}
		v.edges = append(v.edges, edge{bundle, name, "holds"})
		if where == objects.Project.String() {
			v.roots = append(v.roots, bundle)
		}
	}
}

// Tree returns what the project or an item uses, or what uses it.
func Tree(ctx context.Context, s *session.Session, q rye.TreeRequest) (*rye.TreeReport, error) {
	v, err := surveyOf(ctx, s)
	if err != nil {
		return nil, err
	}
	g, from := graphOf(v.edges, v.roots), []string{q.Ref.String()}
	if q.Ref == (objects.Ref{}) {
		if q.Invert {
			return nil, fault.New(fault.Usage, "tree --invert: no item named").Advise("rye tree <ref> --invert")
		}
		from = v.tops(g)
	} else if err := v.known(g, from[0]); err != nil {
		return nil, err
	}
	rep := &rye.TreeReport{}
	rep.Lines, rep.More = g.tree(from, q.Invert, q.Depth)
	for i := range rep.Lines {
		l := &rep.Lines[i]
		f, ok := v.facts[l.Name]
		l.Version, l.Space, l.Missing = f.version, f.space, !ok && l.Name != asker
	}
	return rep, nil
}

// tops are rye.yaml and the items of the project that nothing else in the project leads to.
func (v *survey) tops(g graph) []string {
	var tops []string
	for _, name := range g.roots {
		ups := g.up[name]
		own := slices.ContainsFunc(ups, func(e edge) bool { return g.isRoot[e.from] && e.from != name })
		if !own && (name != asker || len(g.down[name]) > 0) && (len(g.down[name]) > 0 || strings.HasPrefix(name, "tool:") || strings.HasPrefix(name, "directive:")) {
			tops = append(tops, name)
		}
	}
	return tops
}

// known refuses a name without an item and without a use.
func (v *survey) known(g graph, name string) error {
	if _, ok := v.facts[name]; ok || len(g.up[name]) > 0 {
		return nil
	}
	err := fault.New(fault.NotFound, "%s: not found, and nothing here uses it", name)
	for _, other := range slices.Sorted(maps.Keys(v.facts)) {
		if strings.HasSuffix(other, "/"+name[strings.LastIndexAny(name, "/:")+1:]) {
			return err.Advise("did you mean %s?", other)
		}
	}
	return err.Advise("rye list")
}

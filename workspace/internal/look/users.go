package look

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// How one item depends on another.
const (
	runsThrough = "runs through"
	requires    = "requires"
	extendsIt   = "extends"
	uses        = "uses" // a directive, in its text
	mayLoad     = "may load"
)

// Users returns the signed items that depend on the given items or bundles of a space, by what they
// depend on. Items that leave with them are no users. A use breaks if it is of an item of the
// project, and nothing else here has the name.
func Users(ctx context.Context, s *session.Session, l *space.Layer, leaving []objects.Ref) (map[objects.Ref][]rye.ItemUse, error) {
	u := &users{gone: map[objects.Ref]objects.Ref{}, parts: map[string]objects.Ref{}}
	for _, ref := range leaving {
		u.gone[ref] = ref
	}
	var found []space.Finding
	for _, at := range s.Stack.Layers() {
		here, err := Scan(ctx, s, at.Space, u.note)
		if err != nil {
			return nil, err
		}
		for i := range here {
			u.note(&here[i])
		}
		found = append(found, here...)
	}
	u.members(found, l.Space)
	by := map[objects.Ref][]rye.ItemUse{}
	for _, e := range u.edges {
		of, leaves := u.gone[e.on]
		if _, alsoLeaves := u.gone[e.by]; !leaves || alsoLeaves && e.space == l.Space {
			continue
		}
		elsewhere, err := u.elsewhere(ctx, s, l, e.on)
		if err != nil {
			return nil, err
		}
		use := rye.ItemUse{Ref: e.by.String(), How: e.how, On: e.on.String(), Space: e.space.String(), Breaks: !elsewhere && e.how != mayLoad && e.space == objects.Project}
		if !slices.Contains(by[of], use) {
			by[of] = append(by[of], use)
		}
	}
	for _, all := range by {
		slices.SortFunc(all, func(a, b rye.ItemUse) int {
			return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.On, b.On), cmp.Compare(a.How, b.How))
		})
	}
	return by, nil
}

// users collects the uses between items. note is safe for concurrent use.
type users struct {
	mu    sync.Mutex
	edges []use
	tools []toolPlace                 // signed ones
	parts map[string]objects.Ref      // by path: files that only other tools load
	gone  map[objects.Ref]objects.Ref // the items that leave, by the target that they belong to
}

type use struct {
	by, on objects.Ref
	how    string
	space  objects.Space
}

type toolPlace struct {
	ref   objects.Ref
	path  string
	space objects.Space
}

// note keeps the uses of one finding.
func (u *users) note(f *space.Finding) {
	if f.Item == nil || f.Ref.Kind == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	m := &f.Item.Meta
	if f.Ref.Kind == objects.Tool && m.Part {
		u.parts[f.Path] = f.Ref
	}
	if f.Err != nil {
		return
	}
	add := func(on objects.Ref, how string) {
		u.edges = append(u.edges, use{f.Ref, on, how, f.Space})
	}
	if f.Ref.Kind == objects.Tool && !m.Part {
		u.tools = append(u.tools, toolPlace{f.Ref, f.Path, f.Space})
		if m.Executor != "" {
			add(objects.Ref{Kind: objects.Tool, ID: m.Executor}, runsThrough)
		}
	}
	for dep := range m.Deps {
		if ref, err := objects.ParseRef(dep); err == nil {
			add(ref, requires)
		}
	}
	for _, a := range m.Actions {
		if ref, err := objects.ParseRef(a.Attrs["item_type"] + ":" + a.Attrs["item_id"]); err == nil && a.Primary != "sign" {
			add(ref, uses)
		}
	}
	if f.Ref.Kind == objects.Config {
		text, _ := m.Config[extends].(string)
		if id, err := objects.ParseID(text); err == nil {
			add(objects.Ref{Kind: objects.Config, ID: id}, extendsIt)
		}
	}
}

// members adds what belongs to the bundles that leave, what bundles require, and the tools that can
// load a part beside them.
func (u *users) members(found []space.Finding, leaving objects.Space) {
	for _, f := range found {
		bundle := objects.BundleRef(f.Bundle)
		if _, leaves := u.gone[bundle]; leaves && f.Space == leaving && f.Ref.Kind != "" {
			u.gone[f.Ref] = bundle
		}
		if !f.Manifest || f.Err != nil || f.Cover == nil {
			continue
		}
		for dep := range f.Cover.Manifest().Deps {
			if ref, err := objects.ParseRef(dep); err == nil {
				u.edges = append(u.edges, use{bundle, ref, requires, f.Space})
			}
		}
	}
	for p, part := range u.parts {
		for _, t := range u.tools {
			if path.Ext(t.path) == path.Ext(p) && strings.HasPrefix(p, path.Dir(t.path)+"/") {
				u.edges = append(u.edges, use{t.ref, part, mayLoad, t.space})
			}
		}
	}
}

// elsewhere reports whether another space has an item of this name, which its users then get.
func (u *users) elsewhere(ctx context.Context, s *session.Session, l *space.Layer, ref objects.Ref) (bool, error) {
	if ref.Kind == objects.Bundle {
		return false, nil
	}
	for _, sp := range []objects.Space{objects.Project, objects.User, objects.System} {
		if sp == l.Space {
			continue
		}
		f, ok, err := s.Stack.In(ctx, sp, ref)
		if err != nil {
			return false, err
		}
		if ok && f.Err == nil {
			return true, nil
		}
	}
	return false, nil
}

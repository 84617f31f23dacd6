package store

import (
	"context"
	"path"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// flaw is the damage found at or below an object.
type flaw struct {
	path string // from the object to a file or folder; "" for the object itself, and for commits
	err  error
}

// wholeness holds the result for each checked object. An object known without a flaw is
// intact, with everything below it.
type wholeness struct {
	ctx   context.Context
	r     *Repo
	known map[OID]*flaw
	types map[OID]Type // of the objects that were read
}

// whole returns the flaw of an object or of anything below it; nil for none.
func (w *wholeness) whole(id OID) (wrong, err error) {
	f, err := w.of(id)
	if f == nil || err != nil {
		return nil, err
	}
	if f.path != "" {
		return fault.New(fault.Integrity, "%s: %v", words.Brief(f.path), f.err), nil
	}
	return fault.New(fault.Integrity, "%v", f.err), nil
}

// below is an object that is being checked, with its links.
type below struct {
	id   OID
	todo []lead
}

// lead is a link from one object to another.
type lead struct {
	name string // in a tree
	id   OID
	want Type // 0: any
}

// of checks the links of an object before it decides about the object.
func (w *wholeness) of(id OID) (_ *flaw, failed error) {
	var stack []*below
	enter := func(id OID) {
		leads, err := w.leads(id)
		switch {
		case err == nil:
			stack = append(stack, &below{id, leads})
		case isDamage(err):
			w.known[id] = &flaw{err: err}
		default:
			failed = err
		}
	}
	if _, ok := w.known[id]; !ok {
		enter(id)
	}
	for n := 0; len(stack) > 0 && failed == nil; n++ {
		if n%256 == 0 && w.ctx.Err() != nil {
			return nil, context.Cause(w.ctx)
		}
		top := stack[len(stack)-1]
		if len(top.todo) == 0 {
			w.known[top.id] = nil
			stack = stack[:len(stack)-1]
			continue
		}
		next := top.todo[0]
		switch f, ok := w.known[next.id]; {
		case !ok:
			enter(next.id)
		case f != nil:
			w.known[top.id] = f.above(next.name)
			stack = stack[:len(stack)-1]
		case next.want != 0 && next.want != w.types[next.id]:
			wrong := &flaw{err: fault.New(fault.Integrity, "%s is a %s, where a %s belongs", next.id, w.types[next.id], next.want)}
			w.known[top.id] = wrong.above(next.name)
			stack = stack[:len(stack)-1]
		default:
			top.todo = top.todo[1:]
		}
	}
	return w.known[id], failed
}

// isDamage reports whether err means a missing or changed object. A disk that does not
// respond, or a file without read permission, is no reason to move a ref.
func isDamage(err error) bool {
	return isMissing(err) || fault.Is(err, fault.Integrity) || fault.Is(err, fault.Malformed)
}

// above returns the same flaw for a tree that has the flawed object under name.
func (f *flaw) above(name string) *flaw {
	if name == "" {
		return f
	}
	return &flaw{path.Join(name, f.path), f.err}
}

// leads reads an object, compares it with its id, and returns its links.
func (w *wholeness) leads(id OID) (all []lead, err error) {
	t, raw, err := w.r.Check(id)
	if err != nil {
		return nil, err
	}
	w.types[id] = t
	switch t {
	case TypeCommit:
		tree, parents, err := CommitLinks(raw)
		for _, p := range parents {
			all = append(all, lead{id: p, want: TypeCommit})
		}
		return append(all, lead{id: tree, want: TypeTree}), err
	case TypeTree:
		entries, err := ParseTree(w.r.format, raw)
		for _, e := range entries {
			if e.Mode != ModeGitlink {
				all = append(all, lead{e.Name, e.ID, e.Type()})
			}
		}
		return all, err
	case TypeTag:
		tag, err := ParseTag(raw)
		if err != nil {
			return nil, err
		}
		return []lead{{id: tag.Target, want: tag.Type}}, nil
	}
	return nil, nil
}

// maxBroken is the largest object, in bytes, that is read to check it.
const maxBroken = 1 << 30

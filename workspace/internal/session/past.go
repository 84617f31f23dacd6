package session

import (
	"context"
	"path"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/head"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
)

// For returns a session that decides, for a caller, about items behind their record; asked is
// the item that the caller named, zero for none. It shares the layers of s.
func (s *Session) For(c rye.Caller, asked objects.Ref) *Session {
	n := s.copy()
	r := &pastRule{s: n, caller: c, asked: asked, said: map[pastKey]error{}}
	n.Stack.Rule = r.decide
	return n
}

// pastRule decides about items that are older than their record, or were removed. A branch, a
// bisection or a checkout brings them every day: they run. A person has to agree to wider
// permissions than the newest version has, and to removed items. Other callers get an item that
// they named, if the user has it checked out.
type pastRule struct {
	s      *Session
	caller rye.Caller
	asked  objects.Ref

	mu   sync.Mutex
	said map[pastKey]error // the decisions: each question is asked once
}

// pastKey is the subject of a decision: these bytes, in this place, in this role.
type pastKey struct {
	space  objects.Space
	path   string
	sum    objects.Digest
	asked  bool
	beside bool
}

func (r *pastRule) decide(ctx context.Context, f space.Finding, beside bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := pastKey{f.Space, f.Past.Path, objects.DigestOf(f.Past.Raw), f.Ref == r.asked, beside}
	err, known := r.said[key]
	if !known {
		err = r.judge(ctx, f, beside)
		r.said[key] = err
	}
	return err
}

func (r *pastRule) judge(ctx context.Context, f space.Finding, beside bool) error {
	rules, err := r.s.Rules()
	switch {
	case err != nil:
		return err
	case rules.RefuseOlder:
		return f.Past.Refusal("older than the newest recorded version, and your policy refuses older versions")
	case !r.caller.IsPerson():
		return r.unseen(f, beside)
	case f.Err == nil:
		return nil
	}
	if err := r.s.Ask(ctx, questionAbout(f)); fault.Is(err, fault.Denied) {
		return f.Err // no one agreed
	} else if err != nil {
		return err
	}
	return nil
}

// unseen decides for a caller other than a person.
func (r *pastRule) unseen(f space.Finding, beside bool) error {
	switch {
	case f.Err != nil:
		return f.Err
	case !beside && (f.Ref != r.asked || r.asked == objects.Ref{}):
		return f.Past.Refusal("older than the newest recorded version, and %s did not ask for it by name", r.caller.Who())
	case f.Space != objects.Project:
		return f.Past.Refusal("older than the newest recorded version in the %s space", f.Space)
	}
	is, err := r.s.head.is(f.Past.Path, f.Past.Raw)
	if err != nil {
		return f.Past.Refusal("older than the newest recorded version, and rye cannot read your git's HEAD: %v", err)
	}
	if !is {
		return f.Past.Refusal("older than the newest recorded version, and different from your git's HEAD")
	}
	return nil
}

// questionAbout is the question about an item that is wider or was removed.
func questionAbout(f space.Finding) rye.Question {
	p := f.Past
	q := rye.Question{Topic: "use " + p.Name, Text: "It is older than the newest recorded version and has wider needs. Use it?", Mend: fault.HintOf(f.Err),
		Lines: []string{p.Name + "  .ai/" + p.Path + "  " + objects.DigestOf(p.Raw).String()}}
	q.Person = len(p.Wider) > 0 // --yes accepts no wider needs
	for _, w := range p.Wider {
		q.Lines = append(q.Lines, "it "+w)
	}
	if !p.Removed.IsZero() {
		q.Text = "It was removed, and is back. Use it, and record it again?"
		q.Lines = append(q.Lines, "removed on "+p.Removed.UTC().Format("2006-01-02 15:04 MST"))
	}
	if p.Where != "" {
		q.Lines = append(q.Lines, "recorded in "+words.Quote(p.Where)+", a directory of the same project")
	}
	if p.Where != "" && f.Recorded {
		q.Text = "Another directory of this project removed it, or replaced it with a narrower version. Use it?"
	}
	return q
}

// checkedOut is the user's git at HEAD, read on first use. The copies of a session share one. It
// is safe for concurrent use.
type checkedOut struct {
	host *Host
	once sync.Once
	tree *head.Tree
	err  error
}

func (c *checkedOut) open() (*head.Tree, error) {
	c.once.Do(func() {
		var dir string
		if dir, c.err = records.Canonical(c.host.ProjectDir); c.err == nil {
			c.tree, c.err = head.Open(dir, c.host.Home, c.host.Now())
		}
	})
	return c.tree, c.err
}

// is reports whether HEAD has these bytes at a path below .ai.
func (c *checkedOut) is(p string, raw []byte) (bool, error) {
	t, err := c.open()
	if err != nil {
		return false, err
	}
	return t.Is(path.Join(".ai", p), raw, c.host.Now())
}

// lacks reports whether HEAD has nothing at a path below .ai.
func (c *checkedOut) lacks(p string) (bool, error) {
	t, err := c.open()
	if err != nil {
		return false, err
	}
	has, err := t.Holds(path.Join(".ai", p), c.host.Now())
	return err == nil && !has, err
}

// Versions returns the contents of a file below .ai in the history of the user's own git
// repository. A repository that cannot be read with certainty is an error.
func (s *Session) Versions(p string) ([]head.Version, error) {
	t, err := s.head.open()
	if err != nil {
		return nil, err
	}
	return t.Versions(path.Join(".ai", p), space.MaxItem, s.Now)
}

func (c *checkedOut) close() {
	if c != nil && c.tree != nil {
		c.tree.Close()
	}
}

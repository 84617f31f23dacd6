package session

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
)

// others are the records of the user's other directories with this project. Items that were
// removed there are refused here as well, if their signer is trusted here. So are older items
// that are wider than a newer version there. The copies of a session share one. It is safe for
// concurrent use.
type others struct {
	place records.Place
	once  sync.Once
	all   []*space.Other
	more  int // directories that are not read
	err   error
}

// list finds them on first use.
func (o *others) list() ([]*space.Other, error) {
	o.once.Do(func() {
		known, more, err := o.place.Siblings()
		o.more, o.err = more, err
		look := &place.Look{}
		for _, k := range known {
			if o.err = look.Owned(k.Store()); o.err != nil {
				return
			}
			o.all = append(o.all, space.NewOther(k.Key, k.Path, k.Store(), records.Place{Key: k.Key, Project: k.Project, Dir: k.Dir}.Index()))
		}
	})
	return o.all, o.err
}

func (o *others) close() {
	for _, other := range o.all {
		other.Close() // read-only handles: nothing to lose
	}
}

// KeepNames keeps data from the records of the project's other directories, so that the next
// command need not read them again. Otherwise they are read again.
func (s *Session) KeepNames(ctx context.Context) {
	if s.Project == nil || s.Place.List() != nil {
		return
	}
	all, _ := s.others.list() // an unreadable record refuses the items that need it
	for _, o := range all {
		_ = o.Keep(ctx)
	}
}

// reportOthers reports removals in other directories of this project that have no effect here,
// and directories beyond the limit.
func (s *Session) reportOthers(ctx context.Context) (notes []TakenNote, err error) {
	all, err := s.others.list()
	for _, o := range all {
		strangers := tally{}
		if err := o.NoEffect(ctx, s.Stack, func(ref objects.Ref, signer objects.Fingerprint) {
			strangers[claim{key: signer, namespace: ref.ID.Namespace()}]++
		}); err != nil {
			return notes, err
		}
		for _, t := range strangers.sorted() {
			notes = append(notes, TakenNote{fmt.Sprintf("no effect here: %s in %s, because %s owns no %s/ in this directory", words.Plural(t.n, "removal"), words.Quote(o.Path), t.key, t.namespace), true})
		}
	}
	if s.others.more > 0 {
		notes = append(notes, TakenNote{fmt.Sprintf("%d more directories belong to this project, and their removals have no effect here: rye gc --gone", s.others.more), false})
	}
	return notes, err
}

// Owner is a key that owns a namespace of this project in another directory of the user.
type Owner struct {
	Key  objects.Fingerprint
	Path string // of the directory
}

// OwnersElsewhere returns the owners of a namespace in other directories with this project's id.
// These are the keys that were granted it there, and the user's own keys that signed its items.
func (s *Session) OwnersElsewhere(ctx context.Context, namespace string) (all []Owner, err error) {
	others, err := s.others.list()
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, o := range others {
		paths[o.Key] = o.Path
		if !s.Trust.Accepted(trust.Site{Place: o.Key, Project: s.Project.Project}) {
			continue
		}
		fp, ok, err := o.Signer(ctx, namespace, func(fp objects.Fingerprint) bool {
			k, known := s.Trust.Key(fp)
			return known && s.Trust.IsOwn(k)
		})
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, Owner{fp, o.Path})
		}
	}
	for _, g := range s.Trust.Grants() {
		what, of := g.Cut()
		if g.Kind != trust.GrantSigner || what != namespace || g.Project != s.Project.Project || g.Place == s.Stack.Place {
			continue
		}
		k, err := trust.ParsePublicKey(of)
		if _, removed := s.Stack.Declared.At(g.Site).Removal(s.Trust, g); err != nil || removed {
			continue
		}
		all = append(all, Owner{k.Fingerprint(), cmp.Or(paths[g.Place], "another directory")})
	}
	return all, nil
}

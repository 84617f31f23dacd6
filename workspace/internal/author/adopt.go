package author

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Adopt takes working items as they are for the baseline of this project, after showing
// whose signatures they carry and asking. Unsigned and altered items are refused: adopting
// is for items that are older, or signed by keys new to this machine.
func Adopt(ctx context.Context, s *Desk, q rye.AdoptRequest) (*rye.AdoptReport, error) {
	refs, bundles, err := look.ItemsAndBundles(ctx, s.Session, s.Stack.Project, q.Targets, q.All)
	if err != nil {
		return nil, err
	}
	a, err := newAdoption(s, q.All || slices.Contains(q.Targets, "*"))
	if err != nil {
		return nil, err
	}
	if err := a.addItems(ctx, refs); err != nil {
		return nil, err
	}
	for _, dir := range bundles {
		if err := a.addBundle(ctx, dir); err != nil {
			a.refuse(".ai/"+dir, err)
		}
	}
	if len(a.names) == 0 && len(a.rep.Refused) > 0 {
		return a.rep, nil // there is nothing to ask about
	}
	if err := s.Ask(ctx, a.question()); err != nil {
		return a.rep, err
	}
	return a.rep, a.carryOut(ctx)
}

// adoption is what a yes would do. Each item is tried against the trust store as a yes would
// leave it: what does not verify even then, no consent can mend.
type adoption struct {
	*Desk
	all    bool         // every item: none is named, so none is taken out of the lock
	hoped  *trust.Store // the trust store after a yes: a copy in memory, never saved
	listed map[objects.Fingerprint]trust.PublicKey
	scope  trust.Scope
	rep    *rye.AdoptReport

	refs    []objects.Ref
	names   []string
	changes []store.Change
	keys    map[trust.PublicKey]map[string]bool // new signers, and the namespaces they signed in
	pinned  []objects.Ref                       // items that the lock pins too, and is to pin no longer
}

func newAdoption(s *Desk, all bool) (*adoption, error) {
	hoped, err := trust.LoadStore(s.TrustPath())
	if err != nil {
		return nil, err
	}
	s.AllowLegacy(hoped)
	listed, err := custody.Signers(s.Host)
	if err != nil {
		return nil, err
	}
	return &adoption{Desk: s, all: all, hoped: hoped, listed: listed, scope: s.Stack.Scope(s.Stack.Project),
		rep: &rye.AdoptReport{Signers: map[string][]string{}}, keys: map[trust.PublicKey]map[string]bool{},
	}, hoped.Grant(s.Now(), s.Site().OwnKeys())
}

// addItems tries each item, and notes those that can be adopted.
func (a *adoption) addItems(ctx context.Context, refs []objects.Ref) error {
	l := a.Stack.Project
	items, errs := make([]*objects.Item, len(refs)), make([]error, len(refs))
	read := l.Drafts(refs)
	err := parallel.Each(ctx, len(refs), func(i int) error {
		items[i], errs[i] = draftOf(l, refs[i], read)
		if errs[i] == nil && items[i].Signature == nil && items[i].Legacy == nil {
			items[i] = items[i].WithoutBytes() // it is going to be refused
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, it := range items {
		if errs[i] == nil {
			errs[i] = a.believe(it)
		}
	}
	err = parallel.Each(ctx, len(refs), func(i int) error {
		if errs[i] == nil {
			_, errs[i] = trust.Verify(items[i], a.scope, a.hoped)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, ref := range refs {
		owned := a.Stack.OwnedByLock(l, ref)
		if errs[i] == nil && a.all {
			errs[i] = owned
		}
		if errs[i] != nil {
			a.refuse(ref.String(), errs[i])
			continue
		}
		if owned != nil {
			a.pinned = append(a.pinned, ref)
		}
		a.accept(items[i], ref.String(), store.Change{Path: items[i].Path, Data: items[i].Raw})
	}
	return nil
}

// addBundle tries a bundle, with the signature lines that its files carry of their own.
func (a *adoption) addBundle(ctx context.Context, dir string) error {
	l := a.Stack.Project
	b, err := readBundle(ctx, l, dir)
	if err != nil {
		return err
	}
	if err := a.believe(b.manifest.Item()); err != nil {
		return err
	}
	if _, err := trust.OpenBundle(b.raw, l.Folder(dir), a.scope, a.hoped); err != nil {
		return err
	}
	for _, c := range b.changes {
		it := look.Lined(c.Path, c.Data)
		if it == nil {
			continue
		}
		if err := a.believe(it); err != nil {
			return err
		}
		if _, err := trust.Verify(it, a.scope, a.hoped); err != nil {
			return err
		}
	}
	a.accept(b.manifest.Item(), look.BundleRef(b.manifest.ID), b.changes...)
	return nil
}

// believe notes a signer that this machine does not know yet but whose key the project
// lists, for the namespace of the item.
func (a *adoption) believe(it *objects.Item) error {
	if it.Signature == nil {
		return nil // Verify says what is wrong
	}
	key, ok := a.listed[it.Signature.Key]
	ns := it.Ref.ID.Namespace()
	if !ok || a.hoped.IsOwn(key) || a.keys[key][ns] || trust.Reserved(ns) {
		return nil
	}
	if a.keys[key] == nil {
		a.keys[key] = map[string]bool{}
	}
	a.keys[key][ns] = true
	return a.pinIn(a.hoped, key, ns)
}

// pinIn believes a key for a namespace in the project, beside what it counted for before.
func (a *adoption) pinIn(st *trust.Store, key trust.PublicKey, ns string) error {
	return st.Grant(a.Now(), a.Site().Signer(ns, key))
}

// accept notes what would be adopted, and whose signature it carries.
func (a *adoption) accept(it *objects.Item, name string, changes ...store.Change) {
	var signer string
	if it.Signature != nil {
		signer = it.Signature.Key.String()
	} else {
		signer = "RYE OS key " + it.Legacy.Key
	}
	a.rep.Signers[signer] = append(a.rep.Signers[signer], name)
	a.refs, a.names, a.changes = append(a.refs, it.Ref), append(a.names, name), append(a.changes, changes...)
}

func (a *adoption) refuse(name string, err error) {
	a.rep.Refused = append(a.rep.Refused, rye.SignResult{Ref: name, Status: "failed",
		Error: err.Error(), Code: fault.CodeOf(err), Hint: fault.HintOf(err)})
}

func (a *adoption) question() rye.Question {
	q := rye.Question{
		Topic: "adopt",
		Text:  fmt.Sprintf("Trust this project (%s) and take %s as its baseline?", a.Project.Project, words.Plural(len(a.names), "item")),
		Mend:  fault.Advice("rye adopt --all --yes, after looking at rye status"),
	}
	if !a.all && len(a.names) == 1 {
		q.Mend = fault.Advice("rye adopt %s --yes, after looking at it", a.names[0])
	}
	for fp, names := range a.rep.Signers {
		if n := len(names) - 8; n > 0 {
			names = append(names[:8:8], fmt.Sprintf("and %d more", n))
		}
		q.Lines = append(q.Lines, fmt.Sprintf("%s signed %s", fp, strings.Join(names, ", ")))
	}
	for _, ref := range a.pinned {
		q.Lines = append(q.Lines, ref.String()+" will come from this file, and no longer from the registry that the lock names")
	}
	slices.Sort(q.Lines)
	return q
}

// carryOut accepts the project and its signers, then records the items.
func (a *adoption) carryOut(ctx context.Context) error {
	err := trust.Update(a.TrustPath(), func(st *trust.Store) error {
		for key, namespaces := range a.keys {
			for ns := range namespaces {
				if err := a.pinIn(st, key, ns); err != nil {
					return err
				}
			}
		}
		return st.Grant(a.Now(), a.Site().OwnKeys())
	})
	if err != nil || len(a.names) == 0 {
		return err
	}
	a.rep.Adopted = a.names
	if a.rep.Commit, err = a.record(ctx, a.Stack.Project, "adopt", a.refs, a.changes); err != nil {
		return err
	}
	for _, ref := range a.pinned {
		if err := dropDependency(ctx, a.Session, ref); err != nil {
			return err
		}
		a.rep.Unpinned = append(a.rep.Unpinned, ref.String())
	}
	return nil
}

package author

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Adopt takes working items as they are for the baseline of this project, after
// showing whose signatures they carry and asking. Unsigned and altered items are
// refused: adopting is for what is older, or signed by keys new to this machine.
func Adopt(ctx context.Context, s *Desk, q rye.AdoptRequest) (*rye.AdoptReport, error) {
	l := s.Stack.Project
	all := q.All || slices.Contains(q.Targets, "*")
	bundles, rest, err := look.BundleTargets(ctx, s.Session, l, q.Targets, all)
	if err != nil {
		return nil, err
	}
	refs, err := look.Targets(ctx, s.Session, l, rest, q.All)
	if err != nil {
		return nil, err
	}
	if refs, bundles, err = look.WithBundles(ctx, s.Session, l, refs, bundles); err != nil {
		return nil, err
	}
	rep := &rye.AdoptReport{Signers: map[string][]string{}}
	plan, err := planAdoption(ctx, s, l, refs, bundles, all, rep)
	if err != nil {
		return nil, err
	}
	if len(plan.names) == 0 && len(rep.Refused) > 0 {
		return rep, nil // there is nothing to ask about
	}
	if err := s.Ask(ctx, plan.question(s.Project.Project, rep, all)); err != nil {
		return rep, err
	}
	return rep, adopt(ctx, s, l, plan, rep)
}

// adoption is what a yes would do.
type adoption struct {
	refs    []objects.Ref
	names   []string
	changes []store.Change
	keys    map[trust.PublicKey]map[string]bool // new signers, and the namespaces they signed in
	pinned  []objects.Ref                       // what the lock brings too, and is to bring no longer
}

// planAdoption tries each item against the trust store as a yes would leave it:
// what does not verify even then, no consent can mend. Who asks for all names nothing,
// and takes nothing out of the lock.
func planAdoption(ctx context.Context, s *Desk, l *space.Layer, refs []objects.Ref, bundles []string, all bool, rep *rye.AdoptReport) (*adoption, error) {
	hoped, err := trust.LoadStore(s.TrustPath()) // a copy in memory, never saved
	if err != nil {
		return nil, err
	}
	s.AllowLegacy(hoped)
	listed, err := custody.Signers(s.Host)
	if err != nil {
		return nil, err
	}
	if err := hoped.AcceptProject(s.Project.Project); err != nil {
		return nil, err
	}
	plan := &adoption{keys: map[trust.PublicKey]map[string]bool{}}
	scope := s.Stack.Scope(l)
	items, errs := make([]*objects.Item, len(refs)), make([]error, len(refs))
	read := l.Drafts(refs)
	err = parallel.Each(ctx, len(refs), func(i int) error { items[i], errs[i] = look.DraftBy(l, refs[i], read); return nil })
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		if errs[i] == nil {
			errs[i] = plan.believe(it, hoped, listed, s.Project.Project)
		}
	}
	err = parallel.Each(ctx, len(refs), func(i int) error {
		if errs[i] == nil {
			_, errs[i] = trust.Verify(items[i], scope, hoped)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		owned := s.Stack.OwnedByLock(l, refs[i])
		if errs[i] == nil && all {
			errs[i] = owned
		}
		if errs[i] != nil {
			refuseAdoption(rep, refs[i].String(), errs[i])
			continue
		}
		if owned != nil {
			plan.pinned = append(plan.pinned, refs[i])
		}
		plan.take(it, refs[i].String(), rep)
		plan.changes = append(plan.changes, store.Change{Path: it.Path, Data: it.Raw})
	}
	for _, dir := range bundles {
		b, err := plan.adoptBundle(s, l, dir, hoped, listed)
		if err != nil {
			refuseAdoption(rep, ".ai/"+dir, err)
			continue
		}
		plan.take(b.manifest.Item(), look.BundleRef(b.manifest.ID), rep)
		plan.changes = append(plan.changes, b.changes...)
	}
	return plan, nil
}

func refuseAdoption(rep *rye.AdoptReport, name string, err error) {
	rep.Refused = append(rep.Refused, rye.SignResult{Ref: name, Status: "failed", Error: err.Error(), Code: fault.CodeOf(err), Hint: fault.HintOf(err)})
}

// take notes what would be adopted, and whose signature it carries.
func (a *adoption) take(it *objects.Item, name string, rep *rye.AdoptReport) {
	a.refs, a.names = append(a.refs, it.Ref), append(a.names, name)
	signer := ""
	if it.Signature != nil {
		signer = it.Signature.Key.String()
	} else {
		signer = "RYE OS key " + it.Legacy.Key
	}
	rep.Signers[signer] = append(rep.Signers[signer], name)
}

// believe notes a signer that this machine does not know yet but whose key the
// project lists, for the namespace of the item.
func (a *adoption) believe(it *objects.Item, st *trust.Store, listed map[objects.Fingerprint]trust.PublicKey, project string) error {
	if it.Signature == nil {
		return nil // Verify says what is wrong
	}
	key, ok := listed[it.Signature.Key]
	ns := it.Ref.ID.Namespace()
	if !ok || st.IsOwn(key) || a.keys[key][ns] || trust.Reserved(ns) {
		return nil
	}
	if a.keys[key] == nil {
		a.keys[key] = map[string]bool{}
	}
	a.keys[key][ns] = true
	return pinIn(st, project, key, ns)
}

// pinIn believes a key for a namespace in one project, beside what it counted for
// before.
func pinIn(st *trust.Store, project string, key trust.PublicKey, ns string) error {
	return st.PinMore(trust.Pin{Key: key, Namespaces: []string{ns}, Projects: []string{project}})
}

func (a *adoption) question(project string, rep *rye.AdoptReport, all bool) rye.Question {
	q := rye.Question{
		Topic: "adopt",
		Text:  fmt.Sprintf("Trust this project (%s) and take %s as its baseline?", project, words.Plural(len(a.names), "item")),
		Mend:  fault.Advice("rye adopt --all --yes, after looking at rye status"),
	}
	if !all && len(a.names) == 1 {
		q.Mend = fault.Advice("rye adopt %s --yes, after looking at it", a.names[0])
	}
	for fp, refs := range rep.Signers {
		q.Lines = append(q.Lines, fmt.Sprintf("%s signed %s", fp, strings.Join(clipList(refs, 8), ", ")))
	}
	for _, ref := range a.pinned {
		q.Lines = append(q.Lines, ref.String()+" will come from this file, and no longer from the registry that the lock names")
	}
	sort.Strings(q.Lines)
	return q
}

func clipList(all []string, n int) []string {
	if len(all) <= n {
		return all
	}
	return append(all[:n:n], fmt.Sprintf("and %d more", len(all)-n))
}

// adopt accepts the project and its signers, then records the items.
func adopt(ctx context.Context, s *Desk, l *space.Layer, plan *adoption, rep *rye.AdoptReport) error {
	err := trust.Update(s.TrustPath(), func(st *trust.Store) error {
		for key, namespaces := range plan.keys {
			for ns := range namespaces {
				if err := pinIn(st, s.Project.Project, key, ns); err != nil {
					return err
				}
			}
		}
		return st.AcceptProject(s.Project.Project)
	})
	if err != nil || len(plan.names) == 0 {
		return err
	}
	rep.Adopted = plan.names
	if rep.Commit, err = record(ctx, s, l, "adopt", plan.refs, plan.changes); err != nil {
		return err
	}
	for _, ref := range plan.pinned {
		if err := dropDependency(ctx, s.Session, ref); err != nil {
			return err
		}
		rep.Unpinned = append(rep.Unpinned, ref.String())
	}
	return nil
}

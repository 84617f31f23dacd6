package install

import (
	"context"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// arrival is a verified item that waits to be pinned.
type arrival struct {
	release  oplog.Release
	content  *registry.Fetched
	registry string // its name in this project
	item     *objects.Item
	verified trust.Verified
	parcel   *parcel // for a bundle, whose manifest is item; nil for an item
}

// fetch fetches the content of a release and verifies it as a use of it would.
func (in *installation) fetch(ctx context.Context, reg *registry.Registry, name string, rel oplog.Release) (*arrival, error) {
	e := rel.Entry
	in.Say("fetching " + e.Name())
	c, err := reg.Fetch(ctx, rel)
	if err != nil {
		return nil, err
	}
	if rel.Ref.Kind == objects.Bundle {
		a := &arrival{release: rel, content: c, registry: name}
		return a, in.unpack(ctx, a, reg.ID().String())
	}
	it, err := objects.Parse(e.Path, c.Raw)
	if err != nil {
		return nil, err
	}
	scope := in.Stack.Scope(in.Stack.Project)
	scope.Registry, scope.Pinned = reg.ID().String(), e.Sum
	v, err := trust.Verify(it, scope, in.Trust)
	if err != nil {
		return nil, err
	}
	if it.Ref != e.Ref || it.Meta.Version != e.Version {
		return nil, fault.New(fault.Integrity, "%s: the file is %s@%s", e.Name(), it.Ref, it.Meta.Version)
	}
	a := &arrival{release: rel, content: c, registry: name, item: it, verified: v}
	return a, in.free(ctx, a)
}

// pinned reports whether a lock pins the arrival.
func (a *arrival) pinned(l *chain.Lock) bool {
	pin, ok := share.PinOf(l, a.item.Ref)
	return ok && pin.SHA256 == a.item.Sum && pin.Author == a.item.Signature.Key
}

// question shows the new item: its signer, its permissions, and the version that it replaces.
func (a *arrival) question(lock *chain.Lock) rye.Question {
	it, e := a.item, a.release.Entry
	q := rye.Question{Topic: "add " + e.Name(), Text: "Add it?", Mend: fault.Command("rye add %s --yes", e.Name()),
		Lines: []string{
			e.Name() + " from " + a.registry + ": " + it.Meta.Description,
			"author   " + it.Signature.Key.String(),
			"sha256   " + it.Sum.String(),
		}}
	if a.parcel != nil {
		q.Lines = append(q.Lines, a.parcel.lines()...)
	}
	if it.Ref.Kind == objects.Tool {
		q.Lines = append(q.Lines, "needs    "+describeNeeds(it.Meta.Needs))
		if l := it.Meta.Limits.String(); l != "" {
			q.Lines = append(q.Lines, "limits   "+l)
		}
	}
	if len(it.Meta.Permissions) > 0 && a.parcel == nil {
		q.Lines = append(q.Lines, "asks for "+strings.Join(it.Meta.Permissions, ", "))
	}
	if old, ok := share.PinOf(lock, it.Ref); ok {
		if old.Author != it.Signature.Key {
			q.Lines = append(q.Lines, "SIGNER CHANGED: was "+old.Author.String())
		}
		q.Lines = append(q.Lines, "replaces "+old.Version)
	}
	return q
}

// describeNeeds describes in one line what a registry's tool may reach in the sandbox, also
// without a declaration.
func describeNeeds(n objects.Needs) string {
	if !n.Declared {
		return "none declared: reads the project, no network"
	}
	var parts []string
	for _, p := range []struct {
		verb string
		what []string
	}{{"reads", n.Read}, {"writes", n.Write}, {"network", n.Net}, {"listens at port", n.Listen}, {"calls rye for", n.Rye}} {
		if len(p.what) > 0 {
			parts = append(parts, p.verb+" "+strings.Join(p.what, ", "))
		}
	}
	if len(parts) == 0 {
		return "no files, no network"
	}
	return strings.Join(parts, "; ")
}

// overtaken reports whether the lock got another pin for this item after a person was asked,
// to other bytes than the arrival's.
func (a *arrival) overtaken(before, now *chain.Lock) bool {
	pin, ok := share.PinOf(now, a.item.Ref)
	old, _ := share.PinOf(before, a.item.Ref)
	return ok && !a.pinned(now) && old.SHA256 != pin.SHA256
}

// pin keeps the content of an arrival in the project's store, unless it is there, and writes
// the item into the lock. It also writes the position of the item's namespace: a minimum for
// everyone with this lock.
func (a *arrival) pin(ctx context.Context, s *session.Session, lock *chain.Lock, rep *rye.InstallReport) error {
	repo, err := s.Stack.Project.Repo()
	if err != nil {
		return err
	}
	e, tip := a.release.Entry, a.release.Tip
	ref := session.LockRefs + e.Sum.Hex()
	at, err := repo.Ref(ref)
	unchanged := err == nil && at == e.Commit && a.pinned(s.Lock) && repo.Has(e.Commit)
	if !unchanged {
		if _, err := a.content.CopyTo(ctx, repo, ref); err != nil {
			return err
		}
	}
	a.note(rep, s.Lock, unchanged)
	c := s.Project.Registries[a.registry]
	id, err := objects.ParseDigest(c.ID)
	if err != nil {
		return err
	}
	lock.Registries[a.registry] = chain.RegistryPin{ID: id, URL: c.URL}
	lock.Namespaces[a.release.Namespace] = chain.NamespacePin{Registry: a.registry, Seq: tip.Seq, Tip: tip.Tip.String(), SHA256: tip.Sum}
	if err := lock.SetItem(chain.Link{Verified: a.verified, Space: objects.Project, Origin: &chain.Origin{
		Registry: a.registry, Version: e.Version, Commit: e.Commit.String(), Author: e.Author, Publisher: e.Publisher}}); err != nil {
		return err
	}
	if a.parcel != nil {
		lock.SetPackage(e.Ref, a.parcel.members)
	}
	return nil
}

// note adds an arrival to a report; before is the lock before the installation.
func (a *arrival) note(rep *rye.InstallReport, before *chain.Lock, unchanged bool) {
	e := a.release.Entry
	i := rye.Installed{Name: e.Ref.Published(), Version: e.Version, Registry: a.registry, SHA256: e.Sum.String(), Commit: e.Commit.String(),
		Author: e.Author.String(), Publisher: e.Publisher.String(), Seq: e.Seq}
	if old, ok := share.PinOf(before, e.Ref); ok && old.Version != e.Version {
		i.Was = old.Version
	}
	if unchanged {
		rep.Unchanged = append(rep.Unchanged, i)
	} else {
		rep.Installed = append(rep.Installed, i)
	}
}

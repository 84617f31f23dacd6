package author

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Move gives a working item or a bundle of the project or the user another id. It signs again what
// the user's own signature covers, and otherwise removes the signature line, which names the old
// id. It records the old files first.
func Move(ctx context.Context, s *custody.Desk, c rye.Caller, q rye.MoveRequest) (*rye.MoveReport, []Moved, error) {
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, nil, err
	}
	m := &mover{Desk: s, layer: l, caller: c, dry: q.DryRun}
	if err := m.plan(ctx, q); err != nil {
		return nil, nil, err
	}
	rep := &m.moves[0]
	if q.DryRun {
		return rep, m.moved, nil
	}
	rep.Commit, err = m.commit(ctx, "move "+rep.From+" to "+rep.Ref)
	if err != nil {
		return nil, nil, err
	}
	return rep, m.moved, nil
}

// plan plans the move of one item or bundle.
func (m *mover) plan(ctx context.Context, q rye.MoveRequest) error {
	if dir, ok := look.BundleTarget(m.layer, q.From); ok {
		return m.planBundle(ctx, dir, q.To)
	}
	ref, err := session.RefOf(ctx, m.Session, string(q.From))
	if err != nil {
		return err
	}
	if dir, ok := look.PackageOf(m.layer, q.From, ref); ok {
		return m.planBundle(ctx, dir, q.To)
	}
	dest, err := newRef(ref, q.To)
	if err != nil {
		return err
	}
	if err := m.unlocked(ref, string(dest.ID)); err != nil {
		return err
	}
	it, err := draftOf(m.layer, ref, m.layer.Draft)
	if err != nil {
		return err
	}
	m.renames = objects.Renames{ref: dest}
	return m.item(ctx, ref, it.Path, dest.Path(path.Ext(it.Path)))
}

// unlocked refuses an item that the lock brings from a registry.
func (m *mover) unlocked(ref objects.Ref, dest string) error {
	if m.Stack.Locked == nil || m.layer.Space != objects.Project {
		return nil
	}
	if _, ok := m.Stack.Locked(ref); ok {
		return fault.New(fault.Denied, "move %s: it belongs to a registry", ref).Mend("rye add %s --space project --as %s", ref, dest)
	}
	return nil
}

// planBundle plans the move of a bundle to the directory that to names: as a bundle, or by an id.
func (m *mover) planBundle(ctx context.Context, dir, to string) error {
	dest, ok := look.FolderNamed(m.layer, rye.Target(to))
	if !ok {
		id, err := objects.ParseID(to)
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(dir, "/")
		dest = top + "/" + string(id)
	}
	if dest == dir {
		return fault.New(fault.Usage, "move .ai/%s: that is its place already", dir)
	}
	if strings.HasPrefix(dest, dir+"/") || strings.HasPrefix(dir, dest+"/") {
		return fault.New(fault.Usage, "move .ai/%s to .ai/%s: one lies in the other", dir, dest)
	}
	was, err := objects.BundleID(dir)
	if err == nil {
		var id objects.ID
		if id, err = objects.BundleID(dest); err == nil {
			m.renames = objects.Renames{objects.BundleRef(was): objects.BundleRef(id)}
			err = m.renameMembers(ctx, dir, dest)
		}
	}
	if err != nil {
		return err
	}
	return m.bundle(ctx, dir, dest)
}

// renameMembers notes the new names of the items in a bundle, so that they name each other by
// them.
func (m *mover) renameMembers(ctx context.Context, dir, dest string) error {
	here, err := m.layer.Contents(ctx, dir)
	if err != nil {
		return err
	}
	for _, c := range here {
		from, _, err := objects.RefOfPath(c.Path)
		if err != nil {
			continue
		}
		if to, _, err := objects.RefOfPath(dest + strings.TrimPrefix(c.Path, dir)); err == nil {
			m.renames[from] = to
		}
	}
	return nil
}

// newRef reads the new name of an item: a ref of the same kind, or an id.
func newRef(old objects.Ref, arg string) (objects.Ref, error) {
	ref, err := objects.ParseRef(arg)
	if err != nil || ref.Kind != old.Kind && !strings.ContainsAny(arg, ": ") { // perhaps an id, which has the form of a published name
		id, iderr := objects.ParseID(arg)
		if iderr != nil {
			return ref, err
		}
		ref = objects.Ref{Kind: old.Kind, ID: id}
	}
	switch {
	case ref.Kind != old.Kind:
		return ref, fault.New(fault.Usage, "%s is a %s and cannot become a %s", old, old.Kind, ref.Kind)
	case ref == old:
		return ref, fault.New(fault.Usage, "%s is already its name", ref)
	}
	return ref, nil
}

// renamed returns an item under another ref, without its signature line.
func renamed(it *objects.Item, ref objects.Ref) (*objects.Item, error) {
	return objects.Parse(ref.Path(path.Ext(it.Path)), it.Body)
}

// MoveNamespace moves every item and bundle of a namespace that is the user's own.
func MoveNamespace(ctx context.Context, s *custody.Desk, c rye.Caller, q rye.MoveNamespaceRequest) (*rye.MoveNamespaceReport, []Moved, error) {
	for _, ns := range []string{q.From, q.To} {
		if err := session.CheckNamespace(ns); err != nil {
			return nil, nil, err
		}
	}
	if q.From == q.To {
		return nil, nil, fault.New(fault.Usage, "move --namespace: %s is already its name", q.To)
	}
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, nil, err
	}
	m := &mover{Desk: s, layer: l, caller: c, dry: q.DryRun}
	if err := m.unbound(q.To); err != nil {
		return nil, nil, err
	}
	if err := m.planNamespace(ctx, q.From, q.To); err != nil {
		return nil, nil, err
	}
	rep := &rye.MoveNamespaceReport{From: q.From, To: q.To, Moves: m.moves, DryRun: q.DryRun}
	if len(m.moves) == 0 {
		if l.Space == objects.Project && s.Project != nil && s.Project.Namespace == q.From {
			return rep, nil, nil // only rye.yaml has it
		}
		return nil, nil, fault.New(fault.NotFound, "move --namespace %s: the %s space has no item there", q.From, l.Space).Advise("rye list")
	}
	if rep.Mentions = m.mentions(q.From); q.DryRun {
		return rep, m.moved, nil
	}
	if err := m.askNamespace(ctx, q); err != nil {
		return nil, nil, err
	}
	rep.Commit, err = m.commit(ctx, "move namespace "+q.From+" to "+q.To)
	if err != nil {
		return nil, nil, err
	}
	return rep, m.moved, nil
}

// unbound refuses a namespace that a registry serves here: the move would give the user's items to
// its owners.
func (m *mover) unbound(ns string) error {
	if m.Project == nil || m.layer.Space != objects.Project {
		return nil
	}
	if reg, ok := m.Project.Scopes[ns]; ok {
		return fault.New(fault.Untrusted, "move --namespace: registry %s serves %s/ here, so others may own its names", reg, ns).
			Advise("choose another namespace, or become an owner first: rye registry members %s --join", ns)
	}
	return nil
}

// planNamespace plans the moves of all files of a namespace.
func (m *mover) planNamespace(ctx context.Context, old, now string) error {
	at := map[string]objects.Ref{} // of files that are items
	foreign, err := m.layer.Files(ctx, func(p string, ref objects.Ref) error {
		if namespaceAt(p) == old {
			at[p] = ref
		}
		return nil
	})
	if err != nil {
		return err
	}
	dirs, err := m.bundlesIn(ctx, old, at)
	if err != nil {
		return err
	}
	var single []string
	for _, p := range slices.Sorted(maps.Keys(at)) {
		if !look.InAny(dirs, p) {
			single = append(single, p)
		}
	}
	// All names first: items name each other.
	if err := m.renameAll(ctx, old, now, dirs, single, at); err != nil {
		return err
	}
	for _, p := range single {
		if err := m.unlocked(at[p], string(m.renames[at[p]].ID)); err != nil {
			return err
		}
		if err := m.item(ctx, at[p], p, inNamespace(p, now)); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		if err := m.bundle(ctx, dir, inNamespace(dir, now)); err != nil {
			return err
		}
	}
	if err := m.along(foreign, dirs, old, now); err != nil {
		return err
	}
	for _, kind := range objects.Kinds {
		m.folders = append(m.folders, kind.Dir()+"/"+old)
	}
	m.folders = append(m.folders, objects.BundlesDir+"/"+old)
	return m.ownOnly(old, now)
}

// bundlesIn returns the directories of a namespace's bundles, sorted: those with a manifest, and
// those of the items that lie below bundles/.
func (m *mover) bundlesIn(ctx context.Context, ns string, at map[string]objects.Ref) ([]string, error) {
	dirs := map[string]bool{}
	all, err := m.layer.Bundles(ctx)
	if err != nil {
		return nil, err
	}
	for _, dir := range all {
		if _, err := objects.BundleID(dir); err == nil && namespaceAt(dir) == ns {
			dirs[dir] = true
		}
	}
	for p := range at {
		if dir, in := objects.InBundles(p); in {
			dirs[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs)), nil
}

// renameAll notes the new names of a namespace, of its bundles with their members, and of the items
// outside of bundles.
func (m *mover) renameAll(ctx context.Context, old, now string, dirs, single []string, at map[string]objects.Ref) error {
	m.renames = objects.Renames{{ID: objects.ID(old)}: {ID: objects.ID(now)}}
	for _, dir := range dirs {
		if err := m.renameMembers(ctx, dir, inNamespace(dir, now)); err != nil {
			return err
		}
		was, err := objects.BundleID(dir)
		if err != nil {
			return err
		}
		id, err := objects.BundleID(inNamespace(dir, now))
		if err != nil {
			return err
		}
		m.renames[objects.BundleRef(was)] = objects.BundleRef(id)
	}
	for _, p := range single {
		to, _, err := objects.RefOfPath(inNamespace(p, now))
		if err != nil {
			return err
		}
		m.renames[at[p]] = to
	}
	return nil
}

// along moves the files of a namespace that are no items, as they are.
func (m *mover) along(foreign map[string]error, bundles []string, old, now string) error {
	for p, why := range foreign {
		if namespaceAt(p) != old || look.InAny(bundles, p) {
			continue
		}
		raw, err := m.layer.Read(p)
		if err != nil {
			m.others = append(m.others, session.Shown(m.layer, p)+": "+why.Error())
			continue
		}
		dest := inNamespace(p, now)
		if err := m.layer.Free(dest); err != nil {
			return err
		}
		if _, err := m.layer.Read(dest); err == nil {
			return fault.New(fault.Conflict, "move: %s is there already", session.Shown(m.layer, dest)).Advise("move it away first")
		}
		m.files = append(m.files, store.Change{Path: p, Delete: true}, store.Change{Path: dest, Data: raw})
	}
	return nil
}

// ownOnly refuses a move of what others signed or own, and lists it.
func (m *mover) ownOnly(old, now string) error {
	for _, rep := range m.moves {
		if rep.Others {
			m.others = append(m.others, rep.From+": "+rep.Why)
		}
		if rep.Patched {
			return fault.New(fault.Untrusted, "move --namespace: others own %s/, so your items would be patches there", now).Advise("choose another namespace")
		}
	}
	if len(m.others) == 0 {
		return nil
	}
	slices.Sort(m.others)
	return fault.New(fault.Denied, "move --namespace %s: not only yours, so nothing moved: %s", old, strings.Join(few(m.others), "; ")).
		Advise("move your items one by one, with rye mv <ref> %s/<name>", now)
}

// askNamespace asks once about all moves.
func (m *mover) askNamespace(ctx context.Context, q rye.MoveNamespaceRequest) error {
	var lines []string
	unsigned := 0
	for _, rep := range m.moves {
		line := rep.From + " to " + rep.Ref
		if !rep.Signed {
			line, unsigned = line+"  (unsigned: "+rep.Why+")", unsigned+1
		}
		lines = append(lines, line)
	}
	again := []string{"rye", "mv", "--namespace", q.From, q.To}
	if q.Space != "" {
		again = append(again, "--space", q.Space)
	}
	return m.Ask(ctx, rye.Question{Topic: "move namespace " + q.From + " to " + q.To, Lines: few(lines),
		Text: "Move them all? What you signed is signed again", Mend: fault.CommandOf(append(again, "--yes")...)})
}

// mentions returns the moved files whose text names the old namespace still, outside of metadata.
func (m *mover) mentions(old string) (all []string) {
	for _, c := range m.files {
		if !c.Delete && path.Base(c.Path) != objects.ManifestName && names(string(c.Data), old) {
			all = append(all, session.Shown(m.layer, c.Path))
		}
	}
	return all
}

// names reports whether a text has an id of a namespace.
func names(text, ns string) bool {
	for {
		i := strings.Index(text, ns+"/")
		if i < 0 {
			return false
		}
		if i == 0 || strings.ContainsAny(text[i-1:i], " \t\n\"'`:(=[,") {
			return true
		}
		text = text[i+len(ns):]
	}
}

// namespaceAt returns the namespace of a path below .ai, "" for none.
func namespaceAt(p string) string {
	parts := strings.SplitN(p, "/", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}

// inNamespace returns a path below .ai in another namespace.
func inNamespace(p, ns string) string {
	parts := strings.SplitN(p, "/", 3)
	return parts[0] + "/" + ns + "/" + parts[2]
}

// Redeclare makes rye.yaml name the new namespace, if it names the old one.
func Redeclare(ctx context.Context, s *session.Session, q rye.MoveNamespaceRequest) (bool, error) {
	if s.Project == nil || s.Project.Namespace != q.From || q.Space == objects.User.String() {
		return false, nil
	}
	if q.DryRun {
		return true, nil
	}
	fresh, release, err := s.Alone(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	p := fresh.Project.Edit()
	p.Namespace = q.To
	return true, p.Write(s.ProjectDir)
}

package author

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"time"

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
	"github.com/rye-os/rye/workspace/internal/session"
)

// Sign validates working items, signs them with the user's key and records them in one
// commit. It leaves an item with a valid signature by that key as it is. Items fail one by
// one; the error of a single target is returned.
func Sign(ctx context.Context, s *custody.Desk, c rye.Caller, q rye.SignRequest) (*rye.SignReport, error) {
	l, err := changeable(ctx, s, q.Space, q.Check || q.DryRun)
	if err != nil {
		return nil, err
	}
	named, err := look.ItemsAndBundles(ctx, s.Session, l, q.Targets, q.All)
	refs, bundles := named.Refs, named.Bundles
	if err == nil {
		err = maySign(s, c, q, refs, bundles)
	}
	if err != nil {
		return nil, err
	}
	g, err := signingFor(ctx, s, l, q)
	if err != nil {
		return nil, err
	}
	g.needs = func(ref objects.Ref) objects.Needs { return needsOf(ctx, c, l, ref) }
	items, err := g.items(ctx, refs)
	if err != nil {
		return nil, err
	}
	drafts := append(items, g.bundles(ctx, bundles, items)...)
	missing, err := g.vouch(ctx, c, drafts)
	if err == nil {
		err = g.approve(ctx, c, drafts)
	}
	if err != nil {
		return nil, err
	}
	before, err := g.replaced(ctx, drafts)
	if err != nil {
		return nil, err
	}
	rep, err := g.finish(ctx, drafts)
	if rep.Before = before; !q.Check && !q.DryRun {
		rep.Staged = look.Staged(s.Session, l)
	}
	err = cmp.Or(err, missing)
	if everything(q) {
		foreign, ferr := l.Foreign(ctx)
		for _, p := range foreign {
			rep.PassedOver = append(rep.PassedOver, ".ai/"+p)
		}
		err = cmp.Or(err, ferr)
	}
	return rep, err
}

// maySign refuses a caller that may not sign one of the items. It refuses bundles for callers
// other than a person, and a text without exactly one named item.
func maySign(s *custody.Desk, c rye.Caller, q rye.SignRequest, refs []objects.Ref, bundles []string) error {
	for _, ref := range refs {
		if err := s.Allow(c, "sign", ref); err != nil {
			return err
		}
	}
	if len(bundles) > 0 && !c.IsPerson() {
		// A bundle is a directory of files, some of them no text, which a person cannot judge.
		return fault.New(fault.Denied, "sign .ai/%s: only a person at a terminal signs bundles", bundles[0]).Mend("rye sign .ai/%s", bundles[0])
	}
	if q.Content != "" && (len(refs) != 1 || len(bundles) > 0 || !named(q)) {
		return fault.New(fault.Usage, "sign: a text belongs to one item, so name only that one")
	}
	return nil
}

// signing is the work of one sign request on all of its items.
type signing struct {
	*custody.Desk
	q     rye.SignRequest
	layer *space.Layer
	scope trust.Scope
	key   trust.Signer        // nil for a check
	now   time.Time           // the same for all of them
	named map[rye.Target]bool // targets that were named, not matched by a pattern

	// needs returns what signing writes into a tool that states none; nil writes nothing.
	needs func(objects.Ref) objects.Needs
}

// needsOf returns the needs of a tool that states none. A new text of a model gets nothing: it has
// to say what it needs.
func needsOf(ctx context.Context, c rye.Caller, l *space.Layer, ref objects.Ref) objects.Needs {
	if c.IsPerson() {
		return objects.OwnNeeds
	}
	if p, _, err := l.LastRecorded(ctx, ref); err != nil || p == "" {
		return objects.NoNeeds
	}
	return objects.OwnNeeds
}

// everything reports whether a request is for all items.
func everything(q rye.SignRequest) bool { return q.All || slices.Contains(q.Targets, "*") }

func newSigning(ctx context.Context, s *custody.Desk, l *space.Layer, q rye.SignRequest) (*signing, error) {
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	return &signing{Desk: s, q: q, layer: l, scope: s.Stack.Scope(l), key: key, now: s.Now(), named: namesOf(ctx, s, l, q.Targets)}, nil
}

// namesOf returns the refs and the bundle directories that are spelled out.
func namesOf(ctx context.Context, s *custody.Desk, l *space.Layer, targets []rye.Target) map[rye.Target]bool {
	named := map[rye.Target]bool{}
	for _, t := range targets {
		if dir, ok := look.FolderTarget(l, t); ok {
			named[rye.Target(dir)] = true
			continue
		}
		if look.IsPattern(t) {
			continue
		}
		if ref, err := session.RefOf(ctx, s.Session, string(t)); err == nil {
			named[rye.Target(ref.String())] = true
			if dir, ok := objects.InBundles(ref.MemberFolder()); ok {
				named[rye.Target(dir)] = true
			}
		}
	}
	return named
}

// signingFor is newSigning for a request of the user: a check needs no key, and signing needs
// a trusted one.
func signingFor(ctx context.Context, s *custody.Desk, l *space.Layer, q rye.SignRequest) (*signing, error) {
	if q.Check {
		return &signing{Desk: s, q: q, layer: l, scope: s.Stack.Scope(l), now: s.Now()}, nil
	}
	g, err := newSigning(ctx, s, l, q)
	if err == nil {
		err = s.Keys.Known(s.Trust, g.key)
	}
	return g, err
}

// draft is one item, or the manifest of one bundle, on its way through a signing.
type draft struct {
	rye.SignResult
	ref      objects.Ref
	path     string
	data     []byte         // the new file; nil when it could not be signed
	changed  bool           // data is newly signed, and has to be written
	recorded bool           // the record holds data already
	others   []store.Change // the bundle's other files, which are recorded with it

	bundleNeeds   objects.Needs // of the bundle's programs
	freshPrograms bool          // some of its programs are new to the user

	before   *otherSigner // the other signer whose signature it carries; nil for none
	proposal bool         // it arrived as a text
	there    []byte       // the file that a proposal replaces; nil for none
	passed   []byte       // the file of an item with another's trusted signature, which is left as it is
	patch    bool         // the signature is a patch: others own its namespace
	err      error
}

// unsigned notes that the draft's item needs a signature.
func (d *draft) unsigned(raw []byte) { d.Status, d.data, d.changed = "would-sign", raw, true }

// signed notes the draft's new item, which has to be written.
func (d *draft) signed(it *objects.Item, q rye.SignRequest) {
	d.describe("signed", it)
	if d.changed = true; q.Check || q.DryRun {
		d.Status = "would-sign"
	}
}

// describe notes the outcome, and the facts of the item's signature.
func (d *draft) describe(status string, it *objects.Item) {
	d.Status, d.data, d.SHA256, d.Key = status, it.Raw, it.Sum.String(), it.Signature.Key.String()
	d.Digest, d.Part = it.Digest.String(), it.Meta.Part
	d.SignedAt = it.Signature.SignedAt.UTC().Format(time.RFC3339)
}

// passOver notes that the item is left as it is, because of its state.
func (d *draft) passOver(state objects.State) {
	d.Status, d.data, d.changed = string(state), nil, false
}

// fail notes that the item is not signed.
func (d *draft) fail(err error) { d.Status, d.data, d.changed, d.err = "failed", nil, false, err }

// items signs every item in memory, or the one that arrived as a text; it writes nothing.
func (g *signing) items(ctx context.Context, refs []objects.Ref) ([]*draft, error) {
	if g.q.Content != "" {
		return []*draft{g.proposed(ctx, refs[0])}, nil
	}
	recorded, err := recordedBlobs(ctx, g.layer, len(refs))
	if err != nil {
		return nil, err
	}
	all, read := make([]*draft, len(refs)), g.layer.Drafts(refs)
	var seen space.Covers
	return all, parallel.Chunks(ctx, len(refs), 4, func(i int) error {
		d, stands := g.itemFrom(ctx, refs[i], read)
		if d.data != nil && !d.changed {
			if err := g.compare(ctx, d, stands, recorded, &seen); err != nil {
				d.fail(err)
			}
		}
		all[i] = d
		return nil
	})
}

// compare compares an item that needs no new signature with the record. An item behind its
// record was signed before, so its signature does not show that it is meant to return. If
// the request names it, it is signed anew, which makes it the newest; else it is skipped. An
// item older than the lock's version is refused.
func (g *signing) compare(ctx context.Context, d *draft, stands trust.Verified, recorded func(p string) (store.OID, error), seen *space.Covers) error {
	blob, err := recorded(d.path)
	if err != nil {
		return err
	}
	if d.recorded = blob == g.layer.BlobID(d.data); d.recorded && !space.HasOthers(g.Stack) {
		return nil
	}
	f, err := g.Stack.JudgeVerified(ctx, g.layer, stands, blob, seen)
	switch {
	case err != nil || f.Past == nil:
		return cmp.Or(err, f.Err)
	case !g.named[rye.Target(d.ref.String())]:
		d.passOver(f.State)
		return nil
	}
	d.recorded = false
	return g.anew(ctx, d, f.Item, f.Past.After(g.now))
}

// anew signs an item again, although it has a valid signature of the user's.
func (g *signing) anew(ctx context.Context, d *draft, it *objects.Item, now time.Time) error {
	raw, err := trust.SignItem(ctx, g.key, it, g.scope, now)
	if err == nil {
		it, err = objects.Parse(it.Path, raw)
	}
	if err == nil {
		d.signed(it, g.q)
		if v, verr := trust.Verify(it, g.scope, g.Trust); verr == nil {
			d.notePatch(v.Patched())
		}
	}
	return err
}

// patches notes that a new signature is a patch, because others own the namespace. A patch of a
// version that was denied is refused: it would bring most of the denied text back. it is nil for a
// manifest.
func (g *signing) patches(ctx context.Context, d *draft, patch trust.Patch, it *objects.Item) error {
	d.notePatch(patch)
	if !d.patch || it == nil {
		return nil
	}
	p, raw, err := g.layer.LastRecorded(ctx, d.ref)
	if err != nil || p == "" {
		return err
	}
	if was, err := objects.Parse(p, raw); err == nil {
		return g.Trust.BaseDenied(was, g.scope)
	}
	return nil
}

// notePatch notes on a draft that its new signature is a patch.
func (d *draft) notePatch(patch trust.Patch) {
	if d.patch = patch != trust.NoPatch; d.patch {
		ns := d.ref.ID.Namespace()
		d.Patched = true
		d.Hint = fault.Advice("others own %s/, so this counts only in your copy; an owner signs it with rye review %s; to become one: rye registry members %[1]s --join", ns, d.Ref)
	}
}

// finish writes the files and then records them, in one commit. The report is returned with
// an error, too: the error of the first item that failed. The report says "signed" only for
// items that are on disk and recorded.
func (g *signing) finish(ctx context.Context, all []*draft) (*rye.SignReport, error) {
	var (
		commit string
		err    error
	)
	if !g.q.Check && !g.q.DryRun {
		commit, err = g.keepSigned(ctx, all)
	}
	rep, first := reportOf(all)
	first = cmp.Or(first, err)
	if rep.Commit = commit; g.q.Check && rep.Signed > 0 && first == nil {
		first = fault.New(fault.Untrusted, "%s would be signed", words.Plural(rep.Signed, "item")).Advise("rye sign --all, on a machine with the key")
	}
	return rep, first
}

// replaced returns the digests of the recorded versions by the user that the drafts replace; nil
// without a lock, which alone needs them.
func (g *signing) replaced(ctx context.Context, all []*draft) (map[objects.Ref]objects.Digest, error) {
	if g.Lock == nil || g.layer.Space != objects.Project || g.q.Check {
		return nil, nil
	}
	before := map[objects.Ref]objects.Digest{}
	for _, d := range all {
		if !d.changed || d.patch {
			continue
		}
		if d.ref.Kind == objects.Bundle {
			if err := g.replacedMembers(ctx, path.Dir(d.path), before); err != nil {
				return nil, err
			}
			continue
		}
		p, raw, err := g.layer.LastRecorded(ctx, d.ref)
		if err != nil {
			return nil, err
		}
		if was, err := objects.Parse(p, raw); err == nil && g.mine(was) == nil {
			before[d.ref] = was.Sum
		}
	}
	return before, nil
}

// replacedMembers adds the digests of a bundle's items, as the user's last recorded manifest lists
// them.
func (g *signing) replacedMembers(ctx context.Context, dir string, before map[objects.Ref]objects.Digest) error {
	blob, err := g.layer.RecordedBlob(manifestIn(dir))
	if err != nil || blob.IsZero() {
		return err
	}
	repo, err := g.layer.Repo()
	if err != nil {
		return err
	}
	raw, err := repo.Blob(blob, space.MaxItem)
	if err != nil {
		return err
	}
	if was, err := objects.ParseManifest(raw); err == nil && was.Item().Signature != nil && g.mine(was.Item()) == nil {
		maps.Copy(before, MembersOf(dir, was))
	}
	return nil
}

// MembersOf returns the digests of the items that a manifest lists.
func MembersOf(dir string, m *objects.Manifest) map[objects.Ref]objects.Digest {
	all := map[objects.Ref]objects.Digest{}
	for _, f := range m.Files {
		ref, _, err := objects.RefOfPath(dir + "/" + f.Path)
		if err != nil {
			if ref, err = objects.RefOfProgram(dir + "/" + f.Path); err != nil {
				continue
			}
		}
		all[ref] = f.Sum
	}
	return all
}

// reportOf collects the outcomes of the drafts, and returns the first failed draft's error.
func reportOf(all []*draft) (rep *rye.SignReport, first error) {
	rep = &rye.SignReport{}
	for _, d := range all {
		if d.err != nil {
			d.Error, d.Code, d.Hint = d.err.Error(), fault.CodeOf(d.err), fault.HintOf(d.err)
			rep.Failed++
			first = cmp.Or(first, d.err)
		}
		if d.changed {
			rep.Signed++
		}
		rep.Results = append(rep.Results, d.SignResult)
	}
	return rep, first
}

// keepSigned declares the signer, writes and records the signed items, and returns their
// commit; when that fails, so does each of their drafts.
func (g *signing) keepSigned(ctx context.Context, all []*draft) (commit string, err error) {
	var (
		changes  []store.Change
		refs     []objects.Ref
		mine     []*draft // drafts for the commit
		recorded bool
	)
	for _, d := range all {
		switch {
		case d.passed != nil:
			c, newer, err := g.newer(ctx, d)
			if err != nil {
				return "", err
			}
			if newer {
				changes, refs = append(changes, c), append(refs, d.ref)
			}
		case d.recorded:
			recorded = true
		case d.data != nil:
			mine, refs = append(mine, d), append(refs, d.ref)
			changes = append(append(changes, d.others...), store.Change{Path: d.path, Data: d.data})
		}
	}
	err = g.declare(all)
	switch {
	case err != nil:
	case len(changes) > 0:
		commit, err = g.writeAll(ctx, mine, refs, changes)
	case recorded:
		var tip store.OID
		if tip, err = g.layer.Tip(); err == nil {
			commit = tip.String()
		}
	}
	for _, d := range mine {
		if err != nil {
			d.fail(fault.Wrap(err, "sign %s", d.Ref))
		}
	}
	return commit, err
}

// newer returns the change that records an item with another's signature, and whether it is
// newer than its record, as after a pull by git. Without a record it would later look the
// same as an older version, once another branch brings it back.
func (g *signing) newer(ctx context.Context, d *draft) (c store.Change, newer bool, err error) {
	was, err := g.layer.RecordedBlob(d.path)
	if err != nil || was == g.layer.BlobID(d.passed) {
		return c, false, err
	}
	f, err := g.Stack.JudgeBytes(ctx, g.layer, d.path, d.ref, d.passed, was)
	return store.Change{Path: d.path, Data: d.passed, Was: &was}, err == nil && f.Err == nil && f.Past == nil, err
}

// writeAll writes the newly signed files and records all changes, and returns the commit.
func (g *signing) writeAll(ctx context.Context, all []*draft, refs []objects.Ref, changes []store.Change) (string, error) {
	var files []store.Change
	for _, d := range all {
		if !d.changed {
			continue
		}
		if d.patch {
			if err := g.keepBase(ctx, d); err != nil {
				return "", err
			}
		}
		if d.there != nil {
			if err := keepFile(ctx, g.Desk, g.layer, d.ref, d.path, d.data); err != nil {
				return "", err
			}
		}
		files = append(files, store.Change{Path: d.path, Data: d.data})
	}
	return change(ctx, g.Desk, g.layer, "sign", refs, files, changes...)
}

// declare notes in the project which namespaces the key signs, for others who clone it.
func (g *signing) declare(all []*draft) error {
	key := g.key.Public().String()
	var namespaces []string
	for _, d := range all {
		if d.data != nil && d.Key == key && !d.patch { // a patch claims nothing
			namespaces = append(namespaces, d.ref.ID.Namespace())
		}
	}
	return g.note(namespaces...)
}

// note declares the key in the project as a signer of namespaces.
func (g *signing) note(namespaces ...string) error {
	if g.layer.Space != objects.Project || len(namespaces) == 0 {
		return nil
	}
	return custody.NoteSigner(g.Host, g.key.Public(), namespaces...)
}

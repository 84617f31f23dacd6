package author

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Review shows a person each change in their namespaces that no owner signed, beside the newest
// version that an owner did, and signs exactly the bytes that were shown. Every item has its own
// question, which no flag answers. The files are read once: one that differs on the disk when the
// signatures are written is a conflict, and then nothing is written.
func Review(ctx context.Context, s *custody.Desk, c rye.Caller, q rye.ReviewRequest, published Published) (*rye.ReviewReport, error) {
	if !c.IsPerson() {
		return nil, fault.New(fault.Denied, "review: only a person at a terminal reviews changes").Advise("at a terminal: rye review")
	}
	l, err := changeable(ctx, s, "", q.DryRun)
	if err != nil {
		return nil, err
	}
	g, err := newSigning(ctx, s, l, rye.SignRequest{DryRun: q.DryRun})
	if err == nil {
		err = s.Keys.Known(s.Trust, g.key)
	}
	if err != nil {
		return nil, err
	}
	r := &review{g, q, published}
	return r.all(ctx)
}

// all reviews the items, and then the bundles: a manifest lists the signed files of its items.
func (r *review) all(ctx context.Context) (*rye.ReviewReport, error) {
	rep := &rye.ReviewReport{Items: []rye.ReviewItem{}}
	n, err := look.ItemsAndBundles(ctx, r.Session, r.layer, r.q.Targets, len(r.q.Targets) == 0)
	if err != nil {
		return nil, err
	}
	items, err := r.changes(ctx, n)
	if err == nil {
		err = r.each(ctx, items)
	}
	if err != nil {
		return nil, err
	}
	first := r.finish(ctx, rep, items)
	bundles, err := r.bundles(ctx, n)
	if err == nil {
		err = r.each(ctx, bundles)
	}
	if err != nil {
		return rep, err
	}
	if err = r.finish(ctx, rep, bundles); first == nil {
		first = err
	}
	return rep, first
}

// each prepares every change and asks about it. The error is that of a request that ended.
func (r *review) each(ctx context.Context, all []*reviewed) error {
	for _, d := range all {
		if d.err == nil && d.Status != "unchanged" {
			d.err = r.prepare(ctx, d)
		}
		if d.err == nil && !r.q.DryRun {
			d.err = r.ask(ctx, d)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// review is the work of one request.
type review struct {
	*signing
	q         rye.ReviewRequest
	published Published
}

// reviewed is one change on its way through a review.
type reviewed struct {
	rye.ReviewItem
	ref    objects.Ref
	path   string
	raw    []byte // as read, once
	item   *objects.Item
	by     *objects.Signature // as read; nil for none
	signed []byte             // the bytes to write
	bundle *reviewedBundle    // nil for an item
	base   *base
	err    error
}

// changes returns the items to review: the named ones with the files beside them, or all.
func (r *review) changes(ctx context.Context, n look.Named) (_ []*reviewed, err error) {
	named := map[objects.Ref]bool{}
	for _, ref := range n.Refs {
		named[ref] = len(r.q.Targets) > 0
	}
	refs := n.Refs
	if len(r.q.Targets) > 0 {
		if refs, err = r.withParts(ctx, n); err != nil {
			return nil, err
		}
	}
	found := make([]*reviewed, len(refs))
	err = r.Stack.OwnAll(ctx, r.layer, refs, func(i int, f space.Finding) {
		if f.Bundle == "" || r.foreignLine(f.Item) {
			found[i] = r.change(f, refs[i], refs[i].String(), named[refs[i]])
		}
	})
	return slices.DeleteFunc(found, func(d *reviewed) bool { return d == nil }), err
}

// foreignLine reports whether a file has a signature line that no owner of its namespace made. The
// manifest of its bundle cannot be signed before.
func (r *review) foreignLine(it *objects.Item) bool {
	if it == nil || it.Signature == nil {
		return false
	}
	v, err := trust.Verify(it, r.scope, r.Trust)
	return err != nil || v.Patched() != trust.NoPatch
}

// withParts adds to named tools the items in their folders and below: files that they can load.
func (r *review) withParts(ctx context.Context, n look.Named) ([]objects.Ref, error) {
	var folders []string
	for _, ref := range n.Refs {
		if p := n.Path(ref); ref.Kind == objects.Tool && p != "" {
			folders = append(folders, path.Dir(p)+"/")
		}
	}
	refs := slices.Clone(n.Refs)
	if len(folders) == 0 {
		return refs, nil
	}
	_, err := r.layer.Files(ctx, func(p string, ref objects.Ref) error {
		if slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(p, dir) }) && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
		return nil
	})
	return refs, err
}

// open are the states of what no owner signed.
var open = []objects.State{objects.Patched, objects.Unsigned, objects.Modified, objects.Merged, objects.Untrusted, objects.Denied}

// change returns a finding as a change to review; nil for one that needs no review. Named items
// that need none are reported.
func (r *review) change(f space.Finding, ref objects.Ref, name string, named bool) *reviewed {
	d := &reviewed{ref: ref, path: f.Path, ReviewItem: rye.ReviewItem{Ref: name, Path: ".ai/" + f.Path, State: f.State, Lines: []string{}, Status: "failed"}}
	ns := ref.ID.Namespace()
	owns := r.Trust.Owns(r.key.Public(), ns, r.Site())
	switch {
	case f.State == "" || f.State == objects.Absent:
		d.err = fault.New(fault.NotFound, "review %s: no file of it here", name).Advise("rye list --space project")
	case trust.Reserved(ns) || ns == objects.LocalNamespace && !owns:
		d.err = fault.New(fault.Untrusted, "review %s: %s/ belongs to the system space", name, ns).Advise("rye trust explain %s", ref)
	case !owns:
		d.err = fault.New(fault.Untrusted, "review %s: your key does not own %s/ here", name, ns).
			Advise("an owner of %s/ reviews it; or join them: rye registry members %[1]s --join", ns)
	case slices.Contains(open, f.State):
		d.item = f.Item
		if f.Err != nil {
			d.Why = f.Err.Error()
		}
		return d
	default:
		d.Status, d.err = "unchanged", f.Err
	}
	if !named {
		return nil
	}
	return d
}

// prepare reads a change once, compares it with the owner's version and signs it in memory.
func (r *review) prepare(ctx context.Context, d *reviewed) (err error) {
	if d.bundle != nil {
		return r.prepareBundle(ctx, d)
	}
	if d.raw, err = r.layer.Read(d.path); err != nil {
		return err
	}
	if d.item, err = objects.Parse(d.path, d.raw); err != nil {
		return err
	}
	it := d.item
	d.Digest = it.Digest.String()
	d.signedBy(it.Signature)
	if r.Trust.DeniesContent(it, r.scope) {
		return fault.New(fault.Revoked, "review %s: this content was denied", d.ref).Advise("rye trust explain %s", d.ref)
	}
	d.base, err = baseOf(ctx, r.Desk, r.layer, d.history(), r.published)
	if err == nil {
		err = r.compare(d)
	}
	if err == nil {
		err = r.show(d, r.lines(d))
	}
	if err == nil {
		err = r.validate(ctx, &draft{}, it)
	}
	if err != nil {
		return err
	}
	return r.sign(ctx, d)
}

// signedBy notes the signature that a change carries; nil for none.
func (d *reviewed) signedBy(sig *objects.Signature) {
	if d.by = sig; sig != nil {
		d.Signer = sig.Key.String()
	}
}

// compare notes the version that a change is compared with, and refuses one that was denied.
func (r *review) compare(d *reviewed) error {
	d.Base = d.base.describe(r.now)
	if d.base != nil && d.base.denied != nil && !r.q.AcceptDenied {
		return fault.New(fault.Revoked, "review %s: it changes a version that was denied: %w", d.Ref, d.base.denied).
			Advise("if the change mends that: rye review %s --accept-denied", d.Ref)
	}
	return nil
}

// show notes the lines of a question, if a person can read them.
func (r *review) show(d *reviewed, lines []string) error {
	all, err := readable(lines)
	if err != nil {
		return fault.Wrap(err, "review %s", d.Ref).Advise("read .ai/%s, then rye sign %s", d.path, d.Ref)
	}
	d.Lines = all
	return nil
}

// sign signs the bytes that were read. The signature is newer than the owner's last one.
func (r *review) sign(ctx context.Context, d *reviewed) error {
	raw, err := trust.SignItem(ctx, r.key, d.item, r.scope, d.base.before(r.now))
	if err != nil {
		return err
	}
	now, err := objects.Parse(d.path, raw)
	if err != nil {
		return err
	}
	v, err := trust.Verify(now, r.scope, r.Trust)
	if err == nil && v.Patched() != trust.NoPatch {
		err = fault.New(fault.Untrusted, "review %s: your key does not own %s/ here", d.ref, d.ref.ID.Namespace())
	}
	if err != nil {
		return err
	}
	d.signed, d.SHA256, d.Status = raw, now.Sum.String(), "would-sign"
	return nil
}

// lines shows a change of an item: head, permissions, and every line of the difference.
func (r *review) lines(d *reviewed) []string {
	var old *objects.Item
	was := ""
	if d.base != nil {
		old, was = d.base.item, string(d.base.item.Body)
	}
	lines := append(r.head(d), look.Powers(old, d.item)...)
	change := difference(was, string(d.item.Body))
	if len(change) == 0 {
		return append(lines, "the text is the same; only the signature is new")
	}
	return append(append(lines, "changed:"), change...)
}

// head shows what a change is of, its signer, and the owner's version.
func (r *review) head(d *reviewed) []string {
	lines := []string{d.Ref + "  .ai/" + d.path + "  " + d.Digest}
	switch {
	case d.State == objects.Merged:
		lines = append(lines, "signed by    no one: git merged it from two versions")
	case d.Signer == "":
		lines = append(lines, "signed by    no one")
	case d.State == objects.Modified:
		lines = append(lines, "signed by    "+r.who(d.by.Key)+", and changed since")
	default:
		lines = append(lines, "signed by    "+r.who(d.by.Key))
	}
	if d.base == nil {
		return append(lines, "compared     with nothing: no version by an owner is known here")
	}
	return append(lines, "compared     with "+d.base.words(r.now)+", signed by "+r.who(d.base.item.Signature.Key))
}

// difference shows the changed lines of a text. A carriage return is shown, because it can hide
// the rest of a line.
func difference(was, now string) []string {
	lines := diff.Lines(was, now)
	for i, l := range lines {
		if cut, ok := strings.CutSuffix(l, "\r"); ok {
			lines[i] = cut + `\r`
		}
	}
	return lines
}

// who is a key, with the user's name for it.
func (g *signing) who(fp objects.Fingerprint) string {
	if k, ok := g.Trust.Key(fp); ok && g.Trust.IsOwn(k) {
		return "you, " + fp.String()
	}
	return nameOf(g.Trust, fp)
}

// words describes a base to a person.
func (b *base) words(now time.Time) string {
	at := b.item.Signature.SignedAt.UTC().Format(time.RFC3339)
	text := "the version of " + at
	if v := b.item.Meta.Version; v != "" {
		text = v + " of " + at
	}
	switch b.from {
	case "record":
		text += " in your record"
	case "published":
		text += ", as published"
	default:
		text += " in your git (" + words.Plural(int(now.Sub(b.item.Signature.SignedAt).Hours()/24), "day") + " old): neither your record nor a registry has one"
	}
	if b.denied != nil {
		text += ", WHICH WAS DENIED"
	}
	return text
}

// ask asks about one change.
func (r *review) ask(ctx context.Context, d *reviewed) error {
	if d.signed == nil {
		return nil
	}
	err := r.Ask(ctx, rye.Question{Topic: "sign " + d.Ref, Text: "Sign this change with your key? You answer for all of it", Lines: d.Lines, Person: true,
		Mend: fault.Advice("at a terminal: rye review %s", d.Ref)})
	if err == nil {
		d.Status = "signed"
		return nil
	}
	d.signed, d.SHA256 = nil, ""
	if d.Status = "asked"; declined(err) {
		d.Status = "declined"
		return nil
	}
	return err
}

// declined reports whether a person said no.
func declined(err error) bool {
	var no *rye.Unagreed
	return errors.As(err, &no) && no.How == rye.Declined
}

// finish writes the signed changes in one step, if the files are still as they were read, and
// adds all of them to a report. The error is that of the first that failed.
func (r *review) finish(ctx context.Context, rep *rye.ReviewReport, all []*reviewed) error {
	signed, err := r.write(ctx, rep, all)
	rep.Signed += signed
	for _, d := range all {
		if err != nil && d.signed != nil {
			d.err, d.SHA256 = cmp.Or(d.err, err), ""
		}
		if d.err != nil {
			d.Error, d.Code, d.Hint = d.err.Error(), fault.CodeOf(d.err), fault.HintOf(d.err)
			if d.Status == "asked" {
				d.Error = "nobody could be asked" // its lines are the question
			} else {
				d.Status = "failed"
			}
			err = cmp.Or(err, d.err)
		}
		rep.Items = append(rep.Items, d.ReviewItem)
	}
	return err
}

// write writes and records the signed changes, and returns their number.
func (r *review) write(ctx context.Context, rep *rye.ReviewReport, all []*reviewed) (int, error) {
	var files, record []store.Change
	var refs []objects.Ref
	var namespaces []string
	for _, d := range all {
		if d.signed == nil || r.q.DryRun {
			continue
		}
		was := r.layer.BlobID(d.raw)
		files = append(files, store.Change{Path: d.path, Data: d.signed, Was: &was})
		record = append(record, store.Change{Path: d.path, Data: d.signed})
		refs, namespaces = append(refs, d.ref), append(namespaces, d.ref.ID.Namespace())
		if d.bundle != nil {
			if err := d.bundle.unmoved(r.layer); err != nil {
				return 0, err
			}
			record = append(record, d.bundle.others...)
		}
	}
	if len(files) == 0 {
		return 0, nil
	}
	if err := unmoved(r.layer, files); err != nil {
		return 0, err
	}
	commit, err := change(ctx, r.Desk, r.layer, "review", refs, files, record...)
	if err != nil {
		return 0, err
	}
	rep.Commit = commit
	return len(files), r.note(namespaces...)
}

// unmoved refuses files that are not on the disk as they were read.
func unmoved(l *space.Layer, files []store.Change) error {
	for _, c := range files {
		if raw, err := l.Read(c.Path); err != nil || l.BlobID(raw) != *c.Was {
			return changedSince(c.Path)
		}
	}
	return nil
}

func changedSince(p string) error {
	return fault.New(fault.Conflict, ".ai/%s changed since rye showed it, so nothing was signed", p).Advise("at a terminal: rye review")
}

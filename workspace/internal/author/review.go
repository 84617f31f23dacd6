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
	all, err := r.changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.err == nil {
			d.err = r.prepare(ctx, d)
		}
		if d.err == nil && !q.DryRun {
			d.err = r.ask(ctx, d)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return r.finish(ctx, all)
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
	signed []byte // the bytes to write
	base   *base
	err    error
}

// changes returns the changes to review: the named items with the files beside them, or all.
func (r *review) changes(ctx context.Context) ([]*reviewed, error) {
	n, err := look.ItemsAndBundles(ctx, r.Session, r.layer, r.q.Targets, len(r.q.Targets) == 0)
	if err != nil {
		return nil, err
	}
	if len(n.Bundles) > 0 && len(r.q.Targets) > 0 {
		return nil, fault.New(fault.Usage, "review .ai/%s: a bundle is signed as one", n.Bundles[0]).Mend("rye sign .ai/%s", n.Bundles[0])
	}
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
		found[i] = r.change(f, refs[i], named[refs[i]])
	})
	return slices.DeleteFunc(found, func(d *reviewed) bool { return d == nil }), err
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

// change returns a finding as a change to review; nil for one that needs no review. Named items
// that need none are reported.
func (r *review) change(f space.Finding, ref objects.Ref, named bool) *reviewed {
	d := &reviewed{ref: ref, path: f.Path, ReviewItem: rye.ReviewItem{Ref: ref.String(), Path: ".ai/" + f.Path, State: f.State, Lines: []string{}, Status: "failed"}}
	ns := ref.ID.Namespace()
	owns := r.Trust.Owns(r.key.Public(), ns, r.Site())
	switch {
	case f.Bundle != "":
		return nil
	case f.State == "" || f.State == objects.Absent:
		d.err = fault.New(fault.NotFound, "review %s: no file of it here", ref).Advise("rye list --space project")
	case trust.Reserved(ns) || ns == objects.LocalNamespace && !owns:
		d.err = fault.New(fault.Untrusted, "review %s: %s/ belongs to the system space", ref, ns).Advise("rye trust explain %s", ref)
	case !owns:
		d.err = fault.New(fault.Untrusted, "review %s: your key does not own %s/ here", ref, ns).
			Advise("an owner of %s/ reviews it; or join them: rye registry members %[1]s --join", ns)
	case f.State == objects.Patched, f.State == objects.Unsigned, f.State == objects.Modified, f.State == objects.Untrusted, f.State == objects.Denied:
		d.item = f.Item
		if f.Err != nil {
			d.Why = f.Err.Error()
		}
		return d
	default:
		d.Status = "unchanged"
		if f.Err == nil {
			d.err = nil
		} else {
			d.err = f.Err
		}
	}
	if !named {
		return nil
	}
	return d
}

// prepare reads a change once, compares it with the owner's version and signs it in memory.
func (r *review) prepare(ctx context.Context, d *reviewed) (err error) {
	if d.Status == "unchanged" {
		return nil
	}
	if d.raw, err = r.layer.Read(d.path); err != nil {
		return err
	}
	if d.item, err = objects.Parse(d.path, d.raw); err != nil {
		return err
	}
	it := d.item
	d.Digest = it.Digest.String()
	if it.Signature != nil {
		d.Signer = it.Signature.Key.String()
	}
	if r.Trust.DeniesContent(it, r.scope) {
		return fault.New(fault.Revoked, "review %s: this content was denied", d.ref).Advise("rye trust explain %s", d.ref)
	}
	if d.base, err = baseOf(ctx, r.Desk, r.layer, d.ref, d.path, r.published); err != nil {
		return fault.Wrap(err, "review %s", d.ref)
	}
	d.Base = d.base.describe(r.now)
	if d.base != nil && d.base.denied != nil && !r.q.AcceptDenied {
		return fault.New(fault.Revoked, "review %s: it changes a version that was denied: %w", d.ref, d.base.denied).
			Advise("if the change mends that: rye review %s --accept-denied", d.ref)
	}
	if d.Lines, err = readable(r.lines(d)); err != nil {
		d.Lines = []string{}
		return fault.Wrap(err, "review %s", d.ref).Advise("read .ai/%s, then rye sign %s", d.path, d.ref)
	}
	if err := r.validate(ctx, &draft{}, it); err != nil {
		return err
	}
	return r.sign(ctx, d)
}

// sign signs the bytes that were read. The signature is newer than the owner's last one.
func (r *review) sign(ctx context.Context, d *reviewed) error {
	at := r.now
	if d.base != nil && !d.base.item.Signature.SignedAt.Before(at) {
		at = (&space.Past{Newest: d.base.item.Signature.SignedAt}).After(at)
	}
	raw, err := trust.SignItem(ctx, r.key, d.item, r.scope, at)
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

// lines shows a change: the item, its signer, the owner's version, permissions, and every line of
// the difference. A carriage return is shown, because it can hide the rest of a line.
func (r *review) lines(d *reviewed) []string {
	lines := []string{d.ref.String() + "  .ai/" + d.path + "  " + d.Digest}
	switch {
	case d.Signer == "":
		lines = append(lines, "signed by    no one")
	case d.State == objects.Modified:
		lines = append(lines, "signed by    "+r.who(d.item.Signature.Key)+", and changed since")
	default:
		lines = append(lines, "signed by    "+r.who(d.item.Signature.Key))
	}
	var old *objects.Item
	was := ""
	if d.base == nil {
		lines = append(lines, "compared     with nothing: no version by an owner is known here")
	} else {
		old, was = d.base.item, string(d.base.item.Body)
		lines = append(lines, "compared     with "+d.base.words(r.now)+", signed by "+r.who(old.Signature.Key))
	}
	lines = append(lines, look.Powers(old, d.item)...)
	change := diff.Lines(was, string(d.item.Body))
	if len(change) == 0 {
		return append(lines, "the text is the same; only the signature is new")
	}
	for _, l := range append([]string{"changed:"}, change...) {
		if cut, ok := strings.CutSuffix(l, "\r"); ok {
			l = cut + `\r`
		}
		lines = append(lines, l)
	}
	return lines
}

// who is a key, with the user's name for it.
func (r *review) who(fp objects.Fingerprint) string {
	if k, ok := r.Trust.Key(fp); ok && r.Trust.IsOwn(k) {
		return "you, " + fp.String()
	}
	return nameOf(r.Trust, fp)
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
	err := r.Ask(ctx, rye.Question{Topic: "sign " + d.ref.String(), Text: "Sign this change with your key? You answer for all of it", Lines: d.Lines, Person: true,
		Mend: fault.Advice("at a terminal: rye review %s", d.ref)})
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

// finish writes the signed changes in one step, if the files are still as they were read.
func (r *review) finish(ctx context.Context, all []*reviewed) (*rye.ReviewReport, error) {
	rep := &rye.ReviewReport{Items: []rye.ReviewItem{}}
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
	}
	var err error
	if len(files) > 0 {
		if err = unmoved(r.layer, files); err == nil {
			rep.Commit, err = change(ctx, r.Desk, r.layer, "review", refs, files, record...)
		}
		if err == nil {
			rep.Signed, err = len(files), r.note(namespaces...)
		}
	}
	for _, d := range all {
		if err != nil && d.signed != nil {
			d.err, d.SHA256 = cmp.Or(d.err, err), ""
		}
		if d.err != nil {
			d.Error, d.Code, d.Hint = d.err.Error(), fault.CodeOf(d.err), fault.HintOf(d.err)
			if d.Status != "asked" {
				d.Status = "failed"
			}
			err = cmp.Or(err, d.err)
		}
		rep.Items = append(rep.Items, d.ReviewItem)
	}
	return rep, err
}

// unmoved refuses files that are not on the disk as they were read.
func unmoved(l *space.Layer, files []store.Change) error {
	for _, c := range files {
		if raw, err := l.Read(c.Path); err != nil || l.BlobID(raw) != *c.Was {
			return fault.New(fault.Conflict, ".ai/%s changed since rye showed it, so nothing was signed", c.Path).Advise("at a terminal: rye review")
		}
	}
	return nil
}

package author

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/look"
)

// item signs one working item in memory, or skips it.
func (g *signing) item(ctx context.Context, ref objects.Ref) *draft {
	d, _ := g.itemFrom(ctx, ref, g.layer.Draft)
	return d
}

// itemFrom is item for one of many items; read is from the layer's Drafts. An item that keeps its
// signature is returned verified, others as zero.
func (g *signing) itemFrom(ctx context.Context, ref objects.Ref, read func(objects.Ref) (*objects.Item, error)) (d *draft, stands trust.Verified) {
	d = &draft{ref: ref, SignResult: rye.SignResult{Ref: ref.String(), Status: "failed"}}
	it, err := draftOf(g.layer, ref, read)
	if fault.CodeOf(err) == fault.Malformed {
		it, err = g.withoutLine(ctx, ref, err)
	}
	if fault.Is(err, fault.NotFound) {
		err = g.elsewhere(ref, err)
	}
	if err != nil {
		d.Mistakes, d.err = look.Unreadable(g.layer, ref, err), err
		return d, stands
	}
	d.path, d.Path = it.Path, ".ai/"+it.Path
	stands, d.err = g.signItem(ctx, d, it)
	return d, stands
}

// elsewhere names the space of an item that is missing from the space for signing.
func (g *signing) elsewhere(ref objects.Ref, missing error) error {
	user := g.Stack.User
	if g.layer.Space == objects.User || user == nil {
		return missing
	}
	if p, err := user.Locate(ref); err != nil || p == "" {
		return missing
	}
	return fault.New(fault.NotFound, "%s: not in the %s space, but in your user space", ref, g.layer.Space).Mend("rye sign --space user %s", ref)
}

// signItem is itemFrom for a readable item.
func (g *signing) signItem(ctx context.Context, d *draft, it *objects.Item) (stands trust.Verified, err error) {
	if it.Legacy != nil && !g.q.Upgrade {
		return stands, fault.New(fault.Untrusted, "sign %s: it has a signature of RYE OS, which a new one would replace", it.Ref).Mend("rye sign --upgrade %s", it.Ref)
	}
	v, refused := trust.Verify(it, g.scope, g.Trust)
	if g.passOver(d, it, refused) {
		return stands, d.err
	}
	if everything(g.q) && saysNothing(it) {
		d.Status, d.Why, d.Path = "passed over", "not an item: unknown program, no metadata", ".ai/"+it.Path
		return stands, nil
	}
	if err := g.validate(ctx, d, it); err != nil {
		return stands, err
	}
	if it.Legacy != nil {
		d.Replaces = look.Replaced(g.Trust, it, g.scope)
	}
	if err := g.denied(it, v, refused); err != nil {
		return stands, err
	}
	switch {
	case refused == nil && it.Signature != nil && (g.q.Check || v.Key() == g.key.Public()): // for a check any trusted signer is enough
		d.describe("unchanged", it)
		return v, nil
	case g.q.Check:
		d.unsigned(it.Raw)
		return stands, nil
	}
	now := it
	if g.needs != nil {
		if now, err = it.WithNeeds(g.needs(it.Ref)); err != nil {
			return stands, err
		}
	}
	raw, err := trust.SignItem(ctx, g.key, now, g.scope, g.now)
	if err == nil && now != it {
		d.Needs = now.Meta.Needs.String()
	}
	if err == nil {
		it, err = objects.Parse(it.Path, raw)
	}
	if err == nil {
		// An item that would not verify here must not be written: a foreign namespace, a denied
		// key.
		v, err = trust.Verify(it, g.scope, g.Trust)
	}
	if err == nil {
		d.signed(it, g.q)
		err = g.patches(ctx, d, v.Patched(), it)
	}
	return stands, err
}

// saysNothing reports whether a file in tools/ is most likely no tool, but data beside tools.
// It is in no language of a runtime, and has no signature line and no metadata.
func saysNothing(it *objects.Item) bool {
	return it.Ref.Kind == objects.Tool && it.Signature == nil && it.Legacy == nil && len(it.Meta.Fields) == 0 &&
		!it.Executable() && !isLanguage(path.Ext(it.Path))
}

// isLanguage reports whether files with an extension can be tools by themselves.
func isLanguage(ext string) bool {
	runtime, _, _ := objects.ExecutorOf(ext, nil)
	return runtime != "" || ext == ".yaml" || ext == ".yml"
}

// denied refuses content that the user denied or its signer took back. A new signature would
// make a different file of it, outside the denial. unverified is the error from Verify.
func (g *signing) denied(it *objects.Item, v trust.Verified, unverified error) error {
	if unverified == nil {
		return g.Stack.Taken.Denies(v, g.Trust)
	}
	if g.Trust.DeniesContent(it, g.Stack.Scope(g.layer)) {
		return unverified
	}
	return nil
}

// withoutLine returns the draft of a file whose signature line has text on its wrong side. An
// example is a line that was appended below the signature. The draft lacks the signature line.
// That line has to be the recorded version's; any other may be content. For every other file
// the error is found.
func (g *signing) withoutLine(ctx context.Context, ref objects.Ref, found error) (*objects.Item, error) {
	p, err := g.layer.Locate(ref)
	if err != nil || p == "" {
		return nil, found
	}
	raw, err := g.layer.Read(p)
	body, sig, ok := objects.Misplaced(p, raw)
	if err != nil || !ok {
		return nil, found
	}
	if recorded, raw, err := g.layer.LastRecorded(ctx, ref); err == nil && recorded != "" {
		was, err := objects.Parse(recorded, raw)
		if err == nil && was.Signature != nil && was.Signature.Line() == sig.Line() {
			return objects.Parse(p, body)
		}
	}
	if at := (*objects.SyntaxError)(nil); errors.As(found, &at) {
		return nil, fault.New(fault.Malformed, "%w", found).
			Advise("delete line %d of %s, which differs from the recorded signature, and run rye sign again", at.Line, p)
	}
	return nil, found
}

// validate refuses an item that breaks the rules of its kind or of an extractor, and notes
// the mistakes.
func (g *signing) validate(ctx context.Context, d *draft, it *objects.Item) error {
	problems, err := look.Problems(ctx, g.Session, g.layer.Space, it)
	if len(problems) == 0 {
		return err
	}
	for _, p := range problems {
		d.Issues = append(d.Issues, p.String())
	}
	d.Mistakes, d.Paste = look.Invalid(it, problems), blockToPaste(it)
	return fault.New(fault.Malformed, "sign %s: %s", it.Ref, d.Issues[0]).Advise("%s", problems[0].Mend)
}

// blockToPaste returns metadata that a program without any could begin with, in comments of its
// language; "" where metadata has another form.
func blockToPaste(it *objects.Item) string {
	switch path.Ext(it.Path) {
	case ".py", ".yaml", ".yml", ".md":
		return ""
	}
	if it.Ref.Kind != objects.Tool || len(it.Meta.Fields) > 0 {
		return ""
	}
	text, _ := objects.CommentBlock(it.Path, "version: 0.1.0\nexecutor_id: <id of a runtime>\ndescription: Say in one sentence what this does.")
	return text
}

// bundles signs manifests in memory. It fails a bundle with a file that the same request
// signs anew, since its manifest would be out of date at once.
func (g *signing) bundles(ctx context.Context, dirs []string, items []*draft) []*draft {
	var all []*draft
	for _, dir := range dirs {
		d := &draft{path: manifestIn(dir), SignResult: rye.SignResult{Ref: ".ai/" + dir, Status: "failed", Path: ".ai/" + manifestIn(dir)}}
		d.err = g.bundle(ctx, d, dir)
		for _, it := range items {
			if d.err == nil && it.changed && strings.HasPrefix(it.path, dir+"/") {
				d.fail(fault.New(fault.Integrity, "sign %s: %s in it gets a new signature, so the manifest must be signed again", d.Ref, it.ref).
					Mend("rye sign .ai/%s", dir))
			}
		}
		all = append(all, d)
	}
	return all
}

// bundle signs the manifest of one bundle. Where the directory has changed since, or has no
// manifest yet, it makes a new one.
func (g *signing) bundle(ctx context.Context, d *draft, dir string) error {
	old, raw := oldManifest(g.layer, dir)
	if old == nil && raw != nil && !g.named[rye.Target(dir)] {
		_, err := readBundle(ctx, g.layer, dir) // another person's manifest: only a request by name replaces it
		return err
	}
	now, err := makeManifest(g.Session, g.layer, dir, old)
	if err != nil {
		return err
	}
	d.ref, d.Ref = now.Ref(), look.BundleRef(now.ID)
	var refused error
	if old != nil {
		if _, refused = trust.Verify(old.Item(), g.scope, g.Trust); g.passOver(d, old.Item(), refused) {
			return d.err
		}
	}
	was := old
	if refused != nil {
		was = nil // its list of files is not verified
	}
	files, err := bundleFiles(g.Desk, g.layer, dir, now)
	if err != nil {
		return err
	}
	changes, err := bundleChanges(ctx, g.layer, dir, nil, files)
	if err != nil {
		return err
	}
	d.others = slices.DeleteFunc(changes, func(c store.Change) bool { return c.Path == d.path })
	if d.Members = now.Since(was); was != nil && len(d.Members) == 0 && was.Version == now.Version {
		if done, err := g.bundleStands(ctx, d, dir, was); done || err != nil {
			return err
		}
	}
	d.Programs, d.bundleNeeds = programsOf(now, was, files, dir), now.Needs
	if hasNew(d.Programs) && !g.alone(dir) && !g.q.Check {
		d.skipPrograms(dir)
		return nil
	}
	if g.q.Check {
		d.unsigned(raw)
		return nil
	}
	return g.makeAnew(ctx, d, dir, now, old)
}

// bundleStands reports whether a bundle needs no new signature. Its files match its verified
// manifest, and the manifest is the user's own, or this is a check.
func (g *signing) bundleStands(ctx context.Context, d *draft, dir string, m *objects.Manifest) (done bool, err error) {
	if !g.q.Check && m.Item().Signature.Key != g.key.Public().Fingerprint() {
		return false, nil
	}
	// Only the record shows whether the manifest is older than the version before.
	c, err := g.Stack.Cover(ctx, g.layer, d.path, nil)
	switch {
	case err != nil:
		return false, err
	case c.Err != nil:
		return true, c.Err
	case c.Past == nil:
		d.describe("unchanged", m.Item())
		return true, nil
	case !g.named[rye.Target(dir)]:
		d.passOver(c.State)
		return true, nil
	}
	return false, nil
}

// makeAnew signs a new manifest.
func (g *signing) makeAnew(ctx context.Context, d *draft, dir string, now, old *objects.Manifest) error {
	raw, err := now.Encode()
	if err == nil {
		raw, err = g.manifest(ctx, dir, raw, notBefore(g.now, old))
	}
	if err == nil {
		now, err = objects.ParseManifest(raw)
	}
	if err == nil {
		d.signed(now.Item(), g.q)
		if b, berr := trust.OpenBundle(raw, g.layer.Folder(dir), g.scope, g.Trust); berr == nil {
			err = g.patches(ctx, d, b.Patched(), nil)
		}
	}
	return err
}

// manifest signs a manifest. One that would not verify here must not be written.
func (g *signing) manifest(ctx context.Context, dir string, raw []byte, at time.Time) ([]byte, error) {
	raw, err := trust.SignManifest(ctx, g.key, raw, g.scope, at)
	if err == nil {
		_, err = trust.OpenBundle(raw, g.layer.Folder(dir), g.scope, g.Trust)
	}
	return raw, err
}

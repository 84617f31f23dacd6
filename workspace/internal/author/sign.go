package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
)

// draft returns the working item for a ref, as it is.
func draft(l *space.Layer, ref objects.Ref) (*objects.Item, error) {
	return look.DraftBy(l, ref, l.Draft)
}

// bulk is how many files one commit may hold before their own syncs are left to
// the commit's: the record then carries the bytes, and Restore brings them back.
const bulk = 64

// Sign validates working items, signs them with the user's key and records them
// in one commit. An item that already carries a valid signature by that key is
// left as it is. Items fail one by one; the error of a single target is returned.
func Sign(ctx context.Context, s *Desk, c rye.Caller, q rye.SignRequest) (*rye.SignReport, error) {
	sp, err := objects.ParseSpace(cmp.Or(q.Space, objects.Project.String()))
	if err != nil {
		return nil, err
	}
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	refs, bundles, err := signTargets(ctx, s, c, l, q)
	if err != nil {
		return nil, err
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Keys.Known(s.Trust, key); err != nil {
		return nil, err
	}
	drafts, err := prepare(ctx, s, l, refs, key, q)
	if err != nil {
		return nil, err
	}
	drafts = append(drafts, prepareBundles(ctx, s, l, bundles, drafts, key, q)...)
	if err := approve(ctx, s, c, l, drafts, q); err != nil {
		return nil, err
	}
	rep, err := FinishSigning(ctx, s, l, key.Public(), drafts, q)
	if rep != nil && everything(q) {
		foreign, ferr := l.Foreign(ctx)
		for _, p := range foreign {
			rep.PassedOver = append(rep.PassedOver, ".ai/"+p)
		}
		err = cmp.Or(err, ferr)
	}
	return rep, err
}

// everything reports a request for all items.
func everything(q rye.SignRequest) bool { return q.All || slices.Contains(q.Targets, "*") }

// signTargets returns the items and the directories of the bundles that are to be
// signed, when the caller may sign them.
func signTargets(ctx context.Context, s *Desk, c rye.Caller, l *space.Layer, q rye.SignRequest) (refs []objects.Ref, bundles []string, err error) {
	bundles, rest, err := look.BundleTargets(ctx, s.Session, l, q.Targets, everything(q))
	if err != nil {
		return nil, nil, err
	}
	if refs, err = look.Targets(ctx, s.Session, l, rest, q.All); err != nil {
		return nil, nil, err
	}
	if refs, bundles, err = look.WithBundles(ctx, s.Session, l, refs, bundles); err != nil {
		return nil, nil, err
	}
	for _, ref := range refs {
		if err := s.Allow(c, "sign", ref); err != nil {
			return nil, nil, err
		}
	}
	if len(bundles) > 0 && !c.IsPerson() {
		// What would be agreed to is a directory of files, some of them no text.
		return nil, nil, fault.New(fault.Denied, "sign .ai/%s: only a person at a terminal signs bundles", bundles[0]).Mend("rye sign .ai/%s", bundles[0])
	}
	return refs, bundles, nil
}

// signing is one item on its way through Sign.
type Signing struct {
	rye.SignResult
	ref  objects.Ref
	path string
	Raw  []byte         // what to write; nil when the file stays
	keep []byte         // recorded as well, although the file stays
	more []store.Change // of a bundle: its other files, recorded with it
	Err  error

	recorded bool // these very bytes are: nothing to do
}

// prepare signs every item in memory; nothing is written yet.
func prepare(ctx context.Context, s *Desk, l *space.Layer, refs []objects.Ref, key trust.Signer, q rye.SignRequest) ([]*Signing, error) {
	all, now := make([]*Signing, len(refs)), s.Now() // one time for all of them
	was, err := recordOf(l, len(refs))
	if err != nil {
		return nil, err
	}
	return all, parallel.Each(ctx, len(refs), func(i int) error {
		all[i] = SignOne(ctx, s, l, refs[i], key, q, now)
		all[i].compare(ctx, s, l, was)
		return nil
	})
}

// recordOf returns what tells the blob that the record holds at a path, for n
// questions: looking one up in a wide folder costs as much as reading the folder.
func recordOf(l *space.Layer, n int) (func(p string) (store.OID, error), error) {
	if n <= 16 {
		return l.RecordedBlob, nil
	}
	all := map[string]store.OID{}
	err := l.Recorded(func(p string, blob store.OID) error { all[p] = blob; return nil })
	return func(p string) (store.OID, error) { return all[p], nil }, err
}

// compare looks at an item that needs no new signature beside what is recorded. One
// that is older, or stands before what the lock brings, is not taken along: signed it
// was before, and that it is meant to come back nobody has said.
func (d *Signing) compare(ctx context.Context, s *Desk, l *space.Layer, was func(p string) (store.OID, error)) {
	if d.Err != nil || d.keep == nil {
		return
	}
	blob, err := was(d.path)
	if err == nil && blob == l.BlobID(d.keep) {
		d.recorded = true
		return
	}
	var f space.Finding
	if err == nil {
		f, err = s.Stack.JudgeBytes(ctx, l, d.path, d.ref, d.keep, blob)
	}
	if err == nil {
		err = f.Err
	}
	if err != nil {
		d.keep, d.Err, d.Status = nil, err, "failed"
	}
}

func SignOne(ctx context.Context, s *Desk, l *space.Layer, ref objects.Ref, key trust.Signer, q rye.SignRequest, now time.Time) *Signing {
	d := &Signing{ref: ref, SignResult: rye.SignResult{Ref: ref.String(), Status: "failed"}}
	it, err := draft(l, ref)
	if fault.CodeOf(err) == fault.Malformed {
		it, err = grownAround(ctx, l, ref, err)
	}
	if err != nil {
		d.Err = err
		d.Mistakes = look.Unreadable(l, ref, err)
		return d
	}
	d.path, d.Path = it.Path, ".ai/"+it.Path
	if it.Legacy != nil && !q.Upgrade {
		d.Err = fault.New(fault.Untrusted, "sign %s: it carries the ancestor's signature, which this would replace", ref).Mend("rye sign --upgrade %s", ref)
		return d
	}
	if d.Err = d.validate(ctx, s, l.Space, it); d.Err != nil {
		return d
	}
	scope := s.Stack.Scope(l)
	if it.Legacy != nil {
		d.Replaces = replaced(s, it, scope)
	}
	if v, err := trust.Verify(it, scope, s.Trust); err == nil && v.Key() == key.Public() {
		d.Status, d.keep = "unchanged", it.Raw
		d.describe(it)
		return d
	}
	raw, err := trust.SignItem(ctx, key, it, scope, now)
	if err == nil {
		it, err = objects.Parse(it.Path, raw)
	}
	if err == nil {
		// What would not verify here must not be written: a foreign namespace, a denied key.
		_, err = trust.Verify(it, scope, s.Trust)
	}
	if err != nil {
		d.Err = err
		return d
	}
	d.Raw, d.Status = raw, "signed"
	if q.Check || q.DryRun {
		d.Status = "would-sign"
	}
	d.describe(it)
	return d
}

// grownAround is the draft of a file in which text came before or after the signature
// line: whoever adds a line at the end of a file adds it below the signature. The line has
// to be that of the recorded version; any other may be there to be read. Every other file
// has the error that it had.
func grownAround(ctx context.Context, l *space.Layer, ref objects.Ref, found error) (*objects.Item, error) {
	p, err := l.Locate(ref)
	if err != nil || p == "" {
		return nil, found
	}
	raw, err := l.Read(p)
	if err != nil {
		return nil, found
	}
	body, sig, ok := objects.Misplaced(p, raw)
	if !ok {
		return nil, found
	}
	recorded, raw, err := l.LastRecorded(ctx, ref)
	if err == nil && recorded != "" {
		was, err := objects.Parse(recorded, raw)
		if err == nil && was.Signature != nil && was.Signature.Line() == sig.Line() {
			return objects.Parse(p, body)
		}
	}
	if at := (*objects.SyntaxError)(nil); errors.As(found, &at) {
		return nil, fault.New(fault.Malformed, "%w", found).Advise("delete line %d of %s, which is not this item's recorded signature, and run rye sign again", at.Line, p)
	}
	return nil, found
}

func (d *Signing) describe(it *objects.Item) {
	d.SHA256, d.Key = it.Sum.String(), it.Signature.Key.String()
	d.SignedAt = it.Signature.SignedAt.UTC().Format(time.RFC3339)
}

func (d *Signing) validate(ctx context.Context, s *Desk, in objects.Space, it *objects.Item) error {
	problems, err := look.Problems(ctx, s.Session, in, it)
	if len(problems) == 0 {
		return err
	}
	for _, p := range problems {
		d.Issues = append(d.Issues, p.String())
	}
	d.Mistakes, d.Paste = look.Invalid(it, problems), blockToPaste(it)
	return fault.New(fault.Malformed, "sign %s: %s", it.Ref, d.Issues[0]).Advise("%s", problems[0].Mend)
}

// FinishSigning writes the files and then the record of them, in one commit.
func FinishSigning(ctx context.Context, s *Desk, l *space.Layer, key trust.PublicKey, all []*Signing, q rye.SignRequest) (*rye.SignReport, error) {
	rep := &rye.SignReport{}
	var (
		changes []store.Change
		refs    []objects.Ref
		first   error

		recorded bool
	)
	for _, d := range all {
		recorded = recorded || d.recorded
		if d.Err != nil {
			d.Error, d.Code, d.Hint = d.Err.Error(), fault.CodeOf(d.Err), fault.HintOf(d.Err)
			rep.Failed++
			if first == nil {
				first = d.Err
			}
		}
		if data := d.data(); data != nil && !d.recorded && !q.Check && !q.DryRun {
			changes = append(d.besides(changes), store.Change{Path: d.path, Data: data})
			refs = append(refs, d.ref)
		}
		if d.Raw != nil {
			rep.Signed++
		}
		rep.Results = append(rep.Results, d.SignResult)
	}
	if q.Check && rep.Signed > 0 && first == nil {
		first = fault.New(fault.Untrusted, "%s would be signed", words.Plural(rep.Signed, "item")).Mend("rye sign --all")
	}
	if len(changes) > 0 {
		if err := noteSigner(s, l, key); err != nil {
			return rep, err
		}
		if err := writeSigned(ctx, s, l, all); err != nil {
			return rep, err
		}
		commit, err := record(ctx, s, l, "sign", refs, changes)
		if err != nil {
			return rep, err
		}
		rep.Commit = commit
	} else if recorded && !q.Check && !q.DryRun {
		tip, err := l.Tip()
		if err != nil {
			return rep, err
		}
		rep.Commit = tip.String()
	}
	return rep, first
}

// besides adds what is recorded together with the file itself.
func (d *Signing) besides(changes []store.Change) []store.Change {
	for _, c := range d.more {
		if c.Path != d.path {
			changes = append(changes, c)
		}
	}
	return changes
}

func (d *Signing) data() []byte {
	if d.Raw != nil {
		return d.Raw
	}
	return d.keep
}

// noteSigner lists the key's bytes with the project, for colleagues' clones.
func noteSigner(s *Desk, l *space.Layer, key trust.PublicKey) error {
	if l.Space != objects.Project {
		return nil
	}
	return custody.NoteSigner(s.Host, key)
}

func writeSigned(ctx context.Context, s *Desk, l *space.Layer, all []*Signing) error {
	for i, d := range all {
		if d.Raw == nil || d.Err != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.Write(d.path, d.Raw, len(all) <= bulk); err != nil {
			return fmt.Errorf("write %s: %w", d.Path, err)
		}
		if i%500 == 499 {
			s.Say(fmt.Sprintf("signed %d of %d", i+1, len(all)))
		}
	}
	return nil
}

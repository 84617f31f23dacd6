package author

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/questions"
)

// approve asks the user about the signatures that a caller other than a person requests: a
// model must not write, sign and run unseen. The question shows each change and the digest
// to be signed, so that the answer is to these bytes only.
func (g *signing) approve(ctx context.Context, c rye.Caller, all []*draft) error {
	if c.IsPerson() || g.q.Check || g.q.DryRun {
		return nil
	}
	var lines []string
	var subject strings.Builder
	n := 0
	for _, d := range all {
		if !d.changed {
			continue
		}
		n++
		shown, err := g.changeOf(ctx, d)
		if err != nil {
			return err
		}
		lines = append(lines, shown...)
		fmt.Fprintln(&subject, d.path, d.Digest, objects.DigestOf(d.there))
	}
	if n == 0 {
		return nil
	}
	q := signQuestion(c, g.q, n)
	lines = append([]string{g.where()}, lines...)
	var err error
	if q.Lines, err = readable(lines); err != nil {
		return fault.Wrap(err, "sign %s", words.Plural(n, "item")).With(q.Mend)
	}
	yes, err := questions.Ask(ctx, g.Session, c, objects.DigestOf([]byte(subject.String())), q)
	if err != nil {
		return err
	}
	return yes.Use()
}

// where names the place of the files: a server may have several projects, and each of them
// uses the files in the user space.
func (g *signing) where() string {
	if g.layer.Space == objects.User {
		return "in your user space, which all your projects use"
	}
	return "in " + g.ProjectDir
}

// signQuestion is the question about a caller's request to sign. It names the command by which
// a person signs without a question, except for a text that is not on disk.
func signQuestion(c rye.Caller, q rye.SignRequest, n int) rye.Question {
	if q.Content != "" {
		return rye.Question{Topic: "sign", Text: c.Who() + " asks to write this file and to sign it with your key"}
	}
	sign := []string{"rye", "sign"}
	for _, t := range q.Targets {
		sign = append(sign, string(t))
	}
	return rye.Question{Topic: "sign", Text: c.Who() + " asks to sign " + words.Plural(n, "item") + " with your key", Mend: fault.CommandOf(sign...)}
}

// Offer shows the user an item of the project that was refused because they have not signed
// it as it is. It asks whether to sign and run it, and reports whether the item is signed
// now. The shown bytes are signed, even when the file changes while the user reads. An item
// that cannot be signed, or cannot be shown whole, is not offered. The error is a failure to
// write the signature, or an ended context.
func Offer(ctx context.Context, s *custody.Desk, ref objects.Ref, refused error) (signed bool, err error) {
	if s.Consent == nil || s.Stack.Project == nil {
		return false, nil
	}
	f, ok, err := s.Stack.In(ctx, objects.Project, ref)
	if err != nil || !ok || f.State != objects.Unsigned && f.State != objects.Modified {
		return false, nil
	}
	g, err := newSigning(ctx, s, s.Stack.Project, rye.SignRequest{Targets: []rye.Target{rye.Target(ref.String())}})
	if err != nil {
		return false, nil
	}
	g.needs = func(objects.Ref) objects.Needs { return objects.OwnNeeds }
	d := g.item(ctx, ref)
	if !d.changed || d.Part { // a part would not run either
		return false, nil
	}
	lines, err := g.changeOf(ctx, d)
	if err == nil {
		lines, err = readable(lines)
	}
	if err != nil {
		return false, nil
	}
	q := rye.Question{Topic: "sign it and run it", Text: refused.Error(), Lines: lines, Mend: fault.HintOf(refused), Person: true}
	if s.Ask(ctx, q) != nil {
		return false, ctx.Err()
	}
	_, err = g.finish(ctx, []*draft{d})
	return err == nil, err
}

// changeOf shows the difference between an item and its last recorded version by the user.
// The user may never have read a version by anyone else, so then the whole text is shown. The
// earlier signer is shown, too. The signature lines are left out: they do not affect the
// item's actions.
func (g *signing) changeOf(ctx context.Context, d *draft) ([]string, error) {
	body, _, _, err := objects.Split(d.path, d.data)
	if err != nil {
		return nil, err
	}
	lines := append([]string{fmt.Sprintf("%s  .ai/%s  %s", d.ref, d.path, objects.DigestOf(body))}, d.before.lines()...)
	old, err := g.lastSigned(ctx, d)
	if err != nil {
		return nil, err
	}
	if d.before != nil && d.before.unseen && old != nil && old.Signature != nil {
		lines = append(lines, "compared with the version of "+old.Signature.SignedAt.UTC().Format(time.RFC3339)+", signed by "+g.who(old.Signature.Key))
	}
	if now, err := objects.Parse(d.path, body); err == nil {
		lines = append(lines, look.Powers(old, now)...)
	}
	if d.proposal {
		return append(lines, g.replaces(d, body)...), nil
	}
	if old == nil {
		return append(append(lines, "new:"), diff.Lines("", string(body))...), nil
	}
	change := diff.Lines(string(old.Body), string(body))
	if len(change) == 0 {
		return append(lines, "unchanged since you last signed and recorded it"), nil
	}
	return append(append(lines, "changed:"), change...), nil
}

// lastSigned returns the version to compare a draft with, nil for none: the user's last recorded
// one. For a text that someone else can have written it is the newest by the user or an owner.
func (g *signing) lastSigned(ctx context.Context, d *draft) (*objects.Item, error) {
	path, raw, err := g.layer.LastRecorded(ctx, d.ref)
	if err != nil {
		return nil, err
	}
	old, err := objects.Parse(path, raw)
	if err != nil || g.mine(old) != nil {
		old = nil
	}
	if d.before == nil || !d.before.unseen || d.ref.Kind == objects.Bundle {
		return old, nil
	}
	by, err := baseOf(ctx, g.Desk, g.layer, itemHistory(d.ref, d.path), nil)
	if err != nil || by == nil || by.denied != nil {
		return old, err
	}
	if old == nil || old.Signature == nil || by.item.Signature.SignedAt.After(old.Signature.SignedAt) {
		old = by.item
	}
	return old, nil
}

// mine returns an error unless an item has a valid signature here by one of the user's keys.
func (g *signing) mine(it *objects.Item) error {
	v, err := trust.Verify(it, g.scope, g.Trust)
	if err == nil && !g.Trust.IsOwn(v.Key()) {
		err = fault.New(fault.Untrusted, "%s is signed by %s, which is not your key", it.Ref, v.Key())
	}
	return err
}

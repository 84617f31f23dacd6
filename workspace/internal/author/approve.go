package author

import (
	"context"
	"fmt"
	"strings"

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

// approve asks the user about what a caller that is not a person wants signed: a model must
// not write, sign and run unseen. The question shows each change and the digest of what
// would be signed, so that the answer is to these bytes only.
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

// where says which files it is about: a server may have several projects, and what lies in
// the user space counts in all of them.
func (g *signing) where() string {
	if g.layer.Space == objects.User {
		return "in your own space, which every project of yours uses"
	}
	return "in " + g.ProjectDir
}

// signQuestion is the question about what a caller wants signed, and the command by which a
// person signs it without being asked; none stands for a text that lies nowhere.
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
// it as it is, and asks whether to sign it and run it. It reports whether the item is signed
// now. What is signed is what was shown, even when the file changes while they read. An item
// that cannot be signed, or not be shown whole, is not offered; the error is a failure to
// write the signature, or that of a context that ended.
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
	d := g.item(ctx, ref)
	if !d.changed {
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

// changeOf shows how an item differs from what was last recorded of it with the user's own
// signature: anything else that is recorded they may never have read, so then all of the
// text is shown. Who signed it before is shown, too. The signature lines are left out: they
// say nothing about what the item does.
func (g *signing) changeOf(ctx context.Context, d *draft) ([]string, error) {
	body, _, _, err := objects.Split(d.path, d.data)
	if err != nil {
		return nil, err
	}
	lines := append([]string{fmt.Sprintf("%s  .ai/%s  %s", d.ref, d.path, objects.DigestOf(body))}, d.before.lines()...)
	path, raw, err := g.layer.LastRecorded(ctx, d.ref)
	if err != nil {
		return nil, err
	}
	old, err := objects.Parse(path, raw)
	if err == nil {
		err = g.mine(old)
	}
	if err != nil {
		old = nil
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

// mine returns an error unless one of the user's own keys vouches for an item here.
func (g *signing) mine(it *objects.Item) error {
	v, err := trust.Verify(it, g.scope, g.Trust)
	if err == nil && !g.Trust.IsOwn(v.Key()) {
		err = fault.New(fault.Untrusted, "%s is signed by %s, which is not your key", it.Ref, v.Key())
	}
	return err
}

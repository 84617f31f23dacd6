package rye

import (
	"context"
	"fmt"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
)

// maxApproval bounds what a person is asked to approve at once, in lines. More
// would be agreed to unread.
const maxApproval = 600

// approve asks a person about what a caller that is not one wants signed: a
// model must not write, sign and run unseen. The question shows each change and
// the digest of what would be signed, so that the answer is to these bytes only.
func (s *session) approve(ctx context.Context, c Caller, l *space.Layer, all []*signing, q SignRequest) error {
	if c.Name == Terminal.Name || q.Check || q.DryRun {
		return nil
	}
	var lines []string
	n := 0
	for _, d := range all {
		if d.err != nil || d.raw == nil {
			continue
		}
		n++
		shown, err := s.describeChange(ctx, l, d)
		if err != nil {
			return err
		}
		lines = append(lines, shown...)
	}
	if n == 0 {
		return nil
	}
	mend := fault.CommandOf(append([]string{"rye", "sign"}, q.Targets...)...)
	if len(lines) > maxApproval {
		return fault.New(fault.Limit, "sign %s: %d lines to approve, at most %d are shown to a person at once", plural(n, "item"), len(lines), maxApproval).With(mend)
	}
	return s.r.ask(ctx, Question{Topic: "sign", Text: c.Name + " asks to sign " + plural(n, "item") + " with your key", Lines: lines, Mend: mend})
}

// describeChange shows what of an item differs from what was last recorded with
// a signature that counts; anything else that is recorded nobody may have read.
// The signature lines are left out: they say nothing about what it will do.
func (s *session) describeChange(ctx context.Context, l *space.Layer, d *signing) ([]string, error) {
	body, _, _, err := objects.Split(d.path, d.raw)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%s  .ai/%s  %s", d.ref, d.path, objects.DigestOf(body))
	path, raw, err := l.LastRecorded(ctx, d.ref)
	if err != nil {
		return nil, err
	}
	old, err := objects.Parse(path, raw)
	if err == nil {
		_, err = trust.Verify(old, s.stack.Scope(l), s.trust)
	}
	if err != nil {
		return append([]string{head, "new:"}, diff.Lines("", string(body))...), nil
	}
	change := diff.Lines(string(old.Body), string(body))
	if len(change) == 0 {
		return []string{head, "unchanged since it was last signed and recorded"}, nil
	}
	return append([]string{head, "changed:"}, change...), nil
}

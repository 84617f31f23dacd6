package author

import (
	"context"
	"fmt"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
)

// maxApproval bounds what a person is asked to approve at once, in lines. More
// would be agreed to unread.
const MaxApproval = 600

// approve asks a person about what a caller that is not one wants signed: a
// model must not write, sign and run unseen. The question shows each change and
// the digest of what would be signed, so that the answer is to these bytes only.
func approve(ctx context.Context, s *Desk, c rye.Caller, l *space.Layer, all []*Signing, q rye.SignRequest) error {
	if c.IsPerson() || q.Check || q.DryRun {
		return nil
	}
	var lines []string
	n := 0
	for _, d := range all {
		if d.Err != nil || d.Raw == nil {
			continue
		}
		n++
		shown, err := DescribeChange(ctx, s, l, d)
		if err != nil {
			return err
		}
		lines = append(lines, shown...)
	}
	if n == 0 {
		return nil
	}
	sign := []string{"rye", "sign"}
	for _, t := range q.Targets {
		sign = append(sign, string(t))
	}
	mend := fault.CommandOf(sign...)
	if len(lines) > MaxApproval {
		return fault.New(fault.Limit, "sign %s: %d lines to approve, at most %d are shown to a person at once", words.Plural(n, "item"), len(lines), MaxApproval).With(mend)
	}
	return s.Ask(ctx, rye.Question{Topic: "sign", Text: c.Name() + " asks to sign " + words.Plural(n, "item") + " with your key", Lines: lines, Mend: mend})
}

// DescribeChange shows what of an item differs from what was last recorded with
// a signature that counts; anything else that is recorded nobody may have read.
// The signature lines are left out: they say nothing about what it will do.
func DescribeChange(ctx context.Context, s *Desk, l *space.Layer, d *Signing) ([]string, error) {
	body, _, _, err := objects.Split(d.path, d.Raw)
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
		_, err = trust.Verify(old, s.Stack.Scope(l), s.Trust)
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

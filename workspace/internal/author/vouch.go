package author

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// A signature means that its owner answers for an item as if they had written it. An item with
// another's signature is therefore signed by name only, one at a time, after a look at its
// signer and its text. A request for many items skips it. A text that nobody signed and someone
// else can have written (brought.go) is shown as well; a request for many asks about all at once.

// otherSigner is the other signer of an item that the user is about to sign.
type otherSigner struct {
	key string // fingerprint, or RYE OS's 16 digits
	who string // the same, with the user's name for the key
	err error  // why the signature is not trusted here; nil when it is

	unseen bool // nobody signed the text, and it can be by someone else
}

// merged is the signer of a merged text: the user has perhaps seen only one of its sides.
var merged = &otherSigner{who: "nobody: git merged two versions", err: errors.New("git merged two versions"), unseen: true}

// foreignTo returns the signer of an item whose signature is not the user's: a valid one, one
// by a denied key, or one by a key that is unknown here. refused is the error from
// trust.Verify. It is nil for an unsigned item, and for the user's own keys, retired ones too.
// It is also nil for an item that was edited after a known key signed it: then no signature
// covers the text.
func foreignTo(st *trust.Store, it *objects.Item, refused error) *otherSigner {
	if it.Merged != nil {
		return merged
	}
	if it.Signature == nil {
		if it.Legacy == nil || !fault.Is(refused, fault.Revoked) {
			return nil
		}
		return &otherSigner{key: it.Legacy.Key, who: it.Legacy.Key, err: refused}
	}
	fp := it.Signature.Key
	k, known := st.Key(fp)
	denied := slices.ContainsFunc(st.Denials(), func(d trust.Denial) bool { return !d.Key.IsZero() && d.Key == fp })
	edited := it.Signature.Digest != it.Digest
	if !denied && known && (st.IsOwn(k) || edited) {
		return nil
	}
	return &otherSigner{key: fp.String(), who: nameOf(st, fp), err: refused}
}

// nameOf is a fingerprint, with the user's name for it.
func nameOf(st *trust.Store, fp objects.Fingerprint) string {
	for _, p := range st.Pins() {
		if p.Key.Fingerprint() == fp && p.Name != "" {
			return fp.String() + " (" + p.Name + ")"
		}
	}
	return fp.String()
}

// named reports whether a request is about one item or bundle that a user typed. A pattern is
// not, nor is a list, which a shell makes of a pattern.
func named(q rye.SignRequest) bool {
	return !q.All && len(q.Targets) == 1 && !strings.ContainsAny(string(q.Targets[0]), "*?")
}

// passOver notes on d its other signer, and reports whether the request skips it because of
// that: then d is finished. A check skips items by others, and fails them if they are not
// trusted here.
func (g *signing) passOver(d *draft, it *objects.Item, refused error) bool {
	if d.before = foreignTo(g.Trust, it, refused); d.before == nil {
		return false
	}
	d.SignedBy = d.before.key // "" for a merge
	if !g.q.Check && (d.before.unseen || named(g.q)) {
		return false
	}
	switch d.Status = "passed over"; {
	case refused == nil:
		d.path, d.passed = it.Path, it.Raw
	case g.q.Check:
		d.fail(refused)
	default:
		d.Hint = fault.Command("rye sign %s", d.Ref)
	}
	return true
}

// vouch asks a person about each draft with another's signature, and each that someone else can
// have written. missing is the error for drafts of a batch without a yes.
func (g *signing) vouch(ctx context.Context, c rye.Caller, all []*draft) (missing, err error) {
	if g.q.Check {
		return nil, nil
	}
	first, err := g.markBrought(ctx, all)
	if err != nil || !c.IsPerson() {
		return nil, err
	}
	if !named(g.q) {
		return g.askTogether(ctx, all, first)
	}
	if g.q.DryRun {
		return nil, nil
	}
	for _, d := range all {
		if _, below := objects.InBundles(d.path); below && d.changed && d.before == nil && hasNew(d.Programs) {
			if err := g.askPrograms(ctx, d); err != nil {
				return nil, err
			}
		}
		if d.before == nil || !d.changed {
			continue
		}
		lines, err := g.changeOf(ctx, d)
		if err != nil {
			return nil, err
		}
		if err := g.Ask(ctx, d.vouchQuestion(lines)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// vouchQuestion shows a draft's change: a line about the item, one about its signer, and then
// the text. When the text cannot be shown whole, the question names the file to read before
// the answer. The programs of a bundle are always listed.
func (d *draft) vouchQuestion(lines []string) rye.Question {
	q := rye.Question{Topic: "sign " + d.Ref, Text: "It has a signature by " + d.before.who + ". Your signature would replace it",
		Mend: fault.Command("rye sign %s --yes", d.Ref)}
	switch {
	case d.before == merged:
		q.Text = "git merged it from two versions. Your signature is for all of the text, also the part by someone else"
	case d.before.unseen:
		q.Text = "Someone else may have written a part of it. Your signature is for all of the text"
	}
	shown, err := readable(lines)
	if q.Lines = shown; err == nil {
		err = q.Check()
	}
	if err != nil {
		q.Lines = append(slices.Clone(lines[:2]), err.Error(), "read "+d.Path+" before you answer")
	}
	q.Lines = append(q.Lines, d.programLines()...)
	return q
}

// lines describes the signature to a person.
func (f *otherSigner) lines() []string {
	if f == nil {
		return nil
	}
	if f == merged {
		return []string{"merged by git from two versions, and signed by nobody"}
	}
	if f.unseen {
		return []string{"signed by nobody; " + f.err.Error()}
	}
	if f.err == nil {
		return []string{"signed by " + f.who + ", which is valid and trusted here"}
	}
	return []string{"signed by " + f.who + ", which is not accepted here: " + f.err.Error()}
}

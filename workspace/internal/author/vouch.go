package author

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// Signing vouches: who signs an item says that they would have written it. What carries
// another's signature is therefore signed by name only, one at a time, after its signer
// and its text were shown; a request for many items passes it over.

// otherSigner is another's signature on an item that is to be signed.
type otherSigner struct {
	key string // fingerprint, or RYE OS's 16 digits
	who string // the same, with the name under which the user knows it
	err error  // why it does not count here; nil when it does
}

// foreignTo returns whose signature it carries that is not the user's: another's that
// holds, that of a denied key, or one that cannot be judged because the key is not known
// here. refused is what trust.Verify said. It is nil for the user's own keys, retired ones
// too, for what carries none, and for what was edited after a known key signed it: then
// nobody vouches for it.
func foreignTo(st *trust.Store, it *objects.Item, refused error) *otherSigner {
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

// nameOf is a fingerprint, with the name under which the user pinned it.
func nameOf(st *trust.Store, fp objects.Fingerprint) string {
	for _, p := range st.Pins() {
		if p.Key.Fingerprint() == fp && p.Name != "" {
			return fp.String() + " (" + p.Name + ")"
		}
	}
	return fp.String()
}

// named reports whether a request is about one item or bundle that somebody typed: no
// pattern, and no list, which a shell makes of a pattern.
func named(q rye.SignRequest) bool {
	return !q.All && len(q.Targets) == 1 && !strings.ContainsAny(string(q.Targets[0]), "*?")
}

// passOver notes on d whose signature it carries, and reports whether the request does not
// reach it for that: then d is finished. --check never means what another signed; what of
// that does not count here fails.
func (g *signing) passOver(d *draft, it *objects.Item, refused error) bool {
	if d.before = foreignTo(g.Trust, it, refused); d.before == nil {
		return false
	}
	d.SignedBy = d.before.key
	if named(g.q) && !g.q.Check {
		return false
	}
	d.Status = "passed over"
	switch {
	case refused == nil:
		d.path, d.passed = it.Path, it.Raw
	case g.q.Check:
		d.fail(refused)
	default:
		d.Hint = fault.Command("rye sign %s", d.Ref)
	}
	return true
}

// vouch asks a person about each draft that carries another's signature.
func (g *signing) vouch(ctx context.Context, c rye.Caller, all []*draft) error {
	if !c.IsPerson() || g.q.Check || g.q.DryRun {
		return nil
	}
	for _, d := range all {
		if d.before == nil || !d.changed {
			continue
		}
		lines, err := g.changeOf(ctx, d)
		if err != nil {
			return err
		}
		if err := g.Ask(ctx, d.vouchQuestion(lines)); err != nil {
			return err
		}
	}
	return nil
}

// vouchQuestion shows what the change of a draft is: a line about the item, one about its
// signer, and then the text. A change that cannot be shown whole lies in a file that the
// person can read before they answer.
func (d *draft) vouchQuestion(lines []string) rye.Question {
	q := rye.Question{Topic: "sign " + d.Ref, Text: "It carries a signature by " + d.before.who + ". Signing it says that you vouch for it",
		Mend: fault.Command("rye sign %s --yes", d.Ref)}
	shown, err := readable(lines)
	if q.Lines = shown; err == nil {
		err = q.Check()
	}
	if err != nil {
		q.Lines = append(slices.Clone(lines[:2]), err.Error(), "read "+d.Path+" before you answer")
	}
	return q
}

// lines tells a person about the signature.
func (f *otherSigner) lines() []string {
	if f == nil {
		return nil
	}
	if f.err == nil {
		return []string{"signed by " + f.who + ", which holds and counts here"}
	}
	return []string{"signed by " + f.who + ", which does not count here: " + f.err.Error()}
}

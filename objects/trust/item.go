package trust

import (
	"bytes"
	"context"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// clockSlack is how far ahead of now the previous signature may be. Every later
// signature gets at least its date, so a line from further in the future is refused.
const clockSlack = 24 * time.Hour

// SignItem returns the bytes of the item's file with a fresh v2 signature line by s. It
// replaces an old line, also one from RYE OS. The scope matters for ids below local/,
// which bind the project. The time has whole seconds in UTC. It is never before the
// time of the previous line, which keeps the order after a clock was set back. An item
// with problems is refused (Malformed).
//
// SignItem does not check whether the key is trusted for the id; Verify does.
func SignItem(ctx context.Context, s Signer, it *objects.Item, in Scope, now time.Time) ([]byte, error) {
	if err := maySign(it, in); err != nil {
		return nil, err
	}
	return signLine(ctx, s, it, in, now)
}

// signLine makes the signature and puts it into the file.
func signLine(ctx context.Context, s Signer, it *objects.Item, in Scope, now time.Time) ([]byte, error) {
	if it.Ref.ID.Namespace() == objects.LocalNamespace && in.Space == objects.Project && in.Project == "" {
		return nil, fault.New(fault.Usage, "sign %s: signatures of %s/ bind a project, and none was given", it.Ref, objects.LocalNamespace)
	}
	sig, err := datedSignature(it, s.Public(), now)
	if err != nil {
		return nil, err
	}
	msg := objects.SignedMessage(it.Ref, it.Bound(in.binds()), sig)
	raw, err := signChecked(ctx, s, msg)
	if err != nil {
		return nil, fault.Wrap(err, "sign %s", it.Ref)
	}
	copy(sig.Sig[:], raw)
	return insertLine(it.Path, it.Body, sig)
}

// maySign refuses an item that no key may sign.
func maySign(it *objects.Item, in Scope) error {
	if in.Space != objects.User && in.Space != objects.Project {
		return fault.New(fault.Usage, "sign %s: items of the %s cannot be signed one by one", it.Ref, in)
	}
	if err := sameAsParsed(it); err != nil {
		return err
	}
	if ps := it.Validate(); len(ps) > 0 {
		p := ps[0]
		return fault.New(fault.Malformed, "sign %s: %s line %d: %s (%d problems)", it.Ref, it.Path, p.Line, p.Rule, len(ps)).
			Advise("%s", p.Mend)
	}
	return nil
}

// sameAsParsed splits the raw bytes once more and compares the parts with the Item. A
// caller may have filled in the Item by hand, and rye signs and trusts only the bytes.
func sameAsParsed(it *objects.Item) error {
	ref, err := refOf(it)
	if err != nil {
		return fault.New(fault.Malformed, "%s: %w", it.Ref, err)
	}
	body, sig, legacy, err := objects.Split(it.Path, it.Raw)
	if err != nil {
		return err
	}
	if ref != it.Ref || !bytes.Equal(body, it.Body) || !sameLine(sig, it.Signature) || !sameLegacy(legacy, it.Legacy) {
		return fault.New(fault.Malformed, "%s: the item does not match its bytes", it.Ref)
	}
	return nil
}

// sameLegacy compares two lines without time and provenance, which are not signed.
func sameLegacy(a, b *objects.LegacySignature) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Sig == b.Sig && a.Digest == b.Digest && a.Key == b.Key && a.Unsigned == b.Unsigned && bytes.Equal(a.Payload, b.Payload)
}

// refOf returns the ref that follows from the item's path or, for a manifest, from its text.
func refOf(it *objects.Item) (objects.Ref, error) {
	if it.Path != objects.ManifestName {
		ref, _, err := objects.RefOfPath(it.Path)
		return ref, err
	}
	m, err := objects.ParseManifest(it.Raw)
	if err != nil {
		return objects.Ref{}, err
	}
	if m.Version != it.Meta.Version {
		return objects.Ref{}, fault.New(fault.Malformed, "version %q, the manifest says %q", words.Brief(it.Meta.Version), m.Version)
	}
	return m.Ref(), nil
}

func sameLine(a, b *objects.Signature) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Sig == b.Sig && a.Digest == b.Digest && a.Key == b.Key && a.SignedAt.Equal(b.SignedAt)
}

func datedSignature(it *objects.Item, k PublicKey, now time.Time) (objects.Signature, error) {
	at := now.UTC().Truncate(time.Second)
	if it.Signature != nil && it.Signature.SignedAt.After(at) {
		if it.Signature.SignedAt.Sub(at) > clockSlack {
			return objects.Signature{}, fault.New(fault.Rollback, "sign %s: its signature is dated %s, in the future",
				it.Ref, it.Signature.SignedAt.Format(time.RFC3339)).Advise("set the clock, or delete the signature line")
		}
		at = it.Signature.SignedAt
	}
	return objects.Signature{SignedAt: at, Digest: objects.DigestOf(it.Body), Key: k.Fingerprint()}, nil
}

// sure reports whether a signer's signatures need no second check. A FileKey holds both
// halves, which were compared when it was made, and the agent's signer checks by itself.
// Only these two exact types qualify: a type that embeds one may do anything.
func sure(s Signer) bool {
	switch s.(type) {
	case *FileKey, *agentSigner:
		return true
	}
	return false
}

// signChecked signs msg and, unless it is sure of the signer, verifies the result: a
// signer may be a device or a foreign program.
func signChecked(ctx context.Context, s Signer, msg []byte) ([]byte, error) {
	raw, err := s.Sign(ctx, msg)
	if err != nil {
		return nil, err
	}
	if !sure(s) && !s.Public().Verify(msg, raw) {
		return nil, fault.New(fault.Integrity, "the signer for %s returned a signature that does not verify", s.Public())
	}
	return raw, nil
}

// insertLine adds the line, and proves that removing it gives the same body.
func insertLine(path string, body []byte, sig objects.Signature) ([]byte, error) {
	out, err := objects.WithSignature(path, body, sig)
	if err != nil {
		return nil, err
	}
	again, got, _, err := objects.Split(path, out)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, body) || !sameLine(got, &sig) {
		return nil, fault.New(fault.Malformed, "sign %s: the line cannot be removed again without changing the file", path)
	}
	return out, nil
}

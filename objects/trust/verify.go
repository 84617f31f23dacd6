package trust

import (
	"path"
	"path/filepath"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Verify decides whether an item may be used in a scope. The gates have a fixed order,
// and the first one that refuses decides the error:
//
//	well-formed   Malformed   parsing the bytes gives this item, with at most one line
//	signed        Untrusted   there is a signature line of version 2, or one of RYE OS
//	content       Integrity   the body, and the file if it is pinned, have their digests
//	not denied    Revoked     neither the user nor a registry that decides denied digest or key
//	key known     Untrusted   the store has the key in the line, or the project declares it
//	signature     Integrity   Ed25519 verifies: id, kind, extension, version, digest, time, key
//	believed      Untrusted   the key is trusted for this namespace here (a retired one: Revoked)
//
// A refusal has a hint if a command can help. Verify reads its arguments and the lists of
// retired keys and revoked versions; it is safe for concurrent use while st does not change.
func Verify(it *objects.Item, in Scope, st *Store) (Verified, error) {
	e := examination{it: it, in: in, st: st}
	for _, g := range gates {
		if err := g.check(&e); err != nil {
			return Verified{}, err
		}
	}
	return Verified{item: it, key: e.key, scope: in, level: e.level, at: e.at, patch: e.patch}, nil
}

// examination holds the findings of the gates; later gates use the earlier ones.
type examination struct {
	it    *objects.Item
	in    Scope
	st    *Store
	key   PublicKey
	level Level
	at    time.Time
	patch Patch

	differs string // after content refused: the two digests, for Explain
}

// gate is one check of Verify. passed returns the finding of a check that passed; only
// Explain calls it.
type gate struct {
	name   string
	check  func(*examination) error
	passed func(*examination) string
}

var gates = []gate{
	{"well-formed", (*examination).wellFormed, (*examination).saysForm},
	{"signed", (*examination).signed, (*examination).saysSigned},
	{"content", (*examination).content, (*examination).saysContent},
	{"not denied", (*examination).notDenied, (*examination).saysNotDenied},
	{"key known", (*examination).keyKnown, (*examination).saysKey},
	{"signature", (*examination).signature, (*examination).saysSignature},
	{"believed", (*examination).believed, (*examination).saysBelieved},
}

func (e *examination) wellFormed() error {
	if e.it == nil || e.st == nil {
		return fault.New(fault.Usage, "verify: no item or no trust store")
	}
	if err := sameAsParsed(e.it); err != nil {
		return fault.Wrap(err, "verify %s", e.it.Ref)
	}
	return nil
}

func (e *examination) signed() error {
	switch {
	case e.it.Signature != nil:
		e.level, e.at = Signed, e.it.Signature.SignedAt
	case e.it.Merged != nil:
		return e.mendSign(e.refuse(fault.Untrusted, "merged from two versions, and not signed since"))
	case e.it.Legacy == nil:
		return e.mendSign(e.refuse(fault.Untrusted, "unsigned"))
	case e.it.Legacy.Unsigned != "":
		return e.refuse(fault.Untrusted, "unsigned: %s", e.it.Legacy.Unsigned).Mend("rye sign --upgrade %s", e.it.Ref)
	default:
		e.level, e.at = Legacy, e.it.Legacy.SignedAt
	}
	return nil
}

func (e *examination) content() error {
	sum := objects.DigestOf(e.it.Raw)
	if sum != e.it.Sum || objects.DigestOf(e.it.Body) != e.it.Digest {
		return e.refuse(fault.Malformed, "the item's digests do not match its bytes")
	}
	claimed, got := objects.Digest{}, e.it.Digest
	if e.level == Signed {
		claimed = e.it.Signature.Digest
	} else {
		claimed, got = e.it.Legacy.Digest, objects.DigestOf(e.it.Legacy.Payload)
	}
	if claimed != got {
		e.differs = "; its body has " + got.String() + ", its signature line has " + claimed.String()
		return e.mendChanged(e.refuse(fault.Integrity, "changed since it was signed"))
	}
	if !e.in.Pinned.IsZero() && e.in.Pinned != sum {
		e.differs = "; the file has " + sum.String() + ", its pin has " + e.in.Pinned.String()
		return e.refuse(fault.Integrity, "the file changed since it was pinned")
	}
	return nil
}

// mendChanged adds the hint for a changed item. If there is a record to compare with,
// the hint is to look at the change before signing it.
func (e *examination) mendChanged(err *fault.Error) *fault.Error {
	if e.in.Space == objects.Project && e.in.Registry == "" && e.it.Path != objects.ManifestName {
		return err.Advise("rye diff %s; then rye sign %s, if the change is yours", e.it.Ref, e.it.Ref)
	}
	return e.mendSign(err)
}

// mendSign adds the hint to sign the item in its place.
func (e *examination) mendSign(err *fault.Error) *fault.Error {
	if e.in.Space == objects.User {
		return err.Mend("rye sign --space user %s", e.it.Ref)
	}
	if !objects.CarriesLine(e.it.Path) {
		return err.Advise("rye sign .ai/%s, to sign the files in it", path.Dir(e.it.Path))
	}
	if Reserved(e.it.Ref.ID.Namespace()) {
		return err.Advise("rye trust override %s, then rye sign %[1]s", e.it.Ref)
	}
	return err.Mend("rye sign %s", e.it.Ref)
}

// notDenied checks the digests and the key that the line names, before any other gate
// uses that key.
func (e *examination) notDenied() error {
	if why, ok := e.st.deniedDigest(e.it.Sum, e.it.Digest); ok {
		return e.refuse(fault.Revoked, "this content was denied%s", because(why))
	}
	if r, ok, err := e.st.revocation(e.it.Ref, e.in, e.it.Sum, e.it.Digest); err != nil {
		return fault.Wrap(err, "verify %s in the %s", e.it.Ref, e.in)
	} else if ok {
		return e.refuse(fault.Revoked, "%s", r)
	}
	for _, k := range e.candidates() {
		fp := k.Fingerprint()
		if why, ok := e.st.deniedKey(fp); ok {
			return e.refuse(fault.Revoked, "signed by %s, which was denied%s", fp, because(why))
		}
		if registry, ok := e.st.keyRevoked(k, e.it.Ref.ID.Namespace(), e.in); ok {
			return e.refuse(fault.Revoked, "signed by %s, which registry %s revoked for %s", fp, words.Brief(registry), e.it.Ref.ID.Namespace())
		}
	}
	if e.level == Signed {
		if why, ok := e.st.deniedKey(e.it.Signature.Key); ok { // known or not
			return e.refuse(fault.Revoked, "signed by %s, which was denied%s", e.it.Signature.Key, because(why))
		}
	}
	return nil
}

// candidates returns the known keys that the line may name: at most one for a full
// fingerprint, any number for the 64 bits of RYE OS's.
func (e *examination) candidates() []PublicKey {
	if e.level == Legacy {
		return e.st.legacyKeys(e.it.Legacy.Key)
	}
	if k, ok := e.signer(); ok {
		return []PublicKey{k}
	}
	return nil
}

// signer returns the key that a native line names, from the store or from the project's
// declarations. It may not be trusted here.
func (e *examination) signer() (PublicKey, bool) {
	if k, ok := e.st.known[e.it.Signature.Key]; ok || e.in.Space != objects.Project {
		return k, ok
	}
	return e.in.Declared.key(e.it.Signature.Key)
}

func (e *examination) keyKnown() error {
	name := ""
	if e.level == Legacy {
		name = words.Clip(e.it.Legacy.Key, 20)
	} else {
		name = e.it.Signature.Key.String()
		if err := e.forgotten(name); err != nil {
			return err
		}
	}
	if len(e.candidates()) > 0 {
		return nil
	}
	unknown := e.refuse(fault.Untrusted, "signed by %s, a key that is not known here", name)
	if e.level == Legacy {
		return unknown.Mend("rye sign --upgrade %s", e.it.Ref)
	}
	if ns := e.it.Ref.ID.Namespace(); e.in.Space == objects.Project && e.in.Registry == "" && e.st.decided(ns, e.in.Site()) && !Reserved(ns) {
		return e.st.withOwners(unknown, e.it.Ref, e.in)
	}
	if e.in.Registry != "" && e.st.scopes.of(e.in.Site(), e.it.Ref.ID.Namespace()) != e.in.Registry {
		return unknown.Mend("rye trust")
	}
	if e.in.Registry != "" { // its log says whose it is
		return unknown.Mend("rye pull")
	}
	if e.in.Space == objects.Project {
		return unknown.Advise("this project does not declare it; its signer declares it with rye sign, or you with rye trust pin '<their key>' --namespace %s", e.it.Ref.ID.Namespace())
	}
	return unknown.
		Advise("ask the signer for the fingerprint; if it is the same: rye trust pin <key> --namespace %s", e.it.Ref.ID.Namespace())
}

// forgotten refuses a key that the trust store lacks although the user has its file. The key
// is the user's own, so the hint is to import it, not to ask another person.
func (e *examination) forgotten(name string) error {
	if _, known := e.st.known[e.it.Signature.Key]; known {
		return nil
	}
	path := e.st.keyFileOf(e.it.Signature.Key)
	if path == "" {
		return nil
	}
	return e.refuse(fault.Untrusted, "signed by %s, your key at %s, which your trust store does not list", name, path).
		Mend("rye key import %s %s", path, filepath.Base(path))
}

func (e *examination) signature() error {
	if e.level == Legacy {
		for _, k := range e.candidates() {
			if k.Verify(e.it.Legacy.Message(), e.it.Legacy.Sig[:]) {
				e.key = k
				return nil
			}
		}
		return e.refuse(fault.Integrity, "not a signature by %s", e.it.Legacy.Key)
	}
	e.key, _ = e.signer()
	if e.st.holds(e.it, e.in, e.key) {
		return nil
	}
	if e.key.Verify(objects.FormerMessage(e.it.Ref, e.it.Meta.Version, e.in.binds(), *e.it.Signature), e.it.Signature.Sig[:]) {
		return e.refuse(fault.Untrusted, "signed by rye 0.1, whose line does not bind the extension .%s", objects.Ext(e.it.Path)).
			Mend("rye sign %s", e.it.Ref)
	}
	if b := e.it.Bound(e.in.binds()); b.Executor != "" {
		b.Executor = ""
		if e.key.Verify(objects.SignedMessage(e.it.Ref, b, *e.it.Signature), e.it.Signature.Sig[:]) {
			return e.refuse(fault.Untrusted, "signed as a file that nothing runs, and its type now runs with %s", e.it.Meta.Executor.Name()).
				Mend("rye sign %s", e.it.Ref)
		}
	}
	err := e.refuse(fault.Integrity, "not a signature by %s for %s as .%s, version %q, at this time", e.key, e.it.Ref, objects.Ext(e.it.Path), words.Brief(e.it.Meta.Version))
	if e.it.Ref.ID.Namespace() == objects.LocalNamespace {
		err = e.refuse(fault.Integrity, "not a signature by %s for %s as .%s, version %q, at this time, in this project", e.key, e.it.Ref, objects.Ext(e.it.Path), words.Brief(e.it.Meta.Version))
	}
	return e.mendChanged(err)
}

func (e *examination) believed() error {
	var err error
	if e.patch, err = e.st.believes(e.key, e.it.Ref, e.in, e.it.Sum); err != nil {
		return err
	}
	if e.level == Legacy && e.patch != NoPatch {
		return e.refuse(fault.Untrusted, "a line of RYE OS by %s, which is no owner of %s/", e.key, e.it.Ref.ID.Namespace()).Mend("rye sign --upgrade %s", e.it.Ref)
	}
	if e.level == Legacy {
		return e.legacyAllowed()
	}
	return nil
}

// refuse returns the error of a gate.
func (e *examination) refuse(code fault.Code, format string, args ...any) *fault.Error {
	return fault.New(code, "verify %s in the %s: "+format, append([]any{e.it.Ref, e.in}, args...)...)
}

// because returns ": " and a reason, or "" without one.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + words.Brief(why)
}

package trust

import (
	"bytes"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// legacyAllowed decides about an item with a genuine line of RYE OS and a trusted key.
// Such a line binds no id, version or time, and often not the whole file. It is refused
// unless the user opted in. A line of RyeOS 0.5 is refused always: the option is older. It is always refused when it does not cover the text of a
// directive for the model.
func (e *examination) legacyAllowed() error {
	l := e.it.Legacy
	if l.Later() {
		return e.refuse(fault.Untrusted, "signed by RyeOS 0.5, whose line binds no id, kind or version").Mend("rye sign --upgrade %s", e.it.Ref)
	}
	if !e.st.AllowLegacy() {
		return e.refuse(fault.Untrusted, "legacy, covers %s", l.Covers).Mend("rye sign --upgrade %s", e.it.Ref)
	}
	if e.it.Ref.Kind == objects.Directive && !promptCovered(e.it) {
		return e.refuse(fault.Untrusted, "legacy, covers %s; allow_legacy does not cover an unsigned prompt", l.Covers).
			Mend("rye sign --upgrade %s", e.it.Ref)
	}
	return nil
}

// Standing is what the signature line of an older program proves. It says nothing about
// whether the signer is trusted here.
type Standing string

// The standings of such a line.
const (
	Holds     Standing = "holds"     // digest and signature are right
	Unchecked Standing = "unchecked" // the digest is right; the key is not known, so the signature was not checked
	Changed   Standing = "changed"   // the covered text has another digest
	Forged    Standing = "forged"    // the key is known, and the signature is not by it
	Denied    Standing = "denied"    // content or key was denied
	NotSigned Standing = "unsigned"  // a placeholder, or not a complete line
	Unread    Standing = "unread"    // the item does not match its bytes
)

// Standing examines the line of an older program on it, which must have one. It runs the
// checks of Verify in their order, except the last, which is about trust.
func (s *Store) Standing(it *objects.Item, in Scope) Standing {
	e := examination{it: it, in: in, st: s}
	switch {
	case it.Legacy.Unsigned != "":
		return NotSigned
	case e.wellFormed() != nil, e.signed() != nil:
		return Unread
	case e.content() != nil:
		return Changed
	case e.notDenied() != nil:
		return Denied
	case len(e.candidates()) == 0:
		return Unchecked
	case e.signature() != nil:
		return Forged
	}
	return Holds
}

// promptCovered reports whether the line covers the whole prompt and all permissions of
// a model. The file must have the <directive> element in its fence, no text below it,
// and no front matter that could replace it. Text above the fence is for people and is
// allowed.
func promptCovered(it *objects.Item) bool {
	before, after, found := bytes.Cut(it.Body, it.Legacy.Payload)
	if !found || len(it.Legacy.Payload) == 0 || bytes.HasPrefix(it.Body, []byte("---")) {
		return false
	}
	prose := strings.TrimSpace(it.Meta.Prose)
	return bytes.HasSuffix(bytes.TrimSpace(before), []byte("```xml")) &&
		string(bytes.TrimSpace(after)) == "```" &&
		bytes.Contains(it.Legacy.Payload, []byte(prose))
}

package trust

import (
	"bytes"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// legacyAllowed decides about an item with a genuine line of RYE OS and a trusted key.
// Such a line binds no id, version or time, and often not the whole file. It is refused
// unless the user opted in. It is always refused when it does not cover the text of a
// directive for the model.
func (e *examination) legacyAllowed() error {
	l := e.it.Legacy
	if !e.st.AllowLegacy() {
		return e.refuse(fault.Untrusted, "legacy, covers %s", l.Covers).Mend("rye sign --upgrade %s", e.it.Ref)
	}
	if e.it.Ref.Kind == objects.Directive && !promptCovered(e.it) {
		return e.refuse(fault.Untrusted, "legacy, covers %s; allow_legacy does not cover an unsigned prompt", l.Covers).
			Mend("rye sign --upgrade %s", e.it.Ref)
	}
	return nil
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

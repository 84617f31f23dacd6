package trust

import (
	"bytes"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// legacyAllowed decides about an item whose line of RYE OS is genuine and whose
// key counts. Such a line binds neither id nor version nor time, and often not
// the whole file; so it is refused unless the user opted in, and always where a
// directive's words to the model are not among the bytes it covers.
func (e *examination) legacyAllowed() error {
	l := e.it.Legacy
	if !e.st.AllowLegacy() {
		return e.refuse(fault.Untrusted, "legacy, covers %s", l.Covers).Mend("rye sign --upgrade %s", e.it.Ref)
	}
	if e.it.Ref.Kind == objects.Directive && !promptCovered(e.it) {
		return e.refuse(fault.Untrusted, "legacy, covers %s; allow_legacy does not extend to a prompt that nobody signed", l.Covers).
			Mend("rye sign --upgrade %s", e.it.Ref)
	}
	return nil
}

// promptCovered reports whether everything that a model is told, and everything
// that it may do, lies within the bytes that the line covers: the <directive>
// element in its fence, nothing below it, and no front matter that could speak
// instead of it. Text above the fence is for people and may stand.
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

package trust

import (
	"fmt"
	"time"

	"github.com/rye-os/rye/objects"
)

// Check is one gate of Verify and its result.
type Check struct {
	Name  string // "well-formed", "signed", "content", ...
	Pass  bool
	Ran   bool   // false when an earlier gate refused, so that this one did not run
	Words string // the finding, or the reason of the refusal
	Err   error  // the refusal, as Verify returns it; nil when it passed or did not run
}

// Explain runs the gates of Verify for an item and returns the result of each, in their
// order. It makes no Verified; only Verify does.
func (s *Store) Explain(it *objects.Item, in Scope) []Check {
	e := examination{it: it, in: in, st: s}
	checks := make([]Check, 0, len(gates))
	stopped := false
	for _, g := range gates {
		c := Check{Name: g.name, Words: "not checked: an earlier check refused"}
		if !stopped {
			c.Ran = true
			if c.Err = g.check(&e); c.Err == nil {
				c.Pass, c.Words = true, g.passed(&e)
			} else {
				stopped, c.Words = true, c.Err.Error()+e.differs
			}
		}
		checks = append(checks, c)
	}
	return checks
}

func (e *examination) saysForm() string {
	return fmt.Sprintf("%d bytes, %s at %s", len(e.it.Raw), e.it.Ref, e.it.Path)
}

func (e *examination) saysSigned() string {
	at := e.at.Format(time.RFC3339)
	if e.level == Legacy {
		return fmt.Sprintf("a line of RYE OS, dated %s; it covers %s", at, e.it.Legacy.Covers)
	}
	return "a line of version 2, dated " + at
}

func (e *examination) saysContent() string {
	words := "the body has " + e.it.Digest.String() + ", as the line says"
	if e.level == Legacy {
		words = "the text that the line covers has " + e.it.Legacy.Digest.String()
	}
	if !e.in.Pinned.IsZero() {
		words += "; the file has " + e.it.Sum.String() + ", as pinned"
	}
	return words
}

func (e *examination) saysNotDenied() string {
	return "neither this content nor its key was taken back"
}

func (e *examination) saysKey() string {
	words := ""
	for _, k := range e.candidates() {
		if words != "" {
			words += ", "
		}
		words += e.st.describe(k)
	}
	return words
}

func (e *examination) saysSignature() string {
	if e.level == Legacy {
		return "Ed25519 holds over the covered bytes, not over id, version or time"
	}
	words := "Ed25519 holds over id, kind, version, digest, time and key"
	if e.it.Ref.ID.Namespace() == objects.LocalNamespace && e.in.binds() != "" {
		words += ", and project " + e.in.Project
	}
	return words
}

func (e *examination) saysBelieved() string { return e.st.reason(e.key, e.it.Ref, e.in, e.it.Sum) }

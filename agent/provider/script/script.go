// Package script is a model that answers from a script within this process: no service is asked and
// no port is open.
//
//	turns:
//	  - say: [Let me, " see."]
//	    calls:
//	      - {name: read_file, args: {path: notes.txt}}
//	  - say: "It says: ${result.0.text}"
//
// A Model is the transport of an HTTP client. It answers Anthropic Messages as a service at the end
// of a connection does: after a time, event by event, with an error, with silence, or with an end in
// the middle. The caller's goroutine does all the work, so nothing is left when its context ends.
//
// The script has no state: the request alone selects the entry, mostly by the number of the model's
// turns in it. So an interrupted thread that asks again gets the same answer, byte for byte. The one
// exception is a failure with times.
//
// A Model reads requests leniently. It is there to try directives and to show threads, and does not
// prove that a service would accept a request; the tests of rye have a strict host for that.
//
// docs/format/mock.md is normative.
package script

import (
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/objects"
)

// Bounds of a script.
const (
	MaxScript = 1 << 20 // bytes of its text
	maxTurns  = 10_000  // entries, and elements of every other list
	maxWait   = time.Hour
	maxTokens = 1 << 40
	maxBytes  = 1 << 40 // before a stall or a cut
)

// A Script defines the answers of a model. Parse makes one; it does not change afterwards, and
// several models may use it at once.
type Script struct{ entries []*Entry }

// Parse reads a script, which is YAML as docs/format/mock.md describes it. Errors are Limit, or
// Malformed with the path of the wrong field.
func Parse(raw []byte) (*Script, error) {
	doc, err := objects.YAMLValues(raw, MaxScript)
	if err != nil {
		return nil, fault.Wrap(err, "parse script")
	}
	return Read(doc)
}

// Read is Parse for a script that was decoded: the value of a field of an item.
func Read(doc any) (*Script, error) {
	g := fields.Rules{Items: maxTurns}.Read(doc)
	if !g.Has("turns") {
		g.Fail("turns", "want a list, but it is missing")
	}
	s, forever := &Script{}, ""
	turn := 1 // of the next entry without conditions
	for _, t := range g.Groups("turns") {
		e := readEntry(t)
		s.entries = append(s.entries, e)
		if e.when != nil {
			continue
		}
		if forever != "" {
			t.Fail("", "is never reached: %s fails each time (say times)", forever)
		}
		e.when = &when{turn: turn}
		switch { // a failure ends no turn, so the entry after it gets the same one
		case !e.fails():
			turn++
		case e.times == 0:
			forever = e.Path
		}
	}
	g.End()
	if err := g.Err(); err != nil {
		return nil, fault.New(fault.Malformed, "parse script: %w", err).Advise("see docs/format/mock.md")
	}
	return s, nil
}

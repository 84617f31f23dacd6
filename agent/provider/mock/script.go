package mock

import (
	"net/http"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Bounds of a script.
const (
	MaxScript = 1 << 20 // bytes of its text
	MaxBytes  = 1 << 40 // of a generated text
	maxTurns  = 10_000  // entries
	maxWait   = 3_600_000
	maxTokens = 1 << 40
)

// A Script defines the answers of a model. Parse makes one; it does not change afterwards, and
// several servers may use it at once.
type Script struct {
	turns  []entry
	models []string // known models; none means any
	key    string   // the only key that is accepted; "" accepts every key
	cache  bool     // usage counts the cached part of a prompt
}

// An entry is one element of turns: its conditions and its answer.
type entry struct {
	path string
	when when

	say, think []string
	bytes      int64 // bytes of generated text after say
	calls      []call
	usage      *rye.Usage // nil means an estimate
	stop       string     // end, calls, length or refusal

	failure *failure
	times   int64 // how many times a failure happens; 0 means always
	wait    time.Duration
	pace    time.Duration // between two pieces of a stream
	stall   int64         // bytes of the body before the answer stalls; -1 means never
	cut     int64         // bytes of the body before the connection closes; -1 means never
}

// fails reports whether the entry ends without a turn of the model.
func (e *entry) fails() bool { return e.failure != nil || e.stall >= 0 || e.cut >= 0 }

// when holds the conditions of an entry; all of them must hold.
type when struct {
	inOrder                   bool // there are no conditions; the entry's place determines the turn
	turn                      int  // 0 means any
	contains, last            []string
	directive, digest, format string
	model                     string
}

// A call is a call that the model asks for.
type call struct {
	id, name string
	args     any    // an object; its texts are templates
	raw      string // the arguments exactly as sent, instead of args
	isRaw    bool
}

// A failure is an error that the service returns.
type failure struct {
	status              int
	kind, code, message string
	header              http.Header
	body                string // instead of the service's form
	midStream           bool
}

// Parse reads a script, which is YAML as docs/format/mock.md describes it. Errors are Limit, or
// Malformed with the path of the wrong member.
func Parse(raw []byte) (*Script, error) {
	doc, err := objects.YAMLValues(raw, MaxScript)
	if err != nil {
		return nil, fault.Wrap(err, "parse script of the mock model")
	}
	s, p := readScript(node{"", doc})
	if p != nil {
		return nil, fault.New(fault.Malformed, "parse script of the mock model: %w", p).Advise("see docs/format/mock.md")
	}
	return s, nil
}

func readScript(n node) (*Script, *problem) {
	m, p := n.members("turns", "models", "key", "cache")
	if p != nil {
		return nil, p
	}
	s := &Script{models: m.texts("models"), key: m.text("key"), cache: m.flag("cache")}
	turns := m.need("turns")
	if m.wrong != nil {
		return nil, m.wrong
	}
	list, p := turns.list()
	if p != nil {
		return nil, p
	}
	if len(list) > maxTurns {
		return nil, turns.bad("%d entries, at most %d are allowed", len(list), maxTurns)
	}
	var o ordered
	for _, t := range list {
		e, p := readEntry(t, s.cache)
		if p == nil {
			p = o.place(&e, t)
		}
		if p != nil {
			return nil, p
		}
		s.turns = append(s.turns, e)
	}
	return s, nil
}

// ordered assigns turns to the entries without conditions.
type ordered struct {
	done    int    // turns that were assigned
	forever string // the entry that hides all later ones
}

// place assigns a turn to e. A failure ends no turn, so the entry after it gets the same one.
func (o *ordered) place(e *entry, n node) *problem {
	if !e.when.inOrder {
		return nil
	}
	if o.forever != "" {
		return n.bad("is never reached: %s fails each time (say times)", o.forever)
	}
	e.when.turn = o.done + 1
	switch {
	case !e.fails():
		o.done++
	case e.times == 0:
		o.forever = e.path
	}
	return nil
}

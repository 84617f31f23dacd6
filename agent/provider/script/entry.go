package script

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// An Entry is one element of turns: its conditions and its answer.
type Entry struct {
	Path    string   // "turns.0"
	Failure *Failure // nil for none

	when       *when
	say, think []string // templates
	calls      []call
	usage      *rye.Usage // nil means an estimate
	stop       string

	times int64         // how many times a failure happens; 0 means always
	wait  time.Duration // before the head
	pace  time.Duration // between two pieces of a stream
	stall int64         // bytes of the body before the answer stalls; -1 means never
	cut   int64         // bytes of the body before the connection closes; -1 means never
}

// A call is a call that the model asks for.
type call struct {
	id, name string
	args     any // an object; its texts are templates
}

// A Failure is an error that the service returns.
type Failure struct {
	Status        int
	Type, Message string
	Header        http.Header
	MidStream     bool // a stream says what the entry says, and ends with the error
}

// fails reports whether the entry ends without a turn of the model.
func (e *Entry) fails() bool { return e.Failure != nil || e.stall >= 0 || e.cut >= 0 }

func readEntry(g *fields.Group) *Entry {
	e := &Entry{Path: g.Path,
		say: templates(g, "say"), think: templates(g, "think"),
		stop:  g.OneOf("stop", "", "end", "calls", "length", "refusal"),
		times: g.Whole("times", 0, 1, 1_000_000),
		wait:  duration(g, "wait"), pace: duration(g, "pace"),
		stall: g.Whole("stall", -1, 0, maxBytes), cut: g.Whole("cut", -1, 0, maxBytes),
		calls: readCalls(g),
	}
	if u := g.Group("usage"); g.Has("usage") {
		e.usage = readUsage(u)
	}
	if f := g.Group("error"); g.Has("error") {
		e.Failure = readFailure(f)
	}
	if w := g.Group("when"); g.Has("when") {
		e.when = readWhen(w)
	}
	g.End()
	e.check(g)
	if e.stop == "" && len(e.calls) > 0 {
		e.stop = "calls"
	}
	e.stop = cmp.Or(e.stop, "end")
	return e
}

// check refuses combinations of fields that make no sense.
func (e *Entry) check(g *fields.Group) {
	answers := slices.ContainsFunc([]string{"say", "think", "calls", "stop"}, g.Has)
	f := e.Failure
	switch {
	case !answers && !e.fails():
		g.Fail("", "is empty: want say, calls, stop, error, stall or cut")
	case f != nil && !f.MidStream && (answers || e.usage != nil):
		g.Fail("", "error together with an answer: add mid_stream, or make two entries")
	case f != nil && (e.stall >= 0 || e.cut >= 0) || e.stall >= 0 && e.cut >= 0:
		g.Fail("", "want one of error, stall and cut")
	case e.times > 0 && !e.fails():
		g.Fail("", "times is for error, stall and cut: the same request always gets the same answer")
	case e.stop == "calls" && len(e.calls) == 0:
		g.Fail("", "stop is calls, but the entry has no calls")
	}
}

// duration reads a time such as "1.5s"; zero if it is missing.
func duration(g *fields.Group, name string) time.Duration {
	s := g.Text(name)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		g.Fail(name, "%q, want a time such as 1.5s or 2m", words.Brief(s))
	case d < 0 || d > maxWait:
		g.Fail(name, "%s, want 0s to 1h", s)
	}
	return d
}

// templates reads a text or a list of texts, each a template.
func templates(g *fields.Group, name string) []string {
	all := g.Texts(name, true)
	for _, s := range all {
		checkTemplate(g, name, s)
	}
	return all
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func readCalls(g *fields.Group) (all []call) {
	var ids []string
	for _, g := range g.Groups("calls") {
		c := call{name: g.Needed("name"), id: g.Text("id"), args: g.Get("args")}
		for field, s := range map[string]string{"name": c.name, "id": c.id} {
			if s != "" && !plainName.MatchString(s) {
				g.Fail(field, "%q, want at most 128 letters, digits, _ and -", words.Brief(s))
			}
		}
		if c.id != "" && slices.Contains(ids, c.id) {
			g.Fail("id", "%q was given before", c.id)
		}
		ids = append(ids, c.id)
		if c.args == nil {
			c.args = map[string]any{}
		}
		checkArgs(g, c.args)
		g.End()
		all = append(all, c)
	}
	return all
}

// checkArgs checks that arguments are an object that JSON can represent, with valid templates.
func checkArgs(g *fields.Group, args any) {
	g.Group("args") // refuses anything but a mapping
	if _, err := json.Marshal(args); err != nil {
		g.Fail("args", "holds a value that JSON does not have")
	}
	_, err := expr.Each(args, func(s string) (any, error) {
		checkTemplate(g, "args", s)
		return s, nil
	})
	if err != nil {
		g.Fail("args", "%v", err)
	}
}

func readUsage(g *fields.Group) *rye.Usage {
	n := func(name string) int64 { return g.Whole(name, 0, 0, maxTokens) }
	u := &rye.Usage{Input: n("input"), CacheRead: n("cache_read"), CacheWrite: n("cache_write"), CacheLong: n("cache_write_long"),
		Output: n("output"), Reasoning: n("reasoning")}
	g.End()
	return u
}

func readFailure(g *fields.Group) *Failure {
	f := &Failure{Status: int(g.Whole("status", 0, 400, 599)), Type: g.Text("type"), Message: g.Text("message"),
		MidStream: g.Flag("mid_stream", false), Header: http.Header{}}
	if f.Status == 0 {
		g.Fail("status", "want a status of HTTP, but it is missing")
	}
	f.Message = cmp.Or(f.Message, http.StatusText(f.Status), "Overloaded") // HTTP has no text for 529
	h := g.Group("headers")
	for _, name := range h.Names() {
		if !headerName.MatchString(name) {
			h.Fail(words.Brief(name), "is not the name of a header in lower case")
		}
		f.Header.Set(name, h.Text(name))
	}
	g.End()
	return f
}

var headerName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

package mock

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// readEntry reads one element of turns. cached reports whether the script counts cached tokens
// itself.
func readEntry(n node, cached bool) (entry, *problem) {
	e := entry{path: n.path, stall: -1, cut: -1}
	m, p := n.members("when", "say", "think", "bytes", "calls", "usage", "stop", "error", "times", "wait_ms", "pace_ms", "stall", "cut")
	if p != nil {
		return e, p
	}
	e.say, e.think = m.templates("say"), m.templates("think")
	e.bytes, _ = m.count("bytes", 0, MaxBytes)
	e.stop = m.oneOf("stop", "", "end", "calls", "length", "refusal")
	e.times, _ = m.count("times", 1, 1_000_000)
	e.wait, e.pace = m.milliseconds("wait_ms"), m.milliseconds("pace_ms")
	if i, ok := m.count("stall", 0, MaxBytes); ok {
		e.stall = i
	}
	if i, ok := m.count("cut", 0, MaxBytes); ok {
		e.cut = i
	}
	m.read("calls", func(n node) *problem { return e.readCalls(n) })
	m.read("usage", func(n node) *problem { return e.readUsage(n, cached) })
	m.read("error", func(n node) *problem { return e.readFailure(n) })
	e.when.inOrder = true
	m.read("when", func(n node) *problem { return e.when.read(n) })
	if m.wrong != nil {
		return e, m.wrong
	}
	return e, e.check(n, m)
}

// check refuses combinations of members that make no sense.
func (e *entry) check(n node, m *members) *problem {
	answers := false
	for _, name := range []string{"say", "think", "bytes", "calls", "stop"} {
		_, there := m.get(name)
		answers = answers || there
	}
	switch {
	case !answers && !e.fails():
		return n.bad("is empty: want say, calls, bytes, stop, error, stall or cut")
	case e.failure != nil && !e.failure.midStream && (answers || e.usage != nil):
		return n.bad("error together with an answer: add mid_stream, or make two entries")
	case e.failure != nil && (e.stall >= 0 || e.cut >= 0) || e.stall >= 0 && e.cut >= 0:
		return n.bad("want one of error, stall and cut")
	case e.times > 0 && !e.fails():
		return n.bad("times is for error, stall and cut: the same request always gets the same answer")
	case e.stop == "calls" && len(e.calls) == 0:
		return n.bad("stop is calls, but the entry has no calls")
	}
	if e.stop == "" {
		e.stop = "end"
		if len(e.calls) > 0 {
			e.stop = "calls"
		}
	}
	return nil
}

// read passes an existing member to f.
func (m *members) read(name string, f func(node) *problem) {
	n, ok := m.get(name)
	if !ok || m.wrong != nil {
		return
	}
	if p := f(n); p != nil {
		m.fail(p)
	}
}

func (m *members) milliseconds(name string) time.Duration {
	i, _ := m.count(name, 0, maxWait)
	return time.Duration(i) * time.Millisecond
}

// templates returns a member that is a text or a list of texts, each a template.
func (m *members) templates(name string) []string {
	l := m.texts(name)
	for _, s := range l {
		if p := checkTemplate(node{m.at(name), s}); p != nil {
			m.fail(p)
		}
	}
	return l
}

func (e *entry) readCalls(n node) *problem {
	list, p := n.list()
	if p != nil {
		return p
	}
	if len(list) > 100 {
		return n.bad("%d calls, at most 100 are allowed", len(list))
	}
	var ids []string
	for _, n := range list {
		m, p := n.members("name", "args", "id", "raw")
		if p != nil {
			return p
		}
		c := call{name: m.needText("name"), id: m.text("id"), args: map[string]any{}, raw: m.text("raw")}
		m.checkName("name", c.name, 128)
		if c.id != "" {
			m.checkName("id", c.id, 128)
			if slices.Contains(ids, c.id) {
				m.fail(node{m.at("id"), nil}.bad("%q was given before", c.id))
			}
			ids = append(ids, c.id)
		}
		_, c.isRaw = m.get("raw")
		m.read("args", func(n node) *problem {
			if c.isRaw {
				return n.bad("cannot be combined with raw")
			}
			c.args = n.v
			return checkArgs(n)
		})
		if m.wrong != nil {
			return m.wrong
		}
		e.calls = append(e.calls, c)
	}
	return nil
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// checkName requires a name that both services allow for tools and ids of calls.
func (m *members) checkName(name, s string, most int) {
	if m.wrong == nil && (!plainName.MatchString(s) || len(s) > most) {
		m.fail(node{m.at(name), nil}.bad("%q: want at most %d letters, digits, _ and -", words.Brief(s), most))
	}
}

// checkArgs checks that arguments are an object that JSON can represent, with valid templates.
func checkArgs(n node) *problem {
	if _, ok := n.v.(map[string]any); !ok {
		return n.bad("want an object, got %s", kindOf(n.v))
	}
	if _, err := json.Marshal(n.v); err != nil {
		return n.bad("holds a value that JSON does not have")
	}
	var p *problem
	_, err := expr.Each(n.v, func(s string) (any, error) {
		if p == nil {
			p = checkTemplate(node{n.path, s})
		}
		return s, nil
	})
	if p == nil && err != nil {
		p = n.bad("%v", err)
	}
	return p
}

func (e *entry) readUsage(n node, cached bool) *problem {
	m, p := n.members("input", "cache_read", "cache_write", "cache_write_long", "output", "reasoning")
	if p != nil {
		return p
	}
	var u rye.Usage
	for _, b := range []struct {
		name string
		into *int64
	}{
		{"input", &u.Input}, {"cache_read", &u.CacheRead}, {"cache_write", &u.CacheWrite}, {"cache_write_long", &u.CacheLong},
		{"output", &u.Output}, {"reasoning", &u.Reasoning},
	} {
		i, there := m.count(b.name, 0, maxTokens)
		*b.into = i
		if there && cached && b.into != &u.Output && b.into != &u.Reasoning {
			m.fail(node{m.at(b.name), nil}.bad("is counted, because the script says cache"))
		}
	}
	e.usage = &u
	return m.wrong
}

func (e *entry) readFailure(n node) *problem {
	m, p := n.members("status", "type", "code", "message", "headers", "body", "mid_stream")
	if p != nil {
		return p
	}
	f := &failure{kind: m.text("type"), code: m.text("code"), message: m.text("message"), body: m.text("body"), midStream: m.flag("mid_stream")}
	status, ok := m.count("status", 400, 599)
	if f.status = int(status); !ok {
		m.fail(&problem{m.at("status"), missing, ""})
	}
	m.read("headers", func(n node) (p *problem) {
		f.header, p = readHeader(n)
		return p
	})
	e.failure = f
	return m.wrong
}

var headerName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// ours are headers that derive from the answer itself.
var ours = []string{"content-length", "transfer-encoding", "connection", "content-encoding", "trailer", "upgrade"}

func readHeader(n node) (http.Header, *problem) {
	m, p := n.members()
	if p != nil {
		return nil, p
	}
	h := http.Header{}
	for _, k := range sortedKeys(m.m) {
		v := m.text(k)
		n := node{m.at(words.Brief(k)), nil}
		switch {
		case !headerName.MatchString(k) || slices.Contains(ours, k):
			m.fail(n.bad("is not a header that a script may set (lower case)"))
		case strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }):
			m.fail(n.bad("holds a character that no header may have"))
		}
		h.Set(k, v)
	}
	return h, m.wrong
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (w *when) read(n node) *problem {
	m, p := n.members("turn", "contains", "last", "directive", "digest", "format", "model")
	if p != nil {
		return p
	}
	if len(m.m) == 0 {
		return n.bad("states no condition; leave it out")
	}
	w.inOrder = false
	turn, _ := m.count("turn", 1, 1_000_000)
	w.turn = int(turn)
	w.contains, w.last = m.texts("contains"), m.texts("last")
	w.directive, w.digest, w.model = m.text("directive"), m.text("digest"), m.text("model")
	w.format = m.oneOf("format", "", formatAnthropic, formatOpenAI)
	if w.digest != "" && m.wrong == nil && !digestForm.MatchString(w.digest) {
		m.fail(node{m.at("digest"), nil}.bad("want sha256: and 64 hexadecimal digits"))
	}
	if slices.Contains(append(w.contains, w.last...), "") {
		m.fail(n.bad("contains and last: an empty text is in every prompt"))
	}
	return m.wrong
}

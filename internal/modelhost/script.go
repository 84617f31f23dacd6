package modelhost

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/agent/provider/script"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/objects"
)

const (
	maxBytes = 16 << 20 // of generated text
	piece    = 4096     // bytes of it in one event
)

// A Script defines the answers of a Host. Parse makes one; it does not change afterwards, and
// several hosts may use it at once.
type Script struct {
	shared *script.Script
	own    map[string]own // of entries, by their paths

	models []string // known models; none means any
	key    string   // the only key that is accepted; "" accepts every key
	cache  bool     // usage counts the cached part of a prompt
}

// own are the members of an entry that only a host knows.
type own struct {
	bytes      int            // of generated text
	code, body string         // of error
	raw        map[int]string // of calls, by their places
}

// Parse reads a script. Errors are Limit, or Malformed with the path of the wrong member.
func Parse(raw []byte) (*Script, error) {
	doc, err := objects.YAMLValues(raw, script.MaxScript)
	if err != nil {
		return nil, fault.Wrap(err, "parse script of the host")
	}
	g := fields.Rules{Items: 10_000}.Read(doc)
	s := &Script{own: map[string]own{}, models: g.Texts("models", true), key: g.Text("key"), cache: g.Flag("cache", false)}
	turns := g.Groups("turns")
	for _, e := range turns {
		s.own[e.Path] = readOwn(e, s.cache)
	}
	if err := g.Err(); err != nil {
		return nil, fault.New(fault.Malformed, "parse script of the host: %w", err)
	}
	for i, e := range turns {
		strip(doc["turns"].([]any)[i].(map[string]any), e, s.own[e.Path].bytes)
	}
	for _, name := range []string{"models", "key", "cache"} {
		delete(doc, name)
	}
	if s.shared, err = script.Read(doc); err != nil {
		return nil, err
	}
	return s, nil
}

func readOwn(e *fields.Group, cached bool) own {
	f := e.Group("error")
	o := own{bytes: int(e.Whole("bytes", 0, 0, maxBytes)), code: f.Text("code"), body: f.Text("body"), raw: map[int]string{}}
	for i, c := range e.Groups("calls") {
		if !c.Has("raw") {
			continue
		}
		if o.raw[i] = c.Text("raw"); c.Has("args") {
			c.Fail("args", "cannot be combined with raw")
		}
	}
	if u := e.Group("usage"); cached {
		for _, name := range u.Names() {
			if !slices.Contains([]string{"output", "reasoning"}, name) {
				u.Fail(name, "is counted, because the script says cache")
			}
		}
	}
	return o
}

// strip takes the members that only a host knows out of an entry, and puts generated text into its
// place.
func strip(m map[string]any, e *fields.Group, n int) {
	if delete(m, "bytes"); n > 0 {
		var say []any
		for _, s := range e.Texts("say", true) {
			say = append(say, s)
		}
		for at := 0; at < n; at += piece {
			say = append(say, filler[at%len(line):][:min(piece, n-at)])
		}
		m["say"] = say
	}
	for _, name := range []string{"code", "body"} {
		if f, ok := m["error"].(map[string]any); ok {
			delete(f, name)
		}
	}
	calls, _ := m["calls"].([]any)
	for _, c := range calls {
		delete(c.(map[string]any), "raw")
	}
}

// line is generated text, which needs no escape in JSON; filler is more of it than a piece.
const line = "The quick brown fox jumps over the lazy dog, again and again. "

var filler = strings.Repeat(line, piece/len(line)+2)

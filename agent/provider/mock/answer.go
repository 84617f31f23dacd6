package mock

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/expr"
)

// An answer is the model's answer to one prompt, with its templates filled in.
type answer struct {
	digest string // of the prompt and the entry; ids derive from it
	model  string
	think  []string
	say    []string
	bytes  int64
	calls  []asked
	stop   string
	usage  rye.Usage
}

// asked is one call of an answer.
type asked struct{ id, name, args string }

// answer fills in an entry's answer to p. counted is the prompt's part of the usage if the script
// counts it, else nil.
func (e *entry) answer(p *prompt, counted *rye.Usage) (*answer, error) {
	look := p.values()
	sum := sha256.Sum256([]byte(p.digest + " " + e.path))
	a := &answer{digest: hex.EncodeToString(sum[:]), model: p.model, bytes: e.bytes, stop: e.stop}
	var err error
	if a.think, err = fillAll(e.think, look); err != nil {
		return nil, fault.Wrap(err, "%s.think", e.path)
	}
	if a.say, err = fillAll(e.say, look); err != nil {
		return nil, fault.Wrap(err, "%s.say", e.path)
	}
	for i, c := range e.calls {
		k, err := c.fill(look, a.digest, i, p.format)
		if err != nil {
			return nil, fault.Wrap(err, "%s.calls.%d.args", e.path, i)
		}
		a.calls = append(a.calls, k)
	}
	a.usage = a.estimate(p)
	if e.usage != nil {
		a.usage = *e.usage
	}
	if counted != nil {
		counted.Output, counted.Reasoning = a.usage.Output, a.usage.Reasoning
		a.usage = *counted
	}
	return a, nil
}

// fillAll fills in templates, and leaves out pieces that become empty.
func fillAll(templates []string, look expr.Lookup) ([]string, error) {
	var out []string
	for _, t := range templates {
		v, err := expr.Expand(t, look)
		if err != nil {
			return nil, err
		}
		if s := expr.Text(v); s != "" {
			out = append(out, s)
		}
	}
	return out, nil
}

func (c *call) fill(look expr.Lookup, digest string, i int, format string) (asked, error) {
	k := asked{id: c.id, name: c.name, args: c.raw}
	if k.id == "" {
		sum := sha256.Sum256([]byte(digest + " call " + strconv.Itoa(i)))
		k.id = map[string]string{formatAnthropic: "toolu_", formatOpenAI: "call_"}[format] + hex.EncodeToString(sum[:12])
	}
	if c.isRaw {
		return k, nil
	}
	args, err := expr.Each(c.args, func(s string) (any, error) { return expr.Expand(s, look) })
	if err != nil {
		return k, err
	}
	k.args = string(compact(args))
	return k, nil
}

// estimate counts a token for every four bytes.
func (a *answer) estimate(p *prompt) rye.Usage {
	out := a.bytes
	for _, s := range a.say {
		out += int64(len(s))
	}
	for _, c := range a.calls {
		out += int64(len(c.name) + len(c.args))
	}
	return rye.Usage{Input: tokens(p.size), Output: max(1, tokens(out)), Reasoning: tokens(int64(len(strings.Join(a.think, ""))))}
}

// id returns an id that derives from the answer: prefix and 24 hexadecimal digits.
func (a *answer) id(prefix string) string { return prefix + a.digest[:24] }

// filler is the source of generated texts; it needs no escape in JSON.
const filler = "The quick brown fox jumps over the lazy dog, again and again. "

// generate passes n bytes of text to visit in pieces of at most size bytes, which are valid until
// visit returns.
func generate(n, size int64, visit func([]byte) error) error {
	line := []byte(strings.Repeat(filler, int(size)/len(filler)+2))
	for at := int64(0); at < n; {
		from := at % int64(len(filler))
		k := min(size, n-at)
		if err := visit(line[from : from+k]); err != nil {
			return err
		}
		at += k
	}
	return nil
}

// signature returns the signature of the mock model's thinking. It derives from the text, so that a
// request shows whether the text came back unchanged.
func signature(thinking string) string {
	sum := sha256.Sum256([]byte("the mock model thought:\n" + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// sayable checks that the format of p can carry the answer: unlike a stream, an Anthropic document
// requires arguments that are an object.
func (a *answer) sayable(p *prompt) error {
	if p.format != formatAnthropic || p.stream {
		return nil
	}
	for _, c := range a.calls {
		if _, ok := jsonOf(c.args).(map[string]any); !ok {
			return fault.New(fault.Malformed, "the arguments of %s are not a JSON object, and only a stream can carry them", c.name)
		}
	}
	return nil
}

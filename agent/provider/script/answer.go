package script

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/expr"
)

// An Answer is the model's answer to one prompt, with its templates filled in.
type Answer struct {
	Model      string
	Think, Say []string // pieces, none of them empty
	Calls      []Call
	Stop       string // end, calls, length or refusal
	Usage      rye.Usage

	seed string
}

// A Call is a call of a tool. Args are its arguments as JSON.
type Call struct{ ID, Name, Args string }

// Answer fills in the entry's answer to p.
func (e *Entry) Answer(p *Prompt) (*Answer, error) {
	look := p.values()
	a := &Answer{Model: p.Model, Stop: e.stop, seed: p.Seed + " " + e.Path}
	var err error
	if a.Think, err = fill(e.think, look); err != nil {
		return nil, fault.Wrap(err, "%s.think", e.Path)
	}
	if a.Say, err = fill(e.say, look); err != nil {
		return nil, fault.Wrap(err, "%s.say", e.Path)
	}
	for i, c := range e.calls {
		id := c.id
		if id == "" {
			id = a.ID("call " + strconv.Itoa(i))
		}
		args, err := expr.Each(c.args, func(s string) (any, error) { return expr.Expand(s, look) })
		if err != nil {
			return nil, fault.Wrap(err, "%s.calls.%d.args", e.Path, i)
		}
		a.Calls = append(a.Calls, Call{id, c.name, string(encode(args))})
	}
	if e.usage != nil {
		a.Usage = *e.usage
	} else {
		a.Usage = a.estimate(p)
	}
	return a, nil
}

// fill fills in templates, and leaves out pieces that become empty.
func fill(templates []string, look expr.Lookup) (out []string, _ error) {
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

// estimate counts a token for every four bytes.
func (a *Answer) estimate(p *Prompt) rye.Usage {
	out := len(strings.Join(a.Say, ""))
	for _, c := range a.Calls {
		out += len(c.Name) + len(c.Args)
	}
	return rye.Usage{Input: Tokens(p.Size), Output: max(1, Tokens(int64(out))), Reasoning: Tokens(int64(len(strings.Join(a.Think, ""))))}
}

// Tokens estimates the number of tokens in that many bytes.
func Tokens(bytes int64) int64 { return (bytes + 3) / 4 }

// ID returns an id that derives from the answer and a name: the first word of it and 24 hexadecimal
// digits, "call_" and so on.
func (a *Answer) ID(name string) string {
	prefix, _, _ := strings.Cut(name, " ")
	sum := sha256.Sum256([]byte(a.seed + " " + name))
	return prefix + "_" + hex.EncodeToString(sum[:12])
}

package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/loop"
)

// object is a JSON object.
type object = map[string]any

// fake is a host that plays its part from lists. What it was asked is in log.
type fake struct {
	answers []object            // of model, in order; the last one again and again
	results func(string) object // of a call with this id; nil is ok
	hooks   map[string][]any    // answers of hooks by event, in order, then None
	missing [][]string          // of done, in order, then none
	limits  object
	prompts func(view object) object
	stop    func(name string) error // a stop of the law
	log     []string
	models  int
	dones   int
}

func (f *fake) Call(_ context.Context, name string, args map[string]any) (any, error) {
	raw, _ := json.Marshal(args)
	f.log = append(f.log, name+" "+string(raw))
	if f.stop != nil {
		if err := f.stop(name); err != nil {
			return nil, err
		}
	}
	switch name {
	case "now":
		return "2026-11-22T10:00:00Z", nil
	case "limits":
		return f.limits, nil
	case "prompt":
		view, _ := args["view"].(map[string]any)
		if f.prompts == nil {
			return object{"id": "p1", "tokens": 10, "window": 1000, "turns": []int{1}}, nil
		}
		return f.prompts(view), nil
	case "model":
		f.models++
		return f.answers[min(f.models, len(f.answers))-1], nil
	case "calls":
		return f.calls(args["ids"].([]any)), nil
	case "summarize":
		return object{"id": "s" + fmt.Sprint(args["until"]), "error": nil}, nil
	case "hook":
		event := args["event"].(string)
		if list := f.hooks[event]; len(list) > 0 {
			f.hooks[event] = list[1:]
			return list[0], nil
		}
		return nil, nil
	case "ask":
		return object{"id": "q1", "error": nil}, nil
	case "done":
		f.dones++
		if f.dones <= len(f.missing) {
			return object{"missing": f.missing[f.dones-1]}, nil
		}
		return object{"missing": []string{}}, nil
	}
	return nil, nil // note
}

func (f *fake) calls(ids []any) []object {
	var out []object
	for _, id := range ids {
		r := object{"ok": true, "brief": "done", "digest": strings.Repeat("ab", 32)}
		if f.results != nil {
			for k, v := range f.results(id.(string)) {
				r[k] = v
			}
		}
		r["id"] = id
		out = append(out, r)
	}
	return out
}

// said counts the calls that begin with a text.
func (f *fake) said(begin string) int {
	n := 0
	for _, l := range f.log {
		if strings.HasPrefix(l, begin) {
			n++
		}
	}
	return n
}

func words(text string) object {
	return object{"text": text, "calls": []any{}, "stop": "end", "error": nil}
}

func wants(names ...string) object {
	var calls []object
	for i, n := range names {
		calls = append(calls, object{"id": fmt.Sprintf("c%d", i+1), "name": n, "args": strings.Repeat("cd", 32)})
	}
	return object{"text": "", "calls": calls, "stop": "calls", "error": nil}
}

func failed(class string) object {
	return object{"text": "", "calls": []any{}, "stop": "", "error": object{"class": class, "message": "it is " + class}}
}

// tape plays the outcomes of a record.
type tape struct {
	t    *testing.T
	rest []loop.Recorded
}

func (p *tape) Call(_ context.Context, name string, _ map[string]any) (any, error) {
	if len(p.rest) == 0 || p.rest[0].Name != name {
		p.t.Errorf("asked for %s, which was not recorded here", name)
		return nil, errors.New("end of tape")
	}
	out := p.rest[0].Outcome
	p.rest = p.rest[1:]
	return out, nil
}

// play runs turns until the program wants something else than another, and each turn again
// from every prefix of what was recorded of it: the outcome has to be the same.
func play(t *testing.T, p *loop.Program, h loop.Host, in object) (loop.Next, error) {
	t.Helper()
	ctx := context.Background()
	state, err := p.Init(ctx, in, loop.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		var rec []loop.Recorded
		keep := func(r loop.Recorded) error { rec = append(rec, r); return nil }
		next, err := p.Turn(ctx, h, state, nil, keep, loop.Bounds{})
		if err != nil {
			return next, err
		}
		for k := range len(rec) + 1 {
			var anew []loop.Recorded
			again, err := p.Turn(ctx, &tape{t, rec[k:]}, state, rec[:k], func(r loop.Recorded) error { anew = append(anew, r); return nil }, loop.Bounds{})
			if err != nil || !reflect.DeepEqual(again, next) || !same(anew, rec[k:]) {
				t.Fatalf("after %d of %d calls: %v, %v; want %v", k, len(rec), again, err, next)
			}
		}
		state = next.State
		if next.Kind != loop.Continue {
			return next, nil
		}
	}
	t.Fatal("the program does not come to an end")
	return loop.Next{}, nil
}

func same(a, b []loop.Recorded) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Args != b[i].Args || !bytes.Equal(a[i].Outcome, b[i].Outcome) {
			return false
		}
	}
	return true
}

func compile(t testing.TB, src string) *loop.Program {
	t.Helper()
	p, err := loop.Compile("test", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// standard is the library's loop.
func standard(t testing.TB) *loop.Program {
	t.Helper()
	p, err := loop.Compile("rye/agent/loop", standardSource(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func standardSource(t testing.TB) []byte {
	t.Helper()
	src, err := os.ReadFile("../../stdlib/system/tools/rye/agent/loop.star")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

package loop_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// TestStandard takes every path through the library's loop.
func TestStandard(t *testing.T) {
	noTools := object{"tools": false}
	for _, c := range []struct {
		name string
		in   object
		host fake
		want loop.Next // but its state
		log  string    // what the host was asked, by its first words, in order, where that matters
		says []string  // beginnings of calls, each at least once
		n    map[string]int
	}{
		{
			name: "words only, without tools", in: noTools, host: fake{answers: []object{words("hello")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "hello"}},
			log:  "hook limits prompt model done hook",
		}, {
			name: "words only, with tools: asked once", host: fake{answers: []object{words("hello"), words("that is all")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "that is all"}},
			says: []string{`note {"text":"You have tools`}, n: map[string]int{"model": 2, "note": 1},
		}, {
			name: "words only, a project that does not want to be asked", in: object{"config": object{"remind": false}},
			host: fake{answers: []object{words("hello")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "hello"}}, n: map[string]int{"model": 1},
		}, {
			name: "calls, then words", host: fake{answers: []object{wants("read"), words("read it")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "read it"}},
			says: []string{`calls {"ids":["c1"]}`}, n: map[string]int{"model": 2, "calls": 1, "note": 0},
		}, {
			name: "several calls at once", host: fake{answers: []object{wants("read", "grep", "ls"), words("read them")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "read them"}},
			says: []string{`calls {"ids":["c1","c2","c3"]}`, `hook {"data":{"calls":3,"turn":1},"event":"after_step"}`}, n: map[string]int{"calls": 1},
		}, {
			name: "calls that fail in a row", host: fake{answers: []object{wants("read"), wants("read"), wants("read"), words("no")}, results: func(string) object { return object{"ok": false} }},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "no"}},
			says: []string{`note {"text":"3 calls in a row failed`}, n: map[string]int{"note": 1},
		}, {
			name: "the model fails", host: fake{answers: []object{failed("auth")}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "model_auth", "message": "it is auth"}},
			says: []string{`hook {"data":{"attempt":0,"class":"auth","message":"it is auth"},"event":"error"}`}, n: map[string]int{"model": 1},
		}, {
			name: "a hook tries again with another tier",
			host: fake{answers: []object{failed("overloaded"), words("ok")}, hooks: map[string][]any{"error": {object{"action": "retry", "tier": "fast"}}}}, in: noTools,
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "ok"}}, says: []string{`model {"prompt":"p1","tier":"fast"}`},
		}, {
			name: "a hook tries again for ever",
			host: fake{answers: []object{failed("timeout")}, hooks: map[string][]any{"error": repeat(object{"action": "retry"}, 9)}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "model_timeout", "message": "it is timeout (4 attempts)"}}, n: map[string]int{"model": 4},
		}, {
			name: "a hook ends it", host: fake{answers: []object{wants("read")}, hooks: map[string][]any{"after_step": {object{"action": "fail", "code": "enough", "text": "enough of it"}}}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "enough", "message": "enough of it"}},
		}, {
			name: "a hook ends it before it begins", host: fake{hooks: map[string][]any{"thread_started": {object{"action": "done", "text": "nothing to do"}}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "nothing to do"}}, log: "hook",
		}, {
			name: "a hook has something to say", in: noTools,
			host: fake{answers: []object{words("ok")}, hooks: map[string][]any{"thread_started": {object{"action": "note", "text": "be brief"}}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "ok"}}, log: "hook note limits prompt model done hook", says: []string{`note {"text":"be brief"}`},
		}, {
			name: "a hook is not content with the result", in: noTools,
			host: fake{answers: []object{words("42"), words("43")}, hooks: map[string][]any{"after_complete": {object{"action": "note", "text": "one too few"}}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "43"}}, says: []string{`note {"text":"one too few"}`}, n: map[string]int{"model": 2},
		}, {
			name: "a hook throws the result away", in: noTools,
			host: fake{answers: []object{words("42")}, hooks: map[string][]any{"after_complete": {object{"action": "fail", "text": "bad"}}}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "hook", "message": "bad"}},
		}, {
			name: "a hook wants a person asked", host: fake{answers: []object{wants("read")}, hooks: map[string][]any{"after_step": {object{"action": "ask", "text": "go on?"}}}},
			want: loop.Next{Kind: loop.Wait, Detail: object{"question": "q1"}}, says: []string{`ask {"text":"go on?"}`},
		}, {
			name: "a call waits for a person", host: fake{answers: []object{wants("deploy")}, results: func(string) object { return object{"question": "q7"} }},
			want: loop.Next{Kind: loop.Wait, Detail: object{"question": "q7"}},
		}, {
			name: "a call waits for a thread", host: fake{answers: []object{wants("wait")}, results: func(string) object { return object{"thread": "01x"} }},
			want: loop.Next{Kind: loop.Wait, Detail: object{"thread": "01x"}},
		}, {
			name: "limits are told of once", in: noTools,
			host: fake{answers: []object{wants("a"), wants("b"), words("ok")}, limits: object{"turns": object{"used": 8, "limit": 10}, "spend": object{"used": 7, "limit": 10}, "tokens": object{"used": 5, "limit": 0}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "ok"}},
			says: []string{`note {"text":"8 of 10 turns`, `hook {"data":{"limit":10,"name":"turns","reached":false,"used":8},"event":"limit"}`}, n: map[string]int{"note": 1},
		}, {
			name: "an answer is cut off", in: noTools, host: fake{answers: []object{{"text": "a", "calls": []any{}, "stop": "length", "error": nil}, words("b")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "b"}}, says: []string{`note {"text":"Your answer was cut off`},
		}, {
			name: "an answer pauses", in: noTools, host: fake{answers: []object{{"text": "a", "calls": []any{}, "stop": "pause", "error": nil}, words("b")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "b"}}, n: map[string]int{"note": 0},
		}, {
			name: "the model refuses", host: fake{answers: []object{{"text": "", "calls": []any{}, "stop": "refusal", "error": nil}}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "refused", "message": "the model or its provider refused to answer"}},
		}, {
			name: "outputs are returned", host: fake{answers: []object{wants("directive_return")}, results: func(string) object { return object{"returned": true} }},
			want: loop.Next{Kind: loop.Done, Detail: object{}}, n: map[string]int{"done": 1},
		}, {
			name: "outputs are missing, then there", in: noTools, host: fake{answers: []object{words("done"), words("really")}, missing: [][]string{{"a", "b"}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "really"}},
			says: []string{`note {"text":"Call directive_return with all outputs. Missing: a, b."}`}, n: map[string]int{"model": 2},
		}, {
			name: "outputs stay missing", in: noTools, host: fake{answers: []object{words("done")}, missing: [][]string{{"a"}, {"a"}, {"a"}}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "missing_outputs", "message": "not returned: a"}}, n: map[string]int{"model": 3, "note": 2},
		}, {
			name: "in circles: a hint, then the end", host: fake{answers: []object{wants("read")}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "loop_detected", "message": "the same call gave the same result more than 5 times"}},
			says: []string{`note {"text":"You have made the same call`}, n: map[string]int{"model": 7, "note": 1},
		}, {
			name: "in circles, and out of it", host: fake{answers: append(list(wants("read"), 6), words("sorry"))},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "sorry"}}, n: map[string]int{"model": 7, "note": 1},
		}, {
			name: "the same call with other results", host: fake{answers: append(list(wants("read"), 9), words("ok")), results: counter()},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "ok"}}, n: map[string]int{"model": 10, "note": 0},
		}, {
			name: "five of ten are no circle", host: fake{answers: []object{wants("a"), wants("b"), wants("a"), wants("b"), wants("a"), wants("b"), wants("a"), wants("b"), wants("a"), wants("b"), words("ok")}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "ok"}}, n: map[string]int{"note": 0},
		}, {
			name: "a hook's note after an error", in: noTools, host: fake{answers: []object{failed("invalid"), words("ok")}, hooks: map[string][]any{"error": {object{"action": "note", "text": "shorter"}}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "ok"}}, says: []string{`note {"text":"shorter"}`}, n: map[string]int{"model": 2, "limits": 2},
		}, {
			name: "a hook is not content with the outputs", host: fake{answers: []object{wants("directive_return")}, results: func(string) object { return object{"returned": true} },
				hooks: map[string][]any{"directive_return": {object{"action": "note", "text": "more"}}}},
			want: loop.Next{Kind: loop.Done, Detail: object{}}, says: []string{`note {"text":"more"}`}, n: map[string]int{"model": 2, "done": 1},
		}, {
			name: "a hook ends it near a limit", host: fake{limits: object{"turns": object{"used": 8, "limit": 10}}, hooks: map[string][]any{"limit": {object{"action": "fail", "code": "near", "text": "near"}}}},
			want: loop.Next{Kind: loop.Fail, Detail: object{"code": "near", "message": "near"}}, n: map[string]int{"model": 0},
		}, {
			name: "a hook asks before the end", in: noTools, host: fake{answers: []object{words("x")}, hooks: map[string][]any{"after_complete": {object{"action": "ask"}}}},
			want: loop.Next{Kind: loop.Wait, Detail: object{"question": "q1"}}, says: []string{`ask {"text":"a hook of after_complete asks"}`, `hook {"data":{"times":1},"event":"after_complete"}`}, n: map[string]int{"model": 1},
		}, {
			name: "a circle, and a hook that says something else", host: fake{answers: append(list(wants("read"), 8), words("sorry")), hooks: map[string][]any{"loop_detected": {object{"action": "note", "text": "look"}}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "sorry"}}, says: []string{`note {"text":"look"}`}, n: map[string]int{"note": 1},
		}, {
			name: "no calls, and a hook that says something else", host: fake{answers: []object{words("hello"), words("that is all")}, hooks: map[string][]any{"no_calls": {object{"action": "note", "text": "look"}}}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "that is all"}}, says: []string{`note {"text":"look"}`}, n: map[string]int{"note": 1, "model": 2},
		}, {
			name: "a hook says that the circle is meant", host: fake{answers: append(list(wants("poll"), 8), words("ok")), hooks: map[string][]any{"loop_detected": repeat(object{"action": "continue"}, 9)}},
			want: loop.Next{Kind: loop.Done, Detail: object{"text": "ok"}}, n: map[string]int{"note": 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := c.host
			if h.limits == nil {
				h.limits = object{}
			}
			got, err := play(t, standard(t), &h, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != c.want.Kind || !reflect.DeepEqual(got.Detail, c.want.Detail) {
				t.Errorf("ended with %s %v, want %s %v\n%s", got.Kind, got.Detail, c.want.Kind, c.want.Detail, strings.Join(h.log, "\n"))
			}
			if c.log != "" && firstWords(h.log) != c.log {
				t.Errorf("asked %s, want %s", firstWords(h.log), c.log)
			}
			for _, s := range c.says {
				if h.said(s) == 0 {
					t.Errorf("never asked %s in\n%s", s, strings.Join(h.log, "\n"))
				}
			}
			for s, n := range c.n {
				if h.said(s+" ") != n {
					t.Errorf("asked %s %d times, want %d", s, h.said(s+" "), n)
				}
			}
		})
	}
}

func list(o object, n int) (out []object) {
	for range n {
		out = append(out, o)
	}
	return out
}

func repeat(o any, n int) (out []any) {
	for range n {
		out = append(out, o)
	}
	return out
}

// counter gives every call another result.
func counter() func(string) object {
	n := 0
	return func(string) object { n++; return object{"digest": fmt.Sprintf("%016d%048d", n, 0)} }
}

func firstWords(log []string) string {
	var w []string
	for _, l := range log {
		w = append(w, strings.Fields(l)[0])
	}
	return strings.Join(w, " ")
}

// window is a host whose turns take 100 tokens each, of which a view shows those from a
// sequence number on; a summary takes what it is told.
func window(turns, size, summary int) func(object) object {
	return func(view object) object {
		from, tokens := int64(1), 0
		if f, ok := view["from"].(int64); ok {
			from = f
		}
		if view["summary"] != nil {
			tokens += summary
		}
		starts := []int64{}
		for seq := int64(1); seq <= int64(turns)*10; seq += 10 {
			if seq >= from {
				starts, tokens = append(starts, seq), tokens+100
			}
		}
		return object{"id": fmt.Sprintf("p%s-%d", text(view["summary"]), from), "tokens": tokens, "window": size, "turns": starts}
	}
}

func TestStandardMakesRoom(t *testing.T) {
	for _, c := range []struct {
		name                 string
		turns, size, summary int
		answers              []object
		want                 string // kind and code
		summarized, model    string // the call, and what the model was shown
	}{
		{"room enough", 7, 1000, 50, nil, "done", "", "p-1"},
		{"at 80 percent", 8, 1000, 50, nil, "done", `summarize {"first":1,"until":41}`, "ps41-41"},
		{"a small window: two turns stay", 8, 500, 50, nil, "done", `summarize {"first":1,"until":61}`, "ps61-61"},
		{"a window for one turn", 3, 250, 30, nil, "done", `summarize {"first":1,"until":21}`, "ps21-21"},
		{"the newest turn alone is too large", 1, 120, 0, nil, "fail context", "", ""},
		{"too large in spite of a summary", 5, 200, 50, nil, "fail context", `summarize {"first":1,"until":41}`, ""},
		{"the provider says that it is too much", 7, 1000, 50, []object{failed("context_overflow"), words("ok")}, "done", `summarize {"first":1,"until":31}`, "ps31-31"},
		{"and says so again", 7, 1000, 50, []object{failed("context_overflow")}, "fail model_context_overflow", `summarize {"first":1,"until":31}`, "ps31-31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &fake{answers: c.answers, prompts: window(c.turns, c.size, c.summary), limits: object{}}
			if h.answers == nil {
				h.answers = []object{words("ok")}
			}
			got, err := play(t, standard(t), h, object{"tools": false})
			if err != nil {
				t.Fatal(err)
			}
			end := strings.TrimSpace(fmt.Sprint(got.Kind, " ", text(got.Detail["code"])))
			if end != c.want {
				t.Errorf("ended with %s %v, want %s", end, got.Detail, c.want)
			}
			if n := h.said("summarize "); c.summarized == "" && n > 0 || c.summarized != "" && (n != 1 || h.said(c.summarized) != 1) {
				t.Errorf("want %q once in\n%s", c.summarized, strings.Join(h.log, "\n"))
			}
			if c.model != "" && h.said(`model {"prompt":"`+c.model+`"`) == 0 {
				t.Errorf("the model was not shown %s:\n%s", c.model, strings.Join(h.log, "\n"))
			}
		})
	}
}

// TestStandardSummarizesSummaries makes room twice: the second summary holds the first.
func TestStandardSummarizesSummaries(t *testing.T) {
	turns := 8
	h := &fake{answers: append(list(wants("read"), 10), words("ok")), limits: object{}, results: counter()}
	h.prompts = func(view object) object { return window(turns+h.models, 1000, 50)(view) }
	if got, err := play(t, standard(t), h, nil); err != nil || got.Kind != loop.Done {
		t.Fatalf("%v, %v", got, err)
	}
	for _, want := range []string{`summarize {"first":1,"until":41}`, `summarize {"first":41,"summary":"s41","until":`} {
		if h.said(want) != 1 {
			t.Errorf("want %s once in\n%s", want, strings.Join(h.log, "\n"))
		}
	}
}

func text(v any) string { s, _ := v.(string); return s }

// TestStandardIsStopped lets the law say no at each function: the turn ends, with its words.
func TestStandardIsStopped(t *testing.T) {
	law := fault.New(fault.Limit, "the money is spent")
	for _, name := range []string{"hook", "limits", "prompt", "model", "calls", "note"} {
		h := &fake{answers: []object{wants("read")}, limits: object{"turns": object{"used": 9, "limit": 10}}, stop: func(n string) error {
			if n == name {
				return law
			}
			return nil
		}}
		p := standard(t)
		state, err := p.Init(context.Background(), nil, loop.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		var rec []loop.Recorded
		_, err = p.Turn(context.Background(), h, state, nil, func(r loop.Recorded) error { rec = append(rec, r); return nil }, loop.Bounds{})
		if !errors.Is(err, law) || h.said(name+" ") != 1 {
			t.Errorf("%s: %v after\n%s\nwant %v", name, err, strings.Join(h.log, "\n"), law)
		}
		if len(rec) != len(h.log)-1 {
			t.Errorf("%s: %d recorded of %d: a stop is no outcome", name, len(rec), len(h.log))
		}
	}
}

// TestStandardIsAnItem reads the file as every item of the library is read.
func TestStandardIsAnItem(t *testing.T) {
	src := standardSource(t)
	it, err := objects.Parse("tools/rye/agent/loop.star", src)
	if err != nil {
		t.Fatal(err)
	}
	if bad := it.Validate(); len(bad) > 0 || it.Meta.ToolType != "loop" || it.Meta.Version == "" || len(it.Meta.Unknown) > 0 {
		t.Errorf("problems %v, type %q, version %q, unknown %v", bad, it.Meta.ToolType, it.Meta.Version, it.Meta.Unknown)
	}
}

// TestStandardGoesOn: a person said yes to what a hook asked, which is the only way to another
// turn. It is not asked again; after a call that waited, the step ends with its hook.
func TestStandardGoesOn(t *testing.T) {
	ask := object{"action": "ask", "text": "sure?"}
	for _, c := range []struct {
		name  string
		host  *fake
		first string // what the second turn does first
		kind  string // its end
	}{
		{"the end", &fake{answers: []object{words("x")}, hooks: map[string][]any{"after_complete": {ask, ask}}}, "", loop.Done},
		{"outputs", &fake{answers: []object{wants("directive_return")}, results: func(string) object { return object{"returned": true} }, hooks: map[string][]any{"directive_return": {ask, ask}}}, "done", loop.Done},
		{"a full window", &fake{answers: []object{words("x")}, prompts: func(object) object { return object{"id": "p", "tokens": 850, "window": 1000, "turns": []int{1}} }, hooks: map[string][]any{"context_window_pressure": {ask, ask}}}, "limits", loop.Fail},
		{"a step", &fake{answers: []object{wants("read"), words("x")}, hooks: map[string][]any{"after_step": {ask}}}, "limits", loop.Done},
		{"a call that waited", &fake{answers: []object{wants("read"), words("x")}, results: func(string) object { return object{"question": "q2"} }}, `hook {"data":{"calls":1,"turn":1},"event":"after_step"}`, loop.Done},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.host.limits = object{}
			p := standard(t)
			state, err := p.Init(t.Context(), object{"tools": false}, loop.Bounds{})
			if err != nil {
				t.Fatal(err)
			}
			keep := func(loop.Recorded) error { return nil }
			next, err := p.Turn(t.Context(), c.host, state, nil, keep, loop.Bounds{})
			if err != nil || next.Kind != loop.Wait {
				t.Fatalf("the first turn ends with %+v, %v", next, err)
			}
			before := len(c.host.log)
			next, err = p.Turn(t.Context(), c.host, next.State, nil, keep, loop.Bounds{})
			if err != nil || next.Kind != c.kind {
				t.Errorf("the second ends with %+v, %v\n%s", next, err, strings.Join(c.host.log, "\n"))
			}
			if log := append(c.host.log[before:], ""); !strings.HasPrefix(log[0], c.first) {
				t.Errorf("the second begins with %s, want %s", log[0], c.first)
			}
		})
	}
}

package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
)

// frame is a whole program around the body of turn.
func frame(body string) string {
	return "def init(ctx):\n    return {}\n\ndef turn(host, state):\n    " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ") + "\n"
}

// once runs one turn of a body.
func once(t testing.TB, body string, h loop.Host, b loop.Bounds) (loop.Next, error) {
	t.Helper()
	return compile(t, frame(body)).Turn(context.Background(), h, json.RawMessage(`{}`), nil, nil, b)
}

// echo answers every call with its name and arguments.
type echo struct{ calls int }

func (e *echo) Call(_ context.Context, name string, args map[string]any) (any, error) {
	e.calls++
	return object{"name": name, "args": args}, nil
}

// TestExampleOfTheDoc runs the program that docs/format/loop.md shows.
func TestExampleOfTheDoc(t *testing.T) {
	doc, err := os.ReadFile("../../docs/format/loop.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "\n    # version: 1.0.0\n")
	var src strings.Builder
	for l := range strings.Lines(rest) {
		if l != "\n" && !strings.HasPrefix(l, "    ") {
			break
		}
		src.WriteString(strings.TrimPrefix(l, "    "))
	}
	p := compile(t, src.String())
	got, err := play(t, p, &fake{answers: []object{wants("ls"), words("two files")}}, nil)
	if err != nil || got.Kind != loop.Done || got.Detail["text"] != "two files" || string(got.State) != `{"turn":1}` {
		t.Errorf("%v, %v", got, err)
	}
	got, err = play(t, p, &fake{answers: []object{failed("auth")}}, nil)
	if err != nil || got.Kind != loop.Fail || got.Detail["code"] != "model_failed" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLanguage runs expressions: what they give is the state.
func TestLanguage(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`x = [1]
y = x
x += (2, 3)
return {"x": x, "y": y}, next.again()`, `{"x":[1,2,3],"y":[1,2,3]}`},
		{`x = [1]
y = x
x = x + [2]
return {"x": x, "y": y}, next.again()`, `{"x":[1,2],"y":[1]}`},
		{`d = {"a": {"n": 1}, "l": [1, 2]}
d["a"]["n"] += 41
d["l"][-1] *= 10
d["l"] += [7]
(d["s"]) = "x" * 3
d["a"] |= {"m": 2}
return d, next.again()`, `{"a":{"m":2,"n":42},"l":[1,20,7],"s":"xxx"}`},
		{`n = 5
n -= 7
n <<= 3
f = 1.0
f += 2
return {"n": n, "f": f, "q": 7 // 2, "r": 7 % 4, "z": 1e300 * 1e-300}, next.again()`, `{"f":3.0,"n":-16,"q":3,"r":3,"z":1.0}`},
		{`return {"a": "%s is %d %r" % ("x", 3, [1]), "b": "{}-{k}".format(1, k = "z"), "c": ", ".join(["a", "b"]), "d": "a-b".replace("-", "+"), "e": "a b c"[2:][::-1]}, next.again()`,
			`{"a":"x is 3 [1]","b":"1-z","c":"a, b","d":"a+b","e":"c b"}`},
		{`return dict([("b", sorted([3, 1, 2], reverse = True)), ("a", [k for k in {"x": 1, "y": 2} if k != "x"])], c = list(enumerate(["q"])), d = [list(p) for p in zip((1, 2), "ab".elems())]), next.again()`,
			`{"a":["y"],"b":[3,2,1],"c":[[0,"q"]],"d":[[1,"a"],[2,"b"]]}`},
		{`def f(a, b = 2, *rest, **more):
    return [a, b, list(rest), more]
return {"x": f(*[1, 2, 3], **{"k": 4}), "y": (lambda v: v + 1)(1), "z": max([1, 5]), "w": str(12) + repr("a\n"), "t": type({})}, next.again()`,
			`{"t":"dict","w":"12\"a\\n\"","x":[1,2,[3],{"k":4}],"y":2,"z":5}`},
		{`return {"é": "<&>\u2028\"\\\t", "a": None, "b": True, "i": -9223372036854775808}, next.again()`, "{\"a\":null,\"b\":true,\"i\":-9223372036854775808,\"é\":\"<&>\u2028\\\"\\\\\\u0009\"}"},
	} {
		got, err := once(t, c.body, &echo{}, loop.Bounds{})
		if err != nil || string(got.State) != c.want || !json.Valid(got.State) {
			t.Errorf("%s\n= %s, %v\nwant %s", c.body, got.State, err, c.want)
		}
	}
}

// TestRoundTrip gives every state back as it was.
func TestRoundTrip(t *testing.T) {
	p := compile(t, frame(`return state, next.again()`))
	for _, s := range []string{`{}`, `{"a":[1,1.0,1e+100,-0.5,"é\u0000",null,true,{"b":{}}]}`, `{"n":[9223372036854775807,-1]}`} {
		got, err := p.Turn(context.Background(), nil, json.RawMessage(s), nil, nil, loop.Bounds{})
		if err != nil || string(got.State) != s {
			t.Errorf("%s became %s, %v", s, got.State, err)
		}
	}
	for _, s := range []string{``, `[]`, `null`, `{"a":1,"a":2}`, `{} {}`, "{\"a\":\"\xff\"}", `{"a":1e999}`, strings.Repeat(`{"a":`, 33) + `1` + strings.Repeat(`}`, 33)} {
		if got, err := p.Turn(context.Background(), nil, json.RawMessage(s), nil, nil, loop.Bounds{}); err == nil {
			t.Errorf("the state %s was accepted as %s", s, got.State)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"nothing", ``, "want functions init(ctx) and turn(host, state)"},
		{"no turn", "def init(ctx):\n    return {}\n", "want functions"},
		{"other parameters", "def init(ctx):\n    return {}\ndef turn(host):\n    pass\n", "want functions"},
		{"not functions", "init = 1\nturn = 2\n", "want functions"},
		{"load", "load(\"x\", \"y\")\n", "test:1:1: load is not in the language of loops"},
		{"while", frame("while True:\n    pass"), "test:5:5: this Starlark dialect does not support while loops"},
		{"a loop outside of functions", "for x in [1]:\n    pass\n", "not within a function"},
		{"syntax", "def init(\n", "test:2:1: got end of file"},
		{"an unknown name", frame("return os"), "test:5:12: undefined: os"},
		{"bytes", frame(`return b"x"`), "bytes are not in the language"},
		{"letters of another alphabet", frame("ѕtate = 1"), "letters beyond ASCII"},
		{"letters of another alphabet, a keyword argument", frame("dict(ѕ = 1)"), "letters beyond ASCII"},
		{"letters of another alphabet, a method", frame("host.mоdel()"), "letters beyond ASCII"},
		{"text that runs backwards", frame("x = 1 # \u202e"), "the invisible character U+202E"},
		{"a space that is none", frame("x = \"a\u200bb\""), "test:5: the invisible character U+200B"},
		{"a return that hides a line", frame("x = 1 # \rreturn state, next.done()"), "the invisible character U+000D"},
		{"a null byte", "x = 1\x00", "U+0000"},
		{"not UTF-8", "x = \"\xff\"", "not UTF-8"},
		{"a name that only rye writes", frame("` `(1, 2)"), "unexpected input"},
		{"a long name", frame(strings.Repeat("a", 200) + " = 1"), "a name of 200 bytes"},
		{"too long", strings.Repeat("# x\n", 40000), "at most 131072 are allowed"},
	} {
		_, err := loop.Compile("test", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.CodeOf(err) == "" {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestOutermost: Compile runs nothing, and statements outside of functions run within the bounds.
func TestOutermost(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"it fails", "x = [1][1]\n", "test:1:8: "},
		{"it prints", "print(1)\n", "there is no host outside turn"},
		{"it never ends", "def f():\n    for i in range(1 << 40):\n        pass\nf()\n", "more than 1000000 steps"},
		{"it takes memory", "def f():\n    x = [0]\n    for i in range(60):\n        x = x + x\nf()\n", "more memory than 16 MiB"},
	} {
		p := compile(t, c.src+frame("return state, next.again()"))
		b := loop.Bounds{Memory: 16 << 20}
		_, err := p.Turn(context.Background(), &echo{}, json.RawMessage(`{}`), nil, nil, b)
		_, first := p.Init(context.Background(), nil, b)
		for _, err := range []error{err, first} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		}
	}
}

// TestDeepSource compiles what would need a deep stack.
func TestDeepSource(t *testing.T) {
	for _, open := range []string{"(", "[", "-", "not ", "f(", "x[", "{1:", "lambda:", "1+", "a.b(", "1 if 1 else "} {
		src := "x = " + strings.Repeat(open, (loop.MaxSource-8)/len(open)) + "\n"
		if _, err := loop.Compile("test", []byte(src)); err == nil {
			t.Errorf("%s… was accepted", open)
		}
		n := 300
		src = "x = " + strings.Repeat(open, n) + "1" + strings.Repeat(map[string]string{"(": ")", "[": "]", "f(": ")", "x[": "]", "{1:": "}", "a.b(": ")"}[open], n)
		if _, err := loop.Compile("test", []byte(src)); err == nil || !strings.Contains(err.Error(), "nest") {
			t.Errorf("%d times %s: %v", n, open, err)
		}
	}
	var b strings.Builder
	for i := range 255 {
		fmt.Fprintf(&b, "%sif 1:\n", strings.Repeat(" ", i))
	}
	if _, err := loop.Compile("test", []byte("def f():\n "+strings.ReplaceAll(b.String(), "\n", "\n ")+strings.Repeat(" ", 256)+"pass\n")); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("blocks: %v", err)
	}
}

func TestHostArguments(t *testing.T) {
	e := &echo{}
	got, err := once(t, `r = host.model("p1", max_output = 5)
s = host.model(prompt = "p1", tier = None)
u = host.summarize(1, until = 2)
v = host.prompt(view = {"from": 3, "x": [1.5, True, None, ("a",)]})
return {"r": r, "s": s, "u": u, "v": v}, next.wait(question = "q1")`, e, loop.Bounds{})
	want := `{"r":{"args":{"max_output":5,"prompt":"p1"},"name":"model"},"s":{"args":{"prompt":"p1"},"name":"model"},"u":{"args":{"first":1,"until":2},"name":"summarize"},"v":{"args":{"view":{"from":3,"x":[1.5,true,null,["a"]]}},"name":"prompt"}}`
	if err != nil || string(got.State) != want || got.Kind != loop.Wait || got.Detail["question"] != "q1" {
		t.Errorf("got %s %v, %v\nwant %s", got.State, got, err, want)
	}
	calls := e.calls
	for _, c := range []struct{ body, want string }{
		{`host.exec("rm")`, "host has no exec; it has ask, calls, done, hook, limits, model, note, now, prompt, summarize"},
		{`host.x = 1`, "can't assign to .x field of host"},
		{`host["model"]("p")`, "unhandled index operation host"},
		{`host.model()`, "host.model: prompt is missing"},
		{`host.model(None)`, "host.model: prompt: want a string, got NoneType"},
		{`host.model(1)`, "want a string, got int"},
		{`host.model("p", "fast", 1, 2)`, "4 arguments, want prompt, tier, max_output"},
		{`host.model("p", prompt = "q")`, "given twice"},
		{`host.model("p", temperature = 1)`, "temperature is unknown"},
		{`host.model("p", max_output = 1.5)`, "want a int, got float"},
		{`host.now(1)`, "1 arguments, want none"},
		{`host.hook("x", {1: 2})`, "a int as a key"},
		{`host.hook("x", {"a": host})`, "a host is not JSON"},
		{`host.hook("x", {"a": lambda: 1})`, "a function is not JSON"},
		{`host.hook("x", {"a": 1e308 * 10})`, "not finite"},
		{`host.hook("x", {"a": 1 << 64})`, "more than 64 bits"},
		{`host.note("é"[:1])`, "not UTF-8"},
		{"x = []\nfor i in range(40):\n    x = [x]\nhost.calls(x)", "nested deeper than 32"},
		{`next.fail("Not a code", "x")`, "next.fail: code"},
		{`next.later()`, "next has no later"},
		{`return {}`, "want return state, next.again()"},
		{`return {}, "done"`, "want next.again(), next.wait(), next.done() or next.fail(), got string"},
		{`return {}, next.again`, "got builtin_function_or_method"},
		{`return {}, next`, "got next"},
		{`return [], next.again()`, "want a dict as state, got list"},
		{`return {"h": host}, next.again()`, "state: a host is not JSON"},
		{`return {"n": next.again()}, next.again()`, "is not JSON"},
		{`return {1: 2}, next.again()`, "want strings"},
		{`fail("I give up: ", 3)`, "test:5:9: fail: I give up:  3"},
	} {
		_, err := once(t, c.body, e, loop.Bounds{})
		if !fault.Is(err, fault.Failed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.body, err, c.want)
		}
	}
	if e.calls != calls {
		t.Errorf("the host was asked %d times by what was refused", e.calls-calls)
	}
}

func TestPrintIsANote(t *testing.T) {
	h := &fake{}
	if _, err := once(t, `print("a", 1, [2])
return {}, next.again()`, h, loop.Bounds{}); err != nil || h.log[0] != `note {"text":"a 1 [2]","to":"record"}` {
		t.Errorf("%v, %v", h.log, err)
	}
}

const asking = `r = [host.now(), host.hook("a", {"n": 1}), host.hook("a", {"n": 2})]
return {"r": r}, next.done("end")`

// TestDivergence replays what is not what was recorded.
func TestDivergence(t *testing.T) {
	p := compile(t, frame(asking))
	var rec []loop.Recorded
	want, err := p.Turn(context.Background(), &echo{}, json.RawMessage(`{}`), nil, func(r loop.Recorded) error { rec = append(rec, r); return nil }, loop.Bounds{})
	if err != nil || len(rec) != 3 {
		t.Fatal(rec, err)
	}
	// Replay alone needs no host.
	if got, err := p.Turn(context.Background(), nil, json.RawMessage(`{}`), rec, nil, loop.Bounds{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, %v", got, err)
	}
	for _, c := range []struct {
		name   string
		change func(r []loop.Recorded) []loop.Recorded
		want   string
	}{
		{"another name", func(r []loop.Recorded) []loop.Recorded { r[0].Name = "limits"; return r }, "loop diverged: call 0 was limits, now now"},
		{"other arguments", func(r []loop.Recorded) []loop.Recorded { r[2].Args[31] ^= 1; return r }, "loop diverged: call 2 was hook with arguments"},
		{"swapped", func(r []loop.Recorded) []loop.Recorded { r[1], r[2] = r[2], r[1]; return r }, "loop diverged: call 1 was hook with arguments"},
		{"one missing", func(r []loop.Recorded) []loop.Recorded { return append(r[:1], r[2:]...) }, "loop diverged: call 1"},
		{"one more", func(r []loop.Recorded) []loop.Recorded { return append(r, r[0]) }, "loop diverged: it ended after 3 calls, 4 were recorded"},
		{"the end is missing, with no host", func(r []loop.Recorded) []loop.Recorded { return r[:2] }, "asks for hook, but the record ends here"},
	} {
		forged := c.change(append([]loop.Recorded(nil), rec...))
		_, err := p.Turn(context.Background(), nil, json.RawMessage(`{}`), forged, nil, loop.Bounds{})
		if !fault.Is(err, fault.Integrity) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	broken := append([]loop.Recorded(nil), rec...)
	broken[1].Outcome = json.RawMessage(`{"a":1,"a":2}`)
	if _, err := p.Turn(context.Background(), nil, json.RawMessage(`{}`), broken, nil, loop.Bounds{}); !fault.Is(err, fault.Malformed) {
		t.Errorf("an outcome that is no JSON: %v", err)
	}
}

// TestRecordComesFirst stops a turn whose record cannot be kept.
func TestRecordComesFirst(t *testing.T) {
	full := errors.New("no space left")
	e := &echo{}
	_, err := compile(t, frame(asking)).Turn(context.Background(), e, json.RawMessage(`{}`), nil, func(r loop.Recorded) error {
		if r.Name == "hook" {
			return full
		}
		return nil
	}, loop.Bounds{})
	if !errors.Is(err, full) || e.calls != 2 {
		t.Errorf("%v after %d calls", err, e.calls)
	}
}

// TestCancel ends a program at once, whether it computes or its host does.
func TestCancel(t *testing.T) {
	for _, body := range []string{"host.now()\nfor i in range(1 << 40):\n    pass", "host.limits()", "host.now()\nhost.now()"} {
		ctx, cancel := context.WithCancel(context.Background())
		h := hostFunc(func(ctx context.Context, name string) (any, error) {
			cancel()
			if name == "now" {
				return 1, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		_, err := compile(t, frame(body)).Turn(ctx, h, json.RawMessage(`{}`), nil, nil, loop.Bounds{Steps: 1 << 40, Time: time.Hour})
		cancel()
		if !fault.Is(err, fault.Interrupt) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

type hostFunc func(ctx context.Context, name string) (any, error)

func (f hostFunc) Call(ctx context.Context, name string, _ map[string]any) (any, error) {
	return f(ctx, name)
}

// TestHostsTimeIsItsOwn lets the host take longer than the program may.
func TestHostsTimeIsItsOwn(t *testing.T) {
	const own = 40 * time.Millisecond
	h := hostFunc(func(context.Context, string) (any, error) {
		<-time.After(2 * own)
		return 1, nil
	})
	if _, err := once(t, "host.now()\nhost.now()\nreturn {}, next.again()", h, loop.Bounds{Time: own}); err != nil {
		t.Error(err)
	}
}

func TestConcurrentUse(t *testing.T) {
	p := standard(t)
	done := make(chan error)
	for range 8 {
		go func() {
			state, err := p.Init(context.Background(), object{"tools": false}, loop.Bounds{})
			if err == nil {
				_, err = p.Turn(context.Background(), &fake{answers: []object{words("x")}, limits: object{}}, state, nil, nil, loop.Bounds{})
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

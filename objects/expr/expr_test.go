package expr_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/expr"
)

var data = map[string]any{
	"name":  "Ada",
	"empty": "",
	"none":  nil,
	"n":     3,
	"f":     2.5,
	"whole": 4.0,
	"big":   int64(1) << 60,
	"num":   json.Number("12345678901234567890"),
	"yes":   true,
	"list":  []any{"a", 2, map[string]any{"k": "v"}},
	"state": map[string]any{"items": []any{map[string]any{"id": 7}}, "a-b": 1, "code": "E_RATE limit"},
	"evil":  "${name} {name}",
	"cycle": strings.Repeat("x", 10),
}

func TestExpand(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{"plain", "plain"},
		{"", ""},
		{"${name}", "Ada"},
		{"hi ${name}!", "hi Ada!"},
		{"${name}${name}", "AdaAda"},
		{"${n}", 3},
		{"n=${n} f=${f} w=${whole} b=${big} j=${num} y=${yes}", "n=3 f=2.5 w=4 b=1152921504606846976 j=12345678901234567890 y=true"},
		{"${list}", data["list"]},
		{"l=${list}", `l=["a",2,{"k":"v"}]`},
		{"${list.2.k} ${list.-1.k} ${state.items.0.id} ${state.a-b}", "v v 7 1"},
		{"${missing}", nil},
		{"[${missing}] [${none}] [${list.9}] [${name.x}]", "[] [] [] []"},
		{"${missing || name}", "Ada"},
		{"${missing||none || 'x || y'}", "x || y"},
		{`${missing || "}"}!`, "}!"},
		{"${missing:-a b}", "a b"},
		{"${empty:-a}", "a"},
		{"${name:-a}", "Ada"},
		{"${missing:-}x", "x"},
		{"${missing:-it's}", "it's"},
		{"$${name} ${name}", "${name} Ada"},
		{"$name $$ ${name}$", "$name $$ Ada$"},
		{"${evil}", "${name} {name}"},
		{"<${evil}>", "<${name} {name}>"},
		{"${ name }", "Ada"},
		{"{name}", "{name}"},
	}
	for _, tt := range tests {
		got, err := expr.Expand(tt.text, expr.Of(data))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Expand(%q) = %#v, %v, want %#v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"${", "x ${name", "${}", "${ }", "${a b}", "${a..b}", "${.a}", "${a.}", "${name || }", "${$(id)}", "${'x'", "${a|b}", "${ä}"} {
		if got, err := expr.Expand(text, expr.Of(data)); !fault.Is(err, fault.Malformed) {
			t.Errorf("Expand(%q) = %#v, %v, want malformed", text, got, err)
		}
	}
	large := expr.Lookup(func(string) (any, bool) { return strings.Repeat("x", 1<<19), true })
	if _, err := expr.Expand("a${x}${x}${x}", large); !fault.Is(err, fault.Limit) {
		t.Errorf("a large expansion: %v", err)
	}
}

func TestFill(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{"{name}", "Ada"},
		{"{n}", 3},
		{"{list}", data["list"]},
		{"hi {name}, {n}", "hi Ada, 3"},
		{"{missing} {name}", "{missing} Ada"},
		{"{none}", nil},
		{"{{name}}", "{Ada}"},
		{"{ name } { x: {n} }", "{ name } { x: 3 }"},
		{"{", "{"},
		{"}{", "}{"},
		{"{name", "{name"},
		{"{evil}!", "${name} {name}!"},
		{"{state.items.0.id}", 7},
		{"function() { return {n}; }", "function() { return 3; }"},
	}
	for _, tt := range tests {
		if got, err := expr.Fill(tt.text, expr.Of(data)); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Fill(%q) = %#v, %v, want %#v", tt.text, got, err, tt.want)
		}
	}
}

func TestEach(t *testing.T) {
	in := map[string]any{"${name}": "${name}", "l": []any{"${n}", 1, nil, map[string]any{"x": "a${f}"}}}
	want := map[string]any{"${name}": "Ada", "l": []any{3, 1, nil, map[string]any{"x": "a2.5"}}}
	got, err := expr.Each(in, func(s string) (any, error) { return expr.Expand(s, expr.Of(data)) })
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Each = %#v, %v", got, err)
	}
	if in["${name}"] != "${name}" {
		t.Error("Each changed what it was given")
	}
	var deep any = "x"
	for range expr.MaxDepth + 1 {
		deep = []any{deep}
	}
	if _, err := expr.Each(deep, func(s string) (any, error) { return s, nil }); !fault.Is(err, fault.Limit) {
		t.Errorf("a deep value: %v", err)
	}
	same, err := expr.ParseCondition(map[string]any{"path": "x", "op": "eq", "value": deep})
	if err != nil {
		t.Fatal(err)
	}
	if expr.Text(deep) != "" || same.Holds(expr.Of(map[string]any{"x": deep})) {
		t.Error("a deep value was looked at all the way down")
	}
}

func TestCondition(t *testing.T) {
	c := func(path, op string, value any) map[string]any {
		return map[string]any{"path": path, "op": op, "value": value}
	}
	yes, no := c("yes", "eq", true), c("yes", "eq", false)
	tests := []struct {
		name string
		cond any
		want bool
	}{
		{"nil", nil, true},
		{"empty", map[string]any{}, true},
		{"eq", c("name", "eq", "Ada"), true},
		{"eq, other type", c("n", "eq", "3"), false},
		{"eq, int and float", c("whole", "eq", 4), true},
		{"eq, list", c("list", "eq", []any{"a", 2.0, map[string]any{"k": "v"}}), true},
		{"eq, absent and nil", c("missing", "eq", nil), true},
		{"ne", c("name", "ne", "Eva"), true},
		{"gt", c("n", "gt", 2.5), true},
		{"gt, equal", c("n", "gt", 3), false},
		{"gte", c("n", "gte", 3), true},
		{"lt", c("f", "lt", 3), true},
		{"lte", c("f", "lte", 2.5), true},
		{"gt, large", c("big", "gt", int64(1)<<60-1), true},
		{"gt, numbers of JSON", c("num", "gt", 1), true},
		{"gt of nil", c("none", "gt", 0), false},
		{"lt of nil", c("none", "lt", 0), false},
		{"lte of absent", c("missing", "lte", 0), false},
		{"gt of text and number", c("name", "gt", 1), false},
		{"gt of texts", c("name", "gt", "Abe"), true},
		{"gt of NaN", c("n", "gt", math.NaN()), false},
		{"eq of NaN", c("n", "eq", math.NaN()), false},
		{"in list", c("n", "in", []any{1, 3.0}), true},
		{"in text", c("name", "in", "xAday"), true},
		{"in nothing", c("n", "in", nil), false},
		{"contains part", c("state.code", "contains", "RATE"), true},
		{"contains element", c("list", "contains", 2), true},
		{"contains key", c("state", "contains", "items"), true},
		{"contains, of number", c("n", "contains", "3"), false},
		{"regex searches", c("state.code", "regex", "rate|RATE"), true},
		{"regex, of number", c("n", "regex", "3"), false},
		{"exists", c("name", "exists", nil), true},
		{"exists, nil", c("none", "exists", nil), false},
		{"exists, absent", c("state.nothing.here", "exists", nil), false},
		{"any", map[string]any{"any": []any{no, yes}}, true},
		{"any of none", map[string]any{"any": []any{}}, false},
		{"all", map[string]any{"all": []any{yes, no}}, false},
		{"all of none", map[string]any{"all": []any{}}, true},
		{"not", map[string]any{"not": no}, true},
		{"not of nothing", map[string]any{"not": nil}, false},
		{"nested", map[string]any{"all": []any{map[string]any{"any": []any{no, yes}}, map[string]any{"not": no}}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cond, err := expr.ParseCondition(tt.cond)
			if err != nil {
				t.Fatal(err)
			}
			if got := cond.Holds(expr.Of(data)); got != tt.want {
				t.Errorf("holds %v, want %v", got, tt.want)
			}
		})
	}
	if !(expr.Condition{}).Holds(expr.Of(nil)) {
		t.Error("the zero condition does not hold")
	}
}

func TestParseConditionRefuses(t *testing.T) {
	wide := make([]any, expr.MaxNodes)
	var deep any = map[string]any{}
	for range expr.MaxDepth {
		deep = map[string]any{"not": deep}
	}
	for name, tt := range map[string]struct {
		cond any
		code fault.Code
	}{
		"text":              {"x", fault.Malformed},
		"list":              {[]any{}, fault.Malformed},
		"unknown op":        {map[string]any{"path": "a", "op": "like"}, fault.Malformed},
		"no op":             {map[string]any{"path": "a"}, fault.Malformed},
		"no path":           {map[string]any{"op": "eq"}, fault.Malformed},
		"path":              {map[string]any{"path": "a b", "op": "eq"}, fault.Malformed},
		"unknown key":       {map[string]any{"path": "a", "op": "eq", "valeu": 1}, fault.Malformed},
		"any and path":      {map[string]any{"any": []any{}, "path": "a"}, fault.Malformed},
		"any and all":       {map[string]any{"any": []any{}, "all": []any{}}, fault.Malformed},
		"any of a mapping":  {map[string]any{"any": map[string]any{}}, fault.Malformed},
		"inside":            {map[string]any{"all": []any{1}}, fault.Malformed},
		"pattern":           {map[string]any{"path": "a", "op": "regex", "value": "("}, fault.Malformed},
		"pattern of number": {map[string]any{"path": "a", "op": "regex", "value": 1}, fault.Malformed},
		"long pattern":      {map[string]any{"path": "a", "op": "regex", "value": strings.Repeat("a", 1025)}, fault.Malformed},
		"wide":              {map[string]any{"any": wide}, fault.Limit},
		"deep":              {deep, fault.Limit},
	} {
		if _, err := expr.ParseCondition(tt.cond); !fault.Is(err, tt.code) {
			t.Errorf("%s: %v, want %s", name, err, tt.code)
		}
	}
}

// What data holds is never expanded: the answer to a template whose values are
// hostile is the same text with the values in it.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${a}", "x${a || 'b'}y", "$${a}", "${a:-${a}}", "{a}{b}", "${a"} {
		f.Add(s, "${b} {b}")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		look := func(name string) (any, bool) {
			if name == "a" {
				return value, true
			}
			if name == "b" {
				t.Log("b was asked for")
			}
			return nil, false
		}
		for _, f := range []func(string, expr.Lookup) (any, error){expr.Expand, expr.Fill} {
			got, err := f(text, look)
			if err != nil {
				continue
			}
			if s, ok := got.(string); ok && !strings.Contains(text, "{") && s != text {
				t.Fatalf("%q became %q", text, s)
			}
		}
		if got, err := expr.Expand("${a}", look); err != nil || got != any(value) {
			t.Fatalf("value %q became %v, %v", value, got, err)
		}
	})
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{`{"path":"a","op":"eq","value":1}`, `{"any":[{"not":{}}]}`, `{"path":"a.0","op":"regex","value":"^x"}`} {
		f.Add(s, `{"a":["x",1]}`)
	}
	f.Fuzz(func(t *testing.T, cond, data string) {
		var c, d any
		if json.Unmarshal([]byte(cond), &c) != nil || json.Unmarshal([]byte(data), &d) != nil {
			return
		}
		p, err := expr.ParseCondition(c)
		if err != nil {
			return
		}
		n, err := expr.ParseCondition(map[string]any{"not": c})
		if err == nil && p.Holds(expr.Of(d)) == n.Holds(expr.Of(d)) {
			t.Fatal("a condition and its opposite agree")
		}
	})
}

// The page's example of a condition reads and answers as it says.
func TestDocsExample(t *testing.T) {
	c, err := expr.ParseCondition(map[string]any{"all": []any{
		map[string]any{"path": "error.status", "op": "in", "value": []any{429, 503}},
		map[string]any{"not": map[string]any{"path": "attempt", "op": "gte", "value": 3}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for attempt, want := range map[int]bool{0: true, 3: false} {
		look := expr.Of(map[string]any{"error": map[string]any{"status": 429}, "attempt": attempt})
		if got := c.Holds(look); got != want {
			t.Errorf("attempt %d: %v", attempt, got)
		}
	}
	if got, err := expr.Expand(`run ${state.step || "0"}`, expr.Of(nil)); err != nil || got != "run 0" {
		t.Errorf("%v, %v", got, err)
	}
}

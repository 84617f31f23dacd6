package strict_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
)

type decoded struct {
	Name  string            `json:"name"`
	Count int               `json:"count,omitempty"`
	Map   map[string]string `json:"map"`
	Inner *decodedInner     `json:"inner"`
	List  []decodedInner    `json:"list"`
	Any   any               `json:"any"`
}

type decodedInner struct {
	X int `json:"x"`
}

type decodedEmbedded struct {
	decodedInner
	Plain string
	Skip  string `json:"-"`
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, text string
		line, col  int // of the error
		code       fault.Code
	}{
		{"plain", `{"name":"a","count":1,"map":{"k":"v"},"inner":{"x":1},"list":[{"x":2}],"any":{"X":1}}`, 0, 0, ""},
		{"blanks around", " \n{\"name\":\"a\"}\n", 0, 0, ""},
		{"cases in a map", `{"map":{"name":"a","nom":"b"}}`, 0, 0, ""},
		{"escaped key", `{"\u006eame":"a"}`, 0, 0, ""},
		{"unknown", `{"nome":"a"}`, 0, 0, fault.Malformed},
		{"other case", `{"NAME":"a"}`, 0, 0, fault.Malformed},
		{"other case inside", `{"list":[{"X":1}]}`, 0, 0, fault.Malformed},
		{"other case by folding", `{"inner":{"x":1},"li\u017ft":[]}`, 0, 0, fault.Malformed},
		{"twice", "{\"name\":\"a\",\n \"name\":\"b\"}", 2, 2, fault.Malformed},
		{"twice, escaped", `{"name":"a","n\u0061me":"b"}`, 1, 0, fault.Malformed},
		{"twice in other cases", `{"any":{"a":1,"A":2}}`, 1, 15, fault.Malformed},
		{"twice by folding", `{"any":{"k":1,"\u212a":2}}`, 1, 0, fault.Malformed},
		{"trailing", `{} {}`, 1, 0, fault.Malformed},
		{"trailing text", `{}x`, 1, 0, fault.Malformed},
		{"nothing", ``, 1, 1, fault.Malformed},
		{"open", `{"name":"a"`, 1, 0, fault.Malformed},
		{"wrong type", "{\n\"count\":\"a\"}", 2, 0, fault.Malformed},
		{"comment", `{/**/}`, 1, 2, fault.Malformed},
		{"trailing comma", `{"name":"a",}`, 1, 12, fault.Malformed},
		{"byte order mark", "\ufeff{}", 1, 1, fault.Malformed},
		{"not UTF-8", "{\"name\":\"\xff\"}", 0, 0, fault.Malformed},
		{"too deep", `{"any":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, 1, 0, fault.Malformed},
		{"deep enough", `{"any":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, 0, 0, ""},
		{"too long", `{"name":"` + strings.Repeat("a", 5000) + `"}`, 0, 0, fault.Limit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var into decoded
			err := strict.Decode([]byte(tt.text), 4096, &into)
			if fault.CodeOf(err) != tt.code {
				t.Fatalf("error %v (%s), want %q", err, fault.CodeOf(err), tt.code)
			}
			if tt.line > 0 {
				place(t, err, tt.line, tt.col)
			}
		})
	}
	var e decodedEmbedded
	if err := strict.Decode([]byte(`{"x":1,"Plain":"p"}`), 100, &e); err != nil || e.X != 1 || e.Plain != "p" {
		t.Errorf("embedded: %+v, %v", e, err)
	}
	for _, s := range []string{`{"plain":"p"}`, `{"Skip":"p"}`, `{"X":1}`} {
		if err := strict.Decode([]byte(s), 100, &e); err == nil {
			t.Errorf("accepted %s", s)
		}
	}
	var a any
	if err := strict.Decode([]byte(`[1,{"a":null}]`), 100, &a); err != nil || !reflect.DeepEqual(a, []any{1.0, map[string]any{"a": nil}}) {
		t.Errorf("%v, %v", a, err)
	}
}

// place checks where an error is; a column of 0 is any.
func place(t *testing.T, err error, line, col int) {
	t.Helper()
	var at *strict.Error
	if !errors.As(err, &at) || at.Line != line || col > 0 && at.Column != col {
		t.Errorf("error %v (%+v), want it at %d:%d", err, at, line, col)
	}
}

// What is wrong is said in the same words whatever the decoder calls it, and with a remedy.
func TestMessages(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "line 1:1: the JSON ends early",
		`{"a":`:                 "line 1:6: the JSON ends early",
		"{\n\"a\":1.}":          "line 2:7: invalid character '}': want a digit",
		`{"name":"a" "b":1}`:    "line 1:13: invalid character '\"': want , or } behind the value",
		`{"any":[1 2]}`:         "line 1:11: invalid character '2': want , or ] behind the value",
		`{"any":.}`:             "line 1:8: invalid character '.': want a value",
		"{\"any\":1,\n}":        "line 1:9: a comma before }",
		`[1,]`:                  "line 1:3: a comma before ]",
		`{"any":[,1]}`:          "line 1:9: invalid character ',': want a value",
		`{"any" 1}`:             "line 1:8: invalid character '1': want : behind the name",
		`{1:2}`:                 "line 1:2: want a name in quotation marks",
		`{"any":nul}`:           "line 1:11: invalid character '}': want true, false or null",
		"{\"any\":\"\n\"}":      "line 1:9: invalid character '\\n': control characters are escaped in a text",
		`{"any":"\x"}`:          "line 1:9: invalid escape sequence `\\x` in string",
		`{"any":1} 2`:           `line 1:11: "2" after the value`,
		`{"any":1,"any":2}`:     `line 1:10: key "any" is given twice`,
		`{"nome":1}`:            `json: unknown field "nome"`,
		`{"count":"x"}`:         "line 1:10: json: count: string, want a whole number",
		`{"count":1.5}`:         "line 1:10: json: count: number 1.5, want a whole number",
		`{"list":[{"x":true}]}`: "line 1:15: json: list.0.x: bool, want a whole number",
		`{"inner":[]}`:          "line 1:10: json: inner: array, want an object",
		`{"any":1e999}`:         "line 1:8: the number 1e999 is too large",
	} {
		var into decoded
		if err := strict.Decode([]byte(text), 1000, &into); err == nil || err.Error() != want {
			t.Errorf("Decode(%q) = %v, want %s", text, err, want)
		}
	}
}

func TestValue(t *testing.T) {
	got, err := strict.Value([]byte(` [1, 1.50, {"a":null,"b":[true,"\ud800"]}] `), 100)
	want := []any{json.Number("1"), json.Number("1.50"), map[string]any{"a": nil, "b": []any{true, "\ufffd"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Value = %#v, %v, want %#v", got, err, want)
	}
	values, at, err := strict.Object([]byte("{\"a\":1,\n \"\\u0062\" : 2}"), 100)
	if err != nil || !reflect.DeepEqual(values, map[string]any{"a": json.Number("1"), "b": json.Number("2")}) || !reflect.DeepEqual(at, map[string]int{"a": 1, "b": 9}) {
		t.Errorf("Object = %v, %v, %v", values, at, err)
	}
	if values, _, err := strict.Object([]byte("[1]"), 100); values != nil || err != nil {
		t.Errorf("Object of an array = %v, %v", values, err)
	}
}

func TestCompact(t *testing.T) {
	for text, ok := range map[string]bool{`{"a":[1,{}],"b":" , "}`: true, `{"a" :1}`: false, `{"a": 1}`: false, `[1 ,2]`: false, `[1, 2]`: false, `[ ]`: false, ` 1`: false, "1\n": false, `{"a":1 }`: false} {
		for _, twice := range []bool{false, true} {
			if err := skip(text, strict.Rules{Size: 100, Depth: 3, Compact: true, Twice: twice}); (err == nil) != ok {
				t.Errorf("%q, names twice %v: %v", text, twice, err)
			}
		}
	}
}

// Plain values are a level or none, whichever way a value is passed over.
func TestLevels(t *testing.T) {
	for text, want := range map[string]struct{ open, leaves bool }{
		`1`: {true, true}, `[[]]`: {true, true}, `{"a":[1]}`: {true, false}, `[[[]]]`: {false, false}, `[[],[1]]`: {true, false}, `[[],{}," [[[ \" "]`: {true, true}, `{"a":1,"b":{"a":{}}}`: {false, false},
	} {
		for _, twice := range []bool{false, true} {
			for leaves, ok := range map[bool]bool{false: want.open, true: want.leaves} {
				if err := skip(text, strict.Rules{Size: 100, Depth: 2, Leaves: leaves, Twice: twice}); (err == nil) != ok {
					t.Errorf("%q, plain values count %v, names twice %v: %v", text, leaves, twice, err)
				}
			}
		}
	}
	if err := skip(`{"a":1,"a":{"b":1,"b":2}}`, strict.Rules{Size: 100, Depth: 2, Twice: true}); err != nil {
		t.Errorf("names twice: %v", err)
	}
}

// skip passes over a whole text.
func skip(text string, rules strict.Rules) error {
	r, err := strict.NewReader([]byte(text), rules)
	if err == nil {
		_, err = r.Skip()
	}
	if err == nil {
		err = r.End()
	}
	return err
}

// What is read and written again is read as the same, at most as deep and as long as allowed.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"name":"a","list":[{"x":1}]}`, `{"a":{},"A":1}`, `[1,2e3,null,true]`, `{"k":1,"\u212a":2}`, `{"a":"\ud83d"}`, `1e400`, strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := strict.Value(raw, 1<<12)
		var whole json.RawMessage
		if err2 := strict.Decode(raw, 1<<12, &whole); (err == nil) != (err2 == nil) {
			t.Fatalf("Value: %v, Decode: %v", err, err2)
		}
		if err != nil {
			return
		}
		if len(raw) > 1<<12 || depth(v) > strict.MaxDepth {
			t.Fatalf("%d bytes, %d deep", len(raw), depth(v))
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := strict.Value(out, 6<<12)
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%q became %q: %v", raw, out, err)
		}
		var small bytes.Buffer
		if err := json.Compact(&small, raw); err != nil {
			t.Fatal(err)
		}
		r, err := strict.NewReader(small.Bytes(), strict.Rules{Size: 1 << 12, Depth: strict.MaxDepth, Compact: true})
		if err != nil {
			t.Fatal(err)
		}
		if same, err := r.Skip(); err != nil || !bytes.Equal(same, small.Bytes()) || r.End() != nil {
			t.Fatalf("Skip(%q) = %q, %v", small.Bytes(), same, err)
		}
		var s decoded
		if strict.Decode(raw, 1<<12, &s) == nil && s.Name != "" && !bytes.Contains(raw, []byte(`"name"`)) && !bytes.Contains(raw, []byte(`\u`)) {
			t.Fatalf("a key in another case was taken: %q", raw)
		}
	})
}

func depth(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = max(n, depth(e))
		}
		return n + 1
	case map[string]any:
		for _, e := range v {
			n = max(n, depth(e))
		}
		return n + 1
	}
	return 0
}

package fields

import (
	"fmt"
	"strings"
	"testing"
)

// TestRead: a right document reads as it is, and the first fault of another is named by its path.
func TestRead(t *testing.T) {
	rules := Rules{Items: 8, Text: func(s string) string {
		if strings.Contains(s, "!") {
			return "no shouting"
		}
		return ""
	}}
	type obj = map[string]any
	read := func(doc any) string {
		g := rules.Read(doc)
		got := fmt.Sprintf("%s %d %v %t %s %q ", g.Text("name"), g.Whole("n", 7, 1, 9), g.Number("f", 0.5, 0, 1), g.Flag("on", true), g.OneOf("kind", "a", "a", "b"), g.Texts("tags", true))
		for _, sub := range g.Groups("list") {
			got += sub.Path + sub.Needed("id")
			sub.End()
		}
		in := g.Group("in")
		got += fmt.Sprintf(" %t %s %s", in.Has("deep"), in.Group("deep").Text("er"), in.Names())
		in.Group("deep").End()
		in.End()
		g.End()
		if err := g.Err(); err != nil {
			return err.Error()
		}
		return got
	}
	for _, c := range []struct {
		name string
		doc  any
		want string
	}{
		{"nothing", nil, " 7 0.5 true a []  false  []"},
		{"everything", obj{"name": "x", "n": 3, "f": 1, "on": false, "kind": "b", "tags": []any{"t", ""}, "list": []any{obj{"id": "i"}}, "in": obj{"deep": obj{}}}, `x 3 1 false b ["t" ""] list.0i true  [deep]`},
		{"one text for a list", obj{"tags": "t"}, ` 7 0.5 true a ["t"]  false  []`},
		{"null", obj{"name": nil, "n": nil, "on": nil, "in": nil}, " 7 0.5 true a []  false  []"},
		{"no mapping", []any{}, "want a mapping, have a list"},
		{"unknown", obj{"nmae": "x"}, `nmae: unknown field; is it "name"?`},
		{"unknown below", obj{"in": obj{"deep": obj{"er": "x", "ere": 1}}}, `in.deep.er`},
		{"another type", obj{"name": 1}, "name: want a text, have a number"},
		{"a text that the rules refuse", obj{"tags": []any{"t", "t!"}}, "tags.1: no shouting"},
		{"no element", obj{"tags": []any{nil}}, "tags.0: want a text, but it is missing"},
		{"no group", obj{"list": []any{nil}}, "list.0: want a mapping, have nothing"},
		{"needed", obj{"list": []any{obj{"id": "i"}, obj{}}}, "list.1.id: want a text, but it is missing"},
		{"too many", obj{"tags": []any{"1", "2", "3", "4", "5", "6", "7", "8", "9"}}, "tags: 9 elements, at most 8 are allowed"},
		{"too many fields", obj{"in": obj{"1": 1, "2": 1, "3": 1, "4": 1, "5": 1, "6": 1, "7": 1, "8": 1, "9": 1}}, "in: 9 fields, at most 8 are allowed"},
		{"out of range", obj{"n": 10}, "n: 10, want 1 to 9"},
		{"not whole", obj{"n": 1.5}, "n: 1.5, want a whole number"},
		{"not a number", obj{"f": "1"}, "f: want a number, have text"},
		{"no flag", obj{"on": "yes"}, "on: want true or false, have text"},
		{"none of few", obj{"kind": "c"}, `kind: "c", want one of a, b`},
		{"the first of two faults", obj{"name": 1, "n": 10}, "name: want a text"},
	} {
		if got := read(c.doc); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

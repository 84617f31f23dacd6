package objects_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/objects"
)

func TestMergeConfig(t *testing.T) {
	for _, tc := range []struct{ name, base, over, want string }{
		{"nothing over nothing", `{}`, `{}`, `{}`},
		{"a value", `{"a":1,"b":2}`, `{"b":3}`, `{"a":1,"b":3}`},
		{"null takes away", `{"a":{"b":1}}`, `{"a":null}`, `{"a":null}`},
		{"maps, at any depth", `{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"c":3},"e":4}}`, `{"a":{"b":{"c":3,"d":2},"e":4}}`},
		{"a map over a value", `{"a":1}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{"a value over a map", `{"a":{"b":1}}`, `{"a":1}`, `{"a":1}`},
		{"a plain list", `{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		{"by id, in place, then behind", `{"a":[{"id":"x","n":1,"m":1},{"id":"y"}]}`, `{"a":[{"id":"z"},{"id":"x","n":2}]}`, `{"a":[{"id":"x","n":2},{"id":"y"},{"id":"z"}]}`},
		{"an empty list clears", `{"a":[{"id":"x"}]}`, `{"a":[]}`, `{"a":[]}`},
		{"over an empty list", `{"a":[]}`, `{"a":[{"id":"x"}]}`, `{"a":[{"id":"x"}]}`},
		{"an entry without an id", `{"a":[{"id":"x"}]}`, `{"a":[{"id":"y"},{"n":1}]}`, `{"a":[{"id":"y"},{"n":1}]}`},
		{"an id twice", `{"a":[{"id":"x"}]}`, `{"a":[{"id":"y"},{"id":"y"}]}`, `{"a":[{"id":"y"},{"id":"y"}]}`},
		{"an id that is a number", `{"a":[{"id":1}]}`, `{"a":[{"id":2}]}`, `{"a":[{"id":2}]}`},
		{"lists within an entry", `{"a":[{"id":"x","l":[{"id":"1"}]}]}`, `{"a":[{"id":"x","l":[{"id":"2"}]}]}`, `{"a":[{"id":"x","l":[{"id":"2"}]}]}`},
	} {
		base, over := jsonMap(t, tc.base), jsonMap(t, tc.over)
		merged := objects.MergeConfig(base, over)
		got, err := json.Marshal(merged)
		if scribble(merged); !reflect.DeepEqual(base, jsonMap(t, tc.base)) || !reflect.DeepEqual(over, jsonMap(t, tc.over)) {
			t.Errorf("%s: what was merged shares something with the result", tc.name)
		}
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s over %s is %s, want %s (%v)", tc.name, tc.over, tc.base, got, tc.want, err)
		}
	}
}

func jsonMap(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// value draws what a configuration may hold.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch n := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case n == 0 && depth > 0:
			return configMap(depth-1).Draw(t, "map")
		case n == 1 && depth > 0:
			return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list")
		case n < 4 && depth > 0:
			all := []any{}
			for _, id := range rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 2).Draw(t, "ids") {
				m := configMap(depth-1).Draw(t, "entry")
				m["id"] = id
				all = append(all, m)
			}
			return all
		case n == 4:
			return nil
		}
		return rapid.IntRange(0, 3).Draw(t, "number")
	})
}

func configMap(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), value(depth), 0, 2)
}

// What over says holds; what only base says stays; neither is changed, nor by later changes
// of the result.
func TestMergeConfigKeepsWhatEachSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, over := configMap(3).Draw(t, "base"), configMap(3).Draw(t, "over")
		was := fmt.Sprint(base, over)
		got := objects.MergeConfig(base, over)
		holds(t, "", got, base, over)
		if again := objects.MergeConfig(got, over); !reflect.DeepEqual(again, got) {
			t.Fatalf("merged once more, %v became %v", got, again)
		}
		if same := objects.MergeConfig(base, map[string]any{}); !reflect.DeepEqual(same, base) {
			t.Fatalf("under nothing, %v became %v", base, same)
		}
		if same := objects.MergeConfig(nil, over); !reflect.DeepEqual(same, over) {
			t.Fatalf("over nothing, %v became %v", over, same)
		}
		scribble(got)
		if fmt.Sprint(base, over) != was {
			t.Fatalf("what was merged is changed: %v, %v; it was %s", base, over, was)
		}
	})
}

// holds compares a merged map with its two sources, by what the rules say of each key.
func holds(t *rapid.T, at string, got, base, over map[string]any) {
	for k := range got {
		_, inBase := base[k]
		if _, inOver := over[k]; !inBase && !inOver {
			t.Fatalf("%s.%s comes from nowhere", at, k)
		}
	}
	for k, b := range base {
		if _, ok := over[k]; !ok && !reflect.DeepEqual(got[k], b) {
			t.Fatalf("%s.%s is %v, and nothing stands over %v", at, k, got[k], b)
		}
	}
	for k, o := range over {
		g, ok := got[k]
		om, isMap := o.(map[string]any)
		bm, overMap := base[k].(map[string]any)
		gl, isList := g.([]any)
		switch {
		case !ok:
			t.Fatalf("%s.%s is lost", at, k)
		case isMap && overMap:
			holds(t, at+"."+k, g.(map[string]any), bm, om)
		case isList:
			for _, e := range o.([]any) {
				if !contains(gl, e) {
					t.Fatalf("%s.%s: %v lacks %v", at, k, gl, e)
				}
			}
		case !reflect.DeepEqual(g, o):
			t.Fatalf("%s.%s is %v, want %v", at, k, g, o)
		}
	}
}

func contains(list []any, e any) bool {
	for _, x := range list {
		if reflect.DeepEqual(x, e) {
			return true
		}
	}
	return false
}

func scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			scribble(e)
		}
		clear(v)
	case []any:
		for i, e := range v {
			scribble(e)
			v[i] = "scribbled"
		}
	}
}

// Any two configurations that parse can be merged and written; merged once more, nothing
// changes.
func FuzzMergeConfig(f *testing.F) {
	f.Add("a: 1\nb: [{id: x}]\n", "a: {c: 2}\nb: [{id: x, d: 1}, {id: y}]\n")
	f.Add("a: [1]\n", "a: null\n")
	f.Fuzz(func(t *testing.T, base, over string) {
		var docs [2]map[string]any
		for i, text := range []string{base, over} {
			it, err := objects.Parse("config/acme/x.yaml", []byte(text))
			if err != nil {
				return
			}
			docs[i] = it.Meta.Config
		}
		got := objects.MergeConfig(docs[0], docs[1])
		if _, err := objects.EncodeYAML(got); err != nil {
			t.Fatal(err)
		}
		if again := objects.MergeConfig(got, docs[1]); fmt.Sprint(again) != fmt.Sprint(got) {
			t.Fatalf("merged once more, %v became %v", got, again)
		}
	})
}

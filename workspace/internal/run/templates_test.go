package run

import (
	"testing"

	"github.com/rye-os/rye/objects/expr"
)

// RYE OS has four template systems, which look alike and were run over each other's
// results. Here each reads its own form, leaves the others' as text, and
// never looks at what it has put in. (The fourth, ${NAME} of env_config, is planned in
// chain together with the second: TestConfigMergeOfRyeOS and
// TestParameterValuesAreNeverTemplates there.)
func TestTemplatesKeptApart(t *testing.T) {
	const all = "${HOME} {name} ${user.name} {input:name}"
	evil := all + " $(id)" // every form again, as a value
	data := map[string]any{"name": evil, "user": map[string]any{"name": evil}, "HOME": evil}
	fill := func(s string) any {
		v, err := expr.Fill(s, func(n string) (any, bool) { v, ok := data[n]; return v, ok })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	expand := func(s string) any {
		v, err := expr.Expand(s, expr.Of(data))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		system string
		got    any
		want   string
	}{
		{"{input:key} of directives", interpolate(all, data), "${HOME} {name} ${user.name} " + evil},
		{"{param} of runtimes", fill(all), "${HOME} " + evil + " ${user.name} {input:name}"},
		{"${dotted.path} of data files", expand(all), evil + " {name} " + evil + " {input:name}"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got  %q\nwant %q", c.system, c.got, c.want)
		}
	}
}

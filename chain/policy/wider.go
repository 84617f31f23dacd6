package policy

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/objects"
)

// Wider lists, in words, the permissions that an item has and another version of it does not:
// needs, limits, tier and capabilities. It also lists a change of executor or environment. A
// version without declared needs is compared by the needs that it gets. Wider does not compare
// the program texts, because both versions are signed.
func Wider(now, was *objects.Item) []string {
	all := executes(now, was)
	all = append(all, reaches(&now.Meta, &was.Meta)...)
	all = append(all, tiers(&now.Meta, &was.Meta)...)
	all = append(all, limited(now.Meta.Limits.Stated(), was.Meta.Limits.Stated())...)
	all = append(all, budgeted(budgetOf(&now.Meta), budgetOf(&was.Meta))...)
	return append(all, holds(now.Meta.Permissions, was.Meta.Permissions)...)
}

// executes compares the fields that decide which program runs, and in which environment.
func executes(now, was *objects.Item) (all []string) {
	if a, b := objects.Ext(now.Path), objects.Ext(was.Path); a != b {
		all = append(all, fmt.Sprintf("is a file .%s, not .%s", a, b))
	}
	if a, b := now.Meta.Executor, was.Meta.Executor; a != b {
		all = append(all, fmt.Sprintf("is executed by %q, not %q", a, b))
	}
	same := reflect.DeepEqual(now.Meta.Env, was.Meta.Env) && reflect.DeepEqual(now.Meta.Anchor, was.Meta.Anchor)
	for _, key := range []string{"env", "param_env"} {
		same = same && reflect.DeepEqual(now.Meta.Config[key], was.Meta.Config[key])
	}
	if !same {
		all = append(all, "has another environment")
	}
	return all
}

// silent are the needs of a project's own item that declares none: the project and every host.
var silent = objects.Needs{Read: []string{"."}, Write: []string{"."}, Net: []string{"*"}}

func effective(n objects.Needs) objects.Needs {
	if n.Declared {
		return n
	}
	s := silent
	s.Sandbox = n.Sandbox
	return s
}

func reaches(now, was *objects.Meta) (all []string) {
	a, b := effective(now.Needs), effective(was.Needs)
	for _, of := range []struct {
		verb   string
		a, b   []string
		covers func(have, want string) bool
	}{{"reads", a.Read, b.Read, coversPath}, {"writes", a.Write, b.Write, coversPath}, {"reaches", a.Net, b.Net, coversHost}, {"listens at port", a.Listen, b.Listen, func(have, want string) bool { return have == want }}, {"calls rye for", a.Rye, b.Rye, objects.Covers}} {
		for _, want := range of.a {
			if !slices.ContainsFunc(of.b, func(have string) bool { return of.covers(have, want) }) {
				all = append(all, fmt.Sprintf("%s %q", of.verb, want))
			}
		}
	}
	if a.Sandbox < b.Sandbox { // "" < S1 < S2 < S3
		all = append(all, fmt.Sprintf("asks for less than sandbox %s", b.Sandbox))
	}
	return all
}

// coversPath reports whether want equals have or is below it. A relative and an absolute path
// cannot be compared, because the project's directory is unknown here.
func coversPath(have, want string) bool {
	if path.IsAbs(have) != path.IsAbs(want) {
		return have == want
	}
	have, want = path.Clean(have), path.Clean(want)
	switch {
	case have == want:
		return true
	case have == "." || have == "/":
		return want != ".." && !strings.HasPrefix(want, "../")
	}
	return strings.HasPrefix(want, have+"/")
}

func coversHost(have, want string) bool {
	switch {
	case have == want:
		return true
	case want == "unix":
		return false
	}
	host, _, _ := strings.Cut(want, ":")
	return have == "*" || have == host+":*"
}

// tiers compares the declared tiers: a lower tier needs consent less often.
func tiers(now, was *objects.Meta) []string {
	b, ok, err := Declared(was.Fields)
	if err != nil {
		b, ok = command.T4, true // its meaning is unknown
	}
	a, _, aerr := Declared(now.Fields)
	if ok && (aerr != nil || a < b) {
		return []string{fmt.Sprintf("is of tier %s, not %s", a, b)}
	}
	return nil
}

// limited compares the limits of tools. It also reports a limit that is new, because it replaces
// the machine's default, which may be lower.
func limited(now, was []objects.Limit) (all []string) {
	name := func(of string) func(objects.Limit) bool { return func(l objects.Limit) bool { return l.Name == of } }
	for _, w := range was {
		if !slices.ContainsFunc(now, name(w.Name)) {
			all = append(all, "has no limit "+w.Name)
		}
	}
	for _, n := range now {
		i := slices.IndexFunc(was, name(n.Name))
		switch {
		case i < 0:
			all = append(all, fmt.Sprintf("has the limit %s: %s, not the usual one", n.Name, n.Text))
		case n.Value > was[i].Value:
			all = append(all, fmt.Sprintf("has the limit %s: %s, not %s", n.Name, n.Text, was[i].Text))
		}
	}
	return all
}

// budgetOf returns the other limits of an item: the turns and money of a directive, and the
// timeout in the configuration.
func budgetOf(m *objects.Meta) map[string]any {
	all := maps.Clone(m.Budget)
	if t, ok := m.Config["timeout"]; ok {
		if all == nil {
			all = map[string]any{}
		}
		all["config.timeout"] = t
	}
	return all
}

func budgeted(now, was map[string]any) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(was)) {
		v, ok := now[key]
		switch {
		case !ok:
			all = append(all, "has no limit "+key)
		case !within(v, was[key]):
			all = append(all, fmt.Sprintf("has the limit %s: %v, not %v", key, v, was[key]))
		}
	}
	return all
}

// within reports whether a limit is no larger than another. Limits that are not numbers must be
// equal.
func within(now, was any) bool {
	a, ok1 := number(now)
	b, ok2 := number(was)
	return ok1 && ok2 && a <= b || reflect.DeepEqual(now, was)
}

func number(v any) (float64, bool) {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return n, err == nil && n >= 0
}

// holds compares capabilities. A version without any may mean none or all. So it is the same only
// as another version without any.
func holds(now, was []string) (all []string) {
	if len(now) == 0 && len(was) > 0 {
		return []string{"declares no capabilities"}
	}
	for _, want := range now {
		if !slices.ContainsFunc(was, func(have string) bool { return Cap(have).Contains(Cap(want)) }) {
			all = append(all, "holds "+want)
		}
	}
	return all
}

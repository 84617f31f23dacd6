package cli

import (
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
)

// flagWords returns the possible values of the flag at the end of words.
func (t *task) flagWords(tree []*spec, words []string) []string {
	flag := strings.TrimLeft(words[len(words)-1], "-")
	before, err := split(tree, globalFlags(t.flags), words[:len(words)-1])
	if err != nil {
		return nil
	}
	var inv invocation
	if _, err := inv.descend(tree, before); err != nil {
		return nil
	}
	return flagValues(t, inv, before, flag)
}

// flagValues returns the possible values of a flag, from a closed list or from the item. With
// nil the shell offers files.
func flagValues(t *task, inv invocation, before []word, flag string) []string {
	if len(inv.path) == 0 {
		return nil
	}
	switch flag {
	case "lang":
		return []string{"python", "python-script", "bash", "sh", "node", "typescript", "yaml", "http", "native", "runtime"}
	case "space", "to":
		if inv.path[0].name == "search" {
			return []string{"project", "user", "system", rye.SpaceRegistry}
		}
		if name := inv.path[0].name; name == "list" || name == "load" && flag == "space" {
			return []string{"project", "user", "system"}
		}
		return []string{"project", "user"}
	case "kind":
		return kindsOf(inv)
	case "param", "p":
		return t.paramWords(before)
	}
	return nil
}

func kindsOf(inv invocation) (kinds []string) {
	for _, k := range objects.Kinds {
		kinds = append(kinds, string(k))
	}
	if len(inv.path) > 0 && inv.path[0].name == "search" {
		kinds = append(kinds, rye.KindThread)
	}
	return kinds
}

// paramWords returns "name=" for each parameter of the item in the words before, except the
// given ones.
func (t *task) paramWords(before []word) (params []string) {
	if t.open() != nil {
		return nil
	}
	given := map[string]bool{}
	var args []string
	for _, w := range before {
		switch {
		case w.flag == "":
			args = append(args, w.text)
		case w.flag == "p" || w.flag == "param":
			name, _, _ := strings.Cut(w.value, "=")
			given[strings.TrimSuffix(name, ":")] = true
		}
	}
	if len(args) < 2 {
		return nil
	}
	t.args = args[1:]
	ref, err := t.oneRef()
	if err != nil {
		return nil
	}
	shown, err := t.w.Show(t.ctx, t.env.Caller, rye.ShowRequest{Ref: ref})
	if err != nil || len(shown) == 0 {
		return nil
	}
	for _, p := range shown[0].Params {
		if !given[p.Name] {
			params = append(params, p.Name+"=")
		}
	}
	return params
}

package objects

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// The needs of a manifest are those of the bundle's programs: files that have no metadata of
// their own. Lists are sorted, and hold each text once.

const maxNeeds = 64 // entries of one list

// lists returns the lists of needs in their order. The last two are written only where they have entries.
func (n *Needs) lists() []struct {
	name string
	at   *[]string
} {
	return []struct {
		name string
		at   *[]string
	}{{"read", &n.Read}, {"write", &n.Write}, {"net", &n.Net}, {"listen", &n.Listen}, {"rye", &n.Rye}}
}

// mayLack reports whether a manifest leaves out an empty list of this name.
func mayLack(name string) bool { return name == "listen" || name == "rye" }

func (n Needs) append(b []byte) []byte {
	b = append(b, "needs:\n"...)
	for _, l := range n.lists() {
		if mayLack(l.name) && len(*l.at) == 0 {
			continue
		}
		b = append(b, "  "+l.name+": ["...)
		for i, s := range *l.at {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, quoteMember(s)...)
		}
		b = append(b, "]\n"...)
	}
	return b
}

// needs reads the lines of needs, after their first.
func (r *manifestReader) needs() (Needs, error) {
	n := Needs{Declared: true}
	for _, l := range n.lists() {
		rest, ok := r.take("  " + l.name + ": ")
		if !ok && mayLack(l.name) {
			continue
		}
		if !ok {
			_, err := r.want("  " + l.name + ": ")
			return n, err
		}
		var err error
		if *l.at, err = r.list(rest); err != nil {
			return n, err
		}
		if mayLack(l.name) && len(*l.at) == 0 {
			return n, r.bad("%s is empty: leave the line out", l.name)
		}
	}
	if err := n.check(); err != nil {
		return n, r.bad("%v", err)
	}
	return n, nil
}

// list reads ["a", "b"].
func (r *manifestReader) list(s string) ([]string, error) {
	bad := func() ([]string, error) { return nil, r.bad(`%q: want a list, ["a", "b"]`, words.Brief(s)) }
	rest, ok := strings.CutPrefix(s, "[")
	if !ok {
		return bad()
	}
	if rest == "]" {
		return nil, nil
	}
	var all []string
	for {
		text, after, ok := unquoteMember(rest)
		if !ok || len(all) == maxNeeds {
			return bad()
		}
		all = append(all, text)
		if after == "]" {
			return all, nil
		}
		if rest, ok = strings.CutPrefix(after, ", "); !ok {
			return bad()
		}
	}
}

// check applies the rules for the needs of an item, and the order of a manifest.
func (n *Needs) check() error {
	for _, l := range n.lists() {
		if len(*l.at) > maxNeeds || !slices.IsSorted(*l.at) || len(slices.Compact(slices.Clone(*l.at))) != len(*l.at) {
			return malformed(ManifestName, 0, 0, "needs: %s: want at most %d entries, sorted, each once", l.name, maxNeeds)
		}
		for _, s := range *l.at {
			if strings.ContainsFunc(s, unprintable) {
				return malformed(ManifestName, 0, 0, "needs: %s: %q has a control character", l.name, words.Brief(s))
			}
		}
	}
	v := &validator{it: &Item{Meta: Meta{Needs: *n}}}
	v.needs()
	if len(v.problems) > 0 {
		return malformed(ManifestName, 0, 0, "%s", v.problems[0])
	}
	if why := callsBackFault(n.Rye); why != "" {
		return malformed(ManifestName, 0, 0, "needs: %s", why)
	}
	return nil
}

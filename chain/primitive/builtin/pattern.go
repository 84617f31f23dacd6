package builtin

import (
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Bounds of a pattern.
const (
	maxPattern  = 1000 // bytes
	maxBranches = 64   // alternatives that {a,b} expands to
)

// pattern matches slash paths: * and ? and [a-z] match within a name, ** any number of
// directories, {a,b} either text.
type pattern struct {
	branches [][]string // names of each alternative
}

func parsePattern(text string) (*pattern, error) {
	if text == "" || len(text) > maxPattern {
		return nil, fault.New(fault.Usage, "parameters: pattern has %d bytes, want 1 to %d", len(text), maxPattern)
	}
	if path.IsAbs(text) || slices.Contains(strings.Split(text, "/"), "..") {
		return nil, fault.New(fault.Denied, "parameters: pattern %q leaves the directory that is searched", text).Advise("name the directory in path")
	}
	all, err := branches(text)
	if err != nil {
		return nil, err
	}
	p := &pattern{}
	for _, b := range all {
		names := slices.DeleteFunc(strings.Split(b, "/"), func(s string) bool { return s == "" || s == "." })
		names = slices.CompactFunc(names, func(a, b string) bool { return a == "**" && b == "**" })
		for _, n := range names {
			if _, err := path.Match(n, ""); err != nil {
				return nil, fault.New(fault.Usage, "parameters: pattern %q: %q is not a pattern", text, n)
			}
		}
		p.branches = append(p.branches, names)
	}
	return p, nil
}

// branches expands {a,b}; braces may contain braces.
func branches(text string) ([]string, error) {
	done, todo := []string{}, []string{text}
	for len(todo) > 0 {
		if len(done)+len(todo) > maxBranches {
			return nil, fault.New(fault.Limit, "parameters: pattern %q stands for more than %d patterns", text, maxBranches)
		}
		s := todo[0]
		todo = todo[1:]
		open, end, commas := brace(s)
		if open < 0 {
			done = append(done, s)
			continue
		}
		from := open + 1
		for _, to := range append(commas, end) {
			todo = append(todo, s[:open]+s[from:to]+s[end+1:])
			from = to + 1
		}
	}
	return done, nil
}

// brace finds the first {…} with a comma directly in it.
func brace(s string) (open, end int, commas []int) {
	for open = 0; open < len(s); open++ {
		if s[open] != '{' {
			continue
		}
		depth := 0
		commas = nil
		for i := open; i < len(s); i++ {
			switch s[i] {
			case '{':
				depth++
			case ',':
				if depth == 1 {
					commas = append(commas, i)
				}
			case '}':
				depth--
			}
			if depth == 0 {
				if len(commas) > 0 {
					return open, i, commas
				}
				break
			}
		}
	}
	return -1, -1, nil
}

// match reports whether a path fits.
func (p *pattern) match(rel string) bool {
	names := strings.Split(rel, "/")
	return slices.ContainsFunc(p.branches, func(b []string) bool { return fits(b, names, false) })
}

// mayHold reports whether a path below a directory can fit.
func (p *pattern) mayHold(dir string) bool {
	names := strings.Split(dir, "/")
	return slices.ContainsFunc(p.branches, func(b []string) bool { return fits(b, names, true) })
}

// names reports whether the pattern contains a name literally.
func (p *pattern) names(name string) bool {
	return slices.ContainsFunc(p.branches, func(b []string) bool { return slices.Contains(b, name) })
}

// fits matches names with a branch. With partly, names may be the beginning of a path that fits.
// It follows each ** only once, as a shell's matcher does: at a later **, the match of an earlier
// one is final. So the time is bounded by the product of both lengths.
func fits(branch, names []string, partly bool) bool {
	b, n := 0, 0
	star, from := -1, 0
	for n < len(names) {
		switch {
		case b < len(branch) && branch[b] == "**":
			if partly {
				return true
			}
			star, from = b, n
			b++
			continue
		case b < len(branch):
			if ok, _ := path.Match(branch[b], names[n]); ok {
				b++
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		b, n = star+1, from
	}
	if partly {
		return b < len(branch)
	}
	for b < len(branch) && branch[b] == "**" {
		b++
	}
	return b == len(branch)
}

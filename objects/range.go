package objects

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Range is a set of versions in npm's notation: ^1.2, ~1.2.3, >=1.0 <2, =1.0.0,
// 1.x, *, 1.2 - 1.4, and alternatives with ||. The zero value allows nothing.
type Range struct {
	text string
	alts [][]bound // any of, all of
}

// bound is a comparison with a version.
type bound struct {
	op   byte // '<', '>', 'l' (<=), 'g' (>=), '='
	v    Version
	made bool // an implied end, not a written one, so it names no pre-release
}

// Bounds on the text of a range.
const (
	maxRangeLength = 256
	maxRangeAlts   = 16
	maxRangeBounds = 16 // in one alternative
)

// ParseRange reads a range. "" is refused: write * for any version.
func ParseRange(s string) (Range, error) {
	r := Range{text: s}
	if s == "" || len(s) > maxRangeLength || strings.Count(s, "||") >= maxRangeAlts {
		return Range{}, badRange(s)
	}
	for _, alt := range strings.Split(s, "||") {
		b, ok := parseAlternative(alt)
		if !ok {
			return Range{}, badRange(s)
		}
		r.alts = append(r.alts, b)
	}
	return r, nil
}

func badRange(s string) error {
	return fault.New(fault.Usage, "range %q: want one like ^1.2, ~1.2.3, >=1.0 <2, 1.x, * or several with ||", words.Brief(s))
}

// String returns the text that was parsed.
func (r Range) String() string { return r.text }

// Allows reports whether v is in r. A pre-release is allowed only when a bound in
// the same alternative names a pre-release of the same three numbers.
func (r Range) Allows(v Version) bool {
	for _, alt := range r.alts {
		if allows(alt, v) {
			return true
		}
	}
	return false
}

func allows(alt []bound, v Version) bool {
	named := v.Pre == ""
	for _, b := range alt {
		if !b.allows(v) {
			return false
		}
		w := b.v
		named = named || w.Pre != "" && !b.made && w.Major == v.Major && w.Minor == v.Minor && w.Patch == v.Patch
	}
	return named
}

// below returns the open upper end under v's three numbers and all their pre-releases.
func below(v Version) bound {
	v.Pre = "0" // no pre-release is lower
	return bound{'<', v, true}
}

func (b bound) allows(v Version) bool {
	c := v.Compare(b.v)
	switch b.op {
	case '<':
		return c < 0
	case '>':
		return c > 0
	case 'l':
		return c <= 0
	case 'g':
		return c >= 0
	}
	return c == 0
}

// parseAlternative reads comparisons that a version must all satisfy.
func parseAlternative(s string) ([]bound, bool) {
	words := strings.Fields(s)
	if len(words) == 3 && words[1] == "-" {
		return hyphen(words[0], words[2])
	}
	words = joinOperators(words)
	if len(words) == 0 || len(words) > maxRangeBounds {
		return nil, false
	}
	bounds := []bound{}
	for _, w := range words {
		b, ok := comparator(w)
		if !ok {
			return nil, false
		}
		bounds = append(bounds, b...)
	}
	return bounds, true
}

// joinOperators turns ">= 1.0" into ">=1.0".
func joinOperators(words []string) []string {
	var out []string
	glue := ""
	for _, w := range words {
		w, glue = glue+w, ""
		if strings.Trim(w, "<>=^~") == "" {
			glue = w
			continue
		}
		out = append(out, w)
	}
	if glue != "" {
		out = append(out, glue)
	}
	return out
}

// partial is a version whose last parts may be missing or x.
type partial struct {
	v    Version
	have int // 0 for *, 3 when complete
}

func parsePartial(s string) (partial, bool) {
	s = strings.TrimPrefix(s, "v")
	if v, ok := parseVersion(s); ok {
		return partial{v, 3}, true
	}
	parts := strings.Split(s, ".")
	if len(parts) > 3 {
		return partial{}, false
	}
	var p partial
	open := false
	for i, t := range parts {
		if t == "x" || t == "X" || t == "*" {
			open = true
			continue
		}
		n, ok := parseNumber(t)
		if !ok || open {
			return partial{}, false
		}
		*[]*uint32{&p.v.Major, &p.v.Minor, &p.v.Patch}[i] = n
		p.have++
	}
	return p, p.have < 3
}

// after returns the first version above all versions with p's first n parts.
func (p partial) after(n int) Version {
	switch n {
	case 1:
		return Version{Major: p.v.Major + 1}
	case 2:
		return Version{Major: p.v.Major, Minor: p.v.Minor + 1}
	}
	return Version{Major: p.v.Major, Minor: p.v.Minor, Patch: p.v.Patch + 1}
}

func comparator(w string) ([]bound, bool) {
	op := w[:len(w)-len(strings.TrimLeft(w, "<>=^~"))]
	p, ok := parsePartial(w[len(op):])
	if !ok {
		return nil, false
	}
	if p.have == 0 { // any version; no version is above or below all
		return []bound{}, op != ">" && op != "<"
	}
	from := bound{op: 'g', v: p.v}
	switch op {
	case "^":
		n := 1
		if p.v.Major == 0 && p.have > 1 {
			n = 2
			if p.v.Minor == 0 && p.have > 2 {
				n = 3
			}
		}
		return []bound{from, below(p.after(n))}, true
	case "~":
		return []bound{from, below(p.after(min(p.have, 2)))}, true
	case "", "=":
		if p.have == 3 {
			return []bound{{op: '=', v: p.v}}, true
		}
		return []bound{from, below(p.after(p.have))}, true
	case ">=":
		return []bound{from}, true
	case "<":
		if p.have < 3 {
			return []bound{below(p.v)}, true
		}
		return []bound{{op: '<', v: p.v}}, true
	case ">":
		if p.have == 3 {
			return []bound{{op: '>', v: p.v}}, true
		}
		return []bound{{op: 'g', v: p.after(p.have)}}, true
	case "<=":
		if p.have == 3 {
			return []bound{{op: 'l', v: p.v}}, true
		}
		return []bound{below(p.after(p.have))}, true
	}
	return nil, false
}

// hyphen reads npm's "a - b". Both ends are included; a partial upper end includes all
// versions that it names.
func hyphen(a, b string) ([]bound, bool) {
	low, ok := comparator(">=" + a)
	if !ok {
		return nil, false
	}
	high, ok := comparator("<=" + b)
	return append(low, high...), ok
}

package search

import "strings"

// Line is a line of a text with words of a query.
type Line struct {
	Number int    // from 1
	Text   string // shortened if it is long
}

// maxLine bounds the shown part of a line, in bytes.
const maxLine = 160

// saying recognises words of the query, folded.
type saying struct {
	forms map[string]int // group by term
	heads map[string]bool
	stem  func(string) string
	known map[string]int // groups of words that were stemmed; -1 for none
}

// saying returns the ranking's saying, made on first use.
func (r *Ranking) saying(stem func(string) string) *saying {
	if r.said != nil {
		return r.said
	}
	s := &saying{forms: map[string]int{}, heads: map[string]bool{}, stem: stem, known: map[string]int{}}
	for i, g := range r.Groups {
		for _, f := range g.Forms {
			for term := range strings.FieldsSeq(f.Term) { // a split word has two
				if _, ok := s.forms[term]; !ok {
					s.forms[term] = i
					s.heads[head(term)] = true
				}
			}
		}
	}
	r.said = s
	return s
}

// group returns the group with a form of word.
func (s *saying) group(word string) (int, bool) {
	if g, ok := s.forms[word]; ok {
		return g, true
	}
	if s.stem == nil || len(word) < 3 || !s.heads[word[:3]] && !s.heads[word[:1]] {
		return 0, false
	}
	g, ok := s.known[word]
	if !ok {
		if g, ok = s.forms[s.stem(word)]; !ok {
			g = -1
		}
		if len(s.known) < maxKnown {
			s.known[strings.Clone(word)] = g
		}
	}
	return g, g >= 0
}

// head returns the beginning that a stem shares with the words it comes from: three letters, but
// for a short stem only the first one (dying has the stem die).
func head(term string) string {
	if len(term) > 3 {
		return term[:3]
	}
	return term[:min(len(term), 1)]
}

// maxKnown bounds the words whose stems are remembered.
const maxKnown = 1 << 14

// each visits the words of a text that match the query, with their groups.
func (s *saying) each(text string, visit func(group, start, end int) bool) {
	scan(text, func(parts []part) bool {
		if len(parts) > 1 {
			if g, ok := s.group(join(parts)); ok {
				return visit(g, parts[0].start, parts[len(parts)-1].end)
			}
		}
		for _, p := range parts {
			if g, ok := s.group(p.text); ok && !visit(g, p.start, p.end) {
				return false
			}
		}
		return true
	})
}

// FieldsOf returns the fields of a document, without the body, that contain words of the query. The
// methods that show a Ranking are not safe for concurrent use.
func (r *Ranking) FieldsOf(d *Doc, stem func(string) string) (fields []string) {
	s := r.saying(stem)
	for _, f := range d.Fields {
		s.each(f.Value, func(int, int, int) bool { fields = append(fields, f.Name); return false })
	}
	return fields
}

// LinesOf returns up to most lines of a text, the ones with the most words of the query first,
// otherwise in order.
func (r *Ranking) LinesOf(text string, stem func(string) string, most int) (lines []Line) {
	s := r.saying(stem)
	type found struct {
		start, number int
		groups        map[int]bool
	}
	var all []found
	number, counted := 1, 0
	s.each(text, func(group, start, _ int) bool {
		number += strings.Count(text[counted:start], "\n")
		counted = start
		if n := len(all); n == 0 || all[n-1].number != number {
			all = append(all, found{start, number, map[int]bool{}})
		}
		all[len(all)-1].groups[group] = true
		return len(all) < maxLines
	})
	for want := len(r.Groups); want > 0 && len(lines) < most; want-- {
		for _, f := range all {
			if len(f.groups) == want && len(lines) < most {
				lines = append(lines, Line{f.number, lineAt(text, f.start)})
			}
		}
	}
	return lines
}

// maxLines bounds the lines that are compared.
const maxLines = 1000

// lineAt returns the line around a position.
func lineAt(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	end := strings.IndexByte(text[at:], '\n')
	if end < 0 {
		end = len(text) - at
	}
	line := strings.TrimSpace(text[start : at+end])
	if len(line) <= maxLine {
		return line
	}
	from := max(0, at-start-maxLine/2)
	from = min(from, len(line)-1)
	return "…" + strings.ToValidUTF8(line[from:min(len(line), from+maxLine)], "") + "…"
}

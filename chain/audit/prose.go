package audit

import "strings"

// paragraph reads a line of prose together with the lines around it. Malicious skills often have no bad file of
// their own. Instead a paragraph asks the reader for something.
func (s *scan) paragraph(line string) {
	if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
		s.endParagraph()
		if trimmed == "" {
			return
		}
	}
	if s.para.add(s.line, line) {
		s.endParagraph()
	}
}

// endParagraph applies the rules to the collected lines.
func (s *scan) endParagraph() {
	p := &s.para
	if len(p.lines) == p.old {
		return
	}
	met, at := s.watch.prose(p.lines, p.old, false)
	for i, v := range met {
		s.add(v.rule.id, v.severity, p.at[at[i]], p.lines[at[i]], v.rule.says)
	}
	p.next()
}

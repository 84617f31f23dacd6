package audit

import "strings"

// An aside is text that a page does not show to its reader, and that a model reads: comments, elements without
// size, definitions of links that nothing uses.
type aside struct {
	until string // the mark that ends it; "" outside of one
	from  int    // its first line
	lines []string
	size  int
}

var (
	styled = &pattern{text: `(?i)<(\w+)[^>]*\b(hidden\b|style\s*=\s*["'][^"']*(display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0\b|color\s*:\s*(#fff\b|#ffffff|white|transparent)|(left|top|text-indent)\s*:\s*-\d{3,}))[^>]*>`}
	linked = &pattern{text: `^\s*\[[^\]]*\]:\s*(#|<>)\s*[("'](.*)[)"']\s*$`}
)

// asides collects the parts of a line that are not shown.
func (s *scan) asides(line string) {
	a := &s.aside
	for range 32 { // parts of one line
		if a.until != "" {
			i := strings.Index(strings.ToLower(line), a.until)
			if i < 0 {
				a.add(line)
				if a.size > maxPara {
					s.judgeAside()
				}
				return
			}
			a.add(line[:i])
			line = line[i+len(a.until):]
			s.judgeAside()
			a.until = ""
		}
		if m := linked.get().FindStringSubmatch(line); m != nil {
			a.from = s.line
			a.add(m[2])
			s.judgeAside()
			return
		}
		comment := strings.Index(line, "<!--")
		var element []int
		if strings.Contains(line, "<") {
			element = styled.get().FindStringSubmatchIndex(line)
		}
		switch {
		case comment >= 0 && (element == nil || comment < element[0]):
			a.from, a.until, line = s.line, "-->", line[comment+4:]
		case element != nil:
			a.from, a.until, line = s.line, "</"+strings.ToLower(line[element[2]:element[3]]), line[element[1]:]
		default:
			return
		}
	}
}

func (a *aside) add(line string) {
	a.lines = append(a.lines, line)
	a.size += len(line) + 1
}

// judgeAside applies the rules to the collected text.
func (s *scan) judgeAside() {
	a := &s.aside
	met, at := s.watch.prose(a.lines, 0, true)
	for i, v := range met {
		s.add(v.rule.id, v.severity, a.from+at[i], a.lines[at[i]], v.rule.says)
	}
	a.from, a.lines, a.size = s.line, nil, 0
}

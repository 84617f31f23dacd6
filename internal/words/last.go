package words

import "strings"

// LastLine returns the line of a program's error output that says what went wrong: the last
// one, as Python, shells and compilers have it, without what Node.js writes behind it (the
// calls, each behind a space, and its version). It is "" where there is none.
func LastLine(s string) string {
	lines := strings.Split(s, "\n")
	last := ""
	for i := len(lines) - 1; i >= 0; i-- {
		l := strings.TrimRight(lines[i], " \t\r")
		switch {
		case l == "", l == "}", strings.HasPrefix(l, "Node.js v"):
		case l[0] != ' ' && l[0] != '\t':
			return l
		case last == "":
			last = strings.TrimSpace(l)
		}
	}
	return last
}

package words

import "strings"

// LastLine returns the line of a program's error output that has the reason. That is the last
// line in Python, shells and compilers. Node.js writes more lines after it (the stack, indented,
// and its version); LastLine skips them. It returns "" when there is none.
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

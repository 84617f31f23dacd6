package command

import "strings"

// names is a list of words between spaces. It is data, and costs nothing at the start.
type names string

func (n names) has(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t\n") {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(string(n[at:]), s)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(s)
		if (at == 0 || n[at-1] == ' ') && (end == len(n) || n[end] == ' ') {
			return true
		}
	}
}

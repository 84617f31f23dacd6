package cage

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns f as a line.
func (f Found) String() string {
	line := fmt.Sprintf("%s %d %t", Ended, f.Status, f.TempFull)
	for _, p := range f.Vanished {
		line += " " + strconv.Quote(p)
	}
	return line
}

// ParseFound reads the output of String; false for any other line.
func ParseFound(line string) (f Found, ok bool) {
	word, rest, _ := strings.Cut(line, " ")
	status, rest, _ := strings.Cut(rest, " ")
	full, rest, more := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(status, 10, 32)
	if f.TempFull, ok = full == "true", full == "true" || full == "false"; word != Ended || err != nil || !ok {
		return Found{}, false
	}
	f.Status = int(n)
	for more {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return Found{}, false
		}
		p, err := strconv.Unquote(quoted)
		if err != nil {
			return Found{}, false
		}
		f.Vanished = append(f.Vanished, p)
		if rest, more = strings.CutPrefix(rest[len(quoted):], " "); !more && rest != "" {
			return Found{}, false
		}
	}
	return f, true
}

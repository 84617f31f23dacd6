package ward

import (
	"fmt"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

const sought = "for git directories and files that programs run by themselves"

func (m *missed) words(most int) []string {
	var out []string
	if m.beyond {
		out = append(out, fmt.Sprintf("directories beyond the first %s were not checked %s", thousands(most), sought))
	}
	if m.beyondNew {
		out = append(out, fmt.Sprintf("new directories beyond the first %s of the run were not checked %s", thousands(most*manyNew), sought))
	}
	for _, p := range m.places {
		out = append(out, p+" "+sought)
	}
	if m.more > 0 {
		out = append(out, "nor were "+words.Plural(m.more, "more place"))
	}
	return out
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// printable returns a path from outside for a message of one line.
func printable(path string) string {
	return words.Clip(words.Printable(strings.ReplaceAll(path, "\n", "?")), 200)
}

package look

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/rye-os/rye/objects"
)

// Powers says what an item may do, and where it changes what that was: a person looks at that
// first. old is nil for an item that is new, or that the user never vouched for.
func Powers(old, now *objects.Item) []string {
	var lines []string
	before := powersOf(old)
	for i, p := range powersOf(now) {
		line := p[0] + p[1]
		if old != nil && before[i][1] != p[1] {
			line += "  (was: " + before[i][1] + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// powersOf lists what the text of an item asks for, by names that are the same for every
// item of a kind.
func powersOf(it *objects.Item) [][2]string {
	if it == nil {
		return nil
	}
	m := &it.Meta
	switch it.Ref.Kind {
	case objects.Tool:
		tier, _ := m.Fields["tier"].(string)
		return [][2]string{
			{"runs by  ", cmp.Or(string(m.Executor), "itself")},
			{"needs    ", cmp.Or(m.Needs.String(), "not stated")},
			{"limits   ", cmp.Or(m.Limits.String(), "none")},
			{"tier     ", cmp.Or(tier, "not stated")},
		}
	case objects.Directive:
		limits, _ := json.Marshal(m.Budget) // of texts and numbers: cannot fail
		return [][2]string{
			{"may      ", cmp.Or(strings.Join(m.Permissions, " "), "nothing")},
			{"limits   ", string(limits)},
		}
	}
	return nil
}

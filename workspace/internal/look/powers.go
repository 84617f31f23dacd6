package look

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/rye-os/rye/objects"
)

// Powers lists an item's permissions, with the previous value where one changes: a person looks
// at these first. old is nil for a new item, or for one that the user never signed.
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

// powersOf lists the requests in an item's text, under the same names for every item of a
// kind.
func powersOf(it *objects.Item) [][2]string {
	if it == nil {
		return nil
	}
	m := &it.Meta
	switch it.Ref.Kind {
	case objects.Tool:
		tier, _ := m.Fields["tier"].(string)
		by := cmp.Or(string(m.Executor), "itself")
		if m.Part {
			by = "nothing; other tools load it"
		}
		return [][2]string{
			{"runs by  ", by},
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

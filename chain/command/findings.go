package command

import (
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// Finding is one dangerous act in a command.
type Finding struct {
	Label string // "recursive delete"
	Tier  Tier
	Text  string // the command or words that it was found in, clipped
	Param string // the parameter that it stands in; "" for the item's own text
}

// findings are the acts found so far, and the parameter that is judged now.
type findings struct {
	list  []Finding
	param string // "" for the item's own text
}

// add notes a finding, once for each label and parameter: the worst.
func (fs *findings) add(label string, t Tier, text string) {
	text = words.Brief(strings.Join(strings.Fields(text), " "))
	for i, f := range fs.list {
		if f.Label == label && f.Param == fs.param {
			if t > f.Tier {
				fs.list[i].Tier, fs.list[i].Text = t, text
			}
			return
		}
	}
	fs.list = append(fs.list, Finding{Label: label, Tier: t, Text: text, Param: fs.param})
}

package command

import (
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// Finding is one dangerous act in a command.
type Finding struct {
	Label string // "recursive delete"
	Tier  Tier
	Text  string // the command or words with the finding, clipped
	Param string // the parameter with the finding; "" for the item's own text
}

// findings are the acts found so far, and the current parameter.
type findings struct {
	list  []Finding
	param string // "" for the item's own text
}

// add records a finding: the worst for each label and parameter.
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

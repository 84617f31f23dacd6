package command

import (
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// Finding is one dangerous act in a command.
type Finding struct {
	Rule  string // the id of the rule, "delete-tree"; "" for a pattern of the user
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

// flag records an act that no row describes, by the id of its rule.
func (fs *findings) flag(id, text string) { fs.report(rulesByID()[id], text) }

// report records a finding of a rule.
func (fs *findings) report(r *rule, text string) {
	fs.add(Finding{Rule: r.id, Label: r.label, Tier: r.tier, Text: text})
}

// add records a finding: the worst for each label and parameter.
func (fs *findings) add(f Finding) {
	f.Text, f.Param = words.Brief(strings.Join(strings.Fields(f.Text), " ")), fs.param
	for i, old := range fs.list {
		if old.Label == f.Label && old.Param == f.Param {
			if f.Tier > old.Tier {
				fs.list[i] = f
			}
			return
		}
	}
	fs.list = append(fs.list, f)
}

package cli

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// hints is what a list of results has shown of their remedies.
type hints struct {
	lists int             // open lists
	shown map[string]bool // the hints, and the commands without their last word
	more  int             // results whose command was shown with another item
}

// hint shows the remedy for a problem in a result. Within a list it shows each remedy once, and a
// command for the first item only. It does not join the items in one command: some are to be
// looked at one by one.
func (p *printer) hint(h fault.Hint) {
	if h.IsZero() {
		return
	}
	if p.hints.lists > 0 {
		typed := h.Words()
		command := ""
		if len(typed) > 2 {
			command = strings.Join(typed[:len(typed)-1], "\x00")
		}
		switch shown := p.hints.shown; {
		case shown[h.String()]:
			return
		case command != "" && shown[command]:
			shown[h.String()] = true
			p.hints.more++
			return
		default:
			shown[h.String()], shown[command] = true, command != ""
		}
	}
	p.infof(fault.HintLine, h)
}

// list begins a list of results, which end ends.
func (p *printer) list() (end func()) {
	if p.hints.lists++; p.hints.lists == 1 {
		p.hints.shown, p.hints.more = map[string]bool{}, 0
	}
	return func() {
		if p.hints.lists--; p.hints.lists == 0 && p.hints.more > 0 {
			p.infof("rye: %s with the same command as above", words.Plural(p.hints.more, "more item"))
		}
	}
}

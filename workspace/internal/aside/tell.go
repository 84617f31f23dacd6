package aside

import (
	"fmt"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/session"
)

// maxNamed bounds the paths that a line names.
const maxNamed = 3

// String says in one line what a run left.
func (n *Notice) String() string {
	var names []string
	for _, t := range n.Things[:min(len(n.Things), maxNamed)] {
		names = append(names, words.Quote(t.Path))
	}
	text := strings.Join(names, ", ")
	if more := len(n.Things) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	during := " appeared while " + n.Tool + " ran"
	if n.Killed {
		during += " (rye was killed)"
	}
	return text + during + ", and was moved away"
}

// Tell reports the notices that no person has answered. They stay until then.
func Tell(s *session.Session) {
	pending, err := Pending(s)
	if err != nil {
		s.Tell("files that rye moved away: " + err.Error())
	}
	for _, n := range pending {
		s.Tell(n.String() + "; rye restore --taken shows it")
	}
}

// Check reports pending notices for doctor.
func Check(h *session.Host) (all []rye.DoctorCheck) {
	if h.ProjectDir == "" {
		return nil
	}
	s, err := h.OfAnyOwner().Open()
	if err != nil {
		return nil // another check reports it
	}
	defer s.Close()
	pending, err := Pending(s)
	if err != nil {
		all = append(all, session.Checked("moved away", "", err))
	}
	for _, n := range pending {
		all = append(all, rye.DoctorCheck{Name: "moved away", OK: true, Text: n.String() + "; rye restore --taken shows it"})
	}
	return all
}

package custody

import "github.com/rye-os/rye/workspace/internal/session"

// Desk is where work is done: one session, the user's keys, and what the program around gives.
type Desk struct {
	*session.Session
	Keys *Keys
	*Options

	Looks bool // for a command that only looks: it gives no namespace to other owners
}

// Desk returns the desk for a session, at which these keys sign.
func (ks *Keys) Desk(s *session.Session) *Desk {
	return &Desk{Session: s, Keys: ks, Options: ks.Options}
}

// In returns the same desk for another session.
func (d *Desk) In(s *session.Session) *Desk {
	n := *d
	n.Session = s
	return &n
}

// Looking returns a desk for a command that only looks.
func (d *Desk) Looking() *Desk {
	n := *d
	n.Looks = true
	return &n
}

package custody

import "github.com/rye-os/rye/workspace/internal/session"

// Desk is the place of work: one session, the user's keys, and the surrounding program's
// options.
type Desk struct {
	*session.Session
	Keys *Keys
	*Options

	Looks bool // for a command that only looks: it assigns no namespace to other owners
}

// Desk returns the desk for a session, with these keys as its signers.
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

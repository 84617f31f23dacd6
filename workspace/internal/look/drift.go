package look

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// pinsOwn reports whether the lock pins an item as the project's own.
func pinsOwn(s *session.Session, ref objects.Ref) bool {
	if s.Lock == nil {
		return false
	}
	pin, ok := s.Lock.Items[ref]
	return ok && pin.Space == objects.Project
}

// ownPins returns the rows of the project's own items that the lock pins.
func ownPins(s *session.Session, k *space.Look) map[int]bool {
	rows := map[int]bool{}
	if s.Lock == nil {
		return rows
	}
	for ref, pin := range s.Lock.Items {
		if i, ok := k.Find(ref); ok && pin.Space == objects.Project {
			rows[i] = true
		}
	}
	return rows
}

// drift marks an item of the project's own that was signed again since it was locked, and
// reports whether it did.
func drift(s *session.Session, r *space.Row) bool {
	if r.State != objects.Signed || r.Registry != "" || r.Sum.IsZero() || !pinsOwn(s, r.Ref) || s.Lock.Items[r.Ref].SHA256 == r.Sum {
		return false
	}
	r.State, r.Code = objects.Drifted, fault.Drift
	r.Why, r.Hint = "signed, but differs from the lock", fault.Command("rye lock %s", r.Ref).Encode()
	return true
}

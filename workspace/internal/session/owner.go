package session

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects/trust"
)

// foreignOwners returns the users, other than this one, to whom the project's directory,
// its .ai or its rye.yaml belong. What they write there anybody's command would read.
func foreignOwners(h *Host) ([]int, error) {
	me := os.Geteuid()
	if me < 0 {
		return nil, nil // this system has no numbers for users
	}
	var all []int
	for _, p := range []string{h.ProjectDir, h.AIDir(), filepath.Join(h.AIDir(), ProjectFile)} {
		uid, err := place.OwnerOf(p)
		if err != nil {
			return nil, fault.New(fault.Failed, "look at %s: %w", p, err)
		}
		if uid != me && (me != 0 || h.Sudo == 0 || uid != h.Sudo) && !slices.Contains(all, uid) {
			all = append(all, uid)
		}
	}
	return all, nil
}

// checkOwners refuses a project of other users until its user named them (rye trust).
func checkOwners(s *Session, uids []int) error {
	for _, uid := range uids {
		if !s.AnyOwner && !s.Trust.Granted(s.Site().Owner(uid)) {
			return fault.New(fault.Denied, "%s belongs to user %d, not to you, so nothing in it is used", s.ProjectDir, uid).Mend("rye trust")
		}
	}
	return nil
}

// ForeignOwners returns the grants that the project's owners still need: none for one that
// is the user's own.
func ForeignOwners(s *Session) ([]trust.Grant, error) {
	uids, err := foreignOwners(s.Host)
	var all []trust.Grant
	for _, uid := range uids {
		if g := s.Site().Owner(uid); !s.Trust.Granted(g) {
			all = append(all, g)
		}
	}
	return all, err
}

package session

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects/trust"
)

// foreignOwners returns the users, other than this one, who own the project's directory, its
// .ai or its rye.yaml. Everyone's commands would read their files.
func foreignOwners(h *Host) ([]int, error) {
	all, err := ownersOf(h.ProjectDir)
	return slices.DeleteFunc(all, func(uid int) bool { return isMe(h, uid) }), err
}

// ownersOf returns the owners of a project's directory, its .ai and its rye.yaml.
func ownersOf(dir string) (all []int, err error) {
	if os.Geteuid() < 0 {
		return nil, nil // this system has no numbers for users
	}
	ai := filepath.Join(dir, ".ai")
	for _, p := range []string{dir, ai, filepath.Join(ai, ProjectFile)} {
		uid, err := place.OwnerOf(p)
		if err != nil {
			return nil, fault.New(fault.Failed, "look at %s: %w", p, err)
		}
		if !slices.Contains(all, uid) {
			all = append(all, uid)
		}
	}
	return all, nil
}

// isMe reports whether a user's files count as this user's own.
func isMe(h *Host, uid int) bool {
	me := os.Geteuid()
	return uid == me || me == 0 && h.Sudo != 0 && uid == h.Sudo
}

// checkOwners refuses a project of other users until its user agreed (rye trust).
func checkOwners(s *Session, uids []int) error {
	for _, uid := range uids {
		if !s.AnyOwner && !s.Trust.Granted(s.Site().Owner(uid)) {
			return fault.New(fault.Denied, "%s belongs to user %d, not to you, so rye uses nothing in it", s.ProjectDir, uid).Mend("rye trust")
		}
	}
	return nil
}

// ForeignOwners returns the missing grants for the project's owners: none for the user's own
// project.
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

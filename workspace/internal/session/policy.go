package session

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects/trust"
)

// PolicyFile is the name of the user's policy, in the configuration directory,
// and of a project's, below .ai.
const PolicyFile = "policy.yaml"

// readRules reads the user's policy, narrowed by the project's and by the policies of projects
// around it. A nested project is no freer than its surroundings.
func (s *Session) readRules() (policy.Rules, error) {
	path := s.UserFile(PolicyFile)
	raw, err := s.UserPolicy()
	if err != nil {
		return policy.Rules{}, err
	}
	rules, err := policy.ParseRules(raw)
	if err != nil {
		return policy.Rules{}, fault.Wrap(err, "read %s", path)
	}
	if s.Trust.AllowLegacy() { // the older place of this setting
		rules.AllowLegacy = true
	}
	if s.Project == nil {
		return rules, nil
	}
	p, err := s.ReadProjectPolicy()
	if err != nil {
		return policy.Rules{}, err
	}
	texts := [][]byte{p.Now}
	if !bytes.Equal(p.Kept, p.Now) { // what is remembered holds until a person agrees to another
		texts = append(texts, p.Kept)
	}
	for _, text := range texts {
		if rules, err = rules.Tighten(text); err != nil {
			return policy.Rules{}, fault.Wrap(err, "read .ai/%s", PolicyFile)
		}
	}
	for _, dir := range s.Over {
		if theirs, err := notOurs(s.Host, dir); err != nil {
			return policy.Rules{}, err
		} else if theirs {
			continue
		}
		if rules, err = tighten(rules, dir, filepath.Join(dir, ".ai", PolicyFile)); err != nil {
			return policy.Rules{}, err
		}
	}
	return rules, nil
}

// checkPolicy reads the user's policy and the project's: a broken one stops every run.
func checkPolicy(h *Host) rye.DoctorCheck {
	raw, err := h.UserPolicy()
	rules, text := policy.Rules{}, "you have none"
	if err == nil && raw != nil {
		text = h.UserFile(PolicyFile)
		if rules, err = policy.ParseRules(raw); err != nil {
			err = fault.Wrap(err, "read %s", text).Advise("correct the file")
		}
	}
	if err == nil && h.ProjectDir != "" {
		_, err = tighten(rules, h.ProjectDir, ".ai/"+PolicyFile)
		if err == nil {
			text, err = checkAccepted(h, text)
		}
	}
	return Checked("policy", text, err)
}

// checkAccepted compares the project's policy with the remembered one.
func checkAccepted(h *Host, text string) (string, error) {
	s, err := h.Open()
	if err != nil {
		return text, nil // another check reports it
	}
	defer s.Close()
	if s.Project == nil {
		return text, nil
	}
	p, err := s.ReadProjectPolicy()
	if err == nil && len(p.Looser) > 0 {
		err = p.refused()
	}
	return text, err
}

// tighten narrows rules by the policy of the project in dir; name is for errors.
func tighten(rules policy.Rules, dir, name string) (policy.Rules, error) {
	raw, err := readAI(dir, PolicyFile, policy.MaxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return policy.Rules{}, err
	}
	if rules, err = rules.Tighten(raw); err != nil {
		return policy.Rules{}, fault.Wrap(err, "read %s", name)
	}
	return rules, nil
}

// notOurs reports whether a project around this one belongs to another user than this one or
// the administrator. Otherwise anyone who may write above a project could stop it.
func notOurs(h *Host, dir string) (bool, error) {
	uids, err := ownersOf(dir)
	return slices.ContainsFunc(uids, func(uid int) bool { return uid != 0 && !isMe(h, uid) }), err
}

// UserPolicy reads the text of the user's policy; nil when there is none. A file that another
// user may have written is fault.Auth.
func (h *Host) UserPolicy() ([]byte, error) {
	path := h.UserFile(PolicyFile)
	if path == "" {
		return nil, nil
	}
	if err := place.Trusted(path); err != nil {
		return nil, fault.Wrap(err, "read the policy")
	}
	return readPolicy(path)
}

// readPolicy reads at most policy.MaxFile bytes; nil when the file is not there.
func readPolicy(path string) ([]byte, error) {
	raw, err := place.Read(path, policy.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// AllowLegacy lets a trust store in memory, which is never saved, trust signatures of RYE OS as
// far as the policy allows. An unreadable policy allows none; the verb that asks the policy
// reports the problem.
func (s *Session) AllowLegacy(st *trust.Store) {
	rules, err := s.Rules()
	if allow := err == nil && rules.AllowLegacy; allow != st.AllowLegacy() {
		st.SetAllowLegacy(allow)
	}
}

package session

import (
	"errors"
	"io/fs"

	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects/trust"
)

// PolicyFile is the name of the user's policy, in the configuration directory,
// and of a project's, below .ai.
const PolicyFile = "policy.yaml"

// readRules reads the policy: the user's, which the project's can only narrow.
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
	if s.Trust.AllowLegacy() { // the older place to say so
		rules.AllowLegacy = true
	}
	if s.Project == nil {
		return rules, nil
	}
	if raw, err = ReadAI(s.Host, PolicyFile, policy.MaxFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return policy.Rules{}, err
	}
	if rules, err = rules.Tighten(raw); err != nil {
		return policy.Rules{}, fault.Wrap(err, "read .ai/%s", PolicyFile)
	}
	return rules, nil
}

// UserPolicy reads the text of the user's policy; nil when there is none. One that
// somebody else may have written is fault.Auth.
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

// AllowLegacy lets a trust store in memory, which is never saved, believe signatures of
// RYE OS as far as the policy says. A policy that cannot be read allows none; the verb
// that asks the policy says what is wrong with it.
func (s *Session) AllowLegacy(st *trust.Store) {
	rules, err := s.Rules()
	if allow := err == nil && rules.AllowLegacy; allow != st.AllowLegacy() {
		st.SetAllowLegacy(allow)
	}
}

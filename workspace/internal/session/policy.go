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
	raw, err := ReadPolicy(path)
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
	if raw, err = s.ReadAI(PolicyFile, policy.MaxFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return policy.Rules{}, err
	}
	if rules, err = rules.Tighten(raw); err != nil {
		return policy.Rules{}, fault.Wrap(err, "read .ai/%s", PolicyFile)
	}
	return rules, nil
}

// ReadPolicy reads the text of a policy, at most policy.MaxFile bytes; nil when the file is
// not there.
func ReadPolicy(path string) ([]byte, error) {
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

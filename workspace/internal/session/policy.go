package session

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// PolicyFile is the name of the user's policy, in the configuration directory,
// and of a project's, below .ai.
const PolicyFile = "policy.yaml"

// readRules reads the policy: the user's, narrowed by the project's.
func (s *Session) readRules() (policy.Rules, error) {
	raw, err := ReadPolicy(filepath.Join(s.ConfigDir, PolicyFile))
	if err != nil {
		return policy.Rules{}, err
	}
	rules, err := policy.ParseRules(raw)
	if err != nil {
		return policy.Rules{}, fault.Wrap(err, "read %s", filepath.Join(s.ConfigDir, PolicyFile))
	}
	if s.Trust.AllowLegacy() { // the older place to say so
		rules.AllowLegacy = true
	}
	if s.Project != nil {
		if raw, err = ReadPolicy(filepath.Join(s.AIDir(), PolicyFile)); err != nil {
			return policy.Rules{}, err
		}
		if rules, err = rules.Tighten(raw); err != nil {
			return policy.Rules{}, fault.Wrap(err, "read .ai/%s", PolicyFile)
		}
	}
	return rules, nil
}

// ReadPolicy returns nil for a file that is not there.
func ReadPolicy(path string) ([]byte, error) {
	raw, err := place.Read(path, policy.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// Allow asks whether the caller holds the capability for a verb on an item.
func (s *Session) Allow(c rye.Caller, verb string, ref objects.Ref) error {
	q, err := RequestFor(c, verb, ref)
	if err != nil {
		return err
	}
	rules, err := s.Rules()
	if err != nil {
		return err
	}
	// What executing asks beyond the capability is decided when the plan is known.
	d := rules.Permit(q)
	if err = d.Err(q); err != nil || verb != "execute" {
		s.Verdict(q, d, false, err, verb == "execute")
	}
	return err
}

// RequestFor puts into the policy's words that a caller wants to do something to an item.
func RequestFor(c rye.Caller, verb string, ref objects.Ref) (policy.Request, error) {
	caps, err := capabilities(c)
	if err != nil {
		return policy.Request{}, err
	}
	return policy.Request{Verb: verb, Ref: ref, Caller: c.Name(), Caps: caps, Person: c.IsPerson()}, nil
}

// AllowLegacy tells a trust store in memory, which is never saved, what the policy
// says about signatures of the ancestor. A policy that cannot be read allows
// nothing; the verb that asks it says what is wrong.
func (s *Session) AllowLegacy(st *trust.Store) {
	rules, err := s.Rules()
	if allow := err == nil && rules.AllowLegacy; allow != st.AllowLegacy() {
		st.SetAllowLegacy(allow)
	}
}

package oplog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// KeyState is the state of a key of a namespace.
type KeyState string

// The states of a key. A retired or revoked key never becomes active again.
const (
	KeyActive  KeyState = "active"  // may sign operations and author items
	KeyRetired KeyState = "retired" // its earlier signatures stay valid
	KeyRevoked KeyState = "revoked" // invalid from BadFrom on
)

// Key is a key of a namespace with its history.
type Key struct {
	Public   trust.PublicKey
	Added    uint64              // the operation that added it
	By       objects.Fingerprint // its signer; the key itself for a claim, and where several keys agreed
	State    KeyState
	Since    uint64 // the operation that retired or revoked it; 0 while active
	BadFrom  uint64 // revoked: its first operation that is not accepted
	DropFrom uint64 // revoked: its first operation whose catalogue changes are dropped; 0: none
	Reason   string // revoked
}

func findKey(keys []Key, fp objects.Fingerprint) int {
	return slices.IndexFunc(keys, func(k Key) bool { return k.Public.Fingerprint() == fp })
}

// EncodeNamespace returns namespace.yaml, the head of a namespace's state.
func (s *State) EncodeNamespace() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "format: %d\nregistry: %s\nnamespace: %s\ngrant: %d\nowners: %d\nversions: %d\n",
		FormatVersion, yamlQuoted(s.Registry.String()), yamlQuoted(s.Namespace), s.Grant, s.Owners, s.Published)
	if s.Threshold > 1 { // a threshold of 1 is left out, as in states from before thresholds existed
		fmt.Fprintf(&b, "threshold: %d\nroles: %d\n", s.Threshold, s.Roles)
	}
	b.WriteString("keys:\n")
	for i := range s.keys {
		k := &s.keys[i]
		fmt.Fprintf(&b, "  - key: %s\n    added: %d\n    by: %s\n    state: %s\n",
			yamlQuoted(k.Public.Authorized()), k.Added, yamlQuoted(k.By.String()), yamlQuoted(string(k.State)))
		if k.State != KeyActive {
			fmt.Fprintf(&b, "    since: %d\n", k.Since)
		}
		if k.State == KeyRevoked {
			fmt.Fprintf(&b, "    bad_from: %d\n", k.BadFrom)
			if k.DropFrom > 0 { // left out when unset, as in states from before it existed
				fmt.Fprintf(&b, "    drop_from: %d\n", k.DropFrom)
			}
			fmt.Fprintf(&b, "    reason: %s\n", yamlQuoted(k.Reason))
		}
	}
	return b.Bytes()
}

type yamlNamespace struct {
	Format    uint64    `yaml:"format"`
	Registry  string    `yaml:"registry"`
	Namespace string    `yaml:"namespace"`
	Grant     uint64    `yaml:"grant"`
	Owners    uint64    `yaml:"owners"`
	Versions  uint64    `yaml:"versions"`
	Threshold int       `yaml:"threshold"`
	Roles     uint64    `yaml:"roles"`
	Keys      []yamlKey `yaml:"keys"`
}

type yamlKey struct {
	Key      string `yaml:"key"`
	Added    uint64 `yaml:"added"`
	By       string `yaml:"by"`
	State    string `yaml:"state"`
	Since    uint64 `yaml:"since"`
	BadFrom  uint64 `yaml:"bad_from"`
	DropFrom uint64 `yaml:"drop_from"`
	Reason   string `yaml:"reason"`
}

// parseNamespace reads namespace.yaml into a state without a catalogue. It accepts only the output
// of EncodeNamespace.
func parseNamespace(raw []byte) (State, error) {
	var y yamlNamespace
	if err := objects.DecodeYAML(raw, 1<<20, &y); err != nil {
		return State{}, err
	}
	if y.Format != FormatVersion {
		return State{}, newerFormat(y.Format)
	}
	s := State{Namespace: y.Namespace, Grant: y.Grant, Owners: y.Owners, Published: y.Versions,
		Threshold: max(y.Threshold, 1), Roles: y.Roles}
	var err error
	if s.Owners == 0 || max(s.Grant, s.Owners, s.Published, s.Roles) > maxCount {
		return State{}, fault.New(fault.Malformed, "%s: grant %d, owners %d, versions %d", namespacePath, s.Grant, s.Owners, s.Published)
	}
	if s.Registry, err = objects.ParseDigest(y.Registry); err != nil {
		return State{}, err
	}
	if err = CheckNamespace(y.Namespace); err != nil {
		return State{}, err
	}
	for _, k := range y.Keys {
		key, err := k.key()
		if err != nil {
			return State{}, err
		}
		if findKey(s.keys, key.Public.Fingerprint()) >= 0 {
			return State{}, fault.New(fault.Malformed, "%s: key %s is listed twice", namespacePath, key.Public.Fingerprint())
		}
		s.keys = append(s.keys, key)
	}
	if len(s.Active()) < y.Threshold || (y.Threshold > 1) != (y.Roles > 0) {
		return State{}, fault.New(fault.Malformed, "%s: %d of %d keys must agree, since operation %d", namespacePath, y.Threshold, len(s.Active()), y.Roles)
	}
	if len(s.keys) == 0 || !bytes.Equal(s.EncodeNamespace(), raw) {
		return State{}, fault.New(fault.Malformed, "%s of %s: is not in canonical form", namespacePath, y.Namespace)
	}
	return s, nil
}

func (y *yamlKey) key() (k Key, err error) {
	if k.Public, err = trust.ParsePublicKey(y.Key); err != nil {
		return k, err
	}
	if k.By, err = objects.ParseFingerprint(y.By); err != nil {
		return k, err
	}
	k.Added, k.State, k.Since, k.BadFrom, k.DropFrom, k.Reason = y.Added, KeyState(y.State), y.Since, y.BadFrom, y.DropFrom, y.Reason
	bad := k.Added == 0 || max(k.Added, k.Since, k.BadFrom, k.DropFrom) > maxCount
	switch k.State {
	case KeyActive:
		bad = bad || k.Since != 0 || k.BadFrom != 0 || k.DropFrom != 0 || k.Reason != ""
	case KeyRetired:
		bad = bad || k.Since <= k.Added || k.BadFrom != 0 || k.DropFrom != 0 || k.Reason != ""
	case KeyRevoked:
		bad = bad || k.Since <= k.Added || k.BadFrom == 0 || k.BadFrom > k.Since || k.DropFrom != 0 && (k.DropFrom < k.BadFrom || k.DropFrom >= k.Since) || checkText("reason", k.Reason, MaxReason) != nil
	default:
		bad = true
	}
	if bad {
		return k, fault.New(fault.Malformed, "%s: key %s: its history makes no sense", namespacePath, k.Public.Fingerprint())
	}
	return k, nil
}

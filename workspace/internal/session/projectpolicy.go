package session

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/memory"
	"github.com/rye-os/rye/store/space"
)

// ProjectPolicy is the .ai/policy.yaml of a project, beside the one that this user has seen here last or agreed
// to. The file is a claim of whoever changed it last; the memory lies with the user.
type ProjectPolicy struct {
	Now    []byte // nil where there is none
	Kept   []byte // the remembered one, empty for a removal that a person agreed to
	Known  bool   // one is remembered
	Looser []string
}

// Removed reports whether the remembered policy is gone.
func (p *ProjectPolicy) Removed() bool { return p.Known && len(p.Kept) > 0 && p.Now == nil }

// ReadProjectPolicy reads both. A file that breaks its format is fault.Malformed.
func (s *Session) ReadProjectPolicy() (*ProjectPolicy, error) {
	p := &ProjectPolicy{}
	var err error
	if p.Kept, p.Known, err = memory.PolicyOf(s.Place).Text(policy.MaxFile); err != nil {
		return nil, fault.Wrap(err, "read the policy that is remembered for this directory")
	}
	if p.Now, err = s.PolicyHere(); err != nil {
		return nil, err
	}
	if p.Known {
		p.Looser, err = policy.Looser(p.Kept, p.Now)
	}
	return p, err
}

// PolicyHere reads the project's policy as it is now, within its bounds; nil where there is none.
func (s *Session) PolicyHere() ([]byte, error) {
	raw, err := readAI(s.ProjectDir, PolicyFile, policy.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if _, err := policy.Default().Tighten(raw); err != nil {
		refused := fault.Wrap(err, "read .ai/%s", PolicyFile)
		if fault.HintOf(err).String() == "" {
			refused = refused.Advise("git restore .ai/%s, if git has it; or correct the file", PolicyFile)
		}
		return nil, refused
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw, nil
}

// AcceptPolicy is the command by which a person agrees to another policy of the project.
const AcceptPolicy = "rye policy accept"

// Acting returns the rules for a verb that uses or takes in items. It refuses a project whose policy is gone or
// allows more than the one that is remembered here, and otherwise remembers the present one; not for a rehearsal.
func (s *Session) Acting(rehearsal bool) (policy.Rules, error) {
	rules, err := s.Rules()
	if err != nil || s.Project == nil {
		return rules, err
	}
	p, err := s.ReadProjectPolicy()
	if err != nil {
		return rules, err
	}
	if len(p.Looser) > 0 {
		return rules, p.refused()
	}
	if rehearsal || p.Known && bytes.Equal(p.Kept, p.Now) || !p.Known && p.Now == nil {
		return rules, nil
	}
	return rules, s.RememberPolicy(p.Now)
}

func (p *ProjectPolicy) refused() error {
	what := "it allows more than the policy that was accepted here"
	if p.Removed() {
		what = "it is gone, and one was accepted here"
	}
	return fault.New(fault.Denied, "the project's policy, .ai/%s: %s: %s", PolicyFile, what, strings.Join(p.Looser[:min(len(p.Looser), 3)], "; ")).Mend(AcceptPolicy)
}

// RememberPolicy remembers a text as the project's policy in this directory. Where rye keeps no records, nothing
// is remembered.
func (s *Session) RememberPolicy(raw []byte) error {
	m := memory.PolicyOf(s.Place)
	if m == nil {
		return nil
	}
	if err := s.Place.Note(s.Now()); err != nil {
		return err
	}
	return m.Keep(raw)
}

// Used is an item that is about to be used.
type Used struct {
	Ref      objects.Ref
	Path     string // below .ai
	Space    objects.Space
	Key      trust.PublicKey
	Patched  bool
	Registry string // the identity of the registry that published it; "" for an item of a space
}

// UsedOf describes a found item.
func UsedOf(f space.Found) Used {
	it := f.Item()
	return Used{Ref: it.Ref, Path: f.Path, Space: f.Space, Key: f.Key(), Patched: f.Patched() != trust.NoPatch, Registry: f.Registry}
}

// Admit refuses an item that does not meet the demands of the policy.
func (s *Session) Admit(ctx context.Context, d policy.Demands, u Used) error {
	if u.Space == objects.System || !d.Any() {
		return nil
	}
	if d.Review && u.Patched {
		return s.unreviewed(u.Ref)
	}
	if !d.Origin && len(d.Sources) == 0 {
		return nil
	}
	if u.Registry != "" {
		return s.admitRegistry(d, u.Ref, u.Registry)
	}
	o, err := s.originOf(ctx, u)
	if err != nil {
		return err
	}
	return s.admitOrigin(d, u, o)
}

// AdmitBundle is Admit for a whole bundle. registry is the identity of the one that published it, "" for none.
func (s *Session) AdmitBundle(d policy.Demands, ref objects.Ref, b trust.Bundle, registry string) error {
	switch {
	case d.Review && b.Patched() != trust.NoPatch:
		return s.unreviewed(ref)
	case registry != "":
		return s.admitRegistry(d, ref, registry)
	}
	return s.admitOrigin(d, Used{Ref: ref, Key: b.Key()}, b.Manifest().Origin)
}

// admitRegistry refuses an item of a registry whose address the demands do not allow. id is the
// registry's identity. rye.yaml and the lock may state another address than the one where the user met it.
func (s *Session) admitRegistry(d policy.Demands, ref objects.Ref, id string) error {
	known, _ := s.Trust.Registry(id)
	if err := d.Source(known.URL); err != nil {
		return fault.Wrap(err, "%s", ref)
	}
	return nil
}

func (s *Session) unreviewed(ref objects.Ref) error {
	return fault.New(fault.Denied, "%s is patched, and the policy demands items that an owner signed (require_review)", ref).Mend("rye review %s", ref)
}

// admitOrigin is Admit for an item of a space whose origin is known; nil is none.
func (s *Session) admitOrigin(d policy.Demands, u Used, o *objects.Origin) error {
	switch {
	case o == nil && (!d.Origin || s.Trust.IsOwn(u.Key)):
		return nil
	case o == nil:
		return fault.New(fault.Denied, "%s is signed by another person and states no source, and the policy demands one (require_origin)", u.Ref).
			Advise("rye add <source> takes it in with its origin")
	}
	if err := d.Source(o.Source); err != nil {
		return fault.Wrap(err, "%s", u.Ref)
	}
	if d.Origin && strings.HasPrefix(o.Source, "file:") {
		return fault.New(fault.Denied, "%s came from a folder or an archive, and the policy demands a source that others can reach (require_origin)", u.Ref).
			Advise("rye add <address of its repository>")
	}
	return nil
}

// RegistryOf returns the identity of the registry from which the lock pins an item; "" for none.
func (s *Session) RegistryOf(ref objects.Ref) string {
	pin := s.Lock.Items[ref]
	if pin.From == "" {
		return ""
	}
	return s.Lock.Registries[pin.From].ID.String()
}

// originOf returns the origin in the signed manifest of the bundle that holds an item; nil for none.
func (s *Session) originOf(ctx context.Context, u Used) (*objects.Origin, error) {
	l, err := s.Stack.Layer(u.Space)
	if err != nil {
		return nil, err
	}
	c, err := s.Stack.Cover(ctx, l, u.Path, nil)
	if err != nil || c == nil || c.Err != nil {
		return nil, err
	}
	return c.Manifest().Origin, nil
}

// AdmitSource refuses a source of content that the policy does not allow. Files of this machine are "file:".
func AdmitSource(d policy.Demands, address string) error {
	if d.Origin && strings.HasPrefix(address, "file:") {
		return fault.New(fault.Denied, "the policy demands a source that others can reach (require_origin), and this is a folder or an archive").
			Advise("give the address of its repository")
	}
	return d.Source(address)
}

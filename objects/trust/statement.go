package trust

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

const (
	statementVersion = 1
	maxStated        = 1000 // registries, or overrides
)

// Statement is everything that a directory asks its user to trust. By itself it makes nothing
// trusted. It depends only on allowed_signers and rye.yaml, so adding and removing items does
// not change it. docs/format/statement.md is normative.
type Statement struct {
	Project    string           // genesis id
	Signers    []StatedSigner   // sorted by fingerprint
	Registries []StatedRegistry // sorted by identity, each once
	Overrides  []StatedOverride // sorted by ref, then by signer
}

// StatedSigner is a key and the namespaces that it signs.
type StatedSigner struct {
	Key        PublicKey
	Namespaces []string // sorted; none is reserved
}

// StatedRegistry is a registry with its addresses, and the namespaces that come from it.
type StatedRegistry struct {
	ID        string                // identity
	Roots     []objects.Fingerprint // sorted; at least one
	Addresses []string              // sorted; at least one
	Scopes    []string              // namespaces, or "*"; sorted
}

// StatedOverride allows a signer's item to override an item of a reserved or bound namespace.
type StatedOverride struct {
	Ref    objects.Ref
	Signer objects.Fingerprint
}

// NewStatement puts the declarations into their one order. It leaves out reserved namespaces,
// which no declared key can sign: in allowed_signers they only name the key of an override. A
// declaration that breaks a rule is Malformed, and too many are Limit.
func NewStatement(project string, signers *Signers, registries []StatedRegistry, overrides []StatedOverride) (*Statement, error) {
	st := &Statement{Project: project}
	if err := checkProject(project); err != nil {
		return nil, fault.New(fault.Malformed, "statement: %w", err)
	}
	if len(registries) > maxStated || len(overrides) > maxStated {
		return nil, fault.New(fault.Limit, "statement: %d registries and %d overrides, at most %d of each", len(registries), len(overrides), maxStated)
	}
	for _, k := range signers.Keys() {
		if of := slices.DeleteFunc(signers.Of(k), Reserved); len(of) > 0 {
			st.Signers = append(st.Signers, StatedSigner{k, of})
		}
	}
	slices.SortFunc(st.Signers, func(a, b StatedSigner) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	if err := st.setRegistries(registries); err != nil {
		return nil, err
	}
	return st, st.setOverrides(overrides)
}

// setRegistries joins the entries of a project that are about the same registry.
func (st *Statement) setRegistries(all []StatedRegistry) error {
	byID := map[string]*StatedRegistry{}
	for _, r := range all {
		j := byID[r.ID]
		if j == nil {
			j = &StatedRegistry{ID: r.ID}
			byID[r.ID] = j
		}
		j.Roots = sortedPrints(slices.Concat(j.Roots, r.Roots))
		j.Addresses = sorted(slices.Concat(j.Addresses, r.Addresses))
		j.Scopes = sorted(slices.Concat(j.Scopes, r.Scopes))
	}
	for _, r := range byID {
		for _, g := range r.grants(Site{}) {
			if err := g.checkValue(); err != nil {
				return fault.New(fault.Malformed, "statement: %s %q: %w", g.Kind, words.Brief(g.Value), err)
			}
		}
		if len(r.Addresses) == 0 {
			return fault.New(fault.Malformed, "statement: registry %s has no address", r.ID)
		}
		if err := checkRegistry(Registry{ID: r.ID, URL: r.Addresses[0], Roots: r.Roots}); err != nil {
			return fault.New(fault.Malformed, "statement: %w", err)
		}
		st.Registries = append(st.Registries, *r)
	}
	slices.SortFunc(st.Registries, func(a, b StatedRegistry) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

func (st *Statement) setOverrides(all []StatedOverride) error {
	for _, o := range all {
		if err := checkOverride(o.Ref.String(), o.Signer.String()); err != nil {
			return fault.New(fault.Malformed, "statement: override of %s: %w", o.Ref, err)
		}
	}
	st.Overrides = slices.Clone(all)
	slices.SortFunc(st.Overrides, func(a, b StatedOverride) int {
		return cmp.Or(strings.Compare(a.Ref.String(), b.Ref.String()), comparePrints(a.Signer, b.Signer))
	})
	st.Overrides = slices.Compact(st.Overrides)
	return nil
}

// The statement as JSON. Fields are in the order of their names, and no text in them needs an
// escape that RFC 8785 writes differently.
type (
	statedJSON struct {
		Overrides  []overrideJSON `json:"overrides"`
		Project    string         `json:"project"`
		Registries []registryJSON `json:"registries"`
		Signers    []signerJSON   `json:"signers"`
		V          int            `json:"v"`
	}
	signerJSON struct {
		Fingerprint string   `json:"fingerprint"`
		Namespaces  []string `json:"namespaces"`
	}
	registryJSON struct {
		Addresses []string `json:"addresses"`
		Identity  string   `json:"identity"`
		RootKeys  []string `json:"root_keys"`
		Scopes    []string `json:"scopes"`
	}
	overrideJSON struct {
		Ref    string `json:"ref"`
		Signer string `json:"signer"`
	}
	partJSON struct {
		Override *overrideJSON `json:"override,omitempty"`
		Part     GrantKind     `json:"part"`
		Project  string        `json:"project"`
		Registry *registryJSON `json:"registry,omitempty"`
		Signer   *signerJSON   `json:"signer,omitempty"`
		V        int           `json:"v"`
	}
)

func (s StatedSigner) json() signerJSON {
	return signerJSON{s.Key.String(), append([]string{}, s.Namespaces...)}
}

func (r StatedRegistry) json() registryJSON {
	j := registryJSON{append([]string{}, r.Addresses...), r.ID, []string{}, append([]string{}, r.Scopes...)}
	for _, fp := range r.Roots {
		j.RootKeys = append(j.RootKeys, fp.String())
	}
	return j
}

func (o StatedOverride) json() overrideJSON { return overrideJSON{o.Ref.String(), o.Signer.String()} }

// JSON returns the canonical text, whose SHA-256 is the digest.
func (st *Statement) JSON() []byte {
	j := statedJSON{Overrides: []overrideJSON{}, Project: st.Project, Registries: []registryJSON{}, Signers: []signerJSON{}, V: statementVersion}
	for _, s := range st.Signers {
		j.Signers = append(j.Signers, s.json())
	}
	for _, r := range st.Registries {
		j.Registries = append(j.Registries, r.json())
	}
	for _, o := range st.Overrides {
		j.Overrides = append(j.Overrides, o.json())
	}
	return canonical(j)
}

func canonical(j any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(j); err != nil { // strings and one number: cannot fail
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Digest identifies the whole statement.
func (st *Statement) Digest() objects.Digest { return objects.DigestOf(st.JSON()) }

// Part is one request of a statement. A user can agree to each part alone.
type Part struct {
	Kind     GrantKind       // project, signer, registry or override
	Signer   *StatedSigner   // with one namespace
	Registry *StatedRegistry // whole
	Override *StatedOverride
	json     []byte
}

// Digest identifies the part. It never equals the digest of a statement.
func (p Part) Digest() objects.Digest { return objects.DigestOf(p.json) }

// JSON returns the canonical text, whose SHA-256 is the digest.
func (p Part) JSON() []byte { return slices.Clone(p.json) }

// Parts returns the parts: the user's own keys, each namespace of each signer, each
// registry and each override, in the order of the statement.
func (st *Statement) Parts() []Part {
	of := func(p Part, j partJSON) Part {
		j.Part, j.Project, j.V = p.Kind, st.Project, statementVersion
		p.json = canonical(j)
		return p
	}
	all := []Part{of(Part{Kind: GrantProject}, partJSON{})}
	for _, s := range st.Signers {
		for _, ns := range s.Namespaces {
			one := StatedSigner{s.Key, []string{ns}}
			j := one.json()
			all = append(all, of(Part{Kind: GrantSigner, Signer: &one}, partJSON{Signer: &j}))
		}
	}
	for _, r := range st.Registries {
		j := r.json()
		all = append(all, of(Part{Kind: GrantRegistry, Registry: &r}, partJSON{Registry: &j}))
	}
	for _, o := range st.Overrides {
		j := o.json()
		all = append(all, of(Part{Kind: GrantOverride, Override: &o}, partJSON{Override: &j}))
	}
	return all
}

// Grants returns the grants that a user's yes to the part gives in a directory.
func (p Part) Grants(at Site) []Grant {
	switch p.Kind {
	case GrantProject:
		return []Grant{at.OwnKeys()}
	case GrantSigner:
		return []Grant{at.Signer(p.Signer.Namespaces[0], p.Signer.Key)}
	case GrantRegistry:
		return p.Registry.grants(at)
	case GrantOverride:
		return []Grant{at.Override(p.Override.Ref, p.Override.Signer)}
	}
	return nil
}

func (r StatedRegistry) grants(at Site) []Grant {
	var all []Grant
	for _, address := range r.Addresses {
		all = append(all, at.Registry(r.ID, address))
	}
	for _, scope := range r.Scopes {
		all = append(all, at.Scope(scope, r.ID))
	}
	return all
}

// Missing returns the parts that the user has not granted in a directory, and parts whose
// grants a removal has ended. The user's own keys need only the grant "project".
func (st *Statement) Missing(s *Store, at Site, d *Declared) []Part {
	return slices.DeleteFunc(st.Parts(), func(p Part) bool {
		if p.Kind == GrantSigner && s.IsOwn(p.Signer.Key) {
			return true
		}
		return !slices.ContainsFunc(p.Grants(at), func(g Grant) bool { return !s.stands(g, d) })
	})
}

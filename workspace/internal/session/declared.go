package session

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// SignersFile declares who signs in a project, and which namespaces; see
// docs/format/statement.md.
const SignersFile = "allowed_signers"

// SignedFile is a file of the project with the key that its signature line names, whether
// that line holds or not.
type SignedFile struct {
	Ref    objects.Ref
	Path   string // below .ai
	Signer objects.Fingerprint
	Counts bool // it is believed here
}

// readDeclared reads what the project says of others' signatures: it can only narrow what
// was granted. Without the file nobody is declared.
func (s *Session) readDeclared(ai place.Folder) (*trust.Declared, error) {
	overrides, err := s.Project.StatedOverrides()
	if err != nil {
		return nil, err
	}
	raw, err := ai.Read(SignersFile, trust.MaxSignersFile)
	if errors.Is(err, fs.ErrNotExist) {
		raw, err = nil, nil
	}
	removed, kerr := s.against.read(s, objects.SignerRemoved, raw)
	return trust.NewDeclared(raw, err, overrides, removed), kerr
}

// StatedRegistries returns the registries as the project's statement names them. One
// without root keys cannot be agreed to, and is among the names.
func (p *Project) StatedRegistries() (all []trust.StatedRegistry, without []string) {
	for name, r := range p.Registries {
		if len(r.Roots) == 0 {
			without = append(without, name)
			continue
		}
		one := trust.StatedRegistry{ID: r.ID, Addresses: append([]string{r.URL}, r.Mirrors...)}
		for _, text := range r.Roots {
			if fp, err := objects.ParseFingerprint(text); err == nil { // parseProject refused another
				one.Roots = append(one.Roots, fp)
			}
		}
		for scope, from := range p.Scopes {
			if from == name {
				one.Scopes = append(one.Scopes, scope)
			}
		}
		all = append(all, one)
	}
	slices.Sort(without)
	return all, without
}

// StatedOverrides returns the overrides as the project's statement names them.
func (p *Project) StatedOverrides() ([]trust.StatedOverride, error) {
	var all []trust.StatedOverride
	for _, o := range p.Overrides {
		one, err := o.stated()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (o Override) stated() (s trust.StatedOverride, err error) {
	if s.Ref, err = objects.ParseRef(o.Ref); err != nil {
		return s, err
	}
	if s.Ref.String() != o.Ref {
		return s, fault.New(fault.Malformed, "want kind:id")
	}
	s.Signer, err = objects.ParseFingerprint(o.Signer)
	return s, err
}

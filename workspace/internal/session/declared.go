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

// SignersFile declares the signers of a project, and their namespaces; see
// docs/format/statement.md.
const SignersFile = "allowed_signers"

// SignedFile is a file of the project with the key in its signature line, whether that line
// holds or not.
type SignedFile struct {
	Ref    objects.Ref
	Path   string // below .ai
	Signer objects.Fingerprint
	Counts bool // it is trusted here
}

// readDeclared reads the project's declarations about other signers, which can only narrow the
// grants. Without the file there are no declared signers.
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

// StatedRegistries returns the registries in the project's statement, and the names of those
// without root keys, which cannot be agreed to.
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

// StatedOverrides returns the overrides in the project's statement.
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

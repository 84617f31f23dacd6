package space

import (
	"io/fs"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/stdlib"
)

// System is the compiled-in space: the standard library, its manifest verified.
// It is safe for concurrent use.
type System struct {
	trust.Bundle
	Release stdlib.Release
	paths   map[objects.Ref]string
}

// OpenSystem verifies the manifest of the standard library against the list of releases in the
// program. Files are verified when they are read.
func OpenSystem() (*System, error) {
	all := stdlib.Releases()
	if len(all) == 0 {
		return nil, fault.New(fault.Integrity, "open the standard library: this program was built without one").Advise("make stdlib-sign, then build again")
	}
	return openRelease(all[len(all)-1], stdlib.Manifest(), stdlib.Files())
}

// openRelease verifies a manifest against the program's entry for its release.
func openRelease(rel stdlib.Release, manifest []byte, files fs.FS) (*System, error) {
	key, err := trust.ParsePublicKey(rel.Key)
	if err != nil {
		return nil, err
	}
	b, err := trust.VerifyBundle(manifest, files, []trust.PublicKey{key})
	if err != nil {
		return nil, err
	}
	if got := objects.DigestOf(manifest); got.String() != rel.Manifest {
		return nil, fault.New(fault.Integrity, "open the standard library: its manifest is %s, the release names %s", got, rel.Manifest).Advise("install rye again")
	}
	s := &System{Bundle: b, Release: rel, paths: map[objects.Ref]string{}}
	for _, f := range b.Files() {
		if ref, _, err := objects.RefOfPath(f.Path); err == nil {
			s.paths[ref] = f.Path
		}
	}
	return s, nil
}

// Locate returns the path of an item below .ai.
func (s *System) Locate(ref objects.Ref) (string, bool) {
	p, ok := s.paths[ref]
	return p, ok
}

// Refs returns every item of the standard library, in no order.
func (s *System) Refs() []objects.Ref {
	refs := make([]objects.Ref, 0, len(s.paths))
	for ref := range s.paths {
		refs = append(refs, ref)
	}
	return refs
}

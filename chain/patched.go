package chain

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// PatchedPart is one file of a plan that is a patch: its signer does not own its namespace.
type PatchedPart struct {
	Name    string         // kind:id of a link, or the path below .ai of a file beside the tool
	Sum     objects.Digest // of the whole file
	Granted bool           // a grant of this user names the contributor and these bytes
}

// Patched lists the patches of a plan, sorted by name. One of them makes the whole run patched.
type Patched []PatchedPart

// PatchedOf returns the patches among everything that a plan uses: its links and the files that
// the tool can load. more are items that a run uses beside its plan.
func PatchedOf(p *Plan, more ...trust.Verified) (all Patched) {
	add := func(name string, sum objects.Digest, patch trust.Patch) {
		if patch != trust.NoPatch {
			all = append(all, PatchedPart{name, sum, patch == trust.GrantedPatch})
		}
	}
	if p != nil {
		for _, l := range p.Links {
			add(l.Ref().String(), l.Verified.Item().Sum, l.Verified.Patched())
		}
		for _, f := range p.Around {
			add(".ai/"+f.Path, f.Sum, f.Patch)
		}
	}
	for _, v := range more {
		add(v.Item().Ref.String(), v.Item().Sum, v.Patched())
	}
	slices.SortFunc(all, func(a, b PatchedPart) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(all)
}

// Names returns the names of the parts.
func (p Patched) Names() (names []string) {
	for _, part := range p {
		names = append(names, part.Name)
	}
	return names
}

// Ungranted returns the parts that no grant names.
func (p Patched) Ungranted() Patched {
	return slices.DeleteFunc(slices.Clone(p), func(part PatchedPart) bool { return part.Granted })
}

// Refuse returns the error for a use that takes only items signed by their owners, or granted
// ones; nil when every part is such an item.
func (p Patched) Refuse(use string, ref objects.Ref) error {
	left := p.Ungranted()
	if len(left) == 0 {
		return nil
	}
	names := strings.Join(left.Names()[:min(len(left), 3)], ", ")
	if more := len(left) - 3; more > 0 {
		names += ", and " + words.Plural(more, "more file")
	}
	return fault.New(fault.Untrusted, "%s %s: patched, so no owner signed %s", use, ref, names).
		Advise("an owner signs the change: rye review %s", left[0].Target())
}

// Target returns the argument by which a command takes the part.
func (p PatchedPart) Target() string { return p.Name }

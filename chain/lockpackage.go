package chain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// A lock pins a bundle by one entry: the entry of its manifest. The members have no entries,
// because the manifest has their digests, and a link names its bundle. The entry's chain lists,
// sorted, the items outside of the bundle that the members run through.

// MaxPackageChain bounds the items that the members of one bundle run through.
const MaxPackageChain = 256

// pinned returns the entry that pins a link: its own, or its bundle's.
func (l *Lock) pinned(link Link) (objects.Ref, Pin, bool) {
	ref := link.Ref()
	if inPackage(link) {
		ref = link.Origin.Package
	}
	pin, ok := l.Items[ref]
	return ref, pin, ok
}

// inPackage reports whether a link is a member of a bundle.
func inPackage(link Link) bool { return link.Origin != nil && link.Origin.Package != objects.Ref{} }

// Entry returns the ref of the entry that pins the tool: the bundle's, when the tool is a member
// of one.
func (p *Plan) Entry() objects.Ref { return EntryOf(p.Links[0]) }

// EntryOf returns the ref of the entry that pins a link.
func EntryOf(link Link) objects.Ref {
	if inPackage(link) {
		return link.Origin.Package
	}
	return link.Ref()
}

// matchMember compares a member's bundle with its pin.
func (pin Pin) matchMember(link Link) error {
	o := link.Origin
	differs := func(field, want, found, cause string) error {
		return fault.New(fault.Drift, "%w", &DriftError{Pin: o.Package, Field: field, Want: want, Found: found, Cause: cause}).
			Advise("ask the author of the lock; rye pull brings its versions, rye update %s the registry's", o.Package.Published())
	}
	switch {
	case pin.From != o.Registry:
		return differs("from", pin.From, o.Registry, "it comes from another source")
	case pin.Version != o.Version:
		return differs("version", pin.Version, o.Version, "another version of the bundle is here")
	case pin.Commit != o.Commit:
		return differs("commit", pin.Commit, o.Commit, "the bundle was published again")
	case pin.Publisher != o.Publisher:
		return differs("publisher", pin.Publisher.String(), o.Publisher.String(), "its publisher changed")
	case pin.Author != link.Verified.Key().Fingerprint():
		return differs("author", pin.Author.String(), link.Verified.Key().Fingerprint().String(), "its signer changed")
	case pin.SHA256 != o.Manifest:
		return differs("sha256", pin.SHA256.Hex(), o.Manifest.Hex(), "its manifest changed")
	}
	return nil
}

// beyond returns the items outside of the tool's own bundle that a plan runs through.
func beyond(p *Plan) (out []objects.Ref) {
	own := EntryOf(p.Links[0])
	for _, l := range p.Links[1:] {
		if EntryOf(l) != own {
			out = append(out, EntryOf(l))
		}
	}
	return out
}

// matchChain compares the chain of a tool with the chain in its entry.
func (l *Lock) matchChain(p *Plan, pin Pin) error {
	tool := p.Links[0]
	if !inPackage(tool) {
		if want, found := refsText(pin.Chain), refsText(entries(p)); want != found {
			return drift(tool.Ref(), "chain", want, found, "it runs through other items now")
		}
		return nil
	}
	for _, ref := range beyond(p) {
		if !slices.Contains(pin.Chain, ref) {
			return drift(EntryOf(tool), "chain", refsText(pin.Chain), ref.String(), tool.Ref().String()+" runs through an item that is not locked with its bundle")
		}
	}
	return nil
}

// entries returns the entries of the items that a plan runs through, each once.
func entries(p *Plan) (out []objects.Ref) {
	for _, l := range p.Links[1:] {
		if ref := EntryOf(l); !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// setMember adds to the entry of a bundle the items that one of its tools runs through.
func (l *Lock) setMember(p *Plan) error {
	ref := EntryOf(p.Links[0])
	pin, ok := l.Items[ref]
	if !ok {
		return drift(ref, "item", "", "", "it is not in the lock")
	}
	pin.Chain = slices.Concat(pin.Chain, beyond(p))
	slices.SortFunc(pin.Chain, func(a, b objects.Ref) int { return strings.Compare(a.String(), b.String()) })
	pin.Chain = slices.Compact(pin.Chain)
	l.Items[ref] = pin
	return nil
}

// PackageDigest is the SHA-256 of what the members of a bundle may reach. It hashes one line for
// each directive and tool, in the order given, with the digest of its capabilities.
func PackageDigest(members []*objects.Item) objects.Digest {
	var b strings.Builder
	for _, it := range members {
		if it.Ref.Kind == objects.Directive || it.Ref.Kind == objects.Tool {
			fmt.Fprintf(&b, "%s  %s\n", CapabilityDigest(it).Hex(), it.Ref)
		}
	}
	return objects.DigestOf([]byte(b.String()))
}

// SetPackage records in the entry of a bundle what its members may reach. SetItem makes the
// entry first.
func (l *Lock) SetPackage(ref objects.Ref, members []*objects.Item) {
	pin := l.Items[ref]
	pin.Capability = PackageDigest(members)
	l.Items[ref] = pin
}

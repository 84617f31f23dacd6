package chain

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// LockVersion is the format that this version of rye reads and writes.
const LockVersion = 1

// MaxLock bounds a lock in bytes; ten thousand items fit.
const MaxLock = 16 << 20

// Lock is .ai/rye.lock: the exact content of the project's tools, to which the author of its
// commit agreed. docs/format/lock.md is the format. The zero value is an empty lock.
type Lock struct {
	Stdlib     *StdlibPin
	Registries map[string]RegistryPin  // by the project's name for them
	Namespaces map[string]NamespacePin // the newest tips seen
	Items      map[objects.Ref]Pin
	Origins    map[objects.Ref]OriginPin // of bundles; a copy for other tools, which rye never uses
}

// StdlibPin names a released standard library.
type StdlibPin struct {
	Version  string
	Manifest objects.Digest
	Commit   string // of the embedded release in a store; "" when none was recorded
}

// RegistryPin identifies a registry.
type RegistryPin struct {
	ID  objects.Digest // of the raw genesis commit
	URL string         // its last known address; no evidence
}

// NamespacePin is the last position seen in a namespace's log.
type NamespacePin struct {
	Registry string
	Seq      uint64
	Tip      string         // commit
	SHA256   objects.Digest // of the raw tip commit
}

// Pin is one locked item.
type Pin struct {
	From       string        // registry name; "" for an item of a space
	Space      objects.Space // zero for a registry item
	Version    string
	Path       string         // below .ai
	SHA256     objects.Digest // of the whole file
	Blob       string         // git id; "" when unknown
	Commit     string         // registry items: the content commit
	Author     objects.Fingerprint
	Publisher  objects.Fingerprint
	Needs      *objects.Needs // registry items: as declared, nil when silent
	Capability objects.Digest // registry items: of needs and permissions
	Chain      []objects.Ref  // tools: what runs it, in order, without itself
	Around     objects.Digest // tools: of the files that it can load beside its own; zero when there are none
}

// DriftError reports a difference between the lock and the items found. Cause shows which side
// changed.
type DriftError struct {
	Pin   objects.Ref // the item; zero when Field is a part of the lock that belongs to no item
	Field string      // "sha256", "chain", ...
	Want  string      // in the lock
	Found string
	Cause string
}

func (e *DriftError) Error() string {
	if e.Pin == (objects.Ref{}) {
		return fmt.Sprintf("lock: %s: %s", e.Field, e.Cause)
	}
	if e.Want == "" && e.Found == "" {
		return fmt.Sprintf("lock: %s: %s", e.Pin, e.Cause)
	}
	return fmt.Sprintf("lock: %s: %s is %s, locked is %s: %s", e.Pin, e.Field, cmp.Or(e.Found, "none"), cmp.Or(e.Want, "none"), e.Cause)
}

func drift(ref objects.Ref, field, want, found, cause string) *fault.Error {
	return fault.New(fault.Drift, "%w", &DriftError{Pin: ref, Field: field, Want: want, Found: found, Cause: cause}).Mend("rye lock %s", ref)
}

// Match returns nil when the plan equals its pin: the same chain, each link with the locked bytes
// from the locked place. The error wraps *DriftError.
func (l *Lock) Match(p *Plan) error {
	tool, pin, ok := l.pinned(p.Links[0])
	if !ok {
		return drift(tool, "item", "", "", "it is not in the lock")
	}
	if err := l.matchChain(p, pin); err != nil {
		return err
	}
	for _, link := range p.Links {
		if _, _, ok := l.pinned(link); !ok {
			return drift(EntryOf(link), "item", "", "", "it is part of the chain of "+tool.String()+" and not in the lock")
		}
		if err := l.MatchItem(link); err != nil {
			return err
		}
	}
	if inPackage(p.Links[0]) {
		return nil // every file that it can load is in the bundle
	}
	if found := AroundDigest(p.Around); found != pin.Around {
		return drift(tool, "around", hexOrNone(pin.Around), hexOrNone(found), "a file that it loads changed, or was added or removed")
	}
	return nil
}

// MatchItem is Match for one item without its chain, such as an item that does not execute or
// that comes from elsewhere.
func (l *Lock) MatchItem(link Link) error {
	ref, pin, ok := l.pinned(link)
	switch {
	case !ok:
		return drift(ref, "item", "", "", "it is not in the lock")
	case inPackage(link):
		return pin.matchMember(link)
	}
	return pin.match(link)
}

// AroundDigest is the lock's digest of the files around a tool: the SHA-256 of sha256sum's output
// for them, sorted by path. It is zero without files.
func AroundDigest(files []Source) objects.Digest {
	if len(files) == 0 {
		return objects.Digest{}
	}
	files = slices.SortedFunc(slices.Values(files), func(a, b Source) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), bytes.Compare(a.Sum[:], b.Sum[:]))
	})
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", f.Sum.Hex(), f.Path)
	}
	return objects.DigestOf(b.Bytes())
}

func hexOrNone(d objects.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.Hex()
}

// match compares one link. rye lock never changes the pin of a registry's item: rye update does, and
// asks.
func (pin Pin) match(link Link) error {
	err := pin.compare(link)
	if err == nil {
		return nil
	}
	if pin.From != "" && link.Origin != nil && pin.From == link.Origin.Registry {
		return err.Mend("rye update %s", link.Ref())
	}
	return err
}

// compare returns the first difference of a link from its pin. The digest comes last, because the
// fields before it give the reason.
func (pin Pin) compare(link Link) *fault.Error {
	it, ref := link.Verified.Item(), link.Ref()
	from := ""
	if link.Origin != nil {
		from = link.Origin.Registry
	}
	switch {
	case pin.From != from:
		return drift(ref, "from", pin.From, from, "it comes from another source")
	case from == "" && pin.Space != link.Space:
		return drift(ref, "space", pin.Space.String(), link.Space.String(), "an item of another space hides it")
	case pin.Version != it.Meta.Version:
		return drift(ref, "version", pin.Version, it.Meta.Version, "the version in .ai/"+it.Path+" changed")
	case pin.Path != objects.PublishedPath(it):
		return drift(ref, "path", pin.Path, objects.PublishedPath(it), "it was moved")
	case link.Origin != nil && pin.Commit != link.Origin.Commit:
		return drift(ref, "commit", pin.Commit, link.Origin.Commit, "the registry's item was published again")
	case link.Origin != nil && pin.Publisher != link.Origin.Publisher:
		return drift(ref, "publisher", pin.Publisher.String(), link.Origin.Publisher.String(), "its publisher changed")
	case link.Origin != nil && pin.Author != link.Verified.Key().Fingerprint():
		return drift(ref, "author", pin.Author.String(), link.Verified.Key().Fingerprint().String(), "its signer changed")
	case pin.SHA256 != it.Sum:
		return drift(ref, "sha256", pin.SHA256.Hex(), it.Sum.Hex(), ".ai/"+it.Path+" changed")
	}
	return nil
}

func refsText(refs []objects.Ref) string { return strings.Trim(fmt.Sprint(refs), "[]") }

// Set pins a plan: the tool with its chain, and every link of it. It refuses a link of the user
// space, because no one else has that space.
func (l *Lock) Set(p *Plan) error {
	for _, link := range p.Links {
		if link.Origin == nil && link.Space == objects.User {
			return fault.New(fault.Denied, "lock %s: %s is in your user space, and no one else has that", p.Links[0].Ref(), link.Ref()).
				Mend("rye add %s --space project", link.Ref())
		}
	}
	if err := PatchedOf(p).Refuse("lock", p.Links[0].Ref()); err != nil {
		return err // no owner signed it
	}
	for _, link := range p.Links {
		if err := l.keepsOrigin(link); err != nil {
			return err
		}
	}
	if l.Items == nil {
		l.Items = map[objects.Ref]Pin{}
	}
	if inPackage(p.Links[0]) {
		if err := l.setMember(p); err != nil {
			return err
		}
	}
	for i, link := range p.Links {
		if inPackage(link) {
			continue // its bundle has the entry
		}
		pin := PinOf(link)
		if i == 0 {
			pin.Chain, pin.Around = entries(p), AroundDigest(p.Around)
		} else {
			old := l.Items[link.Ref()] // of a runtime that has an entry of its own
			pin.Chain, pin.Around = old.Chain, old.Around
		}
		l.Items[link.Ref()] = pin
	}
	return nil
}

// keepsOrigin refuses to replace the entry of a registry's item by a file of a space: renewing an
// entry must not change whose item it is.
func (l *Lock) keepsOrigin(link Link) error {
	if from := l.Items[link.Ref()].From; from != "" && link.Origin == nil {
		return fault.New(fault.Drift, "lock %s: the lock has it from %s, and this is a file of the %s space", link.Ref(), from, link.Space).
			Advise("rye rm %s takes the entry out of the lock", link.Ref())
	}
	return nil
}

// SetItem pins an item that does not execute, such as a directive from a registry. It refuses
// like Set.
func (l *Lock) SetItem(link Link) error {
	if inPackage(link) {
		return nil // its bundle has the entry
	}
	if err := PatchedOf(nil, link.Verified).Refuse("lock", link.Ref()); err != nil {
		return err
	}
	if err := l.keepsOrigin(link); err != nil {
		return err
	}
	if l.Items == nil {
		l.Items = map[objects.Ref]Pin{}
	}
	l.Items[link.Ref()] = PinOf(link)
	return nil
}

// PinOf returns a link's entry in the lock, without its chain.
func PinOf(link Link) Pin {
	it := link.Verified.Item()
	pin := Pin{Space: link.Space, Version: it.Meta.Version, Path: objects.PublishedPath(it), SHA256: it.Sum, Blob: link.Blob}
	if o := link.Origin; o != nil {
		pin.Space, pin.From = 0, o.Registry
		pin.Commit, pin.Author, pin.Publisher = o.Commit, o.Author, o.Publisher
		pin.Capability = CapabilityDigest(it)
		if it.Meta.Needs.Declared {
			n := it.Meta.Needs
			n.Sandbox = "" // a sandbox tier requires no consent
			pin.Needs = &n
		}
	}
	return pin
}

// CapabilityDigest is the SHA-256 of what an item may reach, in canonical JSON: needs and
// permissions, lists sorted, absent needs null. It changes exactly when an update asks for more
// or less.
func CapabilityDigest(it *objects.Item) objects.Digest {
	type needs struct {
		Listen []string `json:"listen,omitempty"`
		Net    []string `json:"net"`
		Read   []string `json:"read"`
		Rye    []string `json:"rye,omitempty"`
		Write  []string `json:"write"`
	}
	sorted := func(list []string) []string { return append([]string{}, slices.Sorted(slices.Values(list))...) }
	v := struct {
		Needs       *needs   `json:"needs"`
		Permissions []string `json:"permissions"`
	}{Permissions: sorted(it.Meta.Permissions)}
	if n := it.Meta.Needs; n.Declared {
		v.Needs = &needs{sorted(n.Listen), sorted(n.Net), sorted(n.Read), sorted(n.Rye), sorted(n.Write)}
	}
	text, err := encodeJSON(v)
	if err != nil {
		panic("chain: " + err.Error()) // texts always encode
	}
	return objects.DigestOf(text)
}

// Remove unpins an item, and the links that only its chain used: tools of a space without a chain
// of their own in the lock.
func (l *Lock) Remove(ref objects.Ref) {
	delete(l.Items, ref)
	used := map[objects.Ref]bool{}
	for _, pin := range l.Items {
		for _, c := range pin.Chain {
			used[c] = true
		}
	}
	for r, pin := range l.Items {
		if r.Kind == objects.Tool && pin.From == "" && len(pin.Chain) == 0 && !used[r] {
			delete(l.Items, r)
		}
	}
}

// DropOwn unpins the items of the spaces, except the items in keep and the links of every chain
// that stays pinned.
func (l *Lock) DropOwn(keep map[objects.Ref]bool) {
	stays := maps.Clone(keep)
	if stays == nil {
		stays = map[objects.Ref]bool{}
	}
	for ref, pin := range l.Items {
		if pin.From != "" || keep[ref] {
			for _, link := range pin.Chain {
				stays[link] = true
			}
		}
	}
	maps.DeleteFunc(l.Items, func(ref objects.Ref, pin Pin) bool { return pin.From == "" && !stays[ref] })
}

// Clone returns a copy of l, which the caller may change. The clone of a nil lock is empty.
func (l *Lock) Clone() *Lock {
	out := &Lock{Registries: map[string]RegistryPin{}, Namespaces: map[string]NamespacePin{}, Items: map[objects.Ref]Pin{}, Origins: map[objects.Ref]OriginPin{}}
	if l == nil {
		return out
	}
	maps.Copy(out.Registries, l.Registries)
	maps.Copy(out.Namespaces, l.Namespaces)
	maps.Copy(out.Items, l.Items)
	maps.Copy(out.Origins, l.Origins)
	if l.Stdlib != nil {
		s := *l.Stdlib
		out.Stdlib = &s
	}
	return out
}

// lockVersion reads the first line, which stays the same in all future formats.
func lockVersion(raw []byte) (int, error) {
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	num, ok := bytes.CutPrefix(line, []byte("lock: "))
	n, err := strconv.Atoi(string(num))
	if !ok || err != nil || n < 1 {
		return 0, fault.New(fault.Malformed, "lock: the first line is %q, want lock: %d", words.Brief(string(line)), LockVersion)
	}
	return n, nil
}

package chain

import (
	"bytes"
	"errors"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// The file's form. The fields are in the order of the file.
type lockFile struct {
	Lock       int
	Stdlib     *stdlibFile
	Registries map[string]registryFile
	Namespaces map[string]namespaceFile
	Items      map[string]itemFile
	Origins    map[string]originFile
}

type stdlibFile struct {
	Version  string
	Manifest string
	Commit   string
}

type registryFile struct {
	ID  string
	URL string
}

type namespaceFile struct {
	Registry string
	Seq      uint64
	Tip      string
	SHA256   string
}

type itemFile struct {
	From       string
	Space      string
	Version    string
	Path       string
	SHA256     string
	Blob       string
	Commit     string
	Author     string
	Publisher  string
	Needs      *needsFile
	Capability string
	Chain      []string
	Around     string
}

type originFile struct {
	Source     string
	Ref        string
	Commit     string
	Path       string
	TreeSHA256 string `yaml:"tree_sha256"`
}

type needsFile struct {
	Read  []string
	Write []string
	Net   []string

	// Absent when there are none.
	Listen []string
	Rye    []string
}

// field is one line of text in an entry.
type field struct {
	key  string
	at   *string
	must bool // written even when it is empty
}

// fields returns the fields of an entry that are one line of text, in the order of the file.
func (s *stdlibFile) fields() []field {
	return []field{{"version", &s.Version, true}, {"manifest", &s.Manifest, true}, {"commit", &s.Commit, false}}
}

func (r *registryFile) fields() []field {
	return []field{{"id", &r.ID, true}, {"url", &r.URL, true}}
}

func (n *namespaceFile) fields() []field {
	return []field{{"registry", &n.Registry, true}, {"tip", &n.Tip, true}, {"sha256", &n.SHA256, true}}
}

func (i *itemFile) fields() []field {
	return []field{{"from", &i.From, false}, {"space", &i.Space, false}, {"version", &i.Version, false},
		{"path", &i.Path, true}, {"sha256", &i.SHA256, true}, {"blob", &i.Blob, false}, {"commit", &i.Commit, false},
		{"author", &i.Author, false}, {"publisher", &i.Publisher, false}, {"capability", &i.Capability, false},
		{"around", &i.Around, false}}
}

func (o *originFile) fields() []field {
	return []field{{"source", &o.Source, true}, {"ref", &o.Ref, false}, {"commit", &o.Commit, false}, {"path", &o.Path, false},
		{"tree_sha256", &o.TreeSHA256, true}}
}

// Encode returns the file's text: sorted, without times, and the same for equal locks.
func (l *Lock) Encode() ([]byte, error) {
	f := lockFile{Lock: LockVersion, Registries: map[string]registryFile{}, Namespaces: map[string]namespaceFile{}, Items: map[string]itemFile{}, Origins: map[string]originFile{}}
	if s := l.Stdlib; s != nil {
		f.Stdlib = &stdlibFile{Version: s.Version, Manifest: s.Manifest.String(), Commit: s.Commit}
	}
	for name, r := range l.Registries {
		f.Registries[name] = registryFile{ID: r.ID.String(), URL: r.URL}
	}
	for ns, n := range l.Namespaces {
		f.Namespaces[ns] = namespaceFile{Registry: n.Registry, Seq: n.Seq, Tip: n.Tip, SHA256: n.SHA256.Hex()}
	}
	for ref, pin := range l.Items {
		f.Items[ref.String()] = pin.file()
	}
	for ref, o := range l.Origins {
		f.Origins[ref.String()] = originFile{Source: o.Source, Ref: o.Ref, Commit: o.Commit, Path: o.Path, TreeSHA256: o.TreeSHA256.Hex()}
	}
	text := f.text()
	if len(text) > MaxLock {
		return nil, fault.New(fault.Limit, "lock: %d bytes, at most %d are allowed", len(text), MaxLock)
	}
	return text, nil
}

func (pin Pin) file() itemFile {
	f := itemFile{From: pin.From, Version: pin.Version, Path: pin.Path, SHA256: pin.SHA256.Hex(), Blob: pin.Blob, Commit: pin.Commit}
	if pin.Space != 0 {
		f.Space = pin.Space.String()
	}
	if !pin.Author.IsZero() {
		f.Author = pin.Author.String()
	}
	if !pin.Publisher.IsZero() {
		f.Publisher = pin.Publisher.String()
	}
	if !pin.Capability.IsZero() {
		f.Capability = pin.Capability.Hex()
	}
	f.Around = hexOrNone(pin.Around)
	if n := pin.Needs; n != nil {
		f.Needs = &needsFile{append([]string{}, n.Read...), append([]string{}, n.Write...), append([]string{}, n.Net...), append([]string(nil), n.Listen...), append([]string(nil), n.Rye...)}
	}
	for _, r := range pin.Chain {
		f.Chain = append(f.Chain, r.String())
	}
	return f
}

// ParseLock reads a lock. It accepts exactly the output of Encode: an unknown field, another
// order or another spelling is Malformed. So two programs never read two different locks from one
// file. A newer format is refused with advice, and never rewritten.
func ParseLock(raw []byte) (*Lock, error) {
	if len(raw) > MaxLock {
		return nil, fault.New(fault.Limit, "lock: %d bytes, at most %d are allowed", len(raw), MaxLock)
	}
	v, err := lockVersion(raw)
	if err != nil {
		return nil, err
	}
	if v > LockVersion {
		return nil, fault.New(fault.Malformed, "lock: format %d was written by a newer rye; this one reads format %d and leaves it alone", v, LockVersion).
			Advise("upgrade rye")
	}
	f, err := scanLock(raw)
	if err != nil {
		return nil, err
	}
	l, err := f.lock()
	if err != nil {
		return nil, err
	}
	again, err := l.Encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, raw) {
		return nil, fault.New(fault.Malformed, "lock: line %d is not written as rye writes it", firstDifference(raw, again)).
			Mend("rye lock")
	}
	return l, nil
}

func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return bytes.Count(a[:n], []byte("\n")) + 1
}

func (f *lockFile) lock() (*Lock, error) {
	l := &Lock{Registries: map[string]RegistryPin{}, Namespaces: map[string]NamespacePin{}, Items: map[objects.Ref]Pin{}, Origins: map[objects.Ref]OriginPin{}}
	var err error
	note := func(e error) { err = errors.Join(err, e) }
	if s := f.Stdlib; s != nil {
		m, e := objects.ParseDigest(s.Manifest)
		note(e)
		note(gitID(s.Commit, true))
		l.Stdlib = &StdlibPin{Version: s.Version, Manifest: m, Commit: s.Commit}
	}
	for name, r := range f.Registries {
		id, e := objects.ParseDigest(r.ID)
		note(e)
		note(plainName(name))
		if r.URL == "" {
			note(fault.New(fault.Malformed, "lock: registry %s has no url", words.Brief(name)))
		}
		l.Registries[name] = RegistryPin{ID: id, URL: r.URL}
	}
	for ns, n := range f.Namespaces {
		sum, e := objects.ParseDigest("sha256:" + n.SHA256)
		note(e)
		note(plainName(ns))
		note(gitID(n.Tip, false))
		note(f.registry(n.Registry))
		l.Namespaces[ns] = NamespacePin{Registry: n.Registry, Seq: n.Seq, Tip: n.Tip, SHA256: sum}
	}
	for name, i := range f.Items {
		ref, e := objects.ParseRef(name)
		note(e)
		pin, e := i.pin(ref, f)
		note(e)
		l.Items[ref] = pin
	}
	for name, o := range f.Origins {
		ref, pin, e := o.pin(name)
		note(e)
		l.Origins[ref] = pin
	}
	if err != nil {
		return nil, fault.New(fault.Malformed, "lock: %w", err)
	}
	return l, nil
}

func (f *lockFile) registry(name string) error {
	if _, ok := f.Registries[name]; !ok {
		return fault.New(fault.Malformed, "lock: registry %q is used but not described", words.Brief(name))
	}
	return nil
}

// pin reads one item. A registry item has every field that is needed to fetch and verify it;
// another item has its space.
func (i itemFile) pin(ref objects.Ref, f *lockFile) (Pin, error) {
	pin := Pin{From: i.From, Version: i.Version, Path: i.Path, Blob: i.Blob, Commit: i.Commit}
	var err error
	note := func(e error) {
		if e != nil && err == nil {
			err = fault.New(fault.Malformed, "lock: %s: %w", ref, e)
		}
	}
	var e error
	pin.SHA256, e = objects.ParseDigest("sha256:" + i.SHA256)
	note(e)
	note(gitID(i.Blob, true))
	got, e := objects.RefOfPublished(i.Path)
	if e != nil && i.From == "" {
		got, e = objects.RefOfProgram(i.Path)
	}
	if e != nil || got != ref {
		note(fault.New(fault.Malformed, "path %q does not fit its ref", words.Brief(i.Path)))
	}
	for _, c := range i.Chain {
		r, e := objects.ParseRef(c)
		note(e)
		if _, ok := f.Items[c]; !ok {
			note(fault.New(fault.Malformed, "%s of its chain is not locked", words.Brief(c)))
		}
		pin.Chain = append(pin.Chain, r)
	}
	if i.Around != "" {
		pin.Around, e = objects.ParseDigest("sha256:" + i.Around)
		note(e)
	}
	if most := longestChain(ref.Kind); len(i.Chain) > most {
		note(fault.New(fault.Malformed, "a chain of %d items", len(i.Chain)))
	}
	if i.From == "" {
		pin.Space, e = objects.ParseSpace(i.Space)
		note(e)
		if ref.Kind == objects.Bundle || pin.Space == objects.User || i.Commit != "" || i.Author != "" || i.Publisher != "" || i.Needs != nil || i.Capability != "" {
			note(fault.New(fault.Malformed, "only registry items have these fields, and user items are not locked"))
		}
		return pin, err
	}
	note(i.registryPin(&pin, f))
	return pin, err
}

// longestChain is the most items in the chain of a pin of a kind.
func longestChain(k objects.Kind) int {
	switch k {
	case objects.Tool:
		return MaxDepth - 1
	case objects.Bundle:
		return MaxPackageChain
	}
	return 0
}

func (i itemFile) registryPin(pin *Pin, f *lockFile) (err error) {
	note := func(e error) {
		if err == nil {
			err = e
		}
	}
	note(f.registry(i.From))
	if _, in := objects.InBundles(i.Path); in && !strings.HasSuffix(i.Path, "/"+objects.ManifestName) {
		note(fault.New(fault.Malformed, "a member of a bundle is locked with it"))
	}
	if i.Space != "" {
		note(fault.New(fault.Malformed, "a registry item has no space"))
	}
	note(gitID(i.Commit, false))
	var e error
	pin.Author, e = objects.ParseFingerprint(i.Author)
	note(e)
	pin.Publisher, e = objects.ParseFingerprint(i.Publisher)
	note(e)
	pin.Capability, e = objects.ParseDigest("sha256:" + i.Capability)
	note(e)
	if n := i.Needs; n != nil {
		pin.Needs = &objects.Needs{Declared: true, Read: n.Read, Write: n.Write, Net: n.Net, Listen: n.Listen, Rye: n.Rye}
	}
	return err
}

// gitID checks an object's id: SHA-1 or SHA-256 in lower-case hexadecimal.
func gitID(s string, optional bool) error {
	if s == "" && optional {
		return nil
	}
	if len(s) != 40 && len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return fault.New(fault.Malformed, "git id %q: want 40 or 64 lower-case hexadecimal digits", words.Brief(s))
	}
	return nil
}

// plainName checks a registry's or namespace's name: one segment of an id.
func plainName(s string) error {
	id, err := objects.ParseID(s)
	if err != nil {
		return err
	}
	if id.Name() != s {
		return fault.New(fault.Malformed, "name %q: want one segment", words.Brief(s))
	}
	return nil
}

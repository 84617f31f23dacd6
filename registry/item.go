package registry

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
)

// Item is a verified item to publish: its catalogue entry, and a function that reads its bytes. Its
// file is published byte for byte, with its author's signature. The file of a bundle is its
// manifest.
type Item struct {
	entry oplog.Entry // without a commit
	read  func(path string) ([]byte, error)
}

// NewItem returns an item to publish. To save memory for many items, it keeps none of the bytes:
// read is called for them when they are written, with slash paths below .ai and on several
// goroutines. Bytes that differ from the verified ones are refused (Integrity), and so are items
// that cannot be published.
func NewItem(v trust.Verified, meta oplog.Meta, read func(path string) ([]byte, error)) (*Item, error) {
	it := v.Item()
	meta.Description = strings.Clone(meta.Description) // a copy, so that the whole file is not kept in memory
	e := oplog.Entry{Ref: it.Ref, Version: strings.Clone(it.Meta.Version), Path: objects.PublishedPath(it), Sum: it.Sum, Size: int64(len(it.Raw)),
		Author: v.Key().Fingerprint(), Meta: meta}
	refuse := func(code fault.Code, format string, args ...any) *fault.Error {
		return fault.New(code, "publish %s: "+format, append([]any{it.Ref}, args...)...)
	}
	switch {
	case it.Ref.Published() == "":
		return nil, refuse(fault.Usage, "it is of no namespace")
	case v.Level() != trust.Signed:
		return nil, refuse(fault.Untrusted, "only an item with a signature line of its own can be published").Advise("take it out of its bundle, then rye sign %s", it.Ref)
	case v.Patched() != trust.NoPatch:
		return nil, refuse(fault.Untrusted, "patched: readers of %s/ accept only its owners' signatures", it.Ref.ID.Namespace()).
			Advise("an owner signs the change: rye review %s", it.Ref)
	case it.Meta.Part:
		return nil, refuse(fault.Usage, "a part, which only tools beside it load").Advise("publish a bundle of the tool and its parts: rye help bundles")
	case e.Version == "":
		return nil, refuse(fault.Malformed, "has no version").Advise("add a version like 1.0.0 to %s and sign it", it.Path)
	case objects.DigestOf(it.Raw) != it.Sum:
		return nil, refuse(fault.Integrity, "its bytes changed after rye read it")
	}
	if it.Ref.Kind == objects.Bundle {
		if _, err := e.Manifest(it.Raw); err != nil {
			return nil, refuse(fault.CodeOf(err), "%w", err)
		}
	}
	if err := e.CheckNew(); err != nil {
		return nil, refuse(fault.CodeOf(err), "%w", err)
	}
	return &Item{e, read}, nil
}

// bytes returns the file as it was verified.
func (it *Item) bytes() ([]byte, error) {
	raw, err := it.read(it.entry.Path)
	if err == nil && it.entry.Proves(raw) != nil {
		err = fault.New(fault.Integrity, "the file changed while it was being published; nothing was published").Mend("rye push %s", it.entry.Ref)
	}
	if err != nil {
		return nil, fault.Wrap(err, "publish %s", it.entry.Ref)
	}
	return raw, nil
}

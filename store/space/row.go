package space

import (
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Row is the information about one candidate for lists. It may come from a cache, so it must
// not decide any use: it holds no trust.Verified, and none can be made from it.
type Row struct {
	Ref      objects.Ref // zero for a file that cannot be an item
	Space    objects.Space
	Path     string // below .ai
	State    objects.State
	Code     fault.Code // of Why; "" if the item may be used
	Why      string
	Hint     string // in the form of fault.Hint.Encode
	Recorded bool
	Registry string // identity, if it came through the lock

	Blob     store.OID
	Sum      objects.Digest // zero if the file did not parse
	Signer   objects.Fingerprint
	SignedAt time.Time // zero without a native signature line

	Name, Title, Version, Description, Category string
	Tags                                        []string
	More                                        []extract.Text // fields that only an extractor defines

	// These are never cached: a row with one of them is made again each time.
	Bundle   objects.ID // of the bundle that it is in, or is
	Manifest bool       // it is the bundle itself
	Covers   string     // the parts that a RYE OS line covers
}

// Row returns the row for f, with the extractors of set.
func (f Finding) Row(set *extract.Set) Row {
	r := Row{Ref: f.Ref, Space: f.Space, Path: f.Path, State: f.State, Recorded: f.Recorded, Registry: f.Registry, Blob: f.Blob}
	if f.Err != nil {
		r.Code, r.Why, r.Hint = fault.CodeOf(f.Err), f.Err.Error(), fault.HintOf(f.Err).Encode()
	}
	if it := f.Item; it != nil {
		m := &it.Meta
		r.Sum, r.Version = it.Sum, m.Version
		t := set.For(it.Ref.Kind).Texts(it)
		r.Name, r.Title, r.Description, r.Category, r.Tags, r.More = t.Name, t.Title, t.Description, t.Category, t.Tags, t.More
		if it.Signature != nil {
			r.Signer, r.SignedAt = it.Signature.Key, it.Signature.SignedAt.UTC()
		}
		if it.Legacy != nil && it.Legacy.Unsigned == "" {
			r.Covers = it.Legacy.Covers
		}
	}
	r.Bundle, r.Manifest = f.Bundle, f.Manifest
	switch {
	case f.Manifest && f.Cover.Err == nil:
		c := f.Cover
		r.Version, r.Sum, r.Signer, r.SignedAt = c.Version(), c.Sum, c.Key().Fingerprint(), c.SignedAt()
	case f.Bundle != "" && !f.Verified.IsZero() && f.Level() == trust.Manifest:
		r.Signer, r.SignedAt = f.Key().Fingerprint(), f.Verified.SignedAt()
	}
	return r
}

// RowsOf returns the rows for findings, with the extractors of set.
func RowsOf(found []Finding, set *extract.Set) []Row {
	rows := make([]Row, 0, len(found))
	for _, f := range found {
		rows = append(rows, f.Row(set))
	}
	return rows
}

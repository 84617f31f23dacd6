package cage

import (
	"encoding/binary"
	"errors"

	"github.com/rye-os/rye/internal/table"
)

// Orders are encoded as lengths and bytes. A JSON decoder would cost a quarter of a millisecond
// in every run, because the program is new each time. Both sides are of one build (Main), so no
// other program reads this form.

var errOrders = errors.New("orders that cannot be read")

// Encode returns the orders in the form of Decode.
func (o *Orders) Encode() []byte {
	var w writer
	w.list(o.Argv)
	w.list(o.Env)
	w.text(o.Dir)
	w.flags(o.Sealed, o.Back, o.Handed, o.Local, o.Enter)
	w.number(uint64(len(o.Listen)))
	for _, e := range o.Listen {
		w.text(string(e.IP))
		w.number(uint64(e.Port))
	}
	w.file(o.Names)
	w.number(uint64(len(o.Mounts)))
	for _, m := range o.Mounts {
		w.number(uint64(m.Kind))
		w.text(m.Path)
		w.text(m.Source)
		w.number(uint64(m.Size))
	}
	w.number(uint64(len(o.Files)))
	for _, f := range o.Files {
		w.file(f)
	}
	w.bounds(&o.Bounds)
	w.number(uint64(len(o.Limits)))
	for _, l := range o.Limits {
		w.text(l.Name)
		w.number(uint64(l.Resource))
		w.number(l.Max)
	}
	return w.out
}

// Decode reads the output of Encode.
func Decode(raw []byte) (o Orders, err error) {
	r := reader{table.NewCursor(raw)}
	o.Argv, o.Env, o.Dir = r.list(), r.list(), r.text()
	r.flags(&o.Sealed, &o.Back, &o.Handed, &o.Local, &o.Enter)
	for range r.count() {
		o.Listen = append(o.Listen, Endpoint{IP: []byte(r.text()), Port: uint16(r.number())})
	}
	o.Names = r.file()
	for range r.count() {
		o.Mounts = append(o.Mounts, Mount{Kind: Kind(r.number()), Path: r.text(), Source: r.text(), Size: int64(r.number())})
	}
	for range r.count() {
		o.Files = append(o.Files, r.file())
	}
	r.bounds(&o.Bounds)
	for range r.count() {
		o.Limits = append(o.Limits, Limit{Name: r.text(), Resource: int(r.number()), Max: r.number()})
	}
	if !r.Done() || len(o.Argv) == 0 {
		return Orders{}, errOrders
	}
	return o, nil
}

func (w *writer) bounds(b *Bounds) {
	w.number(uint64(len(b.Grants)))
	for _, g := range b.Grants {
		w.text(g.Path)
		w.number(uint64(g.Rights))
		w.list(g.Avoid)
	}
	w.flags(b.Net, b.Unix, b.Inside, b.Ports != nil)
	w.number(uint64(len(b.Ports)))
	for _, p := range b.Ports {
		w.number(uint64(p))
	}
}

func (r reader) bounds(b *Bounds) {
	for range r.count() {
		b.Grants = append(b.Grants, Grant{Path: r.text(), Rights: Rights(r.number()), Avoid: r.list()})
	}
	var some bool
	r.flags(&b.Net, &b.Unix, &b.Inside, &some)
	if some {
		b.Ports = []uint16{}
	}
	for range r.count() {
		b.Ports = append(b.Ports, uint16(r.number()))
	}
}

func (w *writer) file(f File) {
	w.text(f.Path)
	w.text(string(f.Data))
	w.flags(f.Exec)
}

func (r reader) file() (f File) {
	f.Path, f.Data = r.text(), []byte(r.text())
	r.flags(&f.Exec)
	return f
}

type writer struct{ out []byte }

func (w *writer) number(n uint64) { w.out = binary.AppendUvarint(w.out, n) }

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.out = append(w.out, s...)
}

func (w *writer) list(all []string) {
	w.number(uint64(len(all)))
	for _, s := range all {
		w.text(s)
	}
}

func (w *writer) flags(all ...bool) {
	var n uint64
	for i, on := range all {
		if on {
			n |= 1 << i
		}
	}
	w.number(n)
}

// reader decodes orders.
type reader struct{ *table.Cursor }

func (r reader) number() uint64 { return r.Uvarint() }

// count returns the number of elements that follow. Each takes at least one byte.
func (r reader) count() int { return r.Count(r.Uvarint(), 1) }

func (r reader) text() string { return r.Text(r.count()) }

func (r reader) list() (all []string) {
	for range r.count() {
		all = append(all, r.text())
	}
	return all
}

func (r reader) flags(all ...*bool) {
	n := r.number()
	for i, on := range all {
		*on = n&(1<<i) != 0
	}
}

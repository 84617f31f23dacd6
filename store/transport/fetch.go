package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// FetchOptions narrow a fetch. The zero value fetches everything that is reachable.
type FetchOptions struct {
	// Filter omits objects: "blob:none", "tree:0" or "blob:limit=<bytes>"; "" omits none. A
	// remote without filters sends more than requested; see Stats.
	Filter string
	// NoThin requests no deltas against objects in have. The objects in have need not exist
	// locally then; they only state what not to send.
	NoThin bool
	// Depth is the number of commits in a line that are sent; 0 = all.
	Depth int
	// Lacking accepts an answer without objects of want, which are left out when have reaches them.
	// The caller asks for history alone and looks for itself.
	Lacking bool
	// Limits bound the pack; zero fields mean the values in store.DefaultLimits.
	Limits store.Limits
}

// Stats are the cost and the result of a fetch.
type Stats struct {
	Bytes    int64       // received from the remote, as packets
	Filtered bool        // the remote applied FetchOptions.Filter
	Shallow  []store.OID // commits whose parents were left out because of Depth
}

// wantMax bounds the ids of one fetch.
const wantMax = 100_000

// Fetch gets the objects want, and everything reachable from them but not from have, into a
// quarantine of the repository into. After it every id in want is in the quarantine or in the
// repository. Otherwise the error is Integrity and no object is kept. Fetch does not check the
// objects that are reachable from want: see store.Quarantine.Connected. have should name
// objects of into. Without want no request is sent, and the error is Usage.
func (r *Remote) Fetch(ctx context.Context, into *store.Repo, want, have []store.OID, o FetchOptions) (*store.Quarantine, Stats, error) {
	var q *store.Quarantine
	var st Stats
	if err := checkFetch(want, have, o); err != nil {
		return nil, st, fault.Wrap(err, "fetch from %s", r)
	}
	err := r.do(ctx, "fetch from", func(ctx context.Context) error {
		return r.reading(ctx, func() (err error) {
			st = Stats{}
			q, err = r.fetch(ctx, into, want, have, o, &st)
			return err
		})
	})
	return q, st, err
}

func checkFetch(want, have []store.OID, o FetchOptions) error {
	if len(want) == 0 || len(want) > wantMax || len(have) > wantMax {
		return fault.New(fault.Usage, "%d objects wanted, %d at hand: want 1 to %d", len(want), len(have), wantMax)
	}
	if slices.ContainsFunc(want, store.OID.IsZero) {
		return fault.New(fault.Usage, "the zero id is not an object")
	}
	if o.Depth < 0 {
		return fault.New(fault.Usage, "depth %d", o.Depth)
	}
	if o.Filter == "" {
		return nil
	}
	_, err := parseFilter(o.Filter)
	return err
}

func (r *Remote) fetch(ctx context.Context, into *store.Repo, want, have []store.OID, o FetchOptions, st *Stats) (*store.Quarantine, error) {
	s, a, err := r.uploadKept(ctx, []string{"refs/", "HEAD"})
	if err != nil {
		return nil, err
	}
	f := &fetching{r: r, s: s, a: a, into: into, want: want, have: have, o: o, st: st}
	q, err := f.run(ctx)
	if err != nil || a.version < 2 {
		s.Close()
		return q, err
	}
	r.keep(s, a)
	return q, nil
}

// fetching is one fetch in progress.
type fetching struct {
	r          *Remote
	s          session
	a          *advert
	into       *store.Repo
	want, have []store.OID
	o          FetchOptions
	st         *Stats
}

// packBytes bounds a pack.
func packBytes(l store.Limits) int64 {
	if l.Bytes > 0 {
		return l.Bytes
	}
	return store.DefaultLimits.Bytes
}

func (f *fetching) run(ctx context.Context) (*store.Quarantine, error) {
	if err := f.a.sameFormat(f.into.Format()); err != nil {
		return nil, err
	}
	lim := packBytes(f.o.Limits)
	q := &request{limit: lim + lim/64 + 16<<20} // packets and progress around the pack
	var err error
	if f.a.version == 2 {
		f.encode(q.packets())
	} else {
		err = f.encode0(q.packets())
	}
	if err != nil {
		return nil, err
	}
	p, err := f.s.round(ctx, q)
	if err != nil {
		return nil, err
	}
	if f.a.version == 2 {
		err = f.sections(p)
	} else {
		err = f.acks0(p)
	}
	if err != nil {
		return nil, eofIsSilence(err)
	}
	return f.take(ctx, p, q.limit)
}

// sameFormat refuses to mix object formats.
func (a *advert) sameFormat(f store.Format) error {
	theirs := cmp.Or(a.caps["object-format"], "sha1")
	if theirs != f.String() {
		return fault.New(fault.Usage, "the remote names objects by %s, this repository by %s", theirs, f).
			Advise("clone it with git, then rye add its files with --kind and --as")
	}
	return nil
}

// encode writes the fetch command of version 2. It requests everything in one round: the
// caller states all that it has, so there is nothing to negotiate.
func (f *fetching) encode(w *pktWriter) {
	w.encodeCommand("fetch", f.a.caps)
	w.linef("ofs-delta")
	if len(f.have) > 0 && !f.o.NoThin {
		w.linef("thin-pack")
	}
	if f.r.o.Progress == nil {
		w.linef("no-progress")
	}
	if f.o.Filter != "" && f.a.caps.feature("fetch", "filter") {
		f.st.Filtered = true
		w.linef("filter %s", f.o.Filter)
	}
	if f.o.Depth > 0 && f.a.caps.feature("fetch", "shallow") {
		w.linef("deepen %d", f.o.Depth)
	}
	for _, id := range f.want {
		w.linef("want %s", id)
	}
	for _, id := range f.have {
		w.linef("have %s", id)
	}
	w.linef("done")
	w.flush()
}

// sections reads the answer of version 2 up to the beginning of the pack.
func (f *fetching) sections(p *pktReader) error {
	noPack := fault.New(fault.Network, "the answer holds no pack")
	for range 8 {
		kind, name, err := p.line()
		switch {
		case err != nil:
			return err
		case kind != pktData:
			return noPack
		case name == "packfile":
			return nil
		}
		take := func(string) error { return nil }
		if name == "shallow-info" {
			take = f.shallow
		}
		if err := p.list(pktDelim, wantMax, noPack, take); err != nil {
			return err
		}
	}
	return fault.New(fault.Network, "the answer holds too many sections")
}

var errShallow error = fault.New(fault.Network, "the answer holds a malformed shallow section")

// shallow handles a line of the shallow section, which is the same in all versions.
func (f *fetching) shallow(line string) error {
	id, ok := strings.CutPrefix(line, "shallow ")
	if !ok {
		return nil // unshallow: we never declare shallow commits
	}
	oid, err := store.ParseOID(id)
	if err != nil || len(f.st.Shallow) >= wantMax {
		return errShallow
	}
	f.st.Shallow = append(f.st.Shallow, oid)
	return nil
}

// take reads the pack into a quarantine and checks that it has the requested objects.
func (f *fetching) take(ctx context.Context, p *pktReader, limit int64) (*store.Quarantine, error) {
	d := &demux{p: p, progress: f.r.o.Progress, limit: limit}
	q, refused, err := f.importPack(ctx, d)
	f.st.Bytes = d.total
	if d.err != nil && d.err != io.EOF && !refused {
		err = d.err // the cause, if reading failed; not Import's error
	}
	if err == nil {
		_, err = io.Copy(io.Discard, d) // the flush, or an error in the last packets
	}
	if err == nil && !f.o.Lacking {
		err = holds(q, f.want)
	}
	if err != nil {
		if q != nil {
			q.Discard()
		}
		return nil, err
	}
	return q, nil
}

// apartFrom is the inflated size, in bytes, above which a pack is worth a separate process. A
// single item is not.
const apartFrom = 32 << 20

// smallPack is the largest pack, in bytes, that is read into memory first. If it inflates to
// little, it is imported in this process, which costs less than starting another.
const smallPack = 256 << 10

// importPack reads the pack in this process or, if it may be large, in a separate one. refused
// means that it was refused before its end, and that the connection was ended because of that.
func (f *fetching) importPack(ctx context.Context, d *demux) (q *store.Quarantine, refused bool, err error) {
	lim := f.o.Limits
	if len(f.r.o.Importer) == 0 || lim.Total > 0 && lim.Total <= apartFrom {
		q, err = f.into.Import(ctx, d, lim)
		return q, false, err
	}
	begin, err := io.ReadAll(io.LimitReader(d, smallPack))
	if err != nil {
		return nil, false, err
	}
	if len(begin) < smallPack {
		here := lim
		here.Total = apartFrom
		if q, err = f.into.Import(ctx, bytes.NewReader(begin), here); !fault.Is(err, fault.Limit) {
			return q, false, err
		}
	}
	q, err = f.into.ImportApart(ctx, f.r.o.Importer, io.MultiReader(bytes.NewReader(begin), d), lim, func() {
		refused = true
		if s, _ := ctx.Value(stallKey{}).(*stall); s != nil {
			s.abort(errRefused)
		}
	})
	return q, refused, err
}

var errRefused = errors.New("the pack was refused")

func holds(q *store.Quarantine, want []store.OID) error {
	for _, id := range want {
		if !q.Has(id) {
			return fault.New(fault.Integrity, "the remote's pack does not hold %s, which was asked for", id)
		}
	}
	return nil
}

// encode0 writes the request of versions 0 and 1: wants with capabilities, then our objects.
// Without multi_ack the server answers with a single line.
func (f *fetching) encode0(w *pktWriter) error {
	c := f.a.caps
	if err := f.served0(); err != nil {
		return err
	}
	ask := []string{"side-band-64k", "ofs-delta"}
	if !c.has("side-band-64k") {
		return fault.New(fault.Network, "the remote is too old: it offers no side-band-64k")
	}
	if len(f.have) > 0 && !f.o.NoThin && c.has("thin-pack") {
		ask = append(ask, "thin-pack")
	}
	if f.r.o.Progress == nil && c.has("no-progress") {
		ask = append(ask, "no-progress")
	}
	ask = append(ask, c.ours()...)
	if f.o.Filter != "" && c.has("filter") {
		ask = append(ask, "filter")
		f.st.Filtered = true
	}
	w.linef("want %s %s", f.want[0], strings.Join(ask, " "))
	for _, id := range f.want[1:] {
		w.linef("want %s", id)
	}
	if f.o.Depth > 0 && c.has("shallow") {
		w.linef("deepen %d", f.o.Depth)
	}
	if f.st.Filtered {
		w.linef("filter %s", f.o.Filter)
	}
	w.flush()
	for _, id := range f.have {
		w.linef("have %s", id)
	}
	w.linef("done")
	return nil
}

// ErrNamedOnly means that a remote serves only the targets of refs, and another object was
// requested.
var ErrNamedOnly = errors.New("the remote serves only what a ref names")

// served0 refuses requests that a server of versions 0 and 1 would refuse. Unless it offers
// more, it serves only the targets of refs. Over a stream it would just close the connection.
func (f *fetching) served0() error {
	if f.a.caps.has("allow-tip-sha1-in-want") || f.a.caps.has("allow-reachable-sha1-in-want") {
		return nil
	}
	named := make(map[store.OID]bool, len(f.a.refs))
	for _, id := range f.a.refs {
		named[id] = true
	}
	for _, id := range f.want {
		if !named[id] {
			return fault.New(fault.NotFound, "%w: none names %s", ErrNamedOnly, id)
		}
	}
	return nil
}

// acks0 reads the answer of versions 0 and 1 up to the pack: the shallow section if a depth
// was requested, then one ACK or NAK.
func (f *fetching) acks0(p *pktReader) error {
	if f.o.Depth > 0 && f.a.caps.has("shallow") {
		if err := p.list(pktFlush, wantMax, errShallow, f.shallow); err != nil {
			return err
		}
	}
	kind, line, err := p.line()
	if err != nil {
		return err
	}
	if kind != pktData || line != "NAK" && !strings.HasPrefix(line, "ACK ") {
		return fault.New(fault.Network, "the answer begins with %q, want ACK or NAK", cleanText(line))
	}
	return nil
}

// filter is a parsed object filter.
type filter struct {
	noBlobs, noTrees bool
	blobLimit        int64
}

// parseFilter reads the filters that this package supports.
func parseFilter(s string) (filter, error) {
	switch s {
	case "blob:none":
		return filter{noBlobs: true}, nil
	case "tree:0":
		return filter{noTrees: true, noBlobs: true}, nil
	}
	var n int64
	if rest, ok := strings.CutPrefix(s, "blob:limit="); ok {
		if _, err := fmt.Sscanf(rest, "%d", &n); err == nil && n > 0 && fmt.Sprint(n) == rest {
			return filter{blobLimit: n}, nil
		}
	}
	return filter{}, fault.New(fault.Usage, "filter %q is not blob:none, tree:0 or blob:limit=<bytes>", cleanText(s))
}

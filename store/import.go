package store

import (
	"cmp"
	"context"
	"io"
	"path"
	"sort"

	"github.com/rye-os/rye/fault"
)

// Limits bounds a pack from outside. Zero fields mean the values in DefaultLimits.
type Limits struct {
	Objects int   // in the pack, and thin bases added to it
	Bytes   int64 // of the pack stream
	Object  int64 // bytes of one object, inflated
	Total   int64 // bytes of all objects and deltas, inflated; freeInflated and maxRatio bound it further
	Depth   int   // deltas in a chain
}

// Bounds that no Limits widen. The cost of a pack grows with the bytes received, and the
// memory does not. So a sender who wants to waste our resources must send a lot.
const (
	freeInflated = 128 << 20 // bytes that any pack may inflate to
	maxRatio     = 64        // additional inflated bytes for each byte received
	maxDeltified = 16 << 20  // bytes of an object that is a delta or a base: it is held in memory
	maxNewTree   = 8 << 20   // bytes of a tree: some 200,000 entries
	maxRebuild   = 64        // bytes made on the way to an object that is a delta, for each byte of the object
	smallObject  = 64 << 10  // a smaller object has the allowance of this size: the cache of bases holds such chains
)

// DefaultLimits fits a clone of a large registry. 4095 is the longest chain of deltas that git
// makes (pack.depth).
var DefaultLimits = Limits{Objects: 200_000, Bytes: 512 << 20, Object: 64 << 20, Total: 1 << 30, Depth: 4095}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	return Limits{Objects: given(l.Objects, d.Objects), Bytes: given(l.Bytes, d.Bytes), Object: given(l.Object, d.Object),
		Total: given(l.Total, d.Total), Depth: given(l.Depth, d.Depth)}
}

// Import reads a pack stream into a quarantine. It checks everything before use: counts and
// sizes against lim, every object inflated to exactly its size and hashed, every tree, commit
// and tag parsed, delta bases found in the pack or in r (thin packs are completed). It reads
// to the end of the pack and no further, so pack may be a connection that stays open. Errors
// are fault.Malformed, fault.Limit or fault.Integrity, or the error of reading pack. After an
// error no file is left behind.
func (r *Repo) Import(ctx context.Context, pack io.Reader, lim Limits) (*Quarantine, error) {
	dir, err := r.newQuarantineDir(ctx)
	if err != nil {
		return nil, err
	}
	im, err := r.importInto(ctx, dir, pack, lim)
	if err != nil {
		r.files.removeAll(dir)
		return nil, fault.Wrap(err, "import pack")
	}
	q := r.newQuarantine(dir, im.out.path, im.sum, im.names())
	q.outside, q.linked = im.links.rest(q.in)
	return q, nil
}

// newQuarantineDir makes a directory in this process's nest. It is removed with the nest.
func (r *Repo) newQuarantineDir(ctx context.Context) (string, error) {
	nest, err := r.ownNest(ctx)
	if err != nil {
		return "", err
	}
	dir := path.Join(nest, "q-"+randomName())
	if err := r.files.mkdir(dir); err != nil {
		return "", fault.New(fault.Failed, "make a quarantine: %w", err)
	}
	return dir, nil
}

// importInto reads a pack into dir. The caller removes dir.
func (r *Repo) importInto(ctx context.Context, dir string, pack io.Reader, lim Limits) (*importer, error) {
	im := &importer{ctx: ctx, r: r, lim: lim.orDefault(), ids: map[OID]bool{}}
	im.in = &packStream{src: pack, left: im.lim.Bytes, sum: r.format.new()}
	n, err := im.in.head()
	if err == nil && int64(n) > int64(im.lim.Objects) {
		err = fault.New(fault.Limit, "%d objects, at most %d are accepted", n, im.lim.Objects)
	}
	if err != nil {
		return nil, err
	}
	return im, im.run(dir, int(n))
}

// importer holds one import.
type importer struct {
	ctx     context.Context
	r       *Repo
	lim     Limits
	in      *packStream
	entries []imported
	ids     map[OID]bool
	total   int64 // bytes inflated so far
	out     *packFile
	links   linkSet
	sum     []byte // of the pack in quarantine
}

// imported is one entry of the pack.
type imported struct {
	entryHead
	off int64
	crc uint32
	id  OID // zero while a delta is unresolved
}

func (im *importer) run(dir string, n int) (err error) {
	if im.out, err = newPackFile(dir, im.r.disk); err != nil {
		return err
	}
	defer im.out.file.Close()
	im.in.out = im.out.w
	if err := im.readAll(im.in, n); err != nil {
		return err
	}
	if err := im.out.w.Flush(); err != nil {
		return fault.New(fault.Failed, "write a quarantine: %w", err)
	}
	im.out.off = im.in.at
	if err := im.resolve(); err != nil {
		return err
	}
	return im.seal()
}

// readAll reads the entries of the stream and its trailer. It hashes whole objects on the way.
func (im *importer) readAll(in *packStream, n int) error {
	z := &streamInflater{in: in}
	ahead := &aheadOf{im: im}
	defer ahead.wait()
	for range n {
		if err := im.ctx.Err(); err != nil {
			return context.Cause(im.ctx)
		}
		c, err := im.readEntry(in, z)
		if err != nil {
			// An earlier entry may be the first wrong one.
			return cmp.Or(ahead.end(), in.because(err))
		}
		if err := ahead.add(c); err != nil {
			return err
		}
	}
	if err := ahead.end(); err != nil {
		return err
	}
	return in.trailer(im.r.format.size())
}

// readEntry reads the next entry and returns the data to check.
func (im *importer) readEntry(in *packStream, z *streamInflater) (c checked, err error) {
	e := imported{off: in.begin()}
	if e.entryHead, err = readEntryHead(in, e.off, im.r.format); err != nil {
		return c, err
	}
	if e.t == packOfsDelta && im.at(e.base) < 0 {
		return c, fault.New(fault.Malformed, "entry at %d: its base at %d is not an entry", e.off, e.base)
	}
	if err = im.count(e.size, mostOf(e.t)); err == nil {
		c, err = im.readData(&e, z)
	}
	if err != nil {
		return c, fault.Wrap(err, "entry at %d", e.off)
	}
	if e.crc, err = in.end(); err != nil {
		return c, err
	}
	im.entries = append(im.entries, e)
	return c, nil
}

// count adds n bytes to the inflated total, before inflating them.
func (im *importer) count(n, most int64) error {
	if most = min(most, im.lim.Object); n > most {
		return fault.New(fault.Limit, "object of %d bytes, at most %d are accepted", n, most)
	}
	received := im.lim.Bytes - im.in.left
	if im.total += n; im.total > min(im.lim.Total, freeInflated+maxRatio*received) {
		return fault.New(fault.Limit, "it would unpack to more than %d bytes, after %d received", im.total-n, received)
	}
	return nil
}

// mostOf returns the largest size of an object of type t, or of a delta.
func mostOf(t Type) int64 {
	switch t {
	case TypeBlob:
		return DefaultLimit
	case TypeTree:
		return maxNewTree
	case TypeCommit, TypeTag:
		return MaxCommitSize
	}
	return maxDeltified
}

// readData inflates one entry. Large blobs only pass through the hash, other objects stay in
// memory for the check, and deltas are discarded because they are read again later.
func (im *importer) readData(e *imported, z *streamInflater) (c checked, err error) {
	switch {
	case e.t > TypeTag:
		return c, z.copy(io.Discard, e.size)
	case e.t == TypeBlob && e.size > aheadObject:
		h := newNamer(im.r.format)
		h.begin(TypeBlob, e.size)
		if err := z.copy(h, e.size); err != nil {
			return c, err
		}
		if e.id, err = h.name(); err != nil {
			return c, err
		}
		return checked{t: TypeBlob, id: e.id}, nil
	}
	data, err := z.bytes(e.size)
	return checked{t: e.t, data: data}, err
}

// identify checks the form of an object and sets its id.
func (im *importer) identify(e *imported, t Type, data []byte) (err error) {
	var links []OID
	if e.id, links, err = newNamer(im.r.format).check(t, data); err != nil {
		return err
	}
	im.links.add(im.ids, links)
	return im.once(e.id)
}

func (im *importer) once(id OID) error {
	if im.ids[id] {
		return fault.New(fault.Malformed, "object %s twice", id)
	}
	im.ids[id] = true
	return nil
}

// linksOf parses all types but blobs and returns the ids that the object names. So no object
// enters a repository that git fsck would call broken.
func linksOf(f Format, t Type, data []byte) ([]OID, error) {
	switch t {
	case TypeTree:
		entries, err := ParseTree(f, data)
		if err != nil {
			return nil, err
		}
		ids := make([]OID, 0, len(entries))
		for _, e := range entries {
			if e.Mode != ModeGitlink {
				ids = append(ids, e.ID)
			}
		}
		return ids, nil
	case TypeCommit:
		if len(data) > MaxCommitSize {
			return nil, tooLarge(int64(len(data)), MaxCommitSize)
		}
		tree, parents, _, err := commitLinks(data)
		return append(parents, tree), err
	case TypeTag:
		tag, err := ParseTag(data)
		if err != nil {
			return nil, err
		}
		return []OID{tag.Target}, nil
	}
	return nil, nil
}

// linkSet collects the ids that a pack's objects name and that have not arrived yet. When all
// of them arrive, or are in the repository, the pack has no holes, and nothing need be read
// again to know that.
type linkSet struct {
	open map[OID]struct{}
	many bool // too many to remember; the walk of Connected decides
}

// maxLinks bounds the ids that a pack from outside makes us remember: about 20 MB.
const maxLinks = 1 << 18

func (l *linkSet) add(came map[OID]bool, ids []OID) {
	for _, id := range ids {
		if l.many || came[id] {
			continue
		}
		if l.open == nil {
			l.open = map[OID]struct{}{}
		}
		if l.open[id] = struct{}{}; len(l.open) > maxLinks {
			l.open, l.many = nil, true
		}
	}
}

// rest returns the ids that did not arrive.
func (l *linkSet) rest(came map[OID]bool) (ids []OID, known bool) {
	for id := range l.open {
		if !came[id] {
			ids = append(ids, id)
		}
	}
	return ids, !l.many
}

// at returns the index of the entry that begins at off; -1 for none. Entries are in stream
// order, and so sorted by offset.
func (im *importer) at(off int64) int {
	i := sort.Search(len(im.entries), func(i int) bool { return im.entries[i].off >= off })
	if i < len(im.entries) && im.entries[i].off == off {
		return i
	}
	return -1
}

// seal writes the index, and a new head and trailer if bases were added.
func (im *importer) seal() (err error) {
	for _, e := range im.entries {
		im.out.list = append(im.out.list, packed{e.id, e.crc, e.off})
	}
	im.sum, err = im.out.finish()
	return err
}

// names returns the ids of all objects in the pack.
func (im *importer) names() []OID {
	ids := make([]OID, 0, len(im.ids))
	for id := range im.ids {
		ids = append(ids, id)
	}
	return ids
}

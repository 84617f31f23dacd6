package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path"
	"runtime"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
)

// packFile is a pack being written to a temporary file.
type packFile struct {
	format Format
	path   string // without ".pack"
	file   *os.File
	files  *files
	wait   waiting
	w      *bufio.Writer
	off    int64
	list   []packed
}

// newPackFile begins a pack for d in the directory nest.
func newPackFile(nest string, d *diskObjects) (*packFile, error) {
	p := &packFile{format: d.format, files: d.files, wait: d.wait, path: path.Join(nest, randomName())}
	file, err := p.files.create(p.path+".pack", permObject)
	if err != nil {
		return nil, fault.New(fault.Failed, "begin a pack: %w", err)
	}
	p.file, p.w, p.off = file, bufio.NewWriterSize(file, 64<<10), packHead
	p.w.Write(packHeader(0)) // the count is filled in by sealPack
	return p, nil
}

func packHeader(n int) []byte {
	b := append([]byte("PACK"), 0, 0, 0, 2)
	return binary.BigEndian.AppendUint32(b, uint32(n))
}

// add appends a whole object.
func (p *packFile) add(id OID, t Type, data []byte) error {
	c := crcWriter{w: p.w}
	if err := writeEntry(&c, t, data); err != nil {
		return fault.New(fault.Failed, "write a pack: %w", err)
	}
	p.list = append(p.list, packed{id, c.sum, p.off})
	p.off += c.n
	return nil
}

// addEntry appends an entry, given as its parts.
func (p *packFile) addEntry(id OID, entry ...[]byte) error {
	c := crcWriter{w: p.w}
	for _, b := range entry {
		if _, err := c.Write(b); err != nil {
			return fault.New(fault.Failed, "write a pack: %w", err)
		}
	}
	p.list = append(p.list, packed{id, c.sum, p.off})
	p.off += c.n
	return nil
}

// writeEntry writes a whole object in the form of a pack entry.
func writeEntry(w io.Writer, t Type, data []byte) error {
	var head [12]byte
	if _, err := w.Write(appendEntryHead(head[:0], t, int64(len(data)))); err != nil {
		return err
	}
	return deflate(w, data)
}

// appendEntryHead appends the type and size that begin a pack entry.
func appendEntryHead(b []byte, t Type, size int64) []byte {
	c := byte(t)<<4 | byte(size&15)
	for size >>= 4; size != 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(b, c)
}

// crcWriter counts and checksums the bytes that pass through.
type crcWriter struct {
	w   io.Writer
	sum uint32
	n   int64
}

func (c *crcWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.sum = crc32.Update(c.sum, crc32.IEEETable, b[:n])
	c.n += int64(n)
	return n, err
}

// finish writes the count and trailer, then the index, and syncs both files. It returns the
// pack's checksum, which becomes the pack's name.
func (p *packFile) finish() (sum []byte, err error) {
	err = step()
	if err == nil {
		err = p.w.Flush()
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "write a pack: %w", err)
	}
	if sum, err = sealPack(p.file, len(p.list), p.off, p.format.new()); err != nil {
		return nil, fault.New(fault.Failed, "write a pack: %w", err)
	}
	idx, err := p.files.create(p.path+".idx", permObject)
	if err != nil {
		return nil, fault.New(fault.Failed, "write a pack index: %w", err)
	}
	defer idx.Close()
	if err := writeIdx(idx, p.format, p.list, sum); err != nil {
		return nil, fault.New(fault.Failed, "write a pack index: %w", err)
	}
	files := []*os.File{p.file, idx}
	if err := atOnce(2, func(i int) error { return p.wait.syncFile(files[i]) }); err != nil {
		return nil, fault.New(fault.Failed, "sync a pack: %w", err)
	}
	return sum, p.file.Close()
}

// sealPack writes the count into the head of a pack of size bytes and appends the checksum of
// all of it.
func sealPack(f *os.File, n int, size int64, h hash.Hash) ([]byte, error) {
	if _, err := f.WriteAt(packHeader(n), 0); err != nil {
		return nil, err
	}
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return nil, err
	}
	sum := h.Sum(nil)
	_, err := f.WriteAt(sum, size)
	return sum, err
}

// remove deletes the temporary files.
func (p *packFile) remove() {
	p.file.Close()
	p.files.unlink(p.path + ".pack")
	p.files.unlink(p.path + ".idx")
}

// installNew is install for a pack that must survive a git repack that has already begun: git
// removes packs by the names that it listed. When a pack of this name exists, perhaps with no
// ref leading to it, the new pack gets one more object, and so another name.
func (r *Repo) installNew(ctx context.Context, temp string, sum []byte) (*keep, error) {
	if name := r.disk.name("pack/pack-" + oidOf(sum).String()); r.files.has(name+".pack") || r.files.has(name+".idx") {
		var err error
		if sum, err = r.makeNew(temp); err != nil {
			return nil, fault.Wrap(err, "add a pack")
		}
	}
	return r.install(ctx, temp, sum)
}

// makeNew adds a blob of random bytes to a finished pack. Its checksum, and so its name,
// becomes one that no process has listed.
func (r *Repo) makeNew(temp string) (sum []byte, err error) {
	old := &pack{files: r.files, path: temp, format: r.format}
	if err := old.open(true); err != nil {
		return nil, err
	}
	list, size := make([]packed, old.idx.n), old.size
	for i := range list {
		list[i].id, err = old.idx.id(int64(i))
		if err == nil {
			list[i].crc, err = old.idx.crc(int64(i))
		}
		if err == nil {
			list[i].off, err = old.idx.offset(int64(i))
		}
		if err != nil {
			old.close()
			return nil, err
		}
	}
	old.close()
	p := &packFile{format: r.format, files: r.files, wait: r.disk.wait, path: temp, off: size, list: list}
	if err := r.files.setMode(temp+".pack", permFile); err != nil {
		return nil, err
	}
	if p.file, err = r.files.openTo(temp+".pack", 0, 0); err != nil {
		return nil, err
	}
	defer p.file.Close()
	if _, err := p.file.Seek(size, io.SeekStart); err != nil {
		return nil, err
	}
	p.w = bufio.NewWriter(p.file)
	data := []byte("rye pack " + randomName() + randomName() + "\n")
	if err := p.add(r.format.Hash(TypeBlob, data), TypeBlob, data); err != nil {
		return nil, err
	}
	if err := r.files.unlink(temp + ".idx"); err != nil {
		return nil, err
	}
	if sum, err = p.finish(); err == nil {
		err = r.files.setMode(temp+".pack", permObject)
	}
	return sum, err
}

// install gives a finished pack its name in objects/pack: first the pack, then the index,
// because readers find packs by their index. The .keep file comes before both.
func (r *Repo) install(ctx context.Context, temp string, sum []byte) (*keep, error) {
	dir := r.disk.name("pack")
	name := path.Join(dir, "pack-"+oidOf(sum).String())
	k, err := r.protect(ctx, name+".pack")
	if err != nil {
		return nil, err
	}
	for _, ext := range []string{".pack", ".idx"} {
		if err = r.renameSame(temp+ext, name+ext); err != nil {
			break
		}
	}
	if err == nil {
		err = r.disk.wait.syncDir(r.files, dir)
	}
	if err != nil {
		r.release(k)
		return nil, fault.Wrap(err, "add a pack")
	}
	_, _, err = r.disk.rescan()
	return k, err
}

// renameSame renames onto a name that stands for the same bytes. Windows refuses to replace an
// open file; then the existing file stays.
func (r *Repo) renameSame(from, to string) error {
	err := r.files.rename(from, to)
	if err == nil {
		return nil
	}
	a, aerr := r.files.lstat(from)
	b, berr := r.files.lstat(to)
	if aerr == nil && berr == nil && b.isRegular() && a.size == b.size {
		return r.files.unlink(from)
	}
	return err
}

// Batch collects objects into one pack. It is not safe for concurrent use. The Repo cannot
// read any of its objects before Flush. An object that the repository already has is written
// again: git may be about to drop an unreachable one.
type Batch struct {
	r     *Repo
	pack  *packFile
	seen  map[OID]bool
	trees map[OID][]byte // not yet flushed, for EditTree
	keeps []*keep

	windows *[TypeTag + 1]deltaWindow // by type; nil: everything is stored whole
}

// NewBatch begins a batch. End it with Flush or Discard.
func (r *Repo) NewBatch() *Batch {
	return &Batch{r: r, seen: map[OID]bool{}, trees: map[OID][]byte{}}
}

// Deltas lets objects that are added from now on become deltas of earlier ones. It suits
// objects that are written once, seldom read and much alike, such as the turns of a thread.
// Each Add then takes about 0.1 ms more.
func (b *Batch) Deltas() { b.windows = new([TypeTag + 1]deltaWindow) }

// Packed is an object ready to be added to a batch: hashed and deflated. These steps are most
// of the work, and can run on many goroutines.
type Packed struct {
	id    OID
	entry []byte // a pack entry
}

// Pack makes a Packed. It does not keep data.
func (f Format) Pack(t Type, data []byte) (Packed, error) {
	if t < TypeCommit || t > TypeTag {
		return Packed{}, fault.New(fault.Usage, "pack an object: %s is not an object type", t)
	}
	return packObject(object{f.Hash(t, data), t, data})
}

// PackKept is Pack for objects that are kept long and sent to many readers, such as the
// commits of a log. The result is a quarter smaller and takes a few times the work.
func (f Format) PackKept(t Type, data []byte) (Packed, error) {
	if t < TypeCommit || t > TypeTag {
		return Packed{}, fault.New(fault.Usage, "pack an object: %s is not an object type", t)
	}
	return Packed{id: f.Hash(t, data), entry: compress(appendEntryHead(nil, t, int64(len(data))), t, data)}, nil
}

func packObject(o object) (Packed, error) {
	var head [12]byte
	h := appendEntryHead(head[:0], o.t, int64(len(o.data)))
	p := Packed{id: o.id}
	if len(o.data) <= maxFixed {
		f := fixers.Get().(*fixer)
		z := f.zlib([][]byte{o.data})
		p.entry = append(append(make([]byte, 0, len(h)+len(z)), h...), z...)
		fixers.Put(f)
	} else {
		var b bytes.Buffer
		b.Grow(len(o.data)/2 + len(h))
		b.Write(h)
		if err := deflate(&b, o.data); err != nil {
			return Packed{}, err
		}
		p.entry = b.Bytes()
	}
	return p, nil
}

// ID returns the object's id.
func (p Packed) ID() OID { return p.id }

// AddPacked is Add for an object made by Pack of the repository's format. EditTree does not
// find such an object before Flush.
func (b *Batch) AddPacked(p Packed) error {
	if int(p.id.n) != b.r.format.size() {
		return fault.New(fault.Usage, "add to a batch: an object of another format, or none")
	}
	if b.seen[p.id] {
		return nil
	}
	if err := b.begin(); err != nil {
		return err
	}
	if err := b.pack.addEntry(p.id, p.entry); err != nil {
		return err
	}
	b.seen[p.id] = true
	return nil
}

// Add puts an object into the batch and returns its id. It keeps data only for trees; the
// caller must not change it then. An object added twice is stored once.
func (b *Batch) Add(t Type, data []byte) (OID, error) {
	if t < TypeCommit || t > TypeTag {
		return OID{}, fault.New(fault.Usage, "add to a batch: %s is not an object type", t)
	}
	id := b.r.format.Hash(t, data)
	if b.seen[id] {
		return id, nil
	}
	if err := b.begin(); err != nil {
		return OID{}, err
	}
	add := b.pack.add
	if b.windows != nil {
		add = b.addDelta
	}
	if err := add(id, t, data); err != nil {
		return OID{}, err
	}
	b.seen[id] = true
	if t == TypeTree {
		b.trees[id] = data
	}
	return id, nil
}

// addDelta appends an object to the pack in its smallest form: whole, or as a delta.
func (b *Batch) addDelta(id OID, t Type, data []byte) error {
	w := &b.windows[t]
	base, delta := w.find(data, nil, maxDepth)
	here := &basis{spot: &spot{at: b.pack.off}, data: bytes.Clone(data)}
	var err error
	if base == nil {
		err = b.pack.addStream(id, t, nil, int64(len(data)), compress(nil, t, data))
	} else {
		here.depth = base.depth + 1
		err = b.pack.addStream(id, t, base.spot, int64(len(delta)), compress(nil, TypeBlob, delta))
	}
	w.push(here)
	return err
}

// begin creates the pack when the first object is added.
func (b *Batch) begin() error {
	if b.pack != nil {
		return nil
	}
	nest, err := b.r.ownNest(context.Background())
	if err == nil {
		b.pack, err = newPackFile(nest, b.r.disk)
	}
	return err
}

// Objects returns the ids of all objects added since the last Flush, in the order of adding.
func (b *Batch) Objects() []OID {
	if b.pack == nil {
		return nil
	}
	ids := make([]OID, len(b.pack.list))
	for i, p := range b.pack.list {
		ids[i] = p.id
	}
	return ids
}

// EditTree applies changes to the tree base and returns the new tree. base may be in the
// repository or in this batch; zero is the empty tree.
func (b *Batch) EditTree(base OID, changes []Change) (OID, error) {
	e, err := newEdit(changes)
	if err != nil {
		return OID{}, err
	}
	w := editor{
		tree: func(id OID) ([]Entry, error) {
			if raw, ok := b.trees[id]; ok {
				return ParseTree(b.r.format, raw)
			}
			return b.r.Tree(id)
		},
		add: b.Add,
		has: func(id OID) bool { return b.seen[id] || b.r.Has(id) },
	}
	return w.apply(base, e)
}

// Commit adds a commit of tree with exactly the given parents. It ignores o.Parents and
// o.AllowEmpty.
func (b *Batch) Commit(ctx context.Context, tree OID, parents []OID, o CommitOptions) (OID, error) {
	raw, err := o.commit(ctx, tree, parents)
	if err != nil {
		return OID{}, err
	}
	return b.Add(TypeCommit, raw)
}

// putAll adds objects, deflated on all processors, and flushes.
func (b *Batch) putAll(ctx context.Context, objs []object) error {
	for chunk := range slices.Chunk(objs, 256*runtime.GOMAXPROCS(0)) {
		ready := make([]Packed, len(chunk))
		err := parallel.Chunks(ctx, len(chunk), 16, func(i int) (err error) {
			ready[i], err = packObject(chunk[i])
			return err
		})
		for i := 0; i < len(ready) && err == nil; i++ {
			err = b.AddPacked(ready[i])
		}
		if err != nil {
			return err
		}
	}
	return b.Flush(ctx)
}

// Flush makes all objects in the batch durable and readable: one pack with its index. A
// concurrent git repack cannot drop the pack until Release, Discard or Repo.Close. So move the
// ref that needs it first, then call Release. A flushed batch accepts more objects; they make
// another pack.
func (b *Batch) Flush(ctx context.Context) error {
	if b.pack == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	sum, err := b.pack.finish()
	var k *keep
	if err == nil {
		k, err = b.r.installNew(ctx, b.pack.path, sum)
	}
	b.drop()
	if err != nil {
		return err
	}
	b.keeps = append(b.keeps, k)
	return nil
}

// drop forgets all objects that were not flushed.
func (b *Batch) drop() {
	if b.pack != nil {
		b.pack.remove()
		b.pack = nil
	}
	if b.windows != nil {
		b.Deltas() // an object cannot be a delta of one in another pack
	}
	b.seen, b.trees = map[OID]bool{}, map[OID][]byte{} // cleared maps would keep their memory
}

// Release ends the protection that Flush began. It may be called more than once.
func (b *Batch) Release() {
	for _, k := range b.keeps {
		b.r.release(k)
	}
	b.keeps = nil
}

// Discard drops all objects that were not flushed and releases the flushed ones.
func (b *Batch) Discard() {
	b.drop()
	b.Release()
}

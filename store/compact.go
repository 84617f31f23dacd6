package store

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
)

// Above these numbers of loose objects from edits, or of packs, an Edit compacts after its
// commit. Measured: up to here git and rye need the same time to read one object.
const (
	maxLooseFiles = 256
	maxPackFiles  = 8
)

// maxCompact is a size in bytes. A larger pack that was compacted once is not compacted again.
const maxCompact = 64 << 20

// CompactOptions are the choices of Compact and Tidy.
type CompactOptions struct {
	DryRun bool // report the work, and do nothing

	// Packs leaves loose objects as they are, so that no links need be followed. It is for
	// caches, which lack some objects that their refs lead to.
	Packs bool
}

// Compacted reports the work of Compact, or with DryRun the work to do.
type Compacted struct {
	Loose   int   // loose objects that were packed
	Packs   int   // packs that were merged
	Objects int   // objects in the new pack; 0: there was nothing to do
	Before  int64 // bytes of all of them on disk
	After   int64 // bytes of the new pack and its index; 0 with DryRun
	Left    int   // loose objects that no ref and no log reaches; they stay
	Moves   int   // old moves dropped from logs of refs
}

// Compact merges loose objects and small packs into one pack, and drops moves older than 90
// days from the logs of refs, as git gc does. It loses no object, reachable or not, even if it
// is interrupted: it removes the old files only after the new pack was synced, read back from
// disk, and every object hashed. It holds the write lock, so other rye processes wait; plain
// git can work at the same time. Packs with a .keep file stay, because another process still
// needs them. Loose objects that no ref reaches stay, because another process may be about to
// move a ref to them. From a pack, git repack would drop them at once. Compact refuses a
// damaged repository (Integrity) and changes nothing in it.
func (r *Repo) Compact(ctx context.Context, o CompactOptions) (Compacted, error) {
	if !o.DryRun {
		unlock, err := r.lock(ctx)
		if err != nil {
			return Compacted{}, err
		}
		defer unlock()
	}
	done, err := r.compact(ctx, o, false)
	for try := 0; isMissing(err) && try < maxScans; try++ { // git repack removed a pack meanwhile
		done, err = r.compact(ctx, o, false)
	}
	if err == nil && !o.DryRun && !o.Packs {
		r.write.loose = 0
		err = r.recordRefLocks(nil)
	}
	if err == nil && !r.ownExpiry {
		done.Moves, err = r.expireLogs(time.Now().Add(-logAge), o.DryRun)
	}
	if err != nil {
		return done, fault.Wrap(err, "compact %s", r.dir)
	}
	return done, nil
}

// autoCompact compacts after an Edit when there are many files. many means that edits made
// many loose objects, or that their number is unknown. autoCompact leaves a pack alone that is
// large compared with the new objects. So each byte is written again only a few times, however
// long a repository lives. A failure does not fail the Edit, and the next few Edits do not try
// again.
func (r *Repo) autoCompact(ctx context.Context, many bool) {
	if !many && !r.manyPacks() {
		return
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	loose, err := r.disk.looseIDs()
	if err != nil {
		return
	}
	r.write.loose = max(len(loose)-r.leftBefore(), 0) // another process may have been faster
	if r.write.loose > maxLooseFiles || r.manyPacks() {
		r.write.loose = 0
		r.compact(ctx, CompactOptions{}, true)
	}
	r.recordRefLocks(nil)
}

// Tidy does for other writers what Edit does after its commit: when there are many files it
// compacts the recent ones. Otherwise it only reads a few directories. It returns no error,
// because nothing depends on it.
func (r *Repo) Tidy(ctx context.Context, o CompactOptions) {
	if !r.crowded(o.Packs) {
		return
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	if r.crowded(o.Packs) { // else another process was faster
		r.compact(ctx, o, true)
	}
}

// growing returns the first of packs, which are sorted by size. It takes a pack that is at
// most twice the size of everything before it. It takes more of them as long as too many would
// remain.
func growing(packs []oldPack, size int64) []oldPack {
	for i, p := range packs {
		if p.size > 2*size && len(packs)-i <= maxPackFiles/2 {
			return packs[:i]
		}
		size += p.size
	}
	return packs
}

// crowded reports whether there are too many files.
func (r *Repo) crowded(packsOnly bool) bool {
	if many := r.manyPacks(); many || packsOnly {
		return many
	}
	ids, err := r.disk.looseIDs()
	return err == nil && len(ids) > maxLooseFiles+r.leftBefore()
}

// manyPacks reports whether too many packs could be merged.
func (r *Repo) manyPacks() bool {
	if len(r.disk.packNames()) <= maxPackFiles {
		return false
	}
	packs, err := r.disk.oldPacks(false)
	return err == nil && len(packs) > maxPackFiles
}

// packNames lists the indexes of packs.
func (d *diskObjects) packNames() []string {
	f, err := d.files.openDir(d.name("pack"))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, "pack-") || !strings.HasSuffix(name, ".idx")
	})
}

// leftName is the file with the number of loose objects that the last Compact left because
// they are unreachable. They must not trigger the next Compact. The file may be deleted.
const leftName = "info/rye-left"

func (r *Repo) leftBefore() (n int) {
	b, _ := r.files.read(r.disk.name(leftName), 64)
	fmt.Sscan(string(b), &n)
	return max(n, 0)
}

func (r *Repo) noteLeft(n int) {
	name := r.disk.name(leftName)
	if n == 0 {
		r.files.unlink(name)
		return
	}
	if n != r.leftBefore() { // not durable: it is a hint
		temp := deskName()
		if f, err := r.files.writeTemp(temp, fmt.Appendln(nil, n), permFile); err == nil {
			f.Close()
			if r.files.rename(temp, name) != nil {
				r.files.unlink(temp)
			}
		}
	}
}

// looseIDs lists the loose objects.
func (d *diskObjects) looseIDs() ([]OID, error) {
	fan, err := d.files.readDir(d.at)
	if err != nil {
		return nil, err
	}
	var ids []OID
	for _, f := range fan {
		if len(f.Name()) != 2 || !f.IsDir() {
			continue
		}
		names, err := d.files.readDir(d.name(f.Name()))
		if isMissing(err) {
			continue // git removed it
		}
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			raw, err := hex.DecodeString(f.Name() + n.Name())
			if err == nil && len(raw) == d.format.size() && strings.ToLower(n.Name()) == n.Name() {
				ids = append(ids, oidOf(raw))
			}
		}
	}
	return ids, nil
}

// oldPack is a pack that may be merged.
type oldPack struct {
	*pack
	size int64 // bytes of pack and index
}

// oldPacks lists the packs that may be merged, smallest first. It skips packs that another
// program marked (.keep, .promisor, .mtimes, .bitmap). It skips large packs too, except those
// written in haste when large is set.
func (d *diskObjects) oldPacks(large bool) ([]oldPack, error) {
	packs, _, err := d.rescan()
	if err != nil {
		return nil, err
	}
	var old []oldPack
	for _, p := range packs {
		marked := false
		for _, ext := range []string{".keep", ".promisor", ".mtimes", ".bitmap"} {
			_, err := d.files.lstat(p.path + ext)
			marked = marked || !isMissing(err)
		}
		body, err1 := d.files.lstat(p.path + ".pack")
		index, err2 := d.files.lstat(p.path + ".idx")
		if marked || err1 != nil || err2 != nil || body.size > maxCompact && !(large && p.isQuick()) {
			continue
		}
		old = append(old, oldPack{p, body.size + index.size})
	}
	sort.Slice(old, func(i, j int) bool { return old[i].size < old[j].size })
	return old, nil
}

// isQuick reports whether a pack was written in haste, as edits do. It samples a few entries.
// It returns true for an unreadable pack, so that the full read that follows reports the
// error.
func (p *pack) isQuick() bool {
	const looks = 64
	if p.open(true) != nil {
		return true
	}
	for i := range min(looks, p.idx.n) {
		off, err := p.idx.offset(i * p.idx.n / min(looks, p.idx.n))
		if err != nil {
			return true
		}
		h, err := p.head(off)
		if err != nil {
			return true
		}
		var head [len(keptHead)]byte
		if _, err := p.file.ReadAt(head[:], h.data); err != nil || !isKept(head[:]) && h.size <= maxDelta {
			return true
		}
	}
	return false
}

// compact does the work under the write lock. With recent it looks only at recent objects, so
// that its cost does not grow with the repository.
func (r *Repo) compact(ctx context.Context, o CompactOptions, recent bool) (c Compacted, err error) {
	if !o.DryRun {
		r.dropOrphans()
	}
	defer r.keepTrees(keptTrees)()
	loose, packs, err := r.toCompact(ctx, &c, o.Packs, recent)
	if err == nil && !o.DryRun && !o.Packs {
		r.noteLeft(c.Left)
	}
	if err != nil || c.Loose == 0 && (len(packs) == 0 || len(packs) == 1 && (recent || !packs[0].isQuick())) {
		return Compacted{Left: c.Left}, err
	}
	c.Packs = len(packs)
	if o.DryRun {
		seen := map[OID]bool{}
		err := eachID(loose, packs, func(id OID) error { seen[id] = true; return nil })
		c.Objects = len(seen)
		return c, err
	}
	out, err := r.rewrite(ctx, loose, packs)
	if err != nil {
		return Compacted{}, err
	}
	defer out.remove()
	sum, err := out.finish()
	if err == nil {
		err = r.readBack(ctx, out)
	}
	if err != nil {
		return Compacted{}, err
	}
	for _, ext := range []string{".pack", ".idx"} {
		if i, err := r.files.lstat(out.path + ext); err == nil {
			c.After += i.size
		}
	}
	k, err := r.install(ctx, out.path, sum)
	if err != nil {
		return Compacted{}, err
	}
	defer r.release(k)
	c.Objects = len(out.list)
	return c, r.dropOld(loose, packs, "pack-"+oidOf(sum).String(), recent)
}

// toCompact finds the loose objects and packs to compact.
func (r *Repo) toCompact(ctx context.Context, c *Compacted, packsOnly, recent bool) (loose []OID, packs []oldPack, err error) {
	var all []OID
	if !packsOnly {
		if all, err = r.disk.looseIDs(); err != nil {
			return nil, nil, fault.New(fault.Failed, "list loose objects: %w", err)
		}
	}
	if len(all) > 0 {
		var lately map[OID]bool
		if recent {
			lately = setOf(all)
		}
		reached, err := r.reachable(ctx, lately)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range all {
			i, err := r.files.lstat(r.disk.loose(id))
			if !reached[id] || err != nil || !i.isRegular() {
				c.Left++
				continue
			}
			loose, c.Before = append(loose, id), c.Before+i.size
		}
	}
	if packs, err = r.disk.oldPacks(!recent); err != nil {
		return nil, nil, err
	}
	if recent {
		packs = growing(packs, c.Before)
	}
	for _, p := range packs {
		c.Before += p.size
	}
	c.Loose = len(loose)
	return loose, packs, nil
}

// reachable returns all objects that refs and their logs lead to. A non-nil lately holds the
// loose objects; then objects below older packed commits are left out where that is cheap.
func (r *Repo) reachable(ctx context.Context, lately map[OID]bool) (map[OID]bool, error) {
	here := r.Has
	if lately != nil { // the links of a packed object are packed too
		here = func(id OID) bool { return lately[id] }
	}
	tips, err := r.roots(here)
	if err != nil {
		return nil, err
	}
	var older []OID
	if lately != nil {
		if older, err = r.packedBelow(tips, lately); err != nil {
			return nil, err
		}
	}
	got, err := r.Reach(ctx, tips, older, ReachOptions{})
	if isMissing(err) {
		return nil, fault.New(fault.Integrity, "something that a ref leads to is missing: %w", err).Mend("rye fsck")
	}
	if err != nil {
		return nil, err
	}
	return setOf(got.Objects), nil
}

// packedBelow returns the first packed commits below tips whose parents are packed too. The
// objects below them were packed with them or earlier. Any that were not stay loose until
// Compact is called.
func (r *Repo) packedBelow(tips []OID, loose map[OID]bool) (found []OID, err error) {
	seen := map[OID]bool{}
	for todo := tips; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		if t, _, err := r.Stat(id); err != nil || t != TypeCommit {
			continue // a tag, or missing: Reach will report it
		}
		parents, err := r.links(id)
		if err != nil {
			return nil, err
		}
		parents = parents[:len(parents)-1] // the last is the tree
		if !loose[id] && !slices.ContainsFunc(parents, func(id OID) bool { return loose[id] }) {
			found = append(found, id)
			continue
		}
		todo = append(todo[:len(todo):len(todo)], parents...)
	}
	return found, nil
}

// eachID calls f for every object to be compacted, for some more than once.
func eachID(loose []OID, packs []oldPack, f func(OID) error) error {
	for _, id := range loose {
		if err := f(id); err != nil {
			return err
		}
	}
	for _, p := range packs {
		if err := p.open(true); err != nil {
			return err
		}
		for i := range p.idx.n {
			id, err := p.idx.id(i)
			if err == nil {
				err = f(id)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// rewrite writes all objects into one new pack in the nest, each object once.
func (r *Repo) rewrite(ctx context.Context, loose []OID, packs []oldPack) (_ *packFile, err error) {
	nest, err := r.nestLocked()
	if err != nil {
		return nil, err
	}
	all, err := gatherParts(ctx, r, loose, packs)
	if err == nil {
		err = all.sort(ctx)
	}
	if err != nil {
		return nil, err
	}
	out, err := newPackFile(nest, r.disk)
	if err != nil {
		return nil, err
	}
	if err := (&packer{r: r, out: out}).write(ctx, all.list); err != nil {
		out.remove()
		return nil, err
	}
	return out, nil
}

// readBackChunk is the number of neighbours in a pack that one processor reads back. Most of
// their bases are then in the cache.
const readBackChunk = 16

// readBack reads every object of a finished pack from disk and hashes it, on all processors.
// Each takes neighbours in pack order, in which a base comes before its deltas.
func (r *Repo) readBack(ctx context.Context, out *packFile) error {
	p := &pack{files: r.files, path: out.path, format: r.format, bases: baseCache{most: readBackCache}}
	defer p.close()
	slices.SortFunc(out.list, func(a, b packed) int { return cmp.Compare(a.off, b.off) })
	return parallel.Chunks(ctx, len(out.list), readBackChunk, func(i int) error {
		id := out.list[i].id
		if err := p.verify(id); err != nil {
			return fault.Wrap(err, "object %s", id).Mend("git fsck --full")
		}
		return nil
	})
}

// verify reads an object and compares it with its id.
func (p *pack) verify(id OID) error {
	i, ok, err := p.find(id)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.Integrity, "it is not in the new pack")
	}
	t, data, err := p.load(i, maxRaw)
	if fault.Is(err, fault.Limit) {
		_, _, err = p.pour(i, id, &onceWriter{w: io.Discard})
		return err
	}
	if err != nil {
		return err
	}
	return compare(p.format, id, t, data)
}

// dropOld removes the files whose objects are in the new pack. A pack goes before its index:
// an index alone holds no object, so the next Compact may remove it. A file that cannot be
// removed, as on Windows while another process reads it, stays for the next time.
func (r *Repo) dropOld(loose []OID, packs []oldPack, kept string, recent bool) error {
	for _, p := range packs {
		if path.Base(p.path) == kept {
			continue // the only pack, and it is unchanged
		}
		if r.files.has(p.path + ".keep") {
			continue // another process has just made the same pack
		}
		if err := r.files.remove(p.path + ".pack"); err != nil && !isMissing(err) {
			continue
		}
		for _, ext := range []string{".rev", ".idx"} {
			r.files.remove(p.path + ext)
		}
	}
	for _, id := range loose {
		r.files.remove(r.disk.loose(id))
	}
	if !recent {
		r.disk.dropEmpty()
	}
	_, _, err := r.disk.rescan()
	return err
}

// dropEmpty removes empty directories of loose objects. After an edit they stay: the next
// fifty edits fill them again. Creating and syncing one for each object takes a tenth of the
// time of a commit.
func (d *diskObjects) dropEmpty() {
	fan, _ := d.files.readDir(d.at)
	var names []string
	for _, f := range fan {
		if _, err := hex.DecodeString(f.Name()); err == nil && len(f.Name()) == 2 {
			names = append(names, f.Name())
		}
	}
	d.files.removeDirs(d.at, names)
}

// dropOrphans removes indexes without a pack: a Compact was killed between the two removals. A
// process that adds a pack gives the pack its name before the index.
func (r *Repo) dropOrphans() {
	for _, name := range r.disk.packNames() {
		idx := r.disk.name("pack/" + name)
		base := strings.TrimSuffix(idx, ".idx")
		if _, err := r.files.lstat(base + ".pack"); isMissing(err) {
			r.files.remove(base + ".rev")
			r.files.remove(idx)
		}
	}
}

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
)

// Above this many loose objects made by edits, or packs, an Edit compacts when it has
// committed (measured: git and rye read one object in the same time up to there).
const (
	maxLooseFiles = 256
	maxPackFiles  = 8
)

// maxCompact is the size of a pack, in bytes, from which on it is left as it is once it was
// compacted.
const maxCompact = 64 << 20

// CompactOptions says how to compact.
type CompactOptions struct {
	DryRun bool // say what would be done, and do nothing

	// Packs leaves loose objects as they are, so that nothing need be followed:
	// for caches, which lack parts of what their refs lead to.
	Packs bool
}

// Compacted tells what Compact did, or with DryRun would do.
type Compacted struct {
	Loose   int   // objects that were files of their own
	Packs   int   // packs that were taken in
	Objects int   // objects in the new pack; 0: there was nothing to do
	Before  int64 // bytes of all of them on disk
	After   int64 // bytes of the new pack and its index; 0 with DryRun
	Left    int   // loose objects that no ref and no log reaches, left as they are
	Moves   int   // old moves dropped from logs of refs
}

// Compact puts loose objects and small packs into one pack, and drops from the logs
// of refs the moves older than 90 days, as git gc does. No object is lost,
// reachable or not, wherever it is interrupted: what it replaces is removed after
// the new pack was read back from disk, every object hashed, and synced. It holds
// the write lock, so other rye processes wait for it; plain git may work beside
// it. Packs with a .keep file, which belong to whoever is still writing, stay, and
// so do loose objects that no ref reaches: they may be somebody's who has not
// moved a ref yet, and in a pack git repack would drop them at once. A damaged
// repository is refused (Integrity) and left alone.
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

// autoCompact compacts after an Edit when there are many files: many says that edits
// made so many, or that nobody knows. It leaves packs alone that are large beside what
// is new, so that each byte is written again only a few times however long a repository
// lives. Its failure is not the Edit's, and is not met again by the next few.
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

// Tidy is what Edit does when it has committed, for those who write otherwise: where
// there are many files it compacts what came lately. Where there are not, it reads
// a few directories. It has no error, for nothing depends on it.
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

// growing takes packs, smallest first, as long as each is at most twice what was
// taken before it, and those without which there would be too many.
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

// manyPacks reports whether there are too many packs that may be taken in.
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

// leftName is a file that says how many loose objects the last Compact left for
// being unreachable, so that they do not bring on the next. It may be deleted.
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

// looseIDs lists the objects that are files of their own.
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

// oldPack is a pack that may be taken in.
type oldPack struct {
	*pack
	size int64 // of pack and index
}

// oldPacks lists the packs that may be taken in, smallest first: none that anybody
// marked (.keep, .promisor, .mtimes, .bitmap), and none that is large, unless large is set
// and it was written in haste.
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

// isQuick reports whether a pack was written in haste, as edits write it, by a look at a few
// of its entries. What cannot be read was, so that who reads all of it says why.
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

// compact does the work under the write lock. With recent it looks only at what
// came lately, so that it costs no more as a repository grows.
func (r *Repo) compact(ctx context.Context, o CompactOptions, recent bool) (c Compacted, err error) {
	if !o.DryRun {
		r.dropOrphans()
	}
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

// toCompact finds what there is to do.
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

// reachable returns everything that refs and their logs lead to. When lately is not
// nil it holds the loose objects, and what older packed commits lead to is left out,
// as far as is cheap to know.
func (r *Repo) reachable(ctx context.Context, lately map[OID]bool) (map[OID]bool, error) {
	here := r.Has
	if lately != nil { // what is packed has what it leads to beside it
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

// packedBelow returns the first packed commits below tips whose parents are packed
// as well. What they lead to was packed with them, or before; where it was not, it
// stays as it is until Compact is asked for.
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
			continue // a tag, or missing: Reach will tell
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

// eachID calls f for every object to be compacted; some occur more than once.
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

// rewrite writes everything into one new pack in the nest, each object once.
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

// readBack reads every object of a finished pack from disk and hashes it, in the order of
// the pack, in which bases come before what is made of them.
func (r *Repo) readBack(ctx context.Context, out *packFile) error {
	p := &pack{files: r.files, path: out.path, format: r.format, bases: baseCache{most: readBackCache}}
	defer p.close()
	slices.SortFunc(out.list, func(a, b packed) int { return cmp.Compare(a.off, b.off) })
	for _, o := range out.list {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		i, ok, err := p.find(o.id)
		if err == nil && !ok {
			err = fault.New(fault.Integrity, "it is not in the new pack")
		}
		var t Type
		var data []byte
		if err == nil {
			t, data, err = p.load(i, maxRaw)
		}
		if fault.Is(err, fault.Limit) {
			if _, _, err = p.pour(i, o.id, &onceWriter{w: io.Discard}); err != nil {
				return fault.Wrap(err, "object %s", o.id).Mend("git fsck --full")
			}
			continue
		}
		if err == nil {
			err = compare(r.format, o.id, t, data)
		}
		if err != nil {
			return fault.Wrap(err, "object %s", o.id).Mend("git fsck --full")
		}
	}
	return nil
}

// dropOld removes what the new pack holds. The pack goes before its index: an
// index alone holds nothing, so the next Compact may remove it. What cannot be
// removed, on Windows because somebody reads it, stays for the next time.
func (r *Repo) dropOld(loose []OID, packs []oldPack, kept string, recent bool) error {
	for _, p := range packs {
		if path.Base(p.path) == kept {
			continue // there was one pack, and it is the same
		}
		if r.files.has(p.path + ".keep") {
			continue // somebody has just made the same pack
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

// dropEmpty removes the directories of loose objects that hold none. After an edit
// they stay: the next fifty fill them again, and to make and sync one for each of
// their objects takes a tenth of the time of a commit.
func (d *diskObjects) dropEmpty() {
	fan, _ := d.files.readDir(d.at)
	for _, f := range fan {
		if _, err := hex.DecodeString(f.Name()); err == nil && len(f.Name()) == 2 {
			d.files.removeDir(d.name(f.Name())) // unless something is left in it
		}
	}
}

// dropOrphans removes indexes whose pack is gone: a Compact was killed between the
// two. Whoever makes a pack names it before its index.
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

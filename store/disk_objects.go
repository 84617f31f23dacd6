package store

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
)

// diskObjects reads the objects directory of a repository: loose files and packs. It ignores
// alternates, replace refs and grafts: an id stands for its own bytes in this directory. It is
// safe for concurrent use.
type diskObjects struct {
	files  *files
	at     string // the objects directory, in files
	format Format
	most   int64 // bytes that the deltas of one object may make; 0 is no bound
	wait   waiting

	mu    sync.Mutex
	packs []*pack // the one with the last object comes first
	known bool    // packs was read once
}

// name returns the path of a file in the objects directory.
func (d *diskObjects) name(file string) string { return path.Join(d.at, file) }

// loose returns the path of a loose object.
func (d *diskObjects) loose(id OID) string { return loosePath(d.at, id) }

// maxScans bounds how often the list of packs is read again for one missing object. An object
// can move from a file to a pack and back while others repack.
const maxScans = 5

// errSkip means that a place does not have the object.
var errSkip = errors.New("not here")

// lookup runs loose for a loose object, or inPack for a packed one, whichever it finds first.
// When both fail, it reads the list of packs again until the list stops changing.
func (d *diskObjects) lookup(id OID, loose func() error, inPack func(p *pack, i int64) error) error {
	if int(id.n) != d.format.size() {
		return notFound("object %s", id)
	}
	if p, i := d.hot(id); p != nil {
		if err := inPack(p, i); err == nil || fault.Is(err, fault.Limit) {
			return err
		}
	}
	return d.search(id, loose, inPack)
}

// patiently is lookup for a caller that expects the object to exist. Another process may
// repack faster than this one runs. So a missing object may reappear as long as packs come and
// go.
func (d *diskObjects) patiently(id OID, loose func() error, inPack func(p *pack, i int64) error) error {
	err := d.lookup(id, loose, inPack)
	for try := 0; err != nil && isMissing(err) && try < maxWaits && d.stirring(); try++ {
		time.Sleep(waitStep)
		err = d.lookup(id, loose, inPack)
	}
	return err
}

// A missing object is looked up again this often and at this interval, while the directory of
// packs changed within the last moment.
const (
	maxWaits = 20
	waitStep = 5 * time.Millisecond
	moment   = 500 * time.Millisecond
)

// stirring reports whether a pack was just added or removed.
func (d *diskObjects) stirring() bool {
	i, err := d.files.lstat(d.name("pack"))
	return err == nil && time.Since(i.mtime) < moment
}

// search makes one search: in the loose file, and in a list of packs that is read again until
// it stops changing.
func (d *diskObjects) search(id OID, loose func() error, inPack func(p *pack, i int64) error) error {
	var packs []*pack
	for scan := range maxScans {
		err := loose()
		if !isMissing(err) {
			return err
		}
		if scan == 0 {
			if packs, err = d.list(); err != nil {
				return err
			}
		}
		err, vanished := d.inPacks(packs, id, inPack)
		if err != errSkip {
			return err
		}
		fresh, changed, err := d.rescan()
		if err != nil {
			return err
		}
		if !changed && !vanished {
			break
		}
		packs = fresh
	}
	return notFound("object %s", id)
}

// hot returns the pack that has the object, if its index is in memory. This saves a call to
// the file system for each of many reads.
func (d *diskObjects) hot(id OID) (*pack, int64) {
	d.mu.Lock()
	packs := d.packs
	d.mu.Unlock()
	for _, p := range packs {
		if x := p.memory(); x != nil {
			if i, ok, err := x.find(id); ok && err == nil {
				return p, i
			}
		}
	}
	return nil, 0
}

// inPacks tries each pack. It skips a pack that is gone from the disk. It also skips a broken
// pack, and returns the pack's error if no other pack has the object.
func (d *diskObjects) inPacks(packs []*pack, id OID, use func(p *pack, i int64) error) (result error, vanished bool) {
	broken := errSkip
	for n, p := range packs {
		i, ok, err := p.find(id)
		if err == nil && ok {
			err = use(p, i)
		}
		switch {
		case err == nil && !ok:
		case err == nil:
			if n > 0 {
				d.promote(p)
			}
			return nil, vanished
		case isMissing(err):
			vanished = true
		case fault.Is(err, fault.Limit):
			return err, vanished
		default:
			broken = err
		}
	}
	return broken, vanished
}

// promote moves the pack with the last object to the front. Readers hold the old list, so it
// makes a new one.
func (d *diskObjects) promote(p *pack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.packs, p); i >= 0 { // others read the old list
		d.packs = slices.Concat([]*pack{p}, d.packs[:i], d.packs[i+1:])
	}
}

// list returns the packs, reading their names the first time.
func (d *diskObjects) list() ([]*pack, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known {
		return d.packs, nil
	}
	_, err := d.scanLocked()
	return d.packs, err
}

// rescan reads the names of the packs again and reports whether they changed.
func (d *diskObjects) rescan() ([]*pack, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed, err := d.scanLocked()
	return d.packs, changed, err
}

// scanLocked looks at names only. It ignores temporary files of git and go-git (tmp_*, .tmp-*)
// and packs without an index.
func (d *diskObjects) scanLocked() (changed bool, err error) {
	dir := d.name("pack")
	names, err := d.files.readDir(dir)
	if err != nil && !isMissing(err) {
		return false, fault.Wrap(err, "list packs")
	}
	old := make(map[string]*pack, len(d.packs))
	for _, p := range d.packs {
		old[p.path] = p
	}
	var added []*pack
	present := make(map[string]bool, len(names))
	irregular := map[string]bool{}
	for _, n := range names {
		if !n.Type().IsRegular() {
			irregular[n.Name()] = true // opening it may never return
		}
	}
	for _, n := range names {
		base, ok := strings.CutSuffix(n.Name(), ".idx")
		if !ok || base == "" || base[0] == '.' || strings.HasPrefix(base, "tmp") || irregular[n.Name()] || irregular[base+".pack"] {
			continue
		}
		name := path.Join(dir, base)
		present[name] = true
		if old[name] == nil {
			added = append(added, &pack{files: d.files, path: name, format: d.format, most: d.most})
		}
	}
	// The garbage collector closes the files of removed packs: another goroutine may be
	// reading them.
	kept := d.packs[:0:0]
	for _, p := range d.packs {
		if present[p.path] {
			kept = append(kept, p)
		}
	}
	changed = len(added) > 0 || len(kept) < len(d.packs)
	d.packs, d.known = append(kept, largestFirst(added)...), true
	return changed, nil
}

// largestFirst puts the packs with the most objects first. An object is most likely there, and
// every pack searched costs opening and mapping its index. A removed pack sorts as empty.
func largestFirst(packs []*pack) []*pack {
	if len(packs) < 2 {
		return packs
	}
	size := make(map[*pack]int64, len(packs))
	for _, p := range packs {
		if i, err := p.files.lstat(p.path + ".idx"); err == nil {
			size[p] = i.size
		}
	}
	slices.SortStableFunc(packs, func(a, b *pack) int { return cmp.Compare(size[b], size[a]) })
	return packs
}

// load returns an object after comparing its bytes with its id.
func (d *diskObjects) load(id OID, limit int64) (t Type, data []byte, err error) {
	err = d.patiently(id,
		func() error {
			t, data, err = d.loadLoose(id, limit)
			if err != nil && !isMissing(err) && !fault.Is(err, fault.Limit) && d.inAnyPack(id) {
				return notFound("") // a torn file does not hide a good copy in a pack
			}
			return err
		},
		func(p *pack, i int64) error {
			if t, data, err = p.load(i, limit); err != nil {
				return err
			}
			return compare(d.format, id, t, data)
		})
	if err != nil {
		return 0, nil, wrapRead(id, err)
	}
	return t, data, nil
}

// compare checks that data, as an object of type t, has the id.
func compare(f Format, id OID, t Type, data []byte) error {
	if got := f.Hash(t, data); got != id {
		return fault.New(fault.Integrity, "its stored bytes have the id %s", got)
	}
	return nil
}

func wrapRead(id OID, err error) error {
	if isMissing(err) {
		return err
	}
	e := fault.Wrap(err, "read object %s", id)
	if e.Code == fault.Integrity {
		e.Advise("git fsck --full; fetch the object again from its source")
	}
	return e
}

func (d *diskObjects) loadLoose(id OID, limit int64) (Type, []byte, error) {
	f, err := d.files.open(d.loose(id))
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	t, _, data, err := readLoose(f, limit, false)
	if err != nil {
		return 0, nil, err
	}
	return t, data, compare(d.format, id, t, data)
}

// stat returns type and size from an object's header.
func (d *diskObjects) stat(id OID) (t Type, size int64, err error) {
	err = d.lookup(id,
		func() error {
			f, err := d.files.open(d.loose(id))
			if err != nil {
				return err
			}
			defer f.Close()
			t, size, _, err = readLoose(f, 0, true)
			return err
		},
		func(p *pack, i int64) error {
			t, size, err = p.stat(i)
			return err
		})
	if err != nil {
		return 0, 0, wrapRead(id, err)
	}
	return t, size, nil
}

func (d *diskObjects) has(id OID) bool {
	return d.lookup(id,
		func() error { _, err := d.files.lstat(d.loose(id)); return err },
		func(*pack, int64) error { return nil }) == nil
}

func (d *diskObjects) hasLoose(id OID) bool {
	return d.files.has(d.loose(id))
}

// hasNow is has for many ids that an outsider chose: it searches once, in the packs that are
// already known.
func (d *diskObjects) hasNow(id OID) bool { return d.hasLoose(id) || d.inAnyPack(id) }

func (d *diskObjects) inAnyPack(id OID) bool {
	packs, err := d.list()
	if err != nil {
		return false
	}
	err, _ = d.inPacks(packs, id, func(*pack, int64) error { return nil })
	return err == nil
}

// close closes every pack. A running read fails.
func (d *diskObjects) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, p := range d.packs {
		errs = append(errs, p.close())
	}
	d.packs, d.known = nil, false
	return errors.Join(errs...)
}

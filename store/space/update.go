package space

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store"
)

// fate is the result for a row of the old catalogue.
type fate uint8

const (
	unseen   fate = iota // no file; if the record has the path, the file is missing
	kept                 // still valid
	replaced             // another row replaces it
)

// update brings an old catalogue up to date.
type update struct {
	s        *Stack
	l        *Layer
	set      *extract.Set
	began    int64
	key      objects.Digest // digest of its inputs besides files and record; zero without a catalogue
	old      *catalogue
	fate     []fate // of the rows in old
	folders  []folder
	tip      store.OID
	recorded map[string]store.OID // nil if the record is the one that old was made from

	bundles   bool  // the record has bundles
	inBundles []Row // rows of files in bundles

	rows  []Row // new rows
	seen  []seenFile
	order []int // all rows in order: an old row by its number, a new row i as -1-i
	worth bool  // a new file would save work
}

// update reads the current state, and writes the catalogue if that saves work.
func (s *Stack) update(ctx context.Context, l *Layer) (u *update, err error) {
	l.Begin(ctx) // lists the files while the catalogue is read
	set, err := s.Extractors(ctx, objects.Project)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	file, key, err := s.catalogueFile(ctx, l, set)
	if err != nil {
		return nil, err
	}
	u = &update{s: s, l: l, set: set, key: key, old: &catalogue{}}
	if file == "" {
		found, err := s.Scan(ctx, l, nil)
		u.rows = RowsOf(found, set)
		u.merge()
		return u, err
	}
	err = u.prepare(ctx, file, key)
	found := l.listed(ctx)
	if u.folders, u.began = found.folders, found.began; err == nil {
		err = found.err
	}
	if err == nil {
		err = u.pick(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := u.takeBundles(ctx); err != nil {
		return nil, err
	}
	if err := u.run(ctx); err != nil {
		return nil, err
	}
	u.merge()
	if u.worth {
		u.write(file, key)
	}
	u.addForeign()
	return u, nil
}

// prepare reads the catalogue, and the record if it differs from the catalogue's.
func (u *update) prepare(ctx context.Context, file string, key objects.Digest) (err error) {
	u.old = readCatalogue(file, u.l.Space, key)
	u.fate = make([]fate, u.old.len())
	if u.tip, err = u.l.Tip(); err == nil && (u.tip != u.old.tip || u.old.when == 0 || u.old.bundles) {
		u.recorded, err = u.l.recordedAll(ctx)
	}
	return err
}

// pick selects the files that differ from their rows.
func (u *update) pick(ctx context.Context) error {
	return parallel.Chunks(ctx, len(u.folders), 8, func(i int) error {
		u.folders[i].pick(u.known(u.folders[i].path))
		return nil
	})
}

// known returns a function that reports whether a file of a folder matches its old row. The
// function marks a matching row as kept.
func (u *update) known(dir string) func([]byte, stamp) bool {
	from, to := u.old.below(dir)
	return func(path []byte, st stamp) bool {
		i := u.old.find(path, from, to)
		if i < 0 || st != u.old.seen(i).stamp || st.racy(u.old.when) || !u.settled(i) {
			return false
		}
		u.fate[i] = kept
		return true
	}
}

// takeBundles judges files in bundles separately: a verdict on such a file depends on other
// files, so it is never kept.
func (u *update) takeBundles(ctx context.Context) error {
	dirs := bundleDirs(u.folders, u.recorded)
	if u.keptIn(dirs) { // the bundle is new: no row of a file in it is valid
		clear(u.fate)
		for i := range u.folders {
			u.folders[i].pick(nil)
		}
	}
	b := takeBundles(u.folders, dirs)
	for p := range u.recorded {
		if path.Base(p) == objects.ManifestName {
			u.bundles = true // they must be looked for next time
		}
	}
	if u.bundles != u.old.bundles {
		u.worth = true
	}
	found, err := u.s.scanBundles(ctx, u.l, b, u.recorded, nil)
	if err != nil {
		return err
	}
	u.inBundles = RowsOf(found, u.set)
	for _, dir := range b.dirs { // rows from before the bundle are not missing
		for i, to := u.old.below(dir); i < to; i++ {
			u.fate[i] = replaced
		}
	}
	return nil
}

// keptIn reports whether a row of a file in one of dirs was kept.
func (u *update) keptIn(dirs map[string]bool) bool {
	for dir := range dirs {
		if from, to := u.old.below(dir); slices.Contains(u.fate[from:to], kept) {
			return true
		}
	}
	return false
}

// run compares every remaining file with its row and reads the changed ones.
func (u *update) run(ctx context.Context) error {
	var stale []workFile
	for i := range u.folders {
		fd := &u.folders[i]
		from, to := u.old.below(fd.path)
		is, changed := u.known(fd.path), fd.files[:0]
		for _, f := range fd.files {
			p := []byte(f.path)
			if is(p, f.stamp) {
				continue
			}
			if f.row = u.old.find(p, from, to); f.row >= 0 {
				f.ref = u.old.ref(f.row)
			}
			changed = append(changed, f)
		}
		fd.files = changed
		fd.name()
		stale = append(stale, fd.files...)
	}
	err := u.readAll(ctx, stale)
	if err == nil {
		u.addMissing()
	}
	return err
}

// addForeign adds the rows that no catalogue keeps: for names that are no items, for bundles,
// and for files in bundles.
func (u *update) addForeign() {
	n := len(u.rows)
	for i := range u.folders {
		u.rows = append(u.rows, RowsOf(foreignFindings(u.l, u.folders[i].foreign), nil)...)
	}
	u.rows = append(u.rows, u.inBundles...)
	u.mergeIn(n)
}

// settled reports whether the old row's verdict is still valid for the current record, and
// updates the row's flags.
func (u *update) settled(i int) bool {
	if u.recorded == nil {
		return true
	}
	f := u.old.bytes(i)
	was := u.recorded[string(rowPath(f))]
	blob, _ := oidIn(f[7], f[48:80])
	same := !was.IsZero() && was == blob
	if st := u.old.state(i); st == objects.Older || st == objects.Returned || (st == objects.Signed || st == objects.Legacy || st == objects.Patched) && !same {
		return false // these verdicts depend on other records
	}
	u.old.set(i, flagRecorded, same)
	u.old.set(i, flagKnown, !was.IsZero())
	return true
}

// readAll judges files again.
func (u *update) readAll(ctx context.Context, files []workFile) error {
	rows := make([]Row, len(files))
	seen := make([]seenFile, len(files))
	tip, err := u.l.tip()
	if err != nil {
		return err
	}
	covers := &Covers{asOf: &moment{tip}}
	err = parallel.Chunks(ctx, len(files), 4, func(i int) (err error) {
		rows[i], seen[i], err = u.read(ctx, files[i], covers)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			rows[i].Ref = objects.Ref{} // removed meanwhile
			return nil
		case errors.Is(err, fs.ErrPermission):
			rows[i] = keptFromUs(u.l, files[i], err).Row(nil)
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].Ref.Kind == "" {
			continue
		}
		u.rows, u.seen = append(u.rows, rows[i]), append(u.seen, seen[i])
		if storable(&rows[i]) && !seen[i].stamp.racy(u.began) {
			u.worth = true
		}
		if files[i].row >= 0 {
			u.fate[files[i].row] = replaced
		}
	}
	return nil
}

// read judges one file. Its stamp is from before the read, so the next look detects a change
// in between. If the bytes are the same as in the old row, its verdict stays.
func (u *update) read(ctx context.Context, f workFile, covers *Covers) (Row, seenFile, error) {
	raw, err := u.l.Read(f.path)
	if f.row >= 0 && err == nil {
		r := u.old.row(f.row)
		if r.Sum == objects.DigestOf(raw) && r.Blob == u.l.BlobID(raw) && u.settled(f.row) {
			r.Recorded = u.old.has(f.row, flagRecorded)
			return r, seenFile{f.stamp, u.old.has(f.row, flagKnown)}, nil
		}
	}
	was := u.recorded[f.path]
	if u.recorded == nil {
		var werr error
		if was, werr = u.l.RecordedBlob(f.path); werr != nil {
			return Row{}, seenFile{}, werr
		}
	}
	found, err := u.s.judgeRead(ctx, u.l, f.path, f.ref, raw, err, was, covers)
	return found.Row(u.set), seenFile{f.stamp, !was.IsZero()}, err
}

// addMissing adds a row for each recorded path without a file.
func (u *update) addMissing() {
	add := func(r Row) {
		u.rows, u.seen = append(u.rows, r), append(u.seen, seenFile{known: true})
	}
	if u.recorded == nil {
		for i, f := range u.fate {
			switch {
			case f != unseen || !u.old.has(i, flagKnown):
			case u.old.state(i) == objects.Absent:
				u.fate[i] = kept
			default:
				r := u.old.row(i)
				add(absent(u.l, r.Ref, r.Path).Row(nil))
				u.worth = true
			}
		}
		return
	}
	for i, f := range u.fate {
		if f == kept {
			delete(u.recorded, string(u.old.path(i)))
			u.worth = u.worth || u.tip != u.old.tip // worth writing for the new record
		}
	}
	for i := range u.rows {
		delete(u.recorded, u.rows[i].Path)
	}
	for p := range u.recorded {
		if ref, _, err := objects.RefOfPath(p); err == nil {
			add(absent(u.l, ref, p).Row(nil))
		}
	}
}

// merge puts the kept rows and the new rows in order.
func (u *update) merge() {
	u.order = make([]int, 0, len(u.fate)+len(u.rows))
	for i, f := range u.fate {
		if f == kept {
			u.order = append(u.order, i)
		} else if f == unseen && u.old.has(i, flagSeen) {
			u.worth = true // a removed file
		}
	}
	u.mergeIn(0)
}

// mergeIn inserts the new rows from number n on into the order.
func (u *update) mergeIn(n int) {
	fresh := make([]int, len(u.rows)-n)
	for i := range fresh {
		fresh[i] = -1 - n - i
	}
	if len(fresh) == 0 {
		return
	}
	slices.SortFunc(fresh, u.compare)
	var all []int
	for _, e := range u.order {
		for len(fresh) > 0 && u.compare(fresh[0], e) < 0 {
			all, fresh = append(all, fresh[0]), fresh[1:]
		}
		all = append(all, e)
	}
	u.order = append(all, fresh...)
}

// compare orders two entries of order by kind, id and path.
func (u *update) compare(a, b int) int {
	if a >= 0 && b >= 0 {
		return u.old.order(a, b)
	}
	x, y := u.ref(a), u.ref(b)
	return byRef(x, y, u.path(a), u.path(b))
}

func (u *update) path(e int) string {
	if e < 0 {
		return u.rows[-1-e].Path
	}
	return string(u.old.path(e))
}

func (u *update) ref(e int) objects.Ref {
	if e < 0 {
		return u.rows[-1-e].Ref
	}
	return u.old.ref(e)
}

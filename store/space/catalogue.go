package space

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Rows tells what a space on disk holds, as Scan does, in the same order and with
// the same words, without reading files that have not changed since they were last
// read: those are answered from the catalogue below s.Cache. Nothing that Rows
// says may decide what runs.
func (s *Stack) Rows(ctx context.Context, l *Layer) ([]Row, error) {
	file, key, err := s.catalogueFile(l)
	if err != nil {
		return nil, err
	}
	if file == "" {
		found, err := s.Scan(ctx, l)
		return RowsOf(found), err
	}
	u := update{s: s, l: l, began: time.Now().UnixNano()}
	var g errgroup.Group // the file and the tree, side by side
	g.Go(func() error {
		u.old = readCatalogue(file, l.Space, key)
		u.index = u.old.index()
		return nil
	})
	g.Go(func() (err error) {
		u.folders, err = l.look(ctx)
		return err
	})
	if u.tip, err = l.Tip(); err == nil {
		err = g.Wait()
	} else {
		g.Wait()
	}
	if err != nil {
		return nil, err
	}
	if u.tip != u.old.tip || u.old.when == 0 || u.old.bundles {
		if u.recorded, err = l.recordedAll(); err != nil {
			return nil, err
		}
	}
	if err := u.takeBundles(ctx); err != nil {
		return nil, err
	}
	if err := u.run(ctx); err != nil {
		return nil, err
	}
	now := u.result(key)
	if u.worth {
		now.stored(l).write(file)
	}
	return u.withBundles(u.withForeign(now.rows)), nil
}

// takeBundles judges what lies in bundles apart from the rest: a verdict on a file
// there depends on others, so it is never kept.
func (u *update) takeBundles(ctx context.Context) error {
	b := takeBundles(u.folders, u.recorded)
	for p := range u.recorded {
		if path.Base(p) == objects.ManifestName {
			u.bundles = true // and they have to be looked for next time
		}
	}
	if u.bundles != u.old.bundles {
		u.worth = true
	}
	found, err := u.s.scanBundles(ctx, u.l, b, u.recorded)
	if err != nil {
		return err
	}
	u.inBundles = RowsOf(found)
	has := map[string]bool{}
	for _, dir := range b.dirs {
		has[dir] = true
	}
	for i := range u.old.rows { // from before there was a bundle: not missing
		if len(has) > 0 && within(u.old.rows[i].Path, has) {
			u.old.seen[i] = seenFile{}
		}
	}
	return nil
}

// withBundles puts the rows of bundles and of what lies in them between the others.
func (u *update) withBundles(rows []Row) []Row {
	if len(u.inBundles) == 0 {
		return rows
	}
	rows = slices.Concat(rows, u.inBundles)
	slices.SortFunc(rows, compareRows)
	return rows
}

func compareRows(a, b Row) int { return byRef(a.Ref, b.Ref, a.Path, b.Path) }

// catalogueFile names the catalogue of a layer, and digests what its verdicts
// depend on besides the files and the record.
func (s *Stack) catalogueFile(l *Layer) (file string, key objects.Digest, err error) {
	if s.Cache == "" {
		return "", key, nil
	}
	dir, err := filepath.Abs(l.Dir)
	if err != nil {
		return "", key, err
	}
	epoch, err := s.Trust.Epoch()
	if err != nil {
		return "", key, err
	}
	name := objects.DigestOf(fmt.Appendf(nil, "%s\n%s\n", l.Space, dir))
	key = objects.DigestOf(fmt.Appendf(nil, "%s%q\n%s\n%q\n%s\n%s\n%s\n", catMagic, dir, l.Space, s.Program, s.Genesis, epoch, s.LockSum))
	return filepath.Join(s.Cache, "catalogue", hex.EncodeToString(name[:16])+".cat"), key, nil
}

// readCatalogue returns what the file holds, or an empty catalogue when it is not
// there, not whole, or about other circumstances.
func readCatalogue(file string, sp objects.Space, key objects.Digest) *catalogue {
	f, err := os.Open(file)
	if err != nil {
		return &catalogue{}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxCat {
		return &catalogue{}
	}
	raw := make([]byte, st.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return &catalogue{}
	}
	if len(raw) < catHeader || objects.Digest(raw[24:56]) != key {
		return &catalogue{}
	}
	c, err := parseCatalogue(raw, sp)
	if err != nil {
		return &catalogue{}
	}
	return c
}

// index finds the rows by path.
func (c *catalogue) index() map[string]int32 {
	m := make(map[string]int32, len(c.rows))
	for i := range c.rows {
		m[c.rows[i].Path] = int32(i)
	}
	return m
}

// update is one way from an old catalogue to what is true now.
type update struct {
	s        *Stack
	l        *Layer
	began    int64
	old      *catalogue
	index    map[string]int32 // rows of old by path
	folders  []folder
	tip      store.OID
	recorded map[string]store.OID // nil when the record is the one that old knows

	bundles   bool  // the record holds some
	inBundles []Row // of what lies in bundles

	kept  []bool // of old's rows
	rows  []Row  // new ones
	seen  []seenFile
	worth bool // a new file would save work
}

// run compares every file with its row and reads those that changed.
func (u *update) run(ctx context.Context) error {
	u.kept = make([]bool, len(u.old.rows))
	stale := make([][]workFile, len(u.folders))
	err := inParallel(ctx, len(u.folders), 8, func(i int) error {
		fd := &u.folders[i]
		fd.name(u.old.rows, u.index)
		for _, f := range fd.files {
			if f.row >= 0 && f.stamp == u.old.seen[f.row].stamp && !f.stamp.racy(u.old.when) && u.settled(f.row) {
				u.kept[f.row] = true
			} else {
				stale[i] = append(stale[i], f)
			}
		}
		return nil
	})
	if err == nil {
		err = u.readAll(ctx, slices.Concat(stale...))
	}
	if err == nil {
		u.addMissing()
	}
	return err
}

// withForeign puts the names that are no items before the rows.
func (u *update) withForeign(rows []Row) []Row {
	var foreign []Row
	for i := range u.folders {
		foreign = append(foreign, RowsOf(foreignFindings(u.l, u.folders[i].foreign))...)
	}
	if len(foreign) == 0 {
		return rows
	}
	slices.SortFunc(foreign, compareRows)
	return append(foreign, rows...)
}

// settled reports whether the old row's verdict still holds now that the record
// may have moved, and brings the row up to date with it.
func (u *update) settled(i int) bool {
	if u.recorded == nil {
		return true
	}
	r := &u.old.rows[i]
	was := u.recorded[r.Path]
	same := !was.IsZero() && was == r.Blob
	if r.State == Older || r.State == Signed && !same {
		return false // the one verdict that depends on what else was recorded
	}
	r.Recorded, u.old.seen[i].known = same, !was.IsZero()
	return true
}

// readAll judges files anew.
func (u *update) readAll(ctx context.Context, files []workFile) error {
	rows := make([]Row, len(files))
	seen := make([]seenFile, len(files))
	err := inParallel(ctx, len(files), 4, func(i int) (err error) {
		rows[i], seen[i], err = u.read(ctx, files[i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			rows[i].Ref = objects.Ref{} // gone again
			return nil
		case errors.Is(err, fs.ErrPermission):
			rows[i] = keptFromUs(u.l, files[i], err).Row()
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
			u.kept[files[i].row] = false
			u.old.seen[files[i].row] = seenFile{} // replaced, so not missing
		}
	}
	return nil
}

// read judges one file. Its stamp was taken before, so a change in between shows
// at the next look. Bytes that the old row knows keep its verdict.
func (u *update) read(ctx context.Context, f workFile) (Row, seenFile, error) {
	raw, err := u.l.Read(f.path)
	if err == nil && f.row >= 0 {
		r := &u.old.rows[f.row]
		if r.Sum == objects.DigestOf(raw) && r.Blob == u.l.blobID(raw) && u.settled(f.row) {
			return *r, seenFile{f.stamp, u.old.seen[f.row].known}, nil
		}
	}
	was := u.recorded[f.path]
	if u.recorded == nil {
		var werr error
		if was, werr = u.l.recordedBlob(f.path); werr != nil {
			return Row{}, seenFile{}, werr
		}
	}
	found, err := u.s.judgeRead(ctx, u.l, f.path, f.ref, raw, err, was, nil)
	return found.Row(), seenFile{f.stamp, !was.IsZero()}, err
}

// addMissing adds a row for each recorded path that has no file.
func (u *update) addMissing() {
	add := func(r Row) {
		u.rows, u.seen = append(u.rows, r), append(u.seen, seenFile{known: true})
	}
	if u.recorded == nil {
		for i, known := range u.old.seen {
			switch r := &u.old.rows[i]; {
			case u.kept[i] || !known.known:
			case r.State == Deleted:
				u.kept[i] = true
			default:
				add(deleted(u.l, r.Ref, r.Path).Row())
				u.worth = true
			}
		}
		return
	}
	for i, kept := range u.kept {
		if kept {
			delete(u.recorded, u.old.rows[i].Path)
			u.worth = u.worth || u.tip != u.old.tip // worth moving to the new record
		}
	}
	for i := range u.rows {
		delete(u.recorded, u.rows[i].Path)
	}
	for p := range u.recorded {
		if ref, _, err := objects.RefOfPath(p); err == nil {
			add(deleted(u.l, ref, p).Row())
		}
	}
}

// result merges what was kept with what is new.
func (u *update) result(key objects.Digest) *catalogue {
	now := &catalogue{key: key, tip: u.tip, when: u.began, bundles: u.bundles}
	all := !slices.Contains(u.kept, false)
	if all && len(u.rows) == 0 {
		now.rows, now.seen = u.old.rows, u.old.seen
		return now
	}
	order := make([]int, 0, len(u.old.rows)+len(u.rows)) // old rows, then new ones
	for i, kept := range u.kept {
		if kept {
			order = append(order, i)
		} else if u.old.seen[i].stamp.isFile {
			u.worth = true // a file that is gone
		}
	}
	for i := range u.rows {
		order = append(order, len(u.old.rows)+i)
	}
	at := func(i int) (*Row, seenFile) {
		if i < len(u.old.rows) {
			return &u.old.rows[i], u.old.seen[i]
		}
		return &u.rows[i-len(u.old.rows)], u.seen[i-len(u.old.rows)]
	}
	slices.SortFunc(order, func(a, b int) int {
		x, _ := at(a)
		y, _ := at(b)
		return compareRows(*x, *y)
	})
	now.rows, now.seen = make([]Row, len(order)), make([]seenFile, len(order))
	for i, j := range order {
		r, w := at(j)
		now.rows[i], now.seen[i] = *r, w
	}
	return now
}

// stored returns the rows that a file can hold. For one that it cannot, where the
// record holds something, it says "deleted": a file that is there makes that stale.
func (c *catalogue) stored(l *Layer) *catalogue {
	kept := &catalogue{key: c.key, tip: c.tip, when: c.when, bundles: c.bundles}
	for i := range c.rows {
		r, w := c.rows[i], c.seen[i]
		if !storable(&r) {
			if !w.known || r.Ref.Kind == "" {
				continue
			}
			r, w = deleted(l, r.Ref, r.Path).Row(), seenFile{known: true}
		}
		kept.rows, kept.seen = append(kept.rows, r), append(kept.seen, w)
	}
	return kept
}

// write puts the catalogue in place, whole or not at all. Where that is not
// possible (a read-only disk, no room) the next look simply reads the files again,
// so there is nothing to report. It is not synced: a torn file is told by its sum.
func (c *catalogue) write(file string) {
	raw := c.encode()
	if len(raw) > maxCat {
		return
	}
	dir := filepath.Dir(file)
	if place.Cache(file, raw, 0o600) != nil {
		return
	}
	sweep(dir)
}

// maxCatAge is how long a catalogue stays that nobody brought up to date, in the
// directory of all of them: projects are moved and thrown away.
const maxCatAge = 90 * 24 * time.Hour

// sweep removes what was left behind by projects that are gone and by processes
// that were killed. It may remove what is in use: that costs one reading.
func sweep(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		age := maxCatAge
		if filepath.Ext(e.Name()) != ".cat" {
			age = time.Hour // of a writer that never got to its rename
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > age {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

package space

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
)

// Look tells what a space on disk holds, as Scan does, in the same order and with
// the same words, without reading files that have not changed since they were last
// read: those are answered from the catalogue below s.Cache. Nothing that it says
// may decide what runs.
//
// Rows are under the extractors that the whole stack sees. Where those cannot be
// used, they are as if there were none: whoever needs them asks Extractors first.
//
// A row is made when it is asked for, because there may be thousands and few are
// wanted.
func (s *Stack) Look(ctx context.Context, l *Layer) (*Look, error) {
	u, err := s.update(ctx, l)
	return &Look{u}, err
}

// catalogueFile names the catalogue of a layer, and digests what its rows depend on
// besides the files and the record. Extractors are part of the name as well: what
// one project wants to see of the user space is another catalogue than what another
// does, and neither throws the other's away.
func (s *Stack) catalogueFile(ctx context.Context, l *Layer, set *extract.Set) (file string, key objects.Digest, err error) {
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
	place := fmt.Appendf(nil, "%s\n%s\n", l.Space, dir)
	if set != nil {
		place = fmt.Appendf(place, "%s\n", set.Digest())
	}
	name := objects.DigestOf(place)
	taken, err := s.Taken.Sum()
	if err != nil {
		return "", key, err
	}
	var others objects.Digest
	if l.Space == objects.Project {
		if others, err = sumOfOthers(ctx, s); err != nil {
			return "", key, err
		}
	}
	key = objects.DigestOf(fmt.Appendf(nil, "%s%q\n%s\n%q\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n", catMagic, dir, l.Space, s.Program, s.Genesis, s.Place, s.Home, s.Declared.Sum(), epoch, s.LockSum, set.Digest(), taken, others))
	return filepath.Join(s.Cache, "catalogue", hex.EncodeToString(name[:16])+".cat"), key, nil
}

// readCatalogue returns what the file holds, or an empty catalogue when it is not
// there, not whole, or about other circumstances.
func readCatalogue(file string, sp objects.Space, key objects.Digest) *catalogue {
	raw, err := place.Read(file, maxCat)
	if err != nil || len(raw) < catHeader || objects.Digest(raw[24:56]) != key {
		return &catalogue{}
	}
	c, err := parseCatalogue(raw, sp)
	if err != nil {
		return &catalogue{}
	}
	return c
}

// write puts the catalogue in place, whole or not at all. Where that is not
// possible (a read-only disk, no room) the next look simply reads the files again,
// so there is nothing to report. It is not synced: a torn file is told by its sum.
//
// For a row that a file cannot hold, where the record holds something, it says
// "absent": a file that is there makes that stale.
func (u *update) write(file string, key objects.Digest) {
	now := &catalogue{key: key, tip: u.tip, when: u.began, bundles: u.bundles}
	b, n := newCatalogue(len(u.old.raw)+320*len(u.rows)), 0
	for _, e := range u.order {
		if n++; e >= 0 {
			b = u.old.append(b, e)
			continue
		}
		r, w := u.rows[-1-e], u.seen[-1-e]
		if !storable(&r) {
			if !w.known || r.Ref.Kind == "" {
				n--
				continue
			}
			r, w = absent(u.l, r.Ref, r.Path).Row(nil), seenFile{known: true}
		}
		b = appendRow(b, &r, w)
	}
	if len(b) > maxCat || place.Cache(file, now.finish(b, n), 0o600) != nil {
		return
	}
	sweep(filepath.Dir(file))
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

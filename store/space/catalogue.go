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

// Look lists the content of a space on disk, as Scan does, in the same order and with the same
// messages. It does not read files that are unchanged since the last read: their rows come
// from the catalogue below s.Cache. Its results must not decide what runs.
//
// Rows use the extractors of the whole stack. If those are unusable, rows are made without
// extractors; a caller that needs them calls Extractors first.
//
// A row is made on request, because there may be thousands and few are needed.
func (s *Stack) Look(ctx context.Context, l *Layer) (*Look, error) {
	u, err := s.update(ctx, l)
	return &Look{u}, err
}

// catalogueFile returns the name of a layer's catalogue, and a digest of everything that its
// rows depend on besides the files and the record. The extractors are part of the name: two
// projects may want to see the user space differently, and neither replaces the other's
// catalogue.
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

// readCatalogue returns the catalogue in the file. It is empty if the file is missing,
// damaged, or has another key.
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

// write writes the catalogue completely or not at all. If that fails (a read-only disk, no
// space), the next look reads the files again, so there is no error. It is not synced: a
// checksum detects a torn file.
//
// A row that a file cannot hold is written as "absent" if the record has its path. An existing
// file makes that row stale.
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

// maxCatAge is how long a catalogue without updates stays in the shared directory of
// catalogues: projects are moved and deleted.
const maxCatAge = 90 * 24 * time.Hour

// sweep removes catalogues of deleted projects and files of killed processes. It may remove a
// catalogue in use, which costs one reading of the files.
func sweep(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		age := maxCatAge
		if filepath.Ext(e.Name()) != ".cat" {
			age = time.Hour // of a writer that never reached its rename
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > age {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

package space

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
)

// LookSystem is Look at the standard library. Only a new program changes the library, so its
// catalogue is valid as long as the trust store and the extractors stay the same.
func LookSystem(ctx context.Context, s *Stack) (*Look, error) {
	if s.System == nil {
		return noLook, nil
	}
	system, err := s.System()
	if err != nil {
		return nil, err
	}
	set, err := s.Extractors(ctx, objects.Project) // no extractors if one is unusable, as in Look
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	file, key, err := libraryFile(s, system, set)
	if err != nil {
		return nil, err
	}
	if file != "" {
		if c := readCatalogue(file, objects.System, key); c.len() > 0 && c.len() == len(system.Refs()) {
			return c.look(), nil
		}
	}
	found, err := s.ScanSystem()
	if err != nil {
		return nil, err
	}
	rows := RowsOf(found, set)
	if file != "" {
		writeLibrary(file, key, rows)
	}
	return LookAt(rows), nil
}

// libraryFile returns the name of the library's catalogue, and a digest of everything that its
// rows depend on.
func libraryFile(s *Stack, system *System, set *extract.Set) (file string, key objects.Digest, err error) {
	if s.Cache == "" {
		return "", key, nil
	}
	epoch, err := s.Trust.Epoch()
	if err != nil {
		return "", key, err
	}
	name := objects.DigestOf(fmt.Appendf(nil, "%s\n%s\n", objects.System, set.Digest()))
	key = objects.DigestOf(fmt.Appendf(nil, "%s%s\n%q\n%s\n%s\n%s\n", catMagic, objects.System, s.Program, system.Digest(), epoch, set.Digest()))
	return filepath.Join(s.Cache, "catalogue", hex.EncodeToString(name[:16])+".cat"), key, nil
}

// writeLibrary writes the library's catalogue, or nothing: see update.write.
func writeLibrary(file string, key objects.Digest, rows []Row) {
	b := newCatalogue(320 * len(rows))
	for i := range rows {
		if !rows[i].fits() {
			return
		}
		b = appendRow(b, &rows[i], seenFile{})
	}
	c := &catalogue{key: key}
	_ = place.Cache(file, c.finish(b, len(rows)), 0o600)
}

// look returns a look at all rows of a catalogue.
func (c *catalogue) look() *Look {
	u := &update{old: c, order: make([]int, c.len())}
	for i := range u.order {
		u.order[i] = i
	}
	return &Look{u}
}

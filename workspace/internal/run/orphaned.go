package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive/ward"
	"github.com/rye-os/rye/internal/place"
)

// Some files in a project are run by other programs by themselves. At its end a run's new ones
// are moved away, but a killed rye moves nothing. So the files present before a run are noted,
// in a file that is locked as long as the run lives. The next run in the project finds notes
// without a lock, and names the files that appeared since. It moves nothing: by then a person
// may have made them.

// maxNote bounds a note in bytes.
const maxNote = 1 << 20

// note writes the protected paths before a run, and returns a function that removes the note
// after the final look. If it cannot be written, a killed run goes unnoticed.
func note(base string, w *ward.Ward) (done func()) {
	raw, err := json.Marshal(paths(w))
	if base == "" || err != nil || len(raw) > maxNote {
		return func() {}
	}
	var random [8]byte
	rand.Read(random[:])
	if os.MkdirAll(filepath.Dir(base), 0o700) != nil {
		return func() {}
	}
	file := base + ".run-" + hex.EncodeToString(random[:])
	unlock, err := place.Lock(context.Background(), file+".lock")
	if err != nil {
		return func() {}
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		unlock()
		os.Remove(file + ".lock")
		return func() {}
	}
	return func() {
		os.Remove(file)
		os.Remove(file + ".lock")
		unlock()
	}
}

func paths(w *ward.Ward) []string {
	var all []string
	for _, m := range w.Protected() {
		all = append(all, m.Path)
	}
	return all
}

// orphaned returns the files that appeared since killed runs, and removes their notes.
func orphaned(base string, w *ward.Ward) []string {
	if base == "" {
		return nil
	}
	notes, _ := filepath.Glob(base + ".run-*")
	var came []string
	for _, file := range notes {
		if strings.HasSuffix(file, ".lock") {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		unlock, err := place.Lock(ctx, file+".lock")
		cancel()
		if err != nil {
			continue // the run is alive
		}
		var before []string
		if raw, err := place.Read(file, maxNote); err == nil && json.Unmarshal(raw, &before) == nil {
			for _, p := range paths(w) {
				if !slices.Contains(before, p) && !slices.Contains(came, p) {
					came = append(came, p)
				}
			}
		}
		os.Remove(file)
		os.Remove(file + ".lock")
		unlock()
	}
	return came
}

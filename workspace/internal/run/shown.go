package run

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// maxShown bounds the sets of limits that are remembered for a project. Older ones are shown again.
const maxShown = 100

// tellOpen tells before a run what will not be limited. A person is told once for each project and
// set of lines: what stands on every screen is not read. The answer, --json, questions and dry runs have
// it always.
func tellOpen(s *custody.Desk, j *job, open []string) {
	if len(open) == 0 || j.caller.IsPerson() && !firstTime(s, open) {
		return
	}
	for _, what := range open {
		s.Tell("not limited here: " + what)
	}
}

// firstTime reports whether these lines were not shown in this project, and remembers them. The
// memory is a cache: a lost one shows them again.
func firstTime(s *custody.Desk, lines []string) bool {
	if s.CacheDir == "" || s.Place.Key == "" {
		return true
	}
	file := noteBase(s) + ".shown"
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(lines)), "\n")))
	is := hex.EncodeToString(sum[:])
	var all []string
	if raw, err := place.Read(file, maxShown*(2*sha256.Size+1)); err == nil {
		all = strings.Fields(string(raw))
	}
	if slices.Contains(all, is) {
		return false
	}
	all = append(all, is)
	all = all[max(0, len(all)-maxShown):]
	_ = place.Cache(filepath.Clean(file), []byte(strings.Join(all, "\n")+"\n"), 0o600)
	return true
}

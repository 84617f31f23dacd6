package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
)

// shownSkipped is the number of malformed operations of a namespace that are shown one by one.
const shownSkipped = 3

// SkippedLines describes the operations of a namespace that have no effect.
func SkippedLines(ns string, k oplog.Skips) (lines []string) {
	open := k.Open()
	for _, s := range open[:min(len(open), shownSkipped)] {
		lines = append(lines, fmt.Sprintf("%s/: operation %d, signed by %s, is malformed and has no effect: %s; a member can void it: rye registry void %s %d",
			ns, s.Seq, s.By, s.Why, ns, s.Seq))
	}
	if more := len(open) - len(lines) + int(k.More); more > 0 {
		lines = append(lines, fmt.Sprintf("%s/: %s more; rye registry log %s shows them", ns, words.Plural(more, "malformed operation"), ns))
	}
	return lines
}

// TellSkipped tells the user about malformed operations in the namespaces that the project takes
// from its registries.
func TellSkipped(s *Session) (failed error) {
	_, state := s.Host.Registries()
	for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
		id, err := objects.ParseDigest(s.Project.Registries[name].ID)
		if err != nil {
			continue // a command that opens the registry reports it
		}
		all, err := memory.SkippedIn(state, id)
		failed = cmp.Or(failed, err)
		for _, ns := range slices.Sorted(maps.Keys(all)) {
			if from, _, err := s.Project.RegistryFor(ns); err != nil || from != name {
				continue
			}
			for _, line := range SkippedLines(ns, all[ns]) {
				s.Tell(line)
			}
		}
	}
	return failed
}

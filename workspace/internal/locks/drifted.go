package locks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// named adds to a refusal for drift the files around the tool that differ. The lock has only
// one digest for all of them, so named needs a record with the locked ones. It reads the
// record only after a refusal.
func named(ctx context.Context, s *session.Session, plan *chain.Plan, err error) error {
	var d *chain.DriftError
	if !errors.As(err, &d) || d.Field != "around" {
		return err
	}
	deps, _ := plan.Deps()
	then, lost := pinned{s}.Around(ctx, plan.Links[0], deps)
	if lost != nil {
		return err
	}
	said := *d
	said.Cause = "a file that it loads differs: " + differences(then, plan.Around)
	return fault.New(fault.Drift, "%w", &said).With(fault.HintOf(err))
}

// differences names the files that changed, appeared or disappeared between two lists.
func differences(then, now []chain.Source) string {
	was, is := sums(then), sums(now)
	var all []string
	for _, p := range slices.Sorted(maps.Keys(was)) {
		if sum, there := is[p]; !there {
			all = append(all, ".ai/"+p+" is missing")
		} else if sum != was[p] {
			all = append(all, ".ai/"+p+" changed")
		}
	}
	for _, p := range slices.Sorted(maps.Keys(is)) {
		if _, there := was[p]; !there {
			all = append(all, ".ai/"+p+" is new")
		}
	}
	const most = 5
	if more := len(all) - most; more > 0 {
		all = append(all[:most], "and "+words.Plural(more, "more file"))
	}
	return strings.Join(all, ", ")
}

func sums(files []chain.Source) map[string]objects.Digest {
	all := map[string]objects.Digest{}
	for _, f := range files {
		all[f.Path] = f.Sum
	}
	return all
}

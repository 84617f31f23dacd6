package author

import (
	"cmp"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/unpack"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Part is the tree of one of several sources.
type Part struct {
	Tree   foreign.Tree
	Skills []string // the names to choose in it; empty is all
	Name   string   // for reports about it

	// Elsewhere are the plugins of its marketplaces that come in as parts of their own.
	Elsewhere []string
}

// Gathered takes in the trees of several sources with one question, which shows the facts; without
// facts there is no question. A part that cannot come in is
// named, and stops no other; passed are those that failed before. It returns the bundles of each
// part that came in.
func Gathered(ctx context.Context, s *custody.Desk, q rye.AddRequest, parts []Part, passed []foreign.Passed, facts []string) ([]rye.AddReport, [][]Package, error) {
	var found []foreign.Found
	from := map[string]int{} // by directory or ref: the part that has it
	for i, part := range parts {
		w := wish(s, q)
		w.Skills, w.Elsewhere = part.Skills, part.Elsewhere
		here, rest, err := foreign.Read(part.Tree, w)
		if err != nil && len(parts) == 1 {
			return nil, nil, err
		}
		if err != nil {
			passed = append(passed, foreign.Passed{Path: part.Name, Why: err.Error(), Code: fault.CodeOf(err)})
			continue
		}
		if len(here) == 0 && !failed(rest) && len(part.Elsewhere) == 0 {
			passed = append(passed, foreign.Passed{Path: part.Name, Why: "no skill, command, rule or script there", Code: fault.NotFound})
		}
		for _, f := range here {
			key := cmp.Or(f.Dir, f.Ref.String())
			if first, there := from[key]; there {
				passed = append(passed, foreign.Passed{Path: part.Name, Why: "it would be " + f.Ref.String() + ", as " + words.Quote(parts[first].Name), Code: fault.Conflict})
				continue
			}
			from[key] = i
			found = append(found, f)
		}
		for _, p := range rest {
			if p.Code != "" || len(part.Skills) == 0 {
				passed = append(passed, p)
			}
		}
	}
	if len(found) == 0 {
		return skipped(passed), nil, nothing(q, passed)
	}
	reports, packages, err := takeAll(ctx, s, q, found, passed, asking(ctx, s, q, facts))
	if packages == nil {
		return reports, nil, err
	}
	by := make([][]Package, len(parts))
	for _, p := range packages {
		i := from[p.Dir]
		by[i] = append(by[i], p)
	}
	return reports, by, err
}

func failed(all []foreign.Passed) bool {
	for _, p := range all {
		if p.Code != "" {
			return true
		}
	}
	return false
}

// Folder reads a folder of this machine, as Add does.
func Folder(ctx context.Context, dir string) (foreign.Tree, error) { return folder(ctx, dir) }

// MaxArchive is the largest archive that Archive reads, in bytes.
const MaxArchive = unpack.MaxArchive

// Archive reads an archive, as Add does. file is its name.
func Archive(file string, data []byte) (foreign.Tree, error) { return archive(file, data) }

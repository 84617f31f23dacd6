package author

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// maxShown bounds the items that a question lists by name.
const maxShown = 200

// Take takes the items of another git repository, which was fetched, into the project, as
// they are, and records them in one commit. Nobody vouches for such a repository: what
// comes in counts only as far as its own signatures do. A person is shown what comes.
// Nothing is written before all of it was checked.
func Take(ctx context.Context, s *Desk, q rye.AddRequest, commit store.OID, items []*objects.Item) ([]rye.AddReport, error) {
	reports, old, err := weigh(ctx, s, items, q.Force)
	if err != nil || q.DryRun {
		return reports, err
	}
	if err := s.Ask(ctx, takeQuestion(q.URL, commit, items, reports)); err != nil {
		return nil, err
	}
	if err := keepOld(ctx, s, s.Stack.Project, refsOf(items), old); err != nil {
		return nil, err
	}
	return reports, takeIn(ctx, s, items, refsOf(items), nil, reports)
}

func takeQuestion(url string, commit store.OID, items []*objects.Item, reports []rye.AddReport) rye.Question {
	q := rye.Question{Topic: "add from " + url, Text: "Take in " + words.Plural(len(items), "item") + "?", Mend: fault.Command("rye add %s --yes", url)}
	q.Lines = append(q.Lines, "commit   "+commit.String())
	for i, it := range items {
		if i == maxShown {
			q.Lines = append(q.Lines, "... and "+words.Plural(len(items)-i, "more item"))
			break
		}
		line := it.Ref.String() + "  " + string(reports[i].State)
		if it.Signature != nil {
			line += "  signed by " + it.Signature.Key.String()
		}
		q.Lines = append(q.Lines, line)
	}
	return q
}

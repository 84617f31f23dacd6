package author

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/workspace/internal/session"
)

// askAboutFormer asks before a former project gets another id because its rye.yaml is gone:
// its history and its grants belong to the old id.
func askAboutFormer(ctx context.Context, h *session.Host, dir string, q rye.InitRequest) error {
	now, err := session.ReadProject(dir)
	missing := fault.Is(err, fault.NotFound)
	if err != nil && !missing {
		return err
	}
	if !missing {
		if q.Project == "" || q.Project == now.Project {
			return nil
		}
		return fault.New(fault.Conflict, "init %s: it is already project %s", dir, now.Project).Advise("leave out --project")
	}
	former, err := formerly(h, dir)
	if err != nil {
		return err
	}
	if q.Project != "" {
		if !slices.ContainsFunc(former, func(k records.Known) bool { return k.Project == q.Project }) {
			return fault.New(fault.NotFound, "init %s: no record names it as project %s", dir, words.Brief(q.Project)).Advise("rye where --all shows the recorded projects")
		}
		return nil
	}
	if len(former) == 0 {
		return nil
	}
	ask := rye.Question{Topic: "init " + dir, Text: "Give it another id? The record and the grants stay with the old id.",
		Mend: fault.CommandOf("rye", "init", dir, "--project", former[0].Project)}
	for _, k := range former {
		ask.Lines = append(ask.Lines, "was project "+k.Project+", last used on "+k.Used.Format("2006-01-02"))
	}
	return h.Ask(ctx, ask)
}

// formerly returns the records of earlier projects in this very directory, the last used
// first. A directory that was removed and made again has none.
func formerly(h *session.Host, dir string) (list []records.Known, err error) {
	at, err := h.Records.At(nil, dir, "")
	if err != nil {
		return nil, err
	}
	all, err := h.Records.All()
	for _, k := range all {
		if k.Path == at.Path && k.Project != "" && k.Machine == at.Machine && k.UID == at.UID && !k.Replaced() {
			list = append(list, k)
		}
	}
	slices.SortStableFunc(list, func(a, b records.Known) int { return b.Used.Compare(a.Used) })
	return list, err
}

package cli

import (
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// knowledgeFlags are the flags of rye thread export for making an entry.
type knowledgeFlags struct {
	id         string
	force, dry bool
}

// check refuses flags that conflict. form is true if another form was requested.
func (k knowledgeFlags) check(form bool) error {
	switch {
	case k.id != "" && form:
		return fault.New(fault.Usage, "thread export: --knowledge excludes --jsonl and --canonical").Advise("leave out --jsonl and --canonical")
	case k.id == "" && (k.force || k.dry):
		return fault.New(fault.Usage, "thread export: --force and --dry-run need --knowledge")
	}
	return nil
}

// made is the output of rye thread export --knowledge --json.
type made struct {
	rye.AddReport
	Thread string `json:"thread_id"`
	DryRun bool   `json:"dry_run,omitempty"`
	Text   string `json:"text,omitempty"` // of a dry run
}

// exportKnowledge makes a knowledge entry from a thread, like rye add and rye sign from a file.
// It replaces an entry only with --force, and signs with the user's key.
func (t *task) exportKnowledge(q rye.ExportRequest, k knowledgeFlags) error {
	ref, err := objects.ParseRef("knowledge:" + strings.TrimPrefix(k.id, "knowledge:"))
	if err != nil {
		return err
	}
	if ref.ID.Namespace() == string(ref.ID) {
		return fault.New(fault.Usage, "thread export: --knowledge %s: want <namespace>/<name>", ref.ID)
	}
	q.Knowledge = ref.ID
	text, err := t.threads.Export(t.ctx, t.env.Caller, q)
	if err != nil {
		return err
	}
	added, err := t.w.Add(t.ctx, t.env.Caller, rye.AddRequest{Text: text, Path: string(ref.ID) + ".md", Kind: string(ref.Kind), As: string(ref.ID), DryRun: k.dry, Force: k.force})
	if err != nil {
		if fault.Is(err, fault.Conflict) {
			return fault.New(fault.Conflict, "%s is already there, and differs", ref).Advise("--force replaces it and keeps its history; or choose another id")
		}
		return err
	}
	m := made{AddReport: added[0], Thread: q.ID, DryRun: k.dry}
	if k.dry {
		m.Text = string(text)
		return t.out.show(m, func() { t.out.content(m.Text) })
	}
	signed, err := t.w.Sign(t.ctx, t.env.Caller, rye.SignRequest{Targets: []rye.Target{rye.Target(ref.String())}})
	if err != nil {
		return err
	}
	m.SHA256, m.State, m.Commit, m.Next = signed.Results[0].SHA256, rye.State(signed.Results[0].Status), signed.Commit, fault.Hint{}
	return t.out.show(m, func() { t.out.resultf(false, "%s  %s\n", good(signed.Results[0].Status), m.Ref) })
}

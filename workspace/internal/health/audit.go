package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/audit"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Audit checks everything that the project has and locks: the state of each item, the
// registries' last known warnings about it, and its text. It asks no registry and changes
// nothing.
func Audit(ctx context.Context, d *custody.Desk, _ rye.AuditRequest) (*rye.AuditReport, error) {
	rep := &rye.AuditReport{}
	found, err := look.Scan(ctx, d.Session, objects.Project, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.Ref.Kind != "" && f.State != objects.Absent {
			rep.Items++
		}
		rep.Findings = append(rep.Findings, worth(f)...)
	}
	rep.Findings = append(rep.Findings, drifted(ctx, d)...)
	again, err := revokedElsewhere(d.Session, found)
	if err != nil {
		return nil, err
	}
	rep.Findings = append(rep.Findings, again...)
	said, err := said(d.Session)
	if err != nil {
		return nil, err
	}
	rep.Findings = append(rep.Findings, said...)
	forks, err := session.Forks(d.Host, d.Project)
	if err != nil {
		return nil, err
	}
	for _, f := range forks {
		rep.Findings = append(rep.Findings, finding("fork", audit.High, "", "", f.Text, f.Mend))
	}
	late, err := stale(ctx, d.Session)
	if err != nil {
		return nil, err
	}
	rep.Findings = append(rep.Findings, late...)
	if err := texts(ctx, d.Session, rep, found); err != nil {
		return nil, err
	}
	accept(ctx, d.Session, rep, found)
	slices.SortStableFunc(rep.Findings, func(a, b rye.AuditFinding) int {
		return cmp.Or(severities[b.Severity]-severities[a.Severity], cmp.Compare(a.Path, b.Path), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Line, b.Line))
	})
	return rep, nil
}

var severities = map[string]int{"low": int(audit.Low), "medium": int(audit.Medium), "high": int(audit.High)}

func finding(rule string, s audit.Severity, item, path, says string, mend fault.Hint) rye.AuditFinding {
	return rye.AuditFinding{Rule: rule, Severity: s.String(), Item: item, Path: path, Says: says, Mend: mend}
}

// worth reports problems of an item other than its text's.
func worth(f space.Finding) []rye.AuditFinding {
	if f.Err == nil || f.Asset || f.State == objects.Absent {
		return nil
	}
	item, path := "", ".ai/"+f.Path
	if f.Ref.Kind != "" {
		item = f.Ref.String()
	}
	if f.Registry != "" {
		path = ""
	}
	rule, severity := string(f.State), audit.High
	switch {
	case fault.Is(f.Err, fault.Revoked):
		rule = "revoked"
	case f.State == objects.Unsigned, f.State == objects.Older, f.State == objects.Legacy:
		severity = audit.Medium
	case rule == "" || f.State == objects.Signed:
		rule = string(fault.CodeOf(f.Err))
	}
	return []rye.AuditFinding{finding(rule, severity, item, path, f.Err.Error(), fault.HintOf(f.Err))}
}

// revokedElsewhere reports items whose bytes are revoked in a place that does not reach them.
func revokedElsewhere(s *session.Session, found []space.Finding) (all []rye.AuditFinding, err error) {
	paths := map[objects.Ref]string{}
	same, err := look.RevokedElsewhere(s, func(yield func(space.Row) bool) {
		for _, f := range found {
			if f.Registry == "" {
				paths[f.Ref] = ".ai/" + f.Path
			}
			if !yield(f.Row(nil)) {
				return
			}
		}
	})
	for _, e := range same {
		all = append(all, finding("revoked-elsewhere", audit.Medium, e.Use.Ref.String(), paths[e.Use.Ref], e.String(), look.ElsewhereHint(e)))
	}
	return all, err
}

// drifted reports the differences between the lock and the items here.
func drifted(ctx context.Context, d *custody.Desk) (all []rye.AuditFinding) {
	if d.Lock == nil {
		return nil
	}
	rep, err := share.VerifyLock(ctx, d)
	if rep == nil && err != nil {
		return []rye.AuditFinding{finding("drift", audit.High, "", ".ai/"+session.LockFile, err.Error(), fault.HintOf(err))}
	}
	for _, text := range rep.Drift {
		item := ""
		if ref, _, ok := strings.Cut(text, ": "); ok {
			if r, err := objects.ParseRef(ref); err == nil {
				item = r.String()
			}
		}
		all = append(all, finding("drift", audit.High, item, ".ai/"+session.LockFile, text, fault.Advice("review the change; rye lock pins the present files")))
	}
	return all
}

// said reports the registries' last known warnings about the locked versions.
func said(s *session.Session) (all []rye.AuditFinding, err error) {
	if s.Lock == nil {
		return nil, nil
	}
	for _, ref := range slices.SortedFunc(maps.Keys(s.Lock.Items), byName) {
		pin := s.Lock.Items[ref]
		if pin.From == "" {
			continue
		}
		n, err := s.NotedOf(s.Lock.Registries[pin.From].ID, ref.ID.Namespace())
		if err != nil {
			return nil, err
		}
		m, ok, err := s.Marked(ref)
		name := ref.Published() + "@" + pin.Version
		switch {
		case err != nil:
			all = append(all, finding("unknown-state", audit.Medium, ref.String(), "", err.Error(), fault.Command("rye fetch")))
		case n.At.IsZero():
			all = append(all, finding("unknown-state", audit.Low, ref.String(), "", name+": this machine has not asked its registry yet", fault.Command("rye fetch")))
		case ok && m.Said == oplog.StatusYanked:
			all = append(all, finding("yanked", audit.Medium, ref.String(), "", m.Warning(), m.Instead()))
		case ok && m.Said == oplog.StatusDeprecated:
			all = append(all, finding("deprecated", audit.Low, ref.String(), "", m.Warning(), m.Instead()))
		}
	}
	return all, nil
}

func byName(a, b objects.Ref) int { return cmp.Compare(a.String(), b.String()) }

// stale reports namespaces of the lock whose last known state is past the time for which their
// registry called it fresh.
func stale(ctx context.Context, s *session.Session) (all []rye.AuditFinding, err error) {
	if s.Lock == nil {
		return nil, nil
	}
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	severity := audit.Medium
	if rules.RefuseStale {
		severity = audit.High
	}
	for _, name := range slices.Sorted(maps.Keys(s.Lock.Registries)) {
		reg, err := openKnown(s, name)
		if err != nil || reg == nil {
			return all, err
		}
		root, err := reg.Root(ctx)
		reg.Close()
		if err != nil {
			continue // never asked: reported for each item
		}
		for _, ns := range slices.Sorted(maps.Keys(s.Lock.Namespaces)) {
			g := root.Grant(ns)
			if s.Lock.Namespaces[ns].Registry == name && g != nil && !g.FreshUntil.IsZero() && s.Now().After(g.FreshUntil) {
				all = append(all, finding("stale", severity, "", ".ai/"+session.LockFile,
					fmt.Sprintf("namespace %s: its checkpoint expired on %s, so newer entries may be hidden", ns, g.FreshUntil.UTC().Format(time.RFC3339)),
					fault.Command("rye fetch")))
			}
		}
	}
	return all, nil
}

// texts reads the text of every file of the project, item or not, and of every item from the
// lock.
func texts(ctx context.Context, s *session.Session, rep *rye.AuditReport, found []space.Finding) error {
	files, missed, err := files(ctx, s.ProjectDir)
	if err != nil {
		return err
	}
	for _, m := range missed {
		rep.Findings = append(rep.Findings, finding("not-read", audit.Low, "", m.path, m.says, fault.Advice("review what an agent reads there")))
	}
	rules, err := projectRules(s.ProjectDir)
	if err != nil {
		rep.Findings = append(rep.Findings, finding("not-read", audit.High, "", rulesFile, err.Error(), fault.HintOf(err)))
	}
	for _, f := range found {
		if f.Registry != "" && f.Item != nil && len(f.Item.Raw) > 0 {
			files = append(files, source{item: f.Ref.String(), name: f.Item.Path, raw: f.Item.Raw})
		}
	}
	read, err := readAll(ctx, s.ProjectDir, files, rules)
	if err != nil {
		return err
	}
	for i, r := range read {
		if errors.Is(r.err, errGone) {
			continue
		}
		f := files[i]
		rep.Files++
		rep.Bytes += r.rep.Bytes
		if r.err != nil {
			rep.Findings = append(rep.Findings, finding("not-read", audit.High, f.item, f.path, r.err.Error(), fault.Advice("it was not checked: make it readable, or remove it")))
		}
		for _, x := range r.rep.Findings {
			a := finding(x.Rule, x.Severity, f.item, f.path, cmp.Or(x.Says, Rules[x.Rule], rules.Says(x.Rule)), adviceFor(x.Rule))
			a.Line, a.Excerpt, a.SHA256 = x.Line, x.Excerpt, r.rep.Sum.String()
			rep.Findings = append(rep.Findings, a)
		}
		if r.rep.More > 0 {
			a := finding("not-judged", audit.Medium, f.item, f.path, fmt.Sprintf("%d more findings", r.rep.More), adviceFor(""))
			a.SHA256 = r.rep.Sum.String()
			rep.Findings = append(rep.Findings, a)
		}
	}
	return nil
}

// Rules are the rules of texts, each with its subject.
var Rules = map[string]string{
	"hidden-unicode": "invisible characters that a model reads", "pipe-to-shell": "a download is run", "encoded-command": "a command that cannot be read",
	"remote-shell": "a shell for another machine", "secrets-leave": "secrets are sent away", "destructive-command": "a destructive command",
	"risky-command": "a command that a person should review", "prerequisite": "it asks its reader to fetch a program", "unpinned": "the newest version is fetched and run",
	"secret": "a secret in a text", "not-judged": "too many findings", "not-text": "a file that is no text, under the name of one",
	"injection": "orders to a model that its user did not give", "exfiltration": "a model is told to send secrets away",
	"persistence": "it stays on the machine", "disarm": "it turns off the machine's protection", "mines": "it computes for another person",
	"self-publishing": "it publishes packages by itself", "download-and-run": "a download near a program that runs",
}

func adviceFor(rule string) fault.Hint {
	switch rule {
	case "secret":
		return fault.Advice("replace the secret in its service, then remove it here")
	case "unpinned":
		return fault.Advice("name an exact version")
	case "hidden-unicode":
		return fault.Advice("remove the characters")
	}
	return fault.Advice("review the line; if it is right, accept it: docs/format/audit.md")
}

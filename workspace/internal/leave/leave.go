// Package leave removes rye from a user's machine: entries of MCP clients, merge drivers and
// caches, and records and keys where they are named.
//
// # Reasons
//
// Merge drivers go before the records, which name the repositories. So an interrupted removal can
// be continued, and a driver that could not be removed keeps the records.
//
// The files of a project stay: other people use them. A directory goes only if it is rye's alone,
// because the variables of the environment may name one directory for several purposes.
package leave

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/session"
)

// step is a part and its removal. do is nil for a part that stays.
type step struct {
	rye.UninstallPart
	do func() error
}

func stays(p rye.UninstallPart) step { return step{UninstallPart: p} }

// plan is all that rye keeps on this machine. clients are the entries in the user's own files,
// which q.Clients removes together. shared are those in projects, which stay.
type plan struct {
	clients []rye.UninstallPart
	shared  []rye.UninstallPart
	drivers []step
	dirs    []step // records and keys last
	kept    []step
}

// Uninstall removes what q names, after a person agreed. An error in one part does not stop work on
// the others; the report comes beside the error. A thread, server or run in progress is
// fault.Conflict, and nothing is removed.
func Uninstall(ctx context.Context, h *session.Host, q rye.UninstallRequest) (*rye.UninstallReport, error) {
	p, err := planFor(ctx, h, q)
	if err != nil {
		return nil, err
	}
	rep := &rye.UninstallReport{Parts: p.parts(), Programs: q.Programs, DryRun: q.DryRun}
	if rep.Removes() == 0 {
		return rep, nil
	}
	switch err := inUse(h); {
	case q.DryRun:
		return rep, err
	case err != nil:
		return nil, err
	}
	if err := h.Ask(ctx, question(q, rep)); err != nil {
		return nil, err
	}
	rep.Parts = p.carryOut(ctx, q)
	_ = os.Remove(h.ConfigDir) // fails if it is not empty
	return rep, failure(rep)
}

// parts returns the plan as a report.
func (p *plan) parts() (all []rye.UninstallPart) {
	all = append(append(all, p.clients...), p.shared...)
	for _, list := range [][]step{p.drivers, p.dirs, p.kept} {
		for _, s := range list {
			all = append(all, s.UninstallPart)
		}
	}
	return all
}

// carryOut removes the parts of the plan, in its order.
func (p *plan) carryOut(ctx context.Context, q rye.UninstallRequest) []rye.UninstallPart {
	if len(p.clients) > 0 {
		p.clients = q.Clients(ctx, "", false)
	}
	failed := false
	for i := range p.drivers {
		p.drivers[i].run(ctx)
		failed = failed || p.drivers[i].Status == rye.PartFailed
	}
	for i := range p.dirs {
		if s := &p.dirs[i]; failed && s.What == recordsPart {
			*s = stays(rye.UninstallPart{What: s.What, Path: s.Path, Status: rye.PartLeft, Text: "a merge driver is still there, and the records name its repository"})
		}
		p.dirs[i].run(ctx)
	}
	return p.parts()
}

// run removes the part.
func (s *step) run(ctx context.Context) {
	if s.do == nil {
		return
	}
	err := ctx.Err()
	if err == nil {
		err = s.do()
	}
	if err != nil {
		s.Status, s.Text, s.Hint, s.Err = rye.PartFailed, err.Error(), fault.HintOf(err), err
	}
}

// failure returns the error of the first part that failed.
func failure(rep *rye.UninstallReport) error {
	n, code := 0, fault.Code("")
	for _, p := range rep.Parts {
		if p.Status == rye.PartFailed {
			n, code = n+1, cmp.Or(code, fault.CodeOf(p.Err))
		}
	}
	if n == 0 {
		return nil
	}
	return fault.New(code, "self uninstall: %s could not be removed", words.Plural(n, "part")).Advise("mend what is named above, then run the command again")
}

// maxShown bounds the parts that the question lists one by one.
const maxShown = 200

func question(q rye.UninstallRequest, rep *rye.UninstallReport) rye.Question {
	line := []string{"rye", "self", "uninstall"}
	ask := rye.Question{Topic: "self uninstall", Text: "Remove rye from this machine?"}
	if q.Keys {
		line = append(line, "--keys")
		ask.Text = "Remove rye from this machine, and your private keys for good?"
	}
	if q.Records {
		line = append(line, "--records")
	}
	ask.Mend = fault.CommandOf(append(line, "--yes")...)
	for _, p := range rep.Parts {
		if p.Status != rye.PartRemoved {
			continue
		}
		if len(ask.Lines) == maxShown {
			ask.Lines = append(ask.Lines, fmt.Sprintf("and %d more; --dry-run lists them", rep.Removes()-maxShown))
			break
		}
		text := p.What + "  " + words.Quote(p.Path)
		if p.Name != "" {
			text = p.What + " " + p.Name + "  " + words.Quote(p.Path)
		}
		ask.Lines = append(ask.Lines, words.Clip(text, rye.MaxLineBytes/4))
	}
	return ask
}

// planFor looks at everything that rye keeps on this machine. It changes nothing.
func planFor(ctx context.Context, h *session.Host, q rye.UninstallRequest) (*plan, error) {
	p := &plan{}
	if q.Clients != nil {
		p.clients = q.Clients(ctx, "", true)
	}
	if err := p.repositories(ctx, h, q); err != nil {
		return nil, err
	}
	p.directories(h, q)
	return p, ctx.Err()
}

// The kinds of parts.
const (
	driverPart  = "merge driver"
	cachePart   = "cache"
	keysPart    = "keys"
	recordsPart = "records"
	projectPart = "project"
	filePart    = "file"
)

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

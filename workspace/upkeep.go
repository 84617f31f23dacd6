package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/aside"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/leave"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/run"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Upkeep are the verbs that keep a machine in order.
type Upkeep struct{ *rooms }

// Upkeep returns the verbs that keep a machine in order.
func (w *Workspace) Upkeep() Upkeep { return Upkeep{&w.rooms} }

// Fsck checks the stores of the project and the user: HEAD, refs, their logs, every object
// that these reach, the line of commits and their signers. Each damage is a check of its own,
// with the fix. The error is the first damage. With q.Repair refs are first moved back to
// undamaged commits, when a person agreed.
func (g Upkeep) Fsck(ctx context.Context, c rye.Caller, q rye.FsckRequest) (rep rye.FsckReport, err error) {
	s, err := g.enter(c, "fsck")
	if err != nil {
		return rep, err
	}
	defer s.Close()
	if q.Repair {
		rep.Repairs, err = session.Repair(ctx, s, q)
	}
	if err == nil && !q.DryRun {
		rep.Checks, err = look.Fsck(ctx, s)
	}
	return rep, err
}

// Doctor checks rye's requirements on this machine and reports each problem with its fix. It
// changes nothing.
func (g Upkeep) Doctor(ctx context.Context, c rye.Caller) ([]rye.DoctorCheck, error) {
	if err := g.host.Permit(c, "doctor"); err != nil {
		return nil, err
	}
	if s, err := g.host.Open(); err == nil { // an error is reported below
		run.Recover(ctx, g.desk(s))
		s.Close()
	}
	all := append([]rye.DoctorCheck{g.keys.Check(ctx), custody.CheckTrust(g.host)}, session.Checks(g.host)...)
	all = append(all, custody.CheckAccepted(g.host)...)
	all = append(append(all, author.CheckAttributes(g.host)...), author.CheckDriver(g.host)...)
	all = append(all, session.CheckTaken(ctx, g.host)...)
	all = append(all, aside.Check(g.host)...)
	all = append(all, share.DoctorVendor(ctx, g.host)...)
	all = append(all, look.CheckRecords(ctx, g.host)...)
	return append(append(all, session.CheckSystem(g.host)), g.runner.Check(ctx)...), ctx.Err()
}

// Fix shows and then makes the changes, among Doctor's findings, that rye can make itself: the
// attributes and the merge driver for the user's own git. It returns the files that it wrote.
func (g Upkeep) Fix(ctx context.Context, c rye.Caller) ([]string, error) {
	s, err := g.project(c, "doctor")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []string
	written, err := author.FixAttributes(ctx, s)
	if written != "" {
		all = append(all, written)
	}
	if err != nil || !c.IsPerson() {
		return all, err
	}
	more, err := author.FixDriver(ctx, s)
	return append(all, more...), err
}

// Where lists the paths that rye uses, and with q.Move takes over the record of a directory
// that moved here.
func (g Upkeep) Where(ctx context.Context, c rye.Caller, q rye.WhereRequest) (*rye.WhereReport, error) {
	if err := g.host.Permit(c, "where"); err != nil {
		return nil, err
	}
	s, err := g.host.OfAnyOwner().Open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return session.Where(ctx, s, q)
}

// Settings lists the settings of the project and the user, with their origins.
func (g Upkeep) Settings(ctx context.Context, c rye.Caller) ([]rye.Setting, error) {
	all, err := do(ctx, c, "config", g.enter, session.Settings, struct{}{})
	if err != nil {
		return nil, err
	}
	own, err := do(ctx, c, "config", g.working(g.enter), share.ListSettings, struct{}{})
	return append(all, own...), err
}

// Set changes a setting of the project, or of the user about sharing.
func (g Upkeep) Set(ctx context.Context, c rye.Caller, q rye.SetRequest) (*rye.Setting, error) {
	if share.IsSetting(q.Name) {
		if !c.IsPerson() {
			return nil, fault.New(fault.Denied, "config %s: only a person may set it", q.Name)
		}
		return do(ctx, c, "config", g.working(g.enter), share.Set, q)
	}
	return do(ctx, c, "config", g.project, session.Set, q)
}

// GC packs the objects of the stores into few files, and removes leftovers of dead processes.
// It removes nothing that a store holds, and other processes may go on working. An error in
// one place does not stop work on the others; the completed work is returned beside it.
func (g Upkeep) GC(ctx context.Context, c rye.Caller, q rye.GCRequest) ([]rye.GCReport, error) {
	s, err := g.enter(c, "gc")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all session.Collected
	s.CompactLayers(ctx, &all, q)
	s.SweepLayers(ctx, &all, q)
	all.Note(share.CompactCaches(ctx, s.Host, q))
	all.Note(run.SweepRuns(s.Host, q))
	all.Note(s.SweepTemps(q))
	all.Note(session.RemoveGone(ctx, s, q))
	all.Note(leave.SweepServing(s.Host, q))
	return all.Reports(q)
}

// Uninstall removes what rye keeps outside of projects: entries of MCP clients, merge drivers and
// caches, and, as q names them, records and keys. Only a person may do it. The report comes beside
// the error of a part that could not be removed.
func (g Upkeep) Uninstall(ctx context.Context, c rye.Caller, q rye.UninstallRequest) (*rye.UninstallReport, error) {
	if err := g.host.Permit(c, "self.uninstall"); err != nil {
		return nil, err
	}
	if !c.IsPerson() {
		return nil, fault.New(fault.Denied, "self uninstall: only a person may do it, and %s is not a person", c.Who()).
			Advise("a person must run it at a terminal of their own")
	}
	return leave.Uninstall(ctx, g.host, q)
}

// Serving notes, until end is called, that this process serves a workspace by a command, so that
// Uninstall refuses to remove rye meanwhile.
func Serving(w *Workspace, command string) (end func()) { return leave.Serving(w.host, command) }

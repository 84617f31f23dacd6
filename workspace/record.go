package workspace

import (
	"cmp"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/questions"
	"github.com/rye-os/rye/workspace/internal/threads"
)

// Record is the part of the project's record that threads need.
type Record struct{ *rooms }

// Record returns the part of the project's record that threads need.
func (w *Workspace) Record() Record { return Record{&w.rooms} }

// Threads returns the directory of the project's threads, beside its record. It may not
// exist yet.
func (g Record) Threads(ctx context.Context, c rye.Caller) (string, error) {
	s, err := g.project(c, "record")
	if err != nil {
		return "", err
	}
	defer s.Close()
	return threads.Dir(s)
}

// MakeThreads is Threads, and makes the directory where it is missing.
func (g Record) MakeThreads(ctx context.Context, c rye.Caller) (string, error) {
	s, err := g.project(c, "record")
	if err != nil {
		return "", err
	}
	defer s.Close()
	return threads.MakeDir(s)
}

// Pin verifies a directive, fills in its inputs, and lists every item in use.
func (g Record) Pin(ctx context.Context, c rye.Caller, q rye.PinRequest) (*rye.Pinned, error) {
	if err := cmp.Or(g.host.Permit(c, "record"), threads.Followable(q.Ref)); err != nil {
		return nil, err
	}
	res, err := g.runner.Execute(ctx, c, rye.ExecuteRequest{Ref: q.Ref, Params: q.Params})
	if err != nil {
		return nil, err
	}
	p, err := do(ctx, c, "record", g.project, pinFor(c), q)
	if err != nil {
		return nil, err
	}
	return p, threads.FillIn(p, res)
}

// Approve asks a person about a caller's request.
func (g Record) Approve(ctx context.Context, c rye.Caller, subject string, q rye.Question) error {
	s, err := g.enter(c, "thread.start")
	if err != nil {
		return err
	}
	defer s.Close()
	return questions.About(ctx, s, c, subject, q)
}

// Vouch signs the description of a thread with this machine's key for threads.
func (g Record) Vouch(ctx context.Context, c rye.Caller, doc []byte) (string, error) {
	if err := g.host.Permit(c, "record"); err != nil {
		return "", err
	}
	return threads.Vouch(ctx, g.host, doc)
}

// Vouched verifies a signature from Vouch.
func (g Record) Vouched(_ context.Context, c rye.Caller, doc []byte, sig string) error {
	if err := g.host.Permit(c, "record"); err != nil {
		return err
	}
	return threads.Vouched(g.host, doc, sig)
}

// Commit adds turns to the branch of a thread.
func (g Record) Commit(ctx context.Context, c rye.Caller, q rye.BranchCommit) (string, error) {
	return do(ctx, c, "record", g.project, threads.Commit, q)
}

// Branch reads the branch of a thread.
func (g Record) Branch(ctx context.Context, c rye.Caller, thread string) (*rye.BranchInfo, error) {
	return do(ctx, c, "record", g.project, threads.Branch, thread)
}

// ReadTurn returns a file of one turn of a thread.
func (g Record) ReadTurn(ctx context.Context, c rye.Caller, thread string, turn int, path string) ([]byte, error) {
	s, err := g.project(c, "record")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return threads.ReadTurn(ctx, s, thread, turn, path)
}

// Config merges a configuration, such as "agent/resilience", from every layer that holds it,
// the project's strongest, over the one that it extends. One layer that may not be used
// refuses the whole (docs/format/config.md). The caller has to hold rye.load.config.<id> for
// it and for the configuration that it extends.
func (g Record) Config(ctx context.Context, c rye.Caller, name string) (*rye.ConfigResult, error) {
	s, err := g.visit(c, "config")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return look.Config(ctx, s, c, name)
}

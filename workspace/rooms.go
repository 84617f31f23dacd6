package workspace

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/aside"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/run"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/threads"
)

// do runs one verb: it opens a session for the caller, does the work and closes the session.
func do[D interface{ Close() }, Q, R any](ctx context.Context, c rye.Caller, verb string, open func(rye.Caller, string) (D, error),
	work func(context.Context, D, Q) (R, error), q Q) (none R, err error) {
	d, err := open(c, verb)
	if err != nil {
		return none, err
	}
	defer d.Close()
	return work(ctx, d, q)
}

// desk returns the desk for work in a session.
func (r *rooms) desk(s *session.Session) *custody.Desk { return r.keys.Desk(s) }

// working returns a function that opens a session and returns its desk.
func (r *rooms) working(open func(rye.Caller, string) (*session.Session, error)) func(rye.Caller, string) (*custody.Desk, error) {
	return func(c rye.Caller, verb string) (*custody.Desk, error) {
		s, err := open(c, verb)
		if err != nil {
			return nil, err
		}
		return r.desk(s), nil
	}
}

// enter opens a session for a caller that holds rye.<verb>, in a project or not.
func (r *rooms) enter(c rye.Caller, verb string) (*session.Session, error) {
	if err := r.host.Permit(c, verb); err != nil {
		return nil, err
	}
	return r.decided(c, verb)(r.host.Open())
}

// withoutLock are the verbs that go on where the lock has merge conflicts: they use items of the
// project alone, and change no lock.
var withoutLock = []string{"list", "show", "search", "status", "verify", "load", "sign", "new", "diff", "log", "blame", "review", "doctor", "record", "policy.explain"}

// decided is the function of that name, which also looks for what killed runs left.
func (r *rooms) decided(c rye.Caller, verb string) func(*session.Session, error) (*session.Session, error) {
	decide := decided(c, verb)
	return func(s *session.Session, err error) (*session.Session, error) {
		if s, err = decide(s, err); err == nil && run.Recover(context.Background(), r.desk(s)) && verb != "status" { // which reports all notices
			aside.Tell(s)
		}
		return s, err
	}
}

// decided prepares a session for a caller's use of items that stand behind their record, and for
// a lock with merge conflicts.
func decided(c rye.Caller, verb string) func(*session.Session, error) (*session.Session, error) {
	return func(s *session.Session, err error) (*session.Session, error) {
		if err == nil && s.LockConflict != nil && !slices.Contains(withoutLock, verb) {
			err = s.LockConflict
			s.Close()
		}
		if err != nil {
			return nil, err
		}
		if s.LockConflict != nil {
			s.Tell(s.LockConflict.Error() + ": items from registries cannot be used; " + fault.HintOf(s.LockConflict).String())
		}
		return s.For(c, rye.Ref{}), nil
	}
}

// project is enter for verbs that make no sense outside a project.
func (r *rooms) project(c rye.Caller, verb string) (*session.Session, error) {
	if err := r.host.Permit(c, verb); err != nil {
		return nil, err
	}
	return r.decided(c, verb)(r.host.OpenProject())
}

// of is project, or enter for verbs that work on the user space this time.
func (r *rooms) of(space string) func(rye.Caller, string) (*session.Session, error) {
	if space == "user" {
		return r.enter
	}
	return r.project
}

// inUserSpace replaces the error that there is no project here, where the user space has the named
// items: with the command that works there, which ends with rest. Any other error it returns.
func (r *rooms) inUserSpace(ctx context.Context, c rye.Caller, verb, space string, targets []rye.Target, err error, rest ...string) error {
	if space != "" || r.host.ProjectDir != "" || len(targets) == 0 || !fault.Is(err, fault.NotFound) {
		return err
	}
	s, serr := r.enter(c, verb)
	if serr != nil {
		return err
	}
	defer s.Close()
	if s.Stack.User == nil {
		return err
	}
	command := []string{"rye", verb}
	for _, t := range targets {
		if !author.Knows(ctx, s, s.Stack.User, t, verb == "restore") {
			return err
		}
		command = append(command, string(t))
	}
	return fault.New(fault.NotFound, "%s: there is no project here, but your user space has it", targets[0]).With(fault.CommandOf(append(append(command, rest...), "--space", "user")...))
}

// foreign is project for the verb that may name a project of another user.
func (r *rooms) foreign(c rye.Caller, verb string) (*session.Session, error) {
	if err := r.host.Permit(c, verb); err != nil {
		return nil, err
	}
	return r.host.OfAnyOwner().OpenProject()
}

// visit is enter for the verbs whose capability names the item: it is checked once the item
// is found.
func (r *rooms) visit(c rye.Caller, verb string) (*session.Session, error) {
	if err := r.host.Require(c, verb); err != nil {
		return nil, err
	}
	return r.decided(c, verb)(r.host.Open())
}

// look is project for verbs that read every file: it lists the files while it reads trust,
// settings and lock.
func (r *rooms) look(ctx context.Context, c rye.Caller, verb string) (*session.Session, error) {
	if err := r.host.Permit(c, verb); err != nil {
		return nil, err
	}
	return r.decided(c, verb)(r.host.OpenLook(ctx))
}

// pinFor is threads.Pin on behalf of a caller.
func pinFor(c rye.Caller) func(context.Context, *session.Session, rye.PinRequest) (*rye.Pinned, error) {
	return func(ctx context.Context, s *session.Session, q rye.PinRequest) (*rye.Pinned, error) {
		return threads.Pin(ctx, s, c, q)
	}
}

package thread

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// find returns the directory of a thread that a caller may do something to.
func (s *Service) find(ctx context.Context, c rye.Caller, verb, id string) (dir string, err error) {
	if err := c.May("thread."+verb, s.o.Now()); err != nil {
		return "", err
	}
	return locate(ctx, s, c, id)
}

// locate returns the directory of a thread, by its id or the beginning of it. A thread finds
// only itself, by the whole id; the threads of others count for nobody who may not know them.
func locate(ctx context.Context, s *Service, c rye.Caller, id string) (dir string, err error) {
	top, err := s.o.Record.Threads(ctx, recorder)
	if err != nil {
		return "", err
	}
	id = strings.ToLower(id)
	if c.Thread() != "" && id != c.Thread() {
		return "", fault.New(fault.NotFound, "there is no thread %q here", words.Brief(id))
	}
	all, err := threadIDs(top)
	if err != nil {
		return "", err
	}
	var found []string
	for _, have := range all {
		at := filepath.Join(top, have)
		if strings.HasPrefix(have, id) && id != "" && s.mayKnow(ctx, c, at) == nil {
			found = append(found, at)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fault.New(fault.NotFound, "there is no thread %q here", words.Brief(id)).Advise("rye thread list")
	}
	return "", fault.New(fault.Usage, "thread %q: %d threads begin with this", words.Brief(id), len(found)).Advise("give more characters; rye thread list shows them")
}

// mayKnow hides the threads of others from who is no person: what they read and said is not
// for every program.
func (s *Service) mayKnow(ctx context.Context, c rye.Caller, dir string) error {
	if c.IsPerson() {
		return nil
	}
	d, err := readDescription(ctx, s.o.Record, dir)
	if err == nil && (d.Starter == startedBy(c) && c.Thread() == "" || d.ID == c.Thread()) {
		return nil
	}
	return fault.New(fault.NotFound, "there is no thread %q here", filepath.Base(dir))
}

// threadIDs lists the threads of a project, the newest first.
func threadIDs(top string) (ids []string, err error) {
	list, err := os.ReadDir(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if e.IsDir() && journal.ValidID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}

// Thread describes one thread.
func (s *Service) Thread(ctx context.Context, c rye.Caller, id string) (*rye.ThreadInfo, error) {
	dir, err := s.find(ctx, c, "show", id)
	if err != nil {
		return nil, err
	}
	return s.describe(ctx, dir)
}

// describe reads what a thread is and what it did.
func (s *Service) describe(ctx context.Context, dir string) (*rye.ThreadInfo, error) {
	d, err := readDescription(ctx, s.o.Record, dir)
	if err != nil {
		return nil, err
	}
	h := newHistory(dir)
	h.readOnly = true
	_, _, err = journal.Read(ctx, dir, h.add)
	var damage *journal.Damage
	if err != nil && !errors.As(err, &damage) && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	alive, holder, err := journal.Alive(dir)
	if err != nil {
		return nil, err
	}
	i := &rye.ThreadInfo{ID: d.ID, Directive: d.Directive, Parent: d.Parent, Model: d.Model, Provider: d.Provider, Started: d.Started, Turns: int64(max(h.turn-1, 0)),
		Usage: h.usage, Spent: h.spent, Uncertain: h.uncertain, Limits: d.Limits, Allowed: d.Capabilities, Denied: d.Denied, Patched: d.Patched, Question: h.question,
		Text: h.text, Outputs: h.returned(), Seq: h.last.Seq}
	if alive {
		i.Pid = holder.PID
	}
	if i.Status, i.Why = statusOf(h, alive); i.Status == Interrupted {
		i.Why += diedIn(dir)
	}
	if damage != nil && !alive { // what lies before it is shown
		i.Status, i.Why = Suspended, "damage: "+damage.Error()
	}
	if h.final != nil || h.suspended != nil {
		i.Ended = h.last.Time.Format(time.RFC3339)
	}
	if b, err := s.o.Record.Branch(ctx, recorder, d.ID); err == nil {
		i.Branch, i.Tip = b.Ref, b.Tip
	}
	if _, err := os.Lstat(filepath.Join(dir, keyFile)); err == nil && ended(i.Status) && !alive && i.Why == "" {
		i.Why = "its last turns are not on its branch yet; to put them there: rye thread gc"
	}
	return i, nil
}

// status says in a word what a thread is, and why.
func statusOf(h *history, alive bool) (status, why string) {
	switch {
	case h.final != nil:
		var reason, message string
		var killed bool
		_ = h.members(*h.final, map[string]any{"reason": &reason, "message": &message, "killed": &killed})
		switch {
		case h.final.Type == journal.Completed:
			return Completed, ""
		case killed:
			return Killed, reason
		case h.final.Type == journal.Cancelled:
			return Cancelled, reason
		}
		return Failed, message
	case alive && h.question != "":
		return Waiting, "for a person's answer"
	case alive:
		return Running, ""
	case h.suspended != nil:
		return Suspended, strings.TrimSuffix(h.suspended.Reason+": "+h.suspended.Detail, ": ")
	case h.last.Seq == 0:
		return Created, ""
	}
	return Interrupted, "its process is gone"
}

// List describes threads, the newest first. One that cannot be read is listed with why.
func (s *Service) List(ctx context.Context, c rye.Caller, q rye.ThreadListRequest) ([]rye.ThreadInfo, error) {
	if err := c.May("thread.list", s.o.Now()); err != nil {
		return nil, err
	}
	return listOf(ctx, s, c, q)
}

// listOf lists the threads that a caller may know.
func listOf(ctx context.Context, s *Service, c rye.Caller, q rye.ThreadListRequest) ([]rye.ThreadInfo, error) {
	top, err := s.o.Record.Threads(ctx, recorder)
	if err != nil {
		return nil, err
	}
	ids, err := threadIDs(top)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	all := []rye.ThreadInfo{}
	for _, id := range ids {
		if len(all) == limit {
			break
		}
		if s.mayKnow(ctx, c, filepath.Join(top, id)) != nil {
			continue
		}
		i, err := s.describe(ctx, filepath.Join(top, id))
		if err != nil {
			if fault.Is(err, fault.NotFound) {
				continue // it never began
			}
			i = &rye.ThreadInfo{ID: id, Status: Suspended, Why: err.Error()}
		}
		if keep(i, q, s.o.Now()) {
			all = append(all, *i)
		}
	}
	return all, nil
}

// keep reports whether a list shows a thread.
func keep(i *rye.ThreadInfo, q rye.ThreadListRequest, now time.Time) bool {
	if q.Under != "" && i.ID != q.Under && i.Parent != q.Under {
		return false
	}
	ended, err := time.Parse(time.RFC3339, i.Ended)
	return q.All || err != nil || now.Sub(ended) < 24*time.Hour || i.Status == Suspended
}

// Follow gives the records of a thread, and with q.Follow waits for more until it ends.
func (s *Service) Follow(ctx context.Context, c rye.Caller, q rye.FollowRequest, visit func(rye.Event) error) error {
	dir, err := s.find(ctx, c, "follow", q.ID)
	if err != nil {
		return err
	}
	_, err = journal.Follow(ctx, dir, journal.FollowOptions{From: q.From, Live: q.Live, Wait: q.Follow}, func(r journal.Record) error {
		e := rye.Event{Seq: r.Seq, Time: r.Time.Format("2006-01-02T15:04:05.000000Z"), Thread: r.Thread, Turn: r.Turn, Type: r.Type, Payload: r.Data, Live: r.Live}
		if !q.Events {
			e.Payload = wholePayload(dir, r)
		}
		return visit(e)
	})
	if err != nil || !q.Follow {
		return err
	}
	return toBranch(ctx, dir)
}

// toBranch waits, after the last record of a thread, until its process has put everything on
// the branch and is gone: who looks there next finds all of it. Not for long: what it does not
// do, the next process does.
func toBranch(ctx context.Context, dir string) error {
	waiting, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	if err := journal.Wait(waiting, dir); err != nil && ctx.Err() != nil {
		return err
	}
	return nil
}

// errEnough ends a wait whose thread waits itself.
var errEnough = errors.New("it waits")

// Wait waits until a thread ends or waits for a person.
func (s *Service) Wait(ctx context.Context, c rye.Caller, q rye.WaitRequest) (*rye.ThreadInfo, error) {
	dir, err := s.find(ctx, c, "wait", q.ID)
	if err != nil {
		return nil, err
	}
	return waitAt(ctx, s, dir, time.Duration(q.Seconds*float64(time.Second)), nil)
}

// waitAt is Wait for the thread in dir, for most at most where that is not 0. visit gets its
// records meanwhile; nil wants none.
func waitAt(ctx context.Context, s *Service, dir string, most time.Duration, visit func(journal.Record)) (*rye.ThreadInfo, error) {
	waiting, cancel := ctx, func() {}
	if most > 0 {
		waiting, cancel = context.WithTimeout(ctx, most)
	}
	defer cancel()
	_, err := journal.Follow(waiting, dir, journal.FollowOptions{Wait: true}, func(r journal.Record) error {
		if visit != nil {
			visit(r)
		}
		if r.Type != "approval_requested" {
			return nil
		}
		i, err := s.describe(ctx, dir)
		if err != nil || i.Status != Waiting {
			return err
		}
		// Who answers and then waits, waits for what comes of the answer.
		if answered, _, err := s.o.Answered(ctx, i.Question); err != nil || answered {
			return err
		}
		return errEnough
	})
	if err == nil {
		err = toBranch(waiting, dir)
	}
	if err != nil && !errors.Is(err, errEnough) && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	return s.describe(ctx, dir)
}

// Send puts a message into a thread's inbox.
func (s *Service) Send(ctx context.Context, c rye.Caller, q rye.SendRequest) error {
	dir, err := s.find(ctx, c, "send", q.ID)
	if err != nil {
		return err
	}
	if q.Kind == journal.KindRaise && !c.IsPerson() {
		return fault.New(fault.Denied, "only a person raises the limits of a thread")
	}
	i, err := s.describe(ctx, dir)
	if err != nil {
		return err
	}
	if ended(i.Status) {
		return hasEnded(ctx, &s.o, dir, i)
	}
	return s.put(ctx, c, dir, q)
}

// put signs a message with this machine's key for threads, and puts it there.
func (s *Service) put(ctx context.Context, c rye.Caller, dir string, q rye.SendRequest) error {
	var random [10]byte
	rand.Read(random[:])
	now := s.o.Now().UTC().Truncate(time.Second)
	m := journal.Message{ID: journal.NewID(now, random), Thread: filepath.Base(dir), From: c.Who(), Kind: q.Kind, Sent: now, Text: q.Text}
	if q.Kind == journal.KindRaise {
		m.Raise = map[string]int64{}
		for _, f := range fieldsOf(&q.Limits) {
			if *f.at < 0 {
				return fault.New(fault.Usage, "limit %s: want more than 0", f.name)
			}
			if *f.at > 0 {
				m.Raise[f.name] = *f.at
			}
		}
	}
	var err error
	if m.Sig, err = s.o.Record.Vouch(ctx, recorder, m.Signed()); err != nil {
		return err
	}
	return journal.Put(dir, m)
}

// Collect removes the directories of threads that ended long ago. Their branches stay.
func (s *Service) Collect(ctx context.Context, c rye.Caller, q rye.CollectRequest) (*rye.CollectReport, error) {
	if err := c.May("thread.gc", s.o.Now()); err != nil {
		return nil, err
	}
	top, err := s.o.Record.Threads(ctx, recorder)
	if err != nil {
		return nil, err
	}
	ids, err := threadIDs(top)
	if err != nil {
		return nil, err
	}
	rep := &rye.CollectReport{Removed: []string{}, DryRun: q.DryRun}
	for _, id := range ids {
		dir := filepath.Join(top, id)
		if !q.DryRun {
			_ = finishSeal(ctx, &s.o, dir) // what cannot be finished is not old
		}
		old, err := s.old(ctx, dir, time.Duration(q.Older)*time.Second)
		if err != nil || !old {
			continue // what cannot be read is kept
		}
		size := sizeOf(dir)
		if !q.DryRun {
			lease, err := journal.Take(dir, s.o.Now())
			if err != nil {
				continue
			}
			err = os.RemoveAll(dir)
			lease.Release()
			if err != nil {
				return rep, err
			}
		}
		rep.Removed, rep.Bytes = append(rep.Removed, id), rep.Bytes+size
	}
	return rep, nil
}

// old reports whether a thread ended that long ago, or never began, and all of it is on its
// branch.
func (s *Service) old(ctx context.Context, dir string, age time.Duration) (bool, error) {
	i, err := s.describe(ctx, dir)
	if fault.Is(err, fault.NotFound) {
		st, err := os.Stat(dir)
		return err == nil && s.o.Now().Sub(st.ModTime()) > max(age, time.Hour), err
	}
	if err != nil {
		return false, err
	}
	if i.Status == Created { // whoever started it died before it began
		began, err := time.Parse(time.RFC3339, i.Started)
		return err == nil && i.Pid == 0 && s.o.Now().Sub(began) > max(age, time.Hour), err
	}
	at, err := time.Parse(time.RFC3339, i.Ended)
	if err != nil || !ended(i.Status) {
		return false, nil
	}
	_, err = os.Stat(filepath.Join(dir, keyFile)) // there until all is on the branch
	return errors.Is(err, fs.ErrNotExist) && s.o.Now().Sub(at) > age, nil
}

func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

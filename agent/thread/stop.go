package thread

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

// stopWithin is how long a process has to end by itself.
const stopWithin = 10 * time.Second

// Stop ends a thread: by its process, which is told, or where there is none, here.
func (s *Service) Stop(ctx context.Context, c rye.Caller, q rye.StopRequest) (*rye.ThreadInfo, error) {
	dir, err := s.find(ctx, c, "cancel", q.ID)
	if err != nil {
		return nil, err
	}
	return stopAt(ctx, s, c, dir, q)
}

// stopAt is Stop for the thread in dir.
func stopAt(ctx context.Context, s *Service, c rye.Caller, dir string, q rye.StopRequest) (*rye.ThreadInfo, error) {
	i, err := s.describe(ctx, dir)
	if err != nil {
		return nil, err
	}
	if ended(i.Status) {
		return nil, hasEnded(ctx, &s.o, dir, i)
	}
	if q.Kill && i.Pid != 0 { // first: told, it might end by itself, which was not asked for
		if err := kill(dir); err != nil {
			return nil, err
		}
	}
	if err := s.put(ctx, c, dir, rye.SendRequest{Kind: journal.KindCancel}); err != nil {
		return nil, err
	}
	if i.Pid != 0 {
		waiting, cancel := context.WithTimeout(ctx, stopWithin)
		defer cancel()
		if err := journal.Wait(waiting, dir); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return s.describe(ctx, dir) // it was told, and ends when it can
		}
	}
	if i, err = s.describe(ctx, dir); err != nil || ended(i.Status) {
		return i, err
	}
	if err := s.endHere(ctx, dir, q.Kill); err != nil {
		return nil, err
	}
	return s.describe(ctx, dir)
}

// hasEnded refuses to change a thread that ended, once nothing is left to do of its end.
func hasEnded(ctx context.Context, o *Options, dir string, i *rye.ThreadInfo) error {
	if err := finishSeal(ctx, o, dir); err != nil {
		return err
	}
	return fault.New(fault.Conflict, "thread %s has ended: it is %s", i.ID, i.Status).Advise("rye thread start %s begins another", i.Directive)
}

// finishSeal does what is left to do of a thread that ended, where its process died behind the
// final record. Another process that is at it already is left to it.
func finishSeal(ctx context.Context, o *Options, dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, keyFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	p := newProcess(&Prepared{o: *o}, dir)
	err := p.takeOver(ctx)
	var held *journal.Held
	if errors.As(err, &held) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.openJournal(ctx, false); err != nil {
		return err
	}
	if p.h.final == nil {
		return nil
	}
	if err := p.openBook(ctx, p.made); err != nil {
		return err
	}
	return p.seal(ctx)
}

// endHere does for a thread without a process what its process would have done.
func (s *Service) endHere(ctx context.Context, dir string, killed bool) error {
	p := newProcess(&Prepared{o: s.o}, dir)
	if err := p.takeOver(ctx); err != nil {
		return err
	}
	defer p.close()
	if err := p.openJournal(ctx, false); err != nil {
		return err
	}
	p.black = newBlackener(nil)
	if err := p.openBook(ctx, p.made); err != nil {
		return err
	}
	if err := p.compareLedger(ctx); err != nil {
		return err
	}
	if p.h.epoch == 0 {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	if err := p.closeOpen(false); err != nil {
		return err
	}
	var over *stop
	if err := p.payUnpaid(ctx); err != nil && !errors.As(err, &over) {
		return err
	}
	if err := p.inbox(ctx); err != nil {
		return err
	}
	rec := map[string]any{"reason": p.h.cancel, "cost": p.cost()}
	if killed {
		rec["killed"] = true
	}
	if err := p.append(journal.Cancelled, rec, true); err != nil {
		return err
	}
	return p.seal(ctx)
}

func ended(status string) bool {
	return status == Completed || status == Failed || status == Cancelled || status == Killed
}

// Resume goes on with a thread that no process runs.
func (s *Service) Resume(ctx context.Context, c rye.Caller, q rye.ResumeRequest) (*rye.ThreadInfo, error) {
	dir, err := s.find(ctx, c, "resume", q.ID)
	if err != nil {
		return nil, err
	}
	return resumeAt(ctx, s, c, dir, q)
}

// resumeAt is Resume for the thread in dir.
func resumeAt(ctx context.Context, s *Service, c rye.Caller, dir string, q rye.ResumeRequest) (*rye.ThreadInfo, error) {
	if (q.Loop || q.Accept) && !c.IsPerson() {
		return nil, fault.New(fault.Denied, "only a person can resume with another loop, or in spite of damage")
	}
	d, err := readDescription(ctx, s.o.Record, dir)
	if err != nil {
		return nil, err
	}
	if err := idle(ctx, dir, d); err != nil {
		return nil, err
	}
	// Only a first look: the process that takes it up verifies all of it.
	last, err := journal.Last(dir)
	if err == nil && journal.IsFinal(last.Type) {
		i, err := s.describe(ctx, dir)
		if err != nil {
			return nil, err
		}
		return nil, hasEnded(ctx, &s.o, dir, i)
	}
	// A long journal is read while the process that is to take it up starts.
	var before *rye.ThreadInfo
	var unread error
	var reading sync.WaitGroup
	reading.Go(func() { before, unread = s.describe(ctx, dir) })
	err = s.goOn(ctx, c, dir, d, q)
	reading.Wait()
	if err := cmp.Or(err, unread); err != nil {
		return nil, err
	}
	_, holder, err := journal.Alive(dir)
	before.Status, before.Why, before.Ended, before.Pid, before.Seq = Running, "", "", holder.PID, last.Seq
	return before, err
}

// idle refuses a thread that a process runs. One that was killed while it started another keeps
// its lease for a moment: what it was starting holds it until it begins.
func idle(ctx context.Context, dir string, d *Description) error {
	for gone := 0; ; gone++ {
		alive, holder, err := journal.Alive(dir)
		if err != nil || !alive {
			return err
		}
		if !fault.Is(holder.Signal(syscall.Signal(0)), fault.NotFound) || gone == 100 {
			return fault.New(fault.Conflict, "thread %s is run by process %d", d.ID, holder.PID).Advise("rye thread follow %s", d.ID)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// goOn has a process take the thread up.
func (s *Service) goOn(ctx context.Context, c rye.Caller, dir string, d *Description, q rye.ResumeRequest) error {
	key, err := readKey(dir, d)
	if err != nil {
		return err
	}
	l := s.starter().begin(ctx)
	defer l.drop()
	prov, err := loadPart(ctx, s.o.Verbs, refOf(d.Provider), "provider")
	if err != nil {
		return err
	}
	src, err := readProvider(prov)
	if err != nil {
		return err
	}
	if err := s.starter().mayReach(prov, src); err != nil {
		return err
	}
	secrets, err := secretsFor(ctx, &s.o, src)
	if err != nil {
		return err
	}
	if q.Message != "" {
		if err := s.put(ctx, c, dir, rye.SendRequest{Kind: journal.KindMessage, Text: q.Message}); err != nil {
			return err
		}
	}
	hand, err := s.starter().hand(d, dir, key, secrets, handing{accept: q.Accept, loop: q.Loop})
	if err != nil {
		return err
	}
	return l.launch(ctx, d.ID, hand)
}

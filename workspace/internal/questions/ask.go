package questions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/question"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Patience is the time for which a question stays open while no one waits for its answer.
const Patience = 24 * time.Hour

// Agreed is a yes without an effect so far. Its zero value is a yes that is not kept.
type Agreed struct{ e *entry }

// Use is called just before the agreed action. A yes is used once: the second time is
// fault.Denied.
func (a Agreed) Use() error {
	if a.e == nil {
		return nil
	}
	return a.e.use()
}

// Ask puts a question to a person. It accepts an earlier yes to this very question; otherwise it
// asks in the host's way. If that cannot ask, it returns fault.Denied, and the question stays
// open for Patience. A person answers it with rye approve, and the same call made again finds
// the answer. subject is the digest of everything that would happen, and part of the question.
func Ask(ctx context.Context, s *session.Session, c rye.Caller, subject objects.Digest, q rye.Question) (Agreed, error) {
	if err := q.Check(); err != nil {
		return Agreed{}, err
	}
	rules, err := s.Rules()
	if err != nil {
		return Agreed{}, err
	}
	q.Clients, q.Wait = rules.Elicitation, rules.Timeout
	e, err := begin(s, c, subject, q)
	if fault.Is(err, fault.Auth) {
		return Agreed{}, err
	}
	if err != nil {
		s.Tell("the question could not be stored: " + err.Error())
	}
	if e == nil || err != nil {
		return Agreed{}, s.Ask(ctx, q)
	}
	if e.answer != nil {
		return e.standing()
	}
	q.ID = e.ID
	return e.put(ctx, s, c, q)
}

// About is Ask for an action that happens at once after a yes. subject is a digest.
func About(ctx context.Context, s *session.Session, c rye.Caller, subject string, q rye.Question) error {
	sum, err := objects.ParseDigest(subject)
	if err != nil {
		return err
	}
	agreed, err := Ask(ctx, s, c, sum, q)
	if err != nil {
		return err
	}
	return agreed.Use()
}

// begin finds the open record of a question, or makes one; nil where there is no place for it.
func begin(s *session.Session, c rye.Caller, subject objects.Digest, q rye.Question) (*entry, error) {
	at := dir(s.Records.Questions())
	if s.Project != nil {
		at = dir(s.Place.Questions())
	}
	if at == "" {
		return nil, nil
	}
	now := s.Now()
	e := &entry{in: at, Question: question.Question{
		Asked: now, Expires: now.Add(q.Wait), Caller: c.Who(), Directory: s.ProjectDir, Place: Here(s),
		Subject: subject, Topic: q.Topic, Text: q.Text, Lines: q.Lines,
	}}
	all, err := at.all()
	if err != nil {
		return nil, err
	}
	for _, o := range open(all, now) {
		if o.Question.Digest() == e.Question.Digest() {
			return &o, nil
		}
	}
	at.sweep()
	makeRoom(all, e.Caller, now)
	if s.Project != nil {
		if err := s.Place.Note(now); err != nil {
			return nil, err
		}
	}
	var random [10]byte
	rand.Read(random[:])
	e.ID = question.NewID(now, random)
	return e, e.write()
}

// Here is the project's directory as an agreement remembers it; zero outside of one. An
// unreadable directory gets a place that matches no agreement, now or later.
func Here(s *session.Session) consent.Place {
	if s.Project == nil {
		return consent.Place{}
	}
	st, err := records.StampOf(s.Place.Path)
	if err != nil {
		return consent.Place{Key: s.Place.Key, Born: s.Now().UnixNano()}
	}
	return consent.Place{Key: s.Place.Key, Inode: st.Inode, Born: st.Born}
}

// standing is a person's earlier answer.
func (e *entry) standing() (Agreed, error) {
	if e.answer.Yes {
		return Agreed{e}, nil
	}
	no := &rye.Unagreed{How: rye.Declined, Err: fmt.Errorf("%s: a person refused it (question %s)", e.Topic, e.ID)}
	return Agreed{}, fault.New(fault.Denied, "%w", no).
		Advise("it can be asked again after %s", e.Expires.Format(time.RFC3339))
}

var errLate = errors.New("no answer in time")

// put asks in the host's way and waits for the answer.
func (e *entry) put(ctx context.Context, s *session.Session, c rye.Caller, q rye.Question) (Agreed, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, q.Wait, errLate)
	defer cancel()
	yes, err := session.Put(waiting, s.Host, q)
	var no *rye.Unagreed
	switch {
	case err == nil && yes:
		return e.agree(s.Now())
	case err == nil:
		e.remove()
		return Agreed{}, session.NotAgreed(q)
	case context.Cause(waiting) == errLate:
		return e.late(q)
	case ctx.Err() != nil, fault.Is(err, fault.Denied) && c.IsPerson(), errors.As(err, &no) && no.How == rye.Late:
		e.remove() // the asker is gone, or asks at the next terminal, or got no answer
		return Agreed{}, err
	case fault.Is(err, fault.Denied):
		return Agreed{}, e.keep(c, err)
	}
	return Agreed{}, err // the host's way is asking now, and the call comes again
}

// agree notes a yes. If someone else answered first, their answer is used.
func (e *entry) agree(now time.Time) (Agreed, error) {
	err := e.reply(true, now)
	if fault.Is(err, fault.Conflict) {
		if e.answer, err = e.answered(); err == nil && e.answer != nil {
			return e.standing()
		}
	}
	return Agreed{e}, err
}

// late ends a question that got no answer in time. An answer in another way is used.
func (e *entry) late(q rye.Question) (Agreed, error) {
	var err error
	if e.answer, err = e.answered(); err == nil && e.answer != nil {
		return e.standing()
	}
	e.remove()
	late := &rye.Unagreed{How: rye.Late, Err: fmt.Errorf("%s: no answer within %s", q.Topic, q.Wait)}
	return Agreed{}, fault.New(fault.Denied, "%w", late).With(q.Mend)
}

// keep leaves a question open when no one could be asked, and refuses meanwhile.
func (e *entry) keep(c rye.Caller, why error) error {
	if until := e.Asked.Add(Patience); until.After(e.Expires) {
		e.Expires = until
		if err := e.write(); err != nil {
			return fault.Wrap(why, "store the question: %v", err)
		}
	}
	refused := fault.New(fault.Denied, "%w", &rye.Unanswered{ID: e.ID, Until: e.Expires, Err: why})
	if c.IsInside() || c.Thread() != "" { // the asking tool or thread does not answer its own questions
		return refused.Advise("a person must answer it, at a terminal of their own: rye approve %s", e.ID)
	}
	return refused.Mend("rye approve %s", e.ID)
}

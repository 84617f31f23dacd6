package thread

import (
	"context"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/ledger"
)

// mailbox hears what others say to a thread.
type mailbox struct {
	*thread
	*purse
	stopped func(error) // ends what is being done
}

// inbox takes in the messages that wait.
func (p *mailbox) inbox(ctx context.Context) error {
	all, bad, err := p.j.Inbox(p.checkMessage(ctx))
	if err != nil {
		return err
	}
	for _, m := range bad {
		if err := p.append("warning", map[string]any{"text": "a message was refused: " + m.Err.Error(), "code": "message"}, false); err != nil {
			return err
		}
		if err := p.j.Discard(m.ID); err != nil {
			return err
		}
	}
	for _, m := range all {
		p.mu.Lock()
		r, err := p.j.Consume(m, p.now(), p.h.turn)
		if err == nil {
			err = p.h.add(r)
		}
		p.mu.Unlock()
		if err != nil {
			return err
		}
		testOnlyStep("after inbox_message")
		if err := p.heed(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// checkMessage lets through what this machine's key for threads signed: who can sign with it
// may send.
func (p *mailbox) checkMessage(ctx context.Context) journal.Check {
	return func(m journal.Message, signed []byte) error { return p.o.Record.Vouched(ctx, recorder, signed, m.Sig) }
}

// heed does what a message says.
func (p *mailbox) heed(ctx context.Context, m journal.Message) error {
	switch m.Kind {
	case journal.KindMessage:
		return p.append("cognition_in", map[string]any{"text": p.black.text("A message from " + m.From + ":\n" + m.Text), "role": "user", "source": "inbox"}, false)
	case journal.KindRaise:
		for name, n := range m.Raise {
			p.raiseLimit(name, n)
		}
		return p.capLedger(ctx)
	}
	return nil
}

func (p *mailbox) raiseLimit(name string, n int64) {
	for _, f := range fieldsOf(&p.limit) {
		if f.name == name {
			*f.at += n
		}
	}
}

func (p *purse) capLedger(ctx context.Context) error {
	return p.book.SetCap(ctx, p.d.ID, ledger.Amount{Money: p.limit.Spend, Tokens: p.limit.Tokens})
}

// watch ends what is being done as soon as somebody asks for it.
func (p *mailbox) watch(ctx context.Context) {
	calls, err := journal.Watch(ctx, p.dir)
	if err != nil {
		return // then it is noticed before the next turn
	}
	for range calls {
		all, _, err := journal.List(p.dir, p.checkMessage(ctx))
		if err != nil {
			continue
		}
		for _, m := range all {
			if m.Kind == journal.KindCancel {
				p.stopped(&stop{cancel: true, reason: "cancelled", detail: "asked for by " + m.From})
				return
			}
		}
	}
}

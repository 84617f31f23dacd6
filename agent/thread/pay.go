package thread

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/fault"
)

// What was held for a call is paid or given back once, whoever does it. The ledger knows keys,
// the journal knows what they were for: whichever of the two a crash leaves behind is led on
// from the other. A bill is in the ledger before its record; giving back is recorded first.

// purse is the money of a thread.
type purse struct {
	*thread
	book   *ledger.Ledger
	tariff tariff
	lost   []ledger.Line // bills that the journal does not know
}

// bill ends what is held for a call without an answer: for nothing, or with all of it.
func (p *purse) bill(ctx context.Context, key string, hold ledger.Amount, free bool) error {
	if free {
		if err := p.append("budget_released", map[string]any{"key": key}, false); err != nil {
			return err
		}
		return p.book.Release(ctx, key)
	}
	over, err := p.charge(ctx, key, hold, ledger.Bill{Amount: hold, Uncertain: true, Provider: p.d.Provider, Model: p.h.sent[key]})
	if err != nil {
		return err
	}
	return p.append("budget_settled", map[string]any{"key": key, "money": hold.Money, "tokens": hold.Tokens, "uncertain": true, "overdrawn": over}, false)
}

// settle pays for an answer. What was billed beyond the hold ends the thread.
func (p *purse) settle(ctx context.Context, key string, a *answer, hold ledger.Amount) error {
	due := a.due()
	if !a.known {
		due = ledger.Amount{Money: max(due.Money, hold.Money), Tokens: max(due.Tokens, hold.Tokens)} // nobody knows: the most that it can be
	}
	over, err := p.charge(context.WithoutCancel(ctx), key, hold, ledger.Bill{Amount: due, Usage: a.usage, Provider: p.d.Provider, Model: p.h.sent[key]})
	if err != nil {
		return err
	}
	err = p.append("budget_settled", map[string]any{"key": key, "money": due.Money, "tokens": due.Tokens, "uncertain": false, "overdrawn": over}, false)
	if err == nil && (over || a.unlikely != nil) {
		err = &stop{reason: "limit", detail: "overdrawn: the provider billed more than a call can cost", used: int64(due.Money), most: int64(hold.Money)}
	}
	return err
}

// charge settles a key. A hold is not synced, so a power cut may take it although the request
// was sent: then it is made again. What was spent is spent, whether there is room for it or not.
func (p *purse) charge(ctx context.Context, key string, hold ledger.Amount, b ledger.Bill) (over bool, err error) {
	over, err = p.book.Settle(ctx, key, b)
	if !fault.Is(err, fault.NotFound) {
		return over, err
	}
	err = p.book.Hold(ctx, p.d.ID, key, hold, p.epoch)
	var full *ledger.Exceeded
	if errors.As(err, &full) {
		b.Time = p.now()
		_, err = ledger.Rebuild(ctx, p.o.Ledger, ledger.Options{Boot: p.o.Boot, Now: p.o.Now}, nil,
			[]ledger.Entry{{Node: p.d.ID, Key: key, Epoch: p.epoch, Held: hold, Bill: &b}})
	}
	if err != nil {
		return false, err
	}
	return p.book.Settle(ctx, key, b)
}

// compareLedger looks for bills of the thread that its journal does not know: that one lost its
// end then, and would do again what was done. Where a person accepted that, they are taken over.
func (p *purse) compareLedger(ctx context.Context) error {
	return p.book.Bills(ctx, ledger.Filter{Node: p.d.ID}, func(l ledger.Line) error {
		if _, known := p.h.sent[l.Key]; known || l.Thread != p.d.ID {
			return nil
		}
		if !p.accept && !p.h.accepted {
			return fault.New(fault.Integrity, "the journal of thread %s ends in turn %d and lacks the call %s, which was paid", p.d.ID, p.h.turn, l.Key).
				Advise("rye thread log %s shows its records; to resume without the rest, a person passes --accept-damage", p.d.ID)
		}
		p.lost = append(p.lost, l)
		return nil
	})
}

// takeOverLost records the bills that the journal lost.
func (p *purse) takeOverLost() error {
	for _, l := range p.lost {
		err := p.append("budget_settled", map[string]any{"key": l.Key, "money": l.Money, "tokens": l.Tokens, "uncertain": l.Uncertain}, false)
		if err != nil {
			return err
		}
		p.h.sent[l.Key] = l.Model
	}
	return nil
}

// payUnpaid ends what earlier processes held: what was never sent is owed to nobody, an answer
// is paid, and what was sent and not answered is paid whole.
func (p *purse) payUnpaid(ctx context.Context) error {
	if err := p.takeOverLost(); err != nil {
		return err
	}
	var over error
	for _, key := range slices.Sorted(maps.Keys(p.h.held)) {
		hold := p.h.held[key]
		var err error
		if a := p.h.unsettled[key]; a != nil {
			err = p.settle(ctx, key, a, hold)
		} else {
			_, sent := p.h.sent[key]
			err = p.bill(ctx, key, hold, !sent)
		}
		var s *stop
		if errors.As(err, &s) && s.reason == "limit" { // the others are paid, too
			over, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	// What only the ledger knows was held before its record, or given back after it.
	ended, err := p.book.Abandon(ctx, p.d.ID, p.epoch, func(ledger.Hold) (ledger.Bill, bool) { return ledger.Bill{}, false })
	if err != nil {
		return err
	}
	for _, hold := range ended {
		if p.h.released[hold.Key] {
			continue
		}
		if err := p.append("budget_released", map[string]any{"key": hold.Key}, false); err != nil {
			return err
		}
	}
	return over
}

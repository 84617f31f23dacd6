package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// Hold is the amount held for one call.
type Hold struct {
	Key   string // 1 to 300 bytes: <thread>/<step>/<attempt>
	Node  string
	Epoch int64
	Amount
	Time time.Time // UTC, of the call of Ledger.Hold; whole microseconds
}

// Bill is the cost of a call.
type Bill struct {
	Amount         // ignored when the cost is uncertain: then it is the held amount
	Uncertain bool // it is unknown whether the provider bills the call, or how much

	// For reports. The ledger does not add the tokens of Usage to Amount.
	Provider, Model string // at most 200 bytes each
	Usage           rye.Usage
	Time            time.Time // of the outcome; zero means now
}

// Hold holds an amount for the call that key names. The node and every node above it must have
// room: spent, held and the new amount together are at most the cap, in money and in tokens.
// Otherwise the error is fault.Limit and has an *Exceeded in its chain.
//
// Repeating a hold changes nothing. These are fault.Conflict: another amount or node under a held
// key; any hold under a settled key; an epoch below the node's; a node that has ended. A higher
// epoch becomes the node's.
//
// A hold is not synced. A power cut may lose it, and Doubt reports that this may have happened. A
// call whose hold is lost is in its journal.
func (l *Ledger) Hold(ctx context.Context, node, key string, a Amount, epoch int64) error {
	err := errors.Join(word("key", key, maxKey), a.valid(0))
	if err == nil && epoch < 0 {
		err = fault.New(fault.Usage, "epoch %d, want 0 or more", epoch)
	}
	if err == nil {
		now := l.o.Now().UnixMicro()
		err = l.change(ctx, quick, func(t *tx) error { return t.hold(node, key, a, epoch, now) })
	}
	if err != nil {
		return fault.Wrap(err, "hold %v and %d tokens for %s", a.Money, a.Tokens, node)
	}
	return nil
}

func (t *tx) hold(node, key string, a Amount, epoch, now int64) error {
	var p standing
	var of, money, tokens sql.NullInt64
	var billed sql.NullString
	err := t.row(`SELECT c.n, c.depth, c.epoch, c.kind, c.closed, h.node, h.money, h.tokens, b.key
		FROM node c LEFT JOIN hold h ON h.key = ?2 LEFT JOIN bill b ON b.key = ?2 WHERE c.id = ?1`,
		[]any{node, key}, &p.n, &p.depth, &p.epoch, &p.kind, &p.closed, &of, &money, &tokens, &billed)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return unknown(node)
	case err != nil:
		return err
	case epoch < p.epoch:
		return fault.New(fault.Conflict, "epoch %d has passed, %s is in epoch %d: another process runs it now", epoch, node, p.epoch)
	case billed.Valid:
		return fault.New(fault.Conflict, "key %s is settled", key)
	case of.Valid && (of.Int64 != p.n || money.Int64 != int64(a.Money) || tokens.Int64 != a.Tokens):
		return fault.New(fault.Conflict, "key %s holds another amount: %v and %d tokens", key, rye.Micros(money.Int64), tokens.Int64)
	case p.closed:
		return fault.New(fault.Conflict, "%s %s has ended", p.kind, node)
	}
	if epoch > p.epoch {
		if _, err := t.exec(`UPDATE node SET epoch = ?2 WHERE n = ?1`, p.n, epoch); err != nil {
			return err
		}
	}
	if of.Valid {
		_, err := t.exec(`UPDATE hold SET epoch = ?2 WHERE key = ?1`, key, epoch)
		return err
	}
	return t.fit(p, key, a, epoch, now)
}

// fits adds a hold to those nodes, from one node upwards, that have room for it.
const fits = `UPDATE node SET held_money = held_money + ?2, held_tokens = held_tokens + ?3
	WHERE n IN (SELECT ancestor FROM above WHERE node = ?1)
	AND (cap_money  < 0 OR spent_money  + held_money  + ?2 <= cap_money)
	AND (cap_tokens < 0 OR spent_tokens + held_tokens + ?3 <= cap_tokens)`

// fit adds the hold if every node has room. If one has none, its error rolls the others back.
func (t *tx) fit(p standing, key string, a Amount, epoch, now int64) error {
	if _, err := t.exec(`SAVEPOINT fit`); err != nil { // the commit releases it
		return err
	}
	n, err := t.exec(fits, p.n, int64(a.Money), a.Tokens)
	if err != nil {
		return err
	}
	if n != p.depth+1 {
		if _, err := t.exec(`ROLLBACK TO fit`); err != nil {
			return err
		}
		return t.exceeded(p.n, a)
	}
	_, err = t.exec(`INSERT INTO hold (key, node, epoch, money, tokens, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, key, p.n, epoch, int64(a.Money), a.Tokens, now)
	return err
}

// exceeded returns the error for the nearest node, from n upwards, that has no room for a hold.
func (t *tx) exceeded(n int64, a Amount) error {
	var e Exceeded
	var m, k struct{ limit, spent, held int64 }
	err := t.row(`SELECT c.id, c.kind, c.cap_money, c.spent_money, c.held_money, c.cap_tokens, c.spent_tokens, c.held_tokens
		FROM above a JOIN node c ON c.n = a.ancestor WHERE a.node = ?1
		AND NOT ((cap_money < 0 OR spent_money + held_money + ?2 <= cap_money) AND (cap_tokens < 0 OR spent_tokens + held_tokens + ?3 <= cap_tokens))
		ORDER BY c.depth DESC LIMIT 1`, []any{n, int64(a.Money), a.Tokens},
		&e.Node, &e.Kind, &m.limit, &m.spent, &m.held, &k.limit, &k.spent, &k.held)
	if err != nil {
		return err
	}
	e.What, e.Cap, e.Spent, e.Held, e.Asked = "tokens", k.limit, k.spent, k.held, a.Tokens
	if m.limit >= 0 && m.spent+m.held+int64(a.Money) > m.limit {
		e.What, e.Cap, e.Spent, e.Held, e.Asked = "money", m.limit, m.spent, m.held, int64(a.Money)
	}
	return fault.New(fault.Limit, "%w", &e).Advise("raise the limit of this %s, or wait until its open calls are paid", e.Kind)
}

// Release frees the amount held under a key. It does nothing for a key that is not held, because
// the hold was released before or lost in a power cut. A settled key is fault.Conflict. A released
// key can be held again. A power cut may undo a release; then the amount stays held.
func (l *Ledger) Release(ctx context.Context, key string) error {
	err := l.change(ctx, quick, func(t *tx) error { return t.release(key) })
	if err != nil {
		return fault.Wrap(err, "release %s", key)
	}
	return nil
}

func (t *tx) release(key string) error {
	h, err := t.open(key)
	if errors.Is(err, sql.ErrNoRows) {
		_, _, err := t.billed(key)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = fault.New(fault.Conflict, "it is settled")
		}
		return err
	}
	if err != nil {
		return err
	}
	return t.take(h)
}

// Settle replaces the amount held under a key by the cost of the call. The cost may be higher; then
// overdrawn is true, and the node and all nodes above it are Overdrawn. The bill survives a power
// cut once Settle has returned. Repeating a bill changes nothing; another amount, or another value
// of Uncertain, is fault.Conflict. A key that is not held is fault.NotFound.
func (l *Ledger) Settle(ctx context.Context, key string, b Bill) (overdrawn bool, err error) {
	if err = b.valid(); err == nil {
		err = l.change(ctx, durable, func(t *tx) error {
			overdrawn, err = t.settle(key, b, l.o.Now())
			return err
		})
	}
	if err != nil {
		return false, fault.Wrap(err, "settle %s", key)
	}
	return overdrawn, nil
}

func (t *tx) settle(key string, b Bill, now time.Time) (overdrawn bool, err error) {
	h, err := t.open(key)
	if errors.Is(err, sql.ErrNoRows) {
		return t.settled(key, b)
	}
	if err == nil {
		err = t.take(h)
	}
	if err != nil {
		return false, err
	}
	return t.bill(h, b, now)
}

// settled compares a bill with the bill that the key already has.
func (t *tx) settled(key string, b Bill) (overdrawn bool, err error) {
	was, held, err := t.billed(key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, fault.New(fault.NotFound, "it holds nothing")
	case err != nil:
		return false, err
	case was.Uncertain != b.Uncertain, !b.Uncertain && was.Amount != b.Amount:
		return false, fault.New(fault.Conflict, "it is settled with %v and %d tokens (uncertain: %t)", was.Money, was.Tokens, was.Uncertain)
	}
	return was.Amount.beyond(held) != Amount{}, nil
}

// held is a row of hold.
type held struct {
	key           string
	node, epoch   int64
	money, tokens int64
}

// open reads the hold under a key; sql.ErrNoRows when there is none.
func (t *tx) open(key string) (h held, err error) {
	h.key = key
	err = t.row(`SELECT node, epoch, money, tokens FROM hold WHERE key = ?1`, []any{key}, &h.node, &h.epoch, &h.money, &h.tokens)
	return h, err
}

func (t *tx) billed(key string) (b Bill, held Amount, err error) {
	err = t.row(`SELECT money, tokens, uncertain, held_money, held_tokens FROM bill WHERE key = ?1`, []any{key},
		&b.Money, &b.Tokens, &b.Uncertain, &held.Money, &held.Tokens)
	return b, held, err
}

// take ends a hold.
func (t *tx) take(h held) error {
	if _, err := t.exec(`DELETE FROM hold WHERE key = ?1`, h.key); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE node SET held_money = held_money - ?2, held_tokens = held_tokens - ?3
		WHERE n IN (SELECT ancestor FROM above WHERE node = ?1)`, h.node, h.money, h.tokens)
	return err
}

// bill inserts the bill of a hold that take has ended, and adds it to the sums.
func (t *tx) bill(h held, b Bill, now time.Time) (overdrawn bool, err error) {
	was := Amount{rye.Micros(h.money), h.tokens}
	var uncertain Amount
	if b.Uncertain {
		b.Amount, uncertain = was, was
	}
	if err := t.insert(h, b, now); err != nil {
		return false, err
	}
	over := b.Amount.beyond(was)
	_, err = t.exec(`UPDATE node SET spent_money = spent_money + ?2, spent_tokens = spent_tokens + ?3,
		uncertain_money = uncertain_money + ?4, uncertain_tokens = uncertain_tokens + ?5, over_money = over_money + ?6, over_tokens = over_tokens + ?7
		WHERE n IN (SELECT ancestor FROM above WHERE node = ?1)`,
		h.node, int64(b.Money), b.Tokens, int64(uncertain.Money), uncertain.Tokens, int64(over.Money), over.Tokens)
	return over != Amount{}, err
}

func (t *tx) insert(h held, b Bill, now time.Time) error {
	if b.Time.IsZero() {
		b.Time = now
	}
	u := b.Usage
	_, err := t.exec(`INSERT INTO bill (key, node, epoch, uncertain, money, tokens, held_money, held_tokens, provider, model,
		input, cache_read, cache_write, cache_write_long, output, reasoning, time)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`,
		h.key, h.node, h.epoch, b.Uncertain, int64(b.Money), b.Tokens, h.money, h.tokens, b.Provider, b.Model,
		u.Input, u.CacheRead, u.CacheWrite, u.CacheLong, u.Output, u.Reasoning, b.Time.UnixMicro())
	return err
}

// beyond returns by how much a exceeds was, for each member separately.
func (a Amount) beyond(was Amount) Amount {
	return Amount{max(0, a.Money-was.Money), max(0, a.Tokens-was.Tokens)}
}

func (b Bill) valid() error {
	if err := b.Amount.valid(0); err != nil {
		return err
	}
	for _, s := range []string{b.Provider, b.Model} {
		if s != "" {
			if err := word("provider or model", s, maxID); err != nil {
				return err
			}
		}
	}
	u := b.Usage
	for _, n := range []int64{u.Input, u.CacheRead, u.CacheWrite, u.CacheLong, u.Output, u.Reasoning} {
		if n < 0 || n > Most {
			return fault.New(fault.Usage, "%d tokens of usage, want 0 to %d", n, int64(Most))
		}
	}
	return nil
}

// Holds returns the holds of a node, without the nodes below it, sorted by key.
func (l *Ledger) Holds(ctx context.Context, node string) (holds []Hold, err error) {
	err = l.read(ctx, func(r reader) error {
		return r.rows(`SELECT h.key, c.id, h.epoch, h.money, h.tokens, h.time FROM hold h JOIN node c ON c.n = h.node WHERE c.id = ?1 ORDER BY h.key`,
			[]any{node}, func(scan func(...any) error) error {
				var h Hold
				var at int64
				err := scan(&h.Key, &h.Node, &h.Epoch, &h.Money, &h.Tokens, &at)
				h.Time = time.UnixMicro(at).UTC()
				holds = append(holds, h)
				return err
			})
	})
	if err != nil {
		return nil, fault.Wrap(err, "read the holds of %s", node)
	}
	return holds, nil
}

// Abandon ends the holds of a node's earlier processes. It sets the new epoch first, so that no
// process can hold in an older one. Then it calls decide for each hold of an older epoch, outside
// of any transaction. If the hold was spent, it is settled with the bill, otherwise released.
// Without decide each hold counts as spent and uncertain. A hold that was settled or released
// meanwhile stays so. Abandon returns the holds that it ended, and can be called again after a
// crash.
func (l *Ledger) Abandon(ctx context.Context, node string, epoch int64, decide func(Hold) (b Bill, spent bool)) ([]Hold, error) {
	if err := l.Epoch(ctx, node, epoch); err != nil {
		return nil, err
	}
	holds, err := l.Holds(ctx, node)
	if err != nil {
		return nil, err
	}
	if decide == nil {
		decide = func(Hold) (Bill, bool) { return Bill{Uncertain: true}, true }
	}
	bills := map[string]*Bill{}
	for _, h := range holds {
		if h.Epoch >= epoch {
			continue
		}
		bills[h.Key] = nil
		if b, spent := decide(h); spent {
			if err := b.valid(); err != nil {
				return nil, fault.Wrap(err, "settle %s", h.Key)
			}
			bills[h.Key] = &b
		}
	}
	var ended []Hold
	err = l.change(ctx, durable, func(t *tx) error {
		ended, err = t.abandon(holds, bills, epoch, l.o.Now())
		return err
	})
	if err != nil {
		return nil, fault.Wrap(err, "end the holds of an earlier process of %s", node)
	}
	return ended, nil
}

func (t *tx) abandon(holds []Hold, bills map[string]*Bill, epoch int64, now time.Time) (ended []Hold, err error) {
	for _, was := range holds {
		b, asked := bills[was.Key]
		if !asked {
			continue
		}
		h, err := t.open(was.Key)
		if errors.Is(err, sql.ErrNoRows) || err == nil && h.epoch >= epoch {
			continue
		}
		if err == nil {
			err = t.take(h)
		}
		if err == nil && b != nil {
			_, err = t.bill(h, *b, now)
		}
		if err != nil {
			return nil, err
		}
		ended = append(ended, was)
	}
	return ended, nil
}

package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// Filter chooses bills. Its zero value chooses all of them.
type Filter struct {
	Node            string    // this node and all below it
	Since, Until    time.Time // from Since on, and before Until
	Provider, Model string
}

// Line is one settled bill.
type Line struct {
	Key, Thread string
	Epoch       int64
	Held        Amount
	Bill
}

// Sum is the sum of the bills that share these names. A name that was not asked for is "".
type Sum struct {
	Month, Project, Thread, Provider, Model, Day string // Day: 2026-11-22, UTC, of the call

	Calls     int64
	Spent     Amount // settled and uncertain
	Uncertain Amount // of Spent
	Over      Amount // of Spent: the part of bills above their holds
	Usage     rye.Usage
}

// groups has the names that Spend can group by, and the query for each. A bill has at most one
// month and one project above it.
var groups = map[string]string{
	"month":    `(SELECT m.id FROM above x JOIN node m ON m.n = x.ancestor AND m.kind = 'month' WHERE x.node = b.node)`,
	"project":  `(SELECT m.id FROM above x JOIN node m ON m.n = x.ancestor AND m.kind = 'project' WHERE x.node = b.node)`,
	"thread":   `t.id`,
	"provider": `b.provider`,
	"model":    `b.model`,
	"day":      `strftime('%Y-%m-%d', b.time / 1000000, 'unixepoch')`,
}

// groupOrder is the order in which Spend sorts, which is also the order of the members of Sum.
var groupOrder = []string{"month", "project", "thread", "provider", "model", "day"}

const chosen = ` FROM bill b JOIN node t ON t.n = b.node
	WHERE (?1 = '' OR b.node IN (SELECT a.node FROM above a JOIN node top ON top.n = a.ancestor WHERE top.id = ?1))
	AND b.time >= ?2 AND b.time < ?3 AND (?4 = '' OR b.provider = ?4) AND (?5 = '' OR b.model = ?5) `

func (f Filter) args() []any {
	since, until := int64(-1<<62), int64(1<<62)
	if !f.Since.IsZero() {
		since = f.Since.UnixMicro()
	}
	if !f.Until.IsZero() {
		until = f.Until.UnixMicro()
	}
	return []any{f.Node, since, until, f.Provider, f.Model}
}

// Spend adds up bills by the names in by: month, project, thread, provider, model, day. Without
// names it returns one sum of all bills. The result is sorted by names and has no sums of zero
// bills.
func (l *Ledger) Spend(ctx context.Context, f Filter, by ...string) (all []Sum, err error) {
	names := make([]string, len(groupOrder))
	for i, g := range groupOrder {
		names[i] = `''`
		if slices.Contains(by, g) {
			names[i] = `coalesce(` + groups[g] + `, '')`
		}
	}
	for _, g := range by {
		if groups[g] == "" {
			return nil, fault.New(fault.Usage, "add up spending by %q: want month, project, thread, provider, model or day", g)
		}
	}
	query := `SELECT ` + strings.Join(names, ", ") + `, count(*), sum(b.money), sum(b.tokens), sum(b.money * b.uncertain), sum(b.tokens * b.uncertain),
		sum(max(0, b.money - b.held_money)), sum(max(0, b.tokens - b.held_tokens)), sum(input), sum(cache_read), sum(cache_write), sum(cache_write_long), sum(output), sum(reasoning)` +
		chosen + `GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`
	err = l.read(ctx, func(r reader) error {
		return r.rows(query, f.args(), func(scan func(...any) error) error {
			var s Sum
			u := &s.Usage
			err := scan(&s.Month, &s.Project, &s.Thread, &s.Provider, &s.Model, &s.Day, &s.Calls, &s.Spent.Money, &s.Spent.Tokens,
				&s.Uncertain.Money, &s.Uncertain.Tokens, &s.Over.Money, &s.Over.Tokens,
				&u.Input, &u.CacheRead, &u.CacheWrite, &u.CacheLong, &u.Output, &u.Reasoning)
			all = append(all, s)
			return err
		})
	})
	if err != nil {
		return nil, fault.Wrap(err, "add up the spending")
	}
	return all, nil
}

// Bills visits bills in the order of their times. An error of visit stops it and is returned. visit
// must not change the ledger.
func (l *Ledger) Bills(ctx context.Context, f Filter, visit func(Line) error) error {
	err := l.read(ctx, func(r reader) error {
		return r.rows(`SELECT b.key, t.id, b.epoch, b.held_money, b.held_tokens, b.money, b.tokens, b.uncertain, b.provider, b.model,
			b.input, b.cache_read, b.cache_write, b.cache_write_long, b.output, b.reasoning, b.time`+chosen+`ORDER BY b.time, b.key`,
			f.args(), func(scan func(...any) error) error {
				var n Line
				var at int64
				u := &n.Usage
				if err := scan(&n.Key, &n.Thread, &n.Epoch, &n.Held.Money, &n.Held.Tokens, &n.Money, &n.Tokens, &n.Uncertain, &n.Provider, &n.Model,
					&u.Input, &u.CacheRead, &u.CacheWrite, &u.CacheLong, &u.Output, &u.Reasoning, &at); err != nil {
					return err
				}
				n.Time = time.UnixMicro(at).UTC()
				return visit(n)
			})
	})
	if err != nil {
		return fault.Wrap(err, "read the bills")
	}
	return nil
}

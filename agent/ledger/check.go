package ledger

import (
	"context"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Check reads the whole ledger and checks it. The file must be intact and its tables must be the
// tables of this version. Every node must be below its parent, and its sums must follow from the
// holds and bills. A fault is fault.Integrity; Rebuild repairs it. The time grows with the file.
// Other processes do not wait.
func (l *Ledger) Check(ctx context.Context) error {
	err := l.read(ctx, func(r reader) error { return check(r.rows) })
	if err != nil {
		return fault.Wrap(err, "check the ledger %s", l.path)
	}
	return nil
}

// asker runs a query in a reader or a transaction.
type asker func(query string, args []any, visit func(scan func(...any) error) error) error

// laws are queries that return no rows in a sound ledger. Each row describes a fault.
var laws = []string{
	`SELECT 'the file: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT 3`,
	`SELECT 'a row of ' || "table" || ' refers to nothing' FROM pragma_foreign_key_check LIMIT 3`,
	`SELECT 'node ' || c.id || ' is not one level below its parent' FROM node c JOIN node p ON p.n = c.parent WHERE c.depth <> p.depth + 1 LIMIT 3`,
	// The ancestors in the table must equal the ancestors that follow from the parents.
	`WITH RECURSIVE up(node, ancestor) AS (SELECT n, n FROM node UNION SELECT up.node, c.parent FROM up JOIN node c ON c.n = up.ancestor WHERE c.parent IS NOT NULL)
	SELECT 'the ancestors of node number ' || node || ' do not match its parents' FROM (
		SELECT * FROM (SELECT node, ancestor FROM up EXCEPT SELECT node, ancestor FROM above)
		UNION ALL SELECT * FROM (SELECT node, ancestor FROM above EXCEPT SELECT node, ancestor FROM up)) LIMIT 3`,
	`SELECT 'key ' || h.key || ' is both held and settled' FROM hold h JOIN bill b ON b.key = h.key LIMIT 3`,
	sums + ` SELECT 'node ' || c.id || ' records held ' || c.held_money || '/' || c.held_tokens || ', spent ' || c.spent_money || '/' || c.spent_tokens ||
		', its entries add up to held ' || coalesce(t.held_money, 0) || '/' || coalesce(t.held_tokens, 0) || ', spent ' || coalesce(t.spent_money, 0) || '/' || coalesce(t.spent_tokens, 0)
	FROM node c LEFT JOIN total t ON t.n = c.n
	WHERE (c.held_money, c.held_tokens, c.spent_money, c.spent_tokens, c.uncertain_money, c.uncertain_tokens, c.over_money, c.over_tokens) IS NOT
		(coalesce(t.held_money, 0), coalesce(t.held_tokens, 0), coalesce(t.spent_money, 0), coalesce(t.spent_tokens, 0),
		coalesce(t.uncertain_money, 0), coalesce(t.uncertain_tokens, 0), coalesce(t.over_money, 0), coalesce(t.over_tokens, 0)) LIMIT 3`,
}

// check applies the laws one after another and stops at the first that is broken: the next ones may
// query missing tables, or report the same fault in other words.
func check(ask asker) error {
	if err := checkSchema(ask); err != nil {
		return err
	}
	for _, law := range laws {
		if err := checkOne(ask, law); err != nil {
			return err
		}
	}
	return nil
}

func checkOne(ask asker, law string) error {
	var wrong []string
	err := ask(law, nil, func(scan func(...any) error) error {
		var s string
		err := scan(&s)
		wrong = append(wrong, s)
		return err
	})
	if err == nil && wrong != nil {
		err = fault.New(fault.Integrity, "%s", strings.Join(wrong, "; ")).Advise(rebuild)
	}
	return err
}

// checkSchema refuses a file whose tables, views, triggers or indexes differ from the schema of
// rye.
func checkSchema(ask asker) error {
	want := map[string]bool{}
	for _, s := range strings.Split(schema, ";") {
		if s = strings.TrimSpace(s); s != "" {
			want[s] = true
		}
	}
	err := ask(`SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL`, nil, func(scan func(...any) error) error {
		var name, text string
		if err := scan(&name, &text); err != nil {
			return err
		}
		if !want[text] {
			return fault.New(fault.Integrity, "%q in the file differs from the schema of this version", name).Advise(rebuild)
		}
		delete(want, text)
		return nil
	})
	if err == nil && len(want) > 0 {
		err = fault.New(fault.Integrity, "%d tables are missing", len(want)).Advise(rebuild)
	}
	return err
}

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// Entry is what a journal says about one call.
type Entry struct {
	Node, Key string
	Epoch     int64
	Held      Amount
	Bill      *Bill // nil while the call is not settled
}

// Rebuilt says what Rebuild did.
type Rebuilt struct {
	Nodes, Holds, Bills int64 // that the ledger has now
	// Kept are the keys that only the ledger knew, and that no entry named: of threads whose
	// journal was removed, and of calls held this moment. They stay as they were.
	Kept int64
	// Aside is where a damaged file was put; "" where there was none.
	Aside string
}

// Rebuild makes the ledger at path say what the journals say, and records that it was
// verified. Nodes that are missing are made, and the caps given here are theirs; a member of
// entries is held or settled as it says, whatever the ledger said, but for one: what the
// ledger has settled is not held again by a journal that ends before that. Then every sum is
// made anew.
//
// A file that is sound, as Check has it but for the sums, is changed in place in one
// transaction; others may use it meanwhile. One that is damaged is put aside under another
// name, and a new one is put in its place; who has the old one open finds the new one at its
// next turn. A file of a newer version is refused (fault.Stale). Nothing changes on an error.
func Rebuild(ctx context.Context, path string, o Options, nodes []Node, entries []Entry) (*Rebuilt, error) {
	r, err := rebuildAt(ctx, path, o, nodes, entries)
	if err != nil {
		return nil, fault.Wrap(err, "rebuild the ledger %s", path)
	}
	return r, nil
}

func rebuildAt(ctx context.Context, path string, o Options, nodes []Node, entries []Entry) (*Rebuilt, error) {
	o.Existing = false
	l, err := prepare(path, o)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := l.queue.lock(ctx); err != nil {
		return nil, err
	}
	defer l.queue.unlock()
	fill := func(d *disk) (r *Rebuilt, err error) {
		err = d.transact(func(t *tx) error {
			r, err = t.refill(o.Boot, nodes, entries)
			return err
		})
		return r, err
	}
	d, err := soundDisk(ctx, path)
	if fault.Is(err, fault.Integrity) {
		return replace(ctx, path, fill)
	}
	if err == errBlank {
		d, err = create(ctx, path, true)
	}
	if err != nil {
		return nil, err
	}
	defer d.close()
	r, err := fill(d)
	if err != nil {
		return nil, err
	}
	return r, syncLog(path)
}

// soundDisk opens a file in which sums may be wrong, and nothing else.
func soundDisk(ctx context.Context, path string) (*disk, error) {
	d, err := openDisk(ctx, path)
	if err != nil {
		return nil, err
	}
	t := &tx{d}
	for _, law := range laws[:len(laws)-1] {
		if err = checkOne(t.rows, law); err != nil {
			break
		}
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// replace fills a new file, puts the damaged one aside, and the new one in its place. When it
// dies in between, the damaged one is still there, or a ledger that is New.
func replace(ctx context.Context, path string, fill func(*disk) (*Rebuilt, error)) (*Rebuilt, error) {
	fresh := path + ".new"
	for _, end := range []string{"", "-journal", "-wal", "-shm"} {
		os.Remove(fresh + end) // of one that died
	}
	d, err := create(ctx, fresh, false)
	if err != nil {
		return nil, err
	}
	r, err := fill(d)
	if cerr := d.close(); err == nil {
		err = cerr
	}
	if err == nil {
		r.Aside, err = aside(path)
	}
	if err == nil {
		err = place.Replace(fresh, path)
	}
	if err != nil {
		os.Remove(fresh)
		return nil, err
	}
	if d, err = connect(ctx, path); err != nil {
		return nil, err
	}
	defer d.close()
	if _, err := d.writer.ExecContext(ctx, `PRAGMA journal_mode = WAL`); err != nil {
		return nil, explain(err)
	}
	return r, place.Sync(filepath.Dir(path))
}

// aside gives a damaged file, and its log, the first name that is free. The file keeps its
// old name besides, so that nobody finds none there; without its log it is no less damaged.
func aside(path string) (to string, err error) {
	for n := 1; ; n++ {
		to = path + ".bad-" + strconv.Itoa(n)
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	err = os.Link(path, to)
	if err != nil { // this file system has no second names
		err = os.Rename(path, to)
	}
	// The new file must not meet the old one's log: SQLite would take it for its own.
	for _, end := range []string{"-shm", "-wal"} {
		if rerr := os.Rename(path+end, to+end); !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	if err != nil {
		return "", fault.New(fault.Failed, "put the damaged file aside: %w", err)
	}
	return to, nil
}

// refill is one transaction that takes over nodes and entries.
func (t *tx) refill(boot string, nodes []Node, entries []Entry) (*Rebuilt, error) {
	for _, n := range nodes {
		if err := t.reput(n); err != nil {
			return nil, fault.Wrap(err, "node %s", n.ID)
		}
	}
	named := map[string]bool{}
	for _, e := range entries {
		if named[e.Key] {
			return nil, fault.New(fault.Usage, "key %s has two entries", e.Key)
		}
		named[e.Key] = true
		if err := t.reenter(e); err != nil {
			return nil, fault.Wrap(err, "key %s", e.Key)
		}
	}
	if err := t.resum(); err != nil {
		return nil, err
	}
	if _, err := t.exec(`UPDATE meta SET boot = ?1`, boot); err != nil {
		return nil, err
	}
	return t.count(int64(len(entries)))
}

// reput makes a node, or gives it the cap, the younger epoch, and its end.
func (t *tx) reput(n Node) error {
	if err := t.put(n, true); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE node SET cap_money = ?2, cap_tokens = ?3, epoch = max(epoch, ?4), closed = ?5 WHERE id = ?1`,
		n.ID, int64(n.Cap.Money), n.Cap.Tokens, n.Epoch, n.Closed)
	return err
}

// reenter writes the row of one entry. Sums are made later.
func (t *tx) reenter(e Entry) error {
	if err := errors.Join(word("key", e.Key, maxKey), e.Held.valid(0)); err != nil {
		return err
	}
	p, err := t.node(e.Node)
	if err != nil {
		return err
	}
	if e.Bill == nil {
		if _, _, err := t.billed(e.Key); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	} else if err := e.Bill.valid(); err != nil {
		return err
	}
	for _, s := range []string{`DELETE FROM hold WHERE key = ?1`, `DELETE FROM bill WHERE key = ?1`} {
		if _, err := t.exec(s, e.Key); err != nil {
			return err
		}
	}
	if e.Bill == nil {
		_, err := t.exec(`INSERT INTO hold (key, node, epoch, money, tokens, time) VALUES (?1, ?2, ?3, ?4, ?5, 0)`,
			e.Key, p.n, e.Epoch, int64(e.Held.Money), e.Held.Tokens)
		return err
	}
	b := *e.Bill
	if b.Uncertain {
		b.Amount = e.Held
	}
	return t.insert(held{key: e.Key, node: p.n, epoch: e.Epoch, money: int64(e.Held.Money), tokens: e.Held.Tokens}, b, b.Time)
}

// resum makes every sum anew.
func (t *tx) resum() error {
	const none = `UPDATE node SET held_money = 0, held_tokens = 0, uncertain_money = 0, uncertain_tokens = 0, over_money = 0, over_tokens = 0, spent_money = 0, spent_tokens = 0`
	if _, err := t.exec(none); err != nil {
		return err
	}
	_, err := t.exec(sums + ` UPDATE node SET held_money = t.held_money, held_tokens = t.held_tokens, spent_money = t.spent_money, spent_tokens = t.spent_tokens,
		uncertain_money = t.uncertain_money, uncertain_tokens = t.uncertain_tokens, over_money = t.over_money, over_tokens = t.over_tokens
		FROM total t WHERE t.n = node.n`)
	return err
}

func (t *tx) count(named int64) (*Rebuilt, error) {
	var r Rebuilt
	err := t.row(`SELECT (SELECT count(*) FROM node), (SELECT count(*) FROM hold), (SELECT count(*) FROM bill)`, nil, &r.Nodes, &r.Holds, &r.Bills)
	r.Kept = r.Holds + r.Bills - named
	return &r, err
}

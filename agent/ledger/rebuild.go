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

// Entry is the record of one call in a journal.
type Entry struct {
	Node, Key string
	Epoch     int64
	Held      Amount
	Bill      *Bill // nil while the call is not settled
}

// Rebuilt is the result of Rebuild.
type Rebuilt struct {
	Nodes, Holds, Bills int64 // in the ledger now
	// Kept counts the keys that only the ledger has and no entry names: calls of threads whose
	// journal was removed, and calls held at this moment. Rebuild leaves them as they were.
	Kept int64
	// Aside is the new path of the damaged file; "" when the file was sound.
	Aside string
}

// Rebuild makes the ledger at path agree with the journals, and records it as verified. It makes
// missing nodes and sets the given caps. Each entry replaces the ledger's hold or bill under its
// key, with one exception: an entry without a bill leaves a settled key alone, because the journal
// may end before the bill. Then all sums are computed anew.
//
// A file that passes Check, apart from its sums, is changed in place in one transaction; other
// processes may use it meanwhile. A damaged file is kept under another name, and a new one replaces
// it. A process that has the old file open switches to the new one with its next change. A file of
// a newer version is refused (fault.Stale). An error leaves the ledger unchanged.
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

// soundDisk opens a file that passes all laws except the last, which is about sums.
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

// replace fills a new file, keeps the damaged one under another name, and puts the new one in its
// place. After a crash in between, path has the damaged file, or no file, which makes the next
// ledger New.
func replace(ctx context.Context, path string, fill func(*disk) (*Rebuilt, error)) (*Rebuilt, error) {
	fresh := path + ".new"
	for _, end := range []string{"", "-journal", "-wal", "-shm"} {
		os.Remove(fresh + end) // left behind by a process that died
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

// aside gives a damaged file and its log the first free name. The file also keeps its old name, so
// that no process finds the path empty. Without its log the file is just as damaged.
func aside(path string) (to string, err error) {
	for n := 1; ; n++ {
		to = path + ".bad-" + strconv.Itoa(n)
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	err = os.Link(path, to)
	if err != nil { // this file system has no hard links
		err = os.Rename(path, to)
	}
	// The new file must not meet the old log: SQLite would take it for the log of the new file.
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

// refill applies nodes and entries in one transaction.
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

// reput makes a node, or updates its cap, its epoch and whether it is closed.
func (t *tx) reput(n Node) error {
	if err := t.put(n, true); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE node SET cap_money = ?2, cap_tokens = ?3, epoch = max(epoch, ?4), closed = ?5 WHERE id = ?1`,
		n.ID, int64(n.Cap.Money), n.Cap.Tokens, n.Epoch, n.Closed)
	return err
}

// reenter writes the row of one entry. resum computes the sums later.
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

// resum computes all sums anew.
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

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rye-os/rye/fault"
)

// rebuild is the advice for a damaged file.
const rebuild = "rebuild it from the journals of the threads"

// Whether a change must survive a power cut when change returns.
const (
	durable = true
	quick   = false
)

// tx is one change of the ledger.
type tx struct{ d *disk }

// change runs f in one transaction. It waits for its turn until ctx is done. Once it has its turn,
// the change is made whole or not at all, even when ctx ends.
//
// A durable change is synced after the queue is released, so that no process waits for another's
// disk. This is safe because the log is only appended to: SQLite syncs the log and the file before
// it starts the log over. SQLite's own synchronous=FULL would sync while it holds its lock.
func (l *Ledger) change(ctx context.Context, sync bool, f func(*tx) error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := l.changeNow(ctx, f)
	<-l.turn
	if err == nil && sync {
		err = syncLog(l.path)
	}
	return err
}

func (l *Ledger) changeNow(ctx context.Context, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	closed := l.disk == nil
	l.mu.Unlock()
	if closed { // Close closed the queue too
		return errClosed
	}
	if err := l.queue.lock(ctx); err != nil {
		return err
	}
	defer l.queue.unlock()
	d, err := l.current(ctx)
	if err != nil {
		return err
	}
	return d.transact(f)
}

var testOnlyBeforeCommit func()

// transact runs f between BEGIN IMMEDIATE and COMMIT. It ignores the caller's context, which would
// interrupt SQLite at an unknown point.
func (d *disk) transact(f func(*tx) error) error {
	t := &tx{d}
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := f(t)
	if err == nil {
		if testOnlyBeforeCommit != nil {
			testOnlyBeforeCommit()
		}
		_, err = t.exec(`COMMIT`)
	}
	if err != nil {
		t.exec(`ROLLBACK`) // SQLite may have rolled back already when COMMIT failed
	}
	return err
}

// current returns the file that is at path now, because Rebuild may have replaced it. The old file
// stays open until then, so that the new one cannot get the same inode.
func (l *Ledger) current(ctx context.Context) (*disk, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.disk == nil {
		return nil, errClosed
	}
	now, err := os.Lstat(l.path)
	if err == nil && os.SameFile(now, l.disk.was) {
		return l.disk, nil
	}
	if err != nil {
		return nil, fault.New(fault.Integrity, "the ledger %s is gone: %w", l.path, err).Advise(rebuild)
	}
	d, err := openDisk(ctx, l.path)
	if err != nil {
		return nil, explain(err)
	}
	old := l.disk
	l.disk = d
	go old.close() // waits for its readers
	return d, nil
}

// syncLog makes the committed changes durable. SQLite locks nothing in the log, so opening and
// closing it here drops no lock.
func syncLog(path string) error {
	f, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if err == nil {
		err = f.Sync()
		f.Close()
	}
	if err != nil {
		return fault.New(fault.Failed, "sync the ledger: %w", err)
	}
	return nil
}

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.d.made[query]; s != nil {
		return s, nil
	}
	s, err := t.d.writer.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, explain(err)
	}
	t.d.made[query] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed. It keeps the statement prepared.
func (t *tx) exec(query string, args ...any) (changed int64, err error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.Exec(args...)
	if err != nil {
		return 0, explain(err)
	}
	return r.RowsAffected()
}

// row reads one row; sql.ErrNoRows when there is none.
func (t *tx) row(query string, args []any, into ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	return explain(s.QueryRow(args...).Scan(into...))
}

// rows visits the rows of a query. visit must not use t.
func (t *tx) rows(query string, args []any, visit func(scan func(...any) error) error) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	return each(rows, err, visit)
}

// reader is one view of the ledger. It does not see changes that are made meanwhile.
type reader struct {
	ctx context.Context
	tx  *sql.Tx
}

// read runs f on a view of the ledger. It does not wait for writers, and they do not wait for it.
func (l *Ledger) read(ctx context.Context, f func(reader) error) error {
	d, err := l.current(ctx)
	if err != nil {
		return err
	}
	t, err := d.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(err)
	}
	defer t.Rollback()
	return f(reader{ctx, t})
}

func (r reader) row(query string, args []any, into ...any) error {
	return explain(r.tx.QueryRowContext(r.ctx, query, args...).Scan(into...))
}

func (r reader) rows(query string, args []any, visit func(scan func(...any) error) error) error {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	return each(rows, err, visit)
}

func each(rows *sql.Rows, err error, visit func(scan func(...any) error) error) error {
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows.Scan); err != nil {
			return explain(err)
		}
	}
	return explain(rows.Err())
}

// explain gives SQLite's errors a code, and returns other errors as they are.
func explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR: // the last: no such table, a sum that overflows
		return fault.New(fault.Integrity, "the file is damaged: %w", err).Advise(rebuild)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.New(fault.Conflict, "another program has the ledger locked: %w", err).Advise("end it; sqlite3 holds a lock as long as a transaction is open")
	case sqlite3.SQLITE_CONSTRAINT:
		return fault.New(fault.Integrity, "the change breaks a rule of the file: %w", err).Advise(rebuild)
	case sqlite3.SQLITE_INTERRUPT:
		return fault.New(fault.Interrupt, "%w", err)
	}
	return fault.New(fault.Failed, "%w", err)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

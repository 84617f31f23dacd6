package ledger

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"github.com/rye-os/rye/fault"
)

// disk is one opened file. Its writer is used under Ledger.turn only.
type disk struct {
	was    fs.FileInfo // of the file at path, to notice when another file replaces it
	db     *sql.DB     // for readers; safe for concurrent use
	writer *sql.Conn
	made   map[string]*sql.Stmt // prepared statements of writer
}

var (
	errBlank  = errors.New("it is empty")
	errClosed = fault.New(fault.Failed, "the ledger was closed")
)

// pragmas apply to each connection. NORMAL never damages the file, and a power cut loses only the
// last transactions; change syncs the durable ones. SQLite copies the log into the file at 1,000
// pages (4 MB), and shortens it when it has grown beyond 16 MB.
const pragmas = "_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)" +
	"&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=cache_size(-1024)" +
	"&_pragma=wal_autocheckpoint(1000)&_pragma=journal_size_limit(16777216)&_defensive=1&_dqs=0"

// dsn makes SQLite open an existing file, whatever characters its name has.
func dsn(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath() + "?mode=rw&" + pragmas
}

// connect opens the file at path without reading it.
func connect(ctx context.Context, path string) (*disk, error) {
	was, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	c, err := sqlite.NewConnector(dsn(path))
	if err != nil {
		return nil, err
	}
	d := &disk{was: was, db: sql.OpenDB(c), made: map[string]*sql.Stmt{}}
	d.db.SetMaxOpenConns(5)
	d.db.SetMaxIdleConns(2)
	if d.writer, err = d.db.Conn(ctx); err != nil {
		d.close()
		return nil, explain(err)
	}
	return d, nil
}

// openDisk opens the ledger at path. A missing or empty file is errBlank.
func openDisk(ctx context.Context, path string) (*disk, error) {
	d, err := connect(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errBlank
	}
	if err != nil {
		return nil, err
	}
	if err := d.check(ctx); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// check refuses a file that is no ledger of this version, or that has other tables or triggers: the
// content of a file must not decide what rye does.
func (d *disk) check(ctx context.Context) error {
	var app, user, tables int64
	for ask, into := range map[string]*int64{`PRAGMA application_id`: &app, `PRAGMA user_version`: &user, `SELECT count(*) FROM sqlite_schema`: &tables} {
		if err := d.writer.QueryRowContext(ctx, ask).Scan(into); err != nil {
			return explain(err)
		}
	}
	switch {
	case app == 0 && user == 0 && tables == 0:
		return errBlank
	case app != application:
		return fault.New(fault.Integrity, "it is another program's database (application id %d)", app).Advise("move it away; the ledger is rebuilt from the journals of the threads")
	case user > version:
		return fault.New(fault.Stale, "version %d, this rye reads %d", user, version).Advise("install a newer rye")
	case user != version:
		return fault.New(fault.Integrity, "version %d, which no rye has", user).Advise(rebuild)
	}
	return checkSchema(func(query string, args []any, visit func(scan func(...any) error) error) error {
		rows, err := d.writer.QueryContext(ctx, query, args...)
		return each(rows, err, visit)
	})
}

// close closes all connections. The last one makes SQLite copy the log into the file and remove it.
// SQLite does so only if path still names this file, and Rebuild relies on that.
func (d *disk) close() error {
	for _, s := range d.made {
		s.Close()
	}
	if d.writer != nil {
		d.writer.Close()
	}
	return d.db.Close()
}

// make makes the file, or completes one whose maker died, and opens it.
func (l *Ledger) make(ctx context.Context) error {
	if err := l.queue.lock(ctx); err != nil {
		return err
	}
	defer l.queue.unlock()
	d, err := openDisk(ctx, l.path)
	if err == errBlank {
		if d, err = create(ctx, l.path, true); err != nil {
			return err
		}
	}
	l.disk = d
	return err
}

// create makes the tables in a file at path. The caller holds the queue, or no other process knows
// path. Without wal, closing the file leaves no log beside it.
func create(ctx context.Context, path string, wal bool) (*disk, error) {
	// Do not open an existing file here: closing it would drop SQLite's locks on it.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		f.Close()
	case !errors.Is(err, fs.ErrExist):
		return nil, fault.New(fault.Failed, "make the file: %w", err)
	}
	d, err := connect(ctx, path)
	if err != nil {
		return nil, err
	}
	mode := "PRAGMA journal_mode = DELETE"
	if wal {
		mode = "PRAGMA journal_mode = WAL"
	}
	for _, s := range []string{mode, "PRAGMA synchronous = FULL", "BEGIN IMMEDIATE", schema,
		"INSERT INTO meta (one, boot) VALUES (1, '" + neverVerified + "')",
		"PRAGMA application_id = " + itoa(application), "PRAGMA user_version = " + itoa(version), "COMMIT", "PRAGMA synchronous = NORMAL"} {
		if _, err := d.writer.ExecContext(context.WithoutCancel(ctx), s); err != nil {
			d.close()
			return nil, explain(err)
		}
	}
	return d, nil
}

package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/fault"
)

func init() {
	jobs["stop in a change"] = stopJob
	jobs["hold once"] = holdOnceJob
}

// stopJob holds, settles or releases, and stops before COMMIT.
func stopJob(args []string) error {
	l, err := ledger.Open(ctx, args[0], ledger.Options{})
	if err != nil {
		return err
	}
	ledger.BeforeCommit(func() {
		fmt.Println("in it")
		time.Sleep(time.Hour) // until it is killed
	})
	switch args[1] {
	case "hold":
		return l.Hold(ctx, "a", "new", amount(20, 2), 0)
	case "settle":
		_, err = l.Settle(ctx, "k", ledger.Bill{Amount: amount(7, 1)})
		return err
	}
	return l.Release(ctx, "k")
}

func holdOnceJob(args []string) error {
	l, err := ledger.Open(ctx, args[0], ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	ready()
	return l.Hold(ctx, "a", args[1], amount(1, 1), 0)
}

// TestKilledInAChange kills a process when everything of a change is written but COMMIT:
// nothing of it is there, and nobody waits for the dead.
func TestKilledInAChange(t *testing.T) {
	for _, what := range []string{"hold", "settle", "release"} {
		t.Run(what, func(t *testing.T) {
			path := at(t)
			l := open(t, path)
			put(t, l, family(none, none, none, amount(100, 100), "a")...)
			hold(t, l, "a", "k", amount(10, 1))
			p := startJob(t, "stop in a change", path, what)
			if got := p.line(t); got != "in it" {
				t.Fatal(got)
			}
			if n := node(t, l, "a"); n.Held != amount(10, 1) {
				t.Errorf("what is not committed is seen: %+v", n)
			}
			p.Process.Kill()
			p.Wait()
			hold(t, l, "a", "k2", amount(5, 1))
			if n := node(t, l, "me"); n.Held != amount(15, 2) || n.Spent != amount(0, 0) {
				t.Errorf("after a %s that was killed: %+v", what, n)
			}
			sound(t, l)
		})
	}
}

// TestWaitIsGivenUp: who waits behind a process that stopped is let go by its context, and
// is served when that process dies.
func TestWaitIsGivenUp(t *testing.T) {
	path := at(t)
	l := open(t, path)
	put(t, l, family(none, none, none, none, "a")...)
	hold(t, l, "a", "k", amount(10, 1))
	p := startJob(t, "stop in a change", path, "hold")
	p.line(t)
	soon, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if err := l.Hold(soon, "a", "k2", amount(1, 1), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Hold behind a process that stopped: %v", err)
	}
	q := startJob(t, "hold once", path, "k3")
	q.line(t)
	q.release()
	p.Process.Kill()
	p.Wait()
	if err := q.Wait(); err != nil {
		t.Errorf("the next in the queue: %v", err)
	}
	hold(t, l, "a", "k4", amount(1, 1))
	sound(t, l)
}

func TestPlace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	open := func(path string) error {
		l, err := ledger.Open(ctx, path, ledger.Options{})
		if err == nil {
			l.Close()
		}
		return err
	}
	good := at(t)
	if err := open(good); err != nil {
		t.Fatal(err)
	}
	using, err := ledger.Open(ctx, good, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer using.Close()
	entries, err := os.ReadDir(filepath.Dir(good))
	if err != nil || len(entries) != 4 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if st, err := e.Info(); err != nil || st.Mode() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", e.Name(), st.Mode())
		}
	}
	if st, err := os.Stat(filepath.Dir(good)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v", st.Mode())
	}
	for _, c := range []struct {
		name string
		do   func(path string) error
		want fault.Code
	}{
		{"a relative path", nil, fault.Usage},
		{"a directory others may look into", func(p string) error { return os.Chmod(filepath.Dir(p), 0o750) }, fault.Auth},
		{"a file others may read", func(p string) error { return os.Chmod(p, 0o644) }, fault.Auth},
		{"a log others may read", func(p string) error { return os.WriteFile(p+"-wal", nil, 0o644) }, fault.Auth},
		{"a link for the file", func(p string) error { return relink(p) }, fault.Auth},
		{"a link for the lock", func(p string) error { return relink(p + ".lock") }, fault.Auth},
		{"a link for the log", func(p string) error { return os.Symlink(p, p+"-wal") }, fault.Auth},
		{"a link for the directory", func(p string) error { return relink(filepath.Dir(p)) }, fault.Auth},
		{"a directory for the file", func(p string) error { os.Remove(p); return os.Mkdir(p, 0o700) }, fault.Auth},
	} {
		path := at(t)
		if err := open(path); err != nil {
			t.Fatal(err)
		}
		if c.do == nil {
			path = "ledger.db"
		} else if err := c.do(path); err != nil {
			t.Fatal(err)
		}
		code(t, c.name, open(path), c.want)
	}
	_, err = ledger.Open(ctx, at(t), ledger.Options{Existing: true})
	code(t, "Open of a ledger that must exist", err, fault.NotFound)
}

// relink puts a link in the place of a file, to that file under another name.
func relink(path string) error {
	if err := os.Rename(path, path+".real"); err != nil {
		return err
	}
	return os.Symlink(path+".real", path)
}

// TestDoubt: a new file, and one of an earlier start of the machine, are told until somebody
// verified them.
func TestDoubt(t *testing.T) {
	path := at(t)
	for _, c := range []struct {
		boot   string
		verify bool
		want   ledger.Doubt
	}{
		{"b1", false, ledger.New}, {"b1", true, ledger.New}, {"b1", false, ledger.Sure},
		{"b2", false, ledger.Rebooted}, {"b2", true, ledger.Rebooted}, {"b2", false, ledger.Sure}, {"b1", false, ledger.Rebooted},
	} {
		l, err := ledger.Open(ctx, path, ledger.Options{Boot: c.boot})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Doubt(); got != c.want {
			t.Errorf("Doubt in %s = %q, want %q", c.boot, got, c.want)
		}
		if c.verify {
			if err := l.Verified(ctx); err != nil || l.Doubt() != ledger.Sure {
				t.Errorf("Verified: %v, then %q", err, l.Doubt())
			}
		}
		l.Close()
	}
}

// raw opens the file as any program could.
func raw(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// small is a closed ledger with a held, a settled and an uncertain call.
func small(t testing.TB) (path string) {
	t.Helper()
	path = at(t)
	l, err := ledger.Open(ctx, path, ledger.Options{Boot: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	put(t, l, family(none, amount(1000, -1), none, none, "a", "b")...)
	hold(t, l, "a", "a/1/1", amount(10, 1))
	hold(t, l, "a", "a/2/1", amount(20, 2))
	hold(t, l, "b", "b/1/1", amount(40, 4))
	settle(t, l, "a/1/1", ledger.Bill{Amount: amount(12, 1), Model: "m"})
	settle(t, l, "b/1/1", ledger.Bill{Uncertain: true})
	return path
}

// journal is what the journals of small's threads say.
var journal = []ledger.Entry{
	{Node: "a", Key: "a/1/1", Held: amount(10, 1), Bill: &ledger.Bill{Amount: amount(12, 1), Model: "m"}},
	{Node: "a", Key: "a/2/1", Held: amount(20, 2)},
	{Node: "b", Key: "b/1/1", Held: amount(40, 4), Bill: &ledger.Bill{Uncertain: true}},
}

// whole checks that a ledger says what small says.
func whole(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	sound(t, l)
	n := node(t, l, "2026-11")
	if n.Held != amount(20, 2) || n.Spent != amount(52, 5) || n.Uncertain != amount(40, 4) || n.Over != amount(2, 0) || n.Cap != amount(1000, -1) {
		t.Errorf("the month says %+v", n)
	}
}

func rebuild(t testing.TB, path string, entries []ledger.Entry) *ledger.Rebuilt {
	t.Helper()
	r, err := ledger.Rebuild(ctx, path, ledger.Options{Boot: "b2"}, family(none, amount(1000, -1), none, none, "a", "b"), entries)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVersions: a newer file, and another program's, are refused and not touched.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		name, do string
		want     fault.Code
	}{
		{"newer", `PRAGMA user_version = 2`, fault.Stale},
		{"another program's", `PRAGMA application_id = 7`, fault.Integrity},
		{"of no version", `PRAGMA user_version = 0`, fault.Integrity},
	} {
		path := small(t)
		raw(t, path, c.do, `PRAGMA wal_checkpoint(TRUNCATE)`)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ledger.Open(ctx, path, ledger.Options{})
		code(t, "Open of a file that is "+c.name, err, c.want)
		if fault.HintOf(err).IsZero() {
			t.Errorf("Open of a file that is %s: %v, without a word on what to do", c.name, err)
		}
		if c.want == fault.Stale {
			_, err = ledger.Rebuild(ctx, path, ledger.Options{}, nil, nil)
			code(t, "Rebuild of a newer file", err, fault.Stale)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("a file that is %s was changed: %v", c.name, err)
		}
	}
}

// TestCheckFinds what somebody did to the file, and Rebuild mends it.
func TestCheckFinds(t *testing.T) {
	for _, c := range []struct{ name, do string }{
		{"money that appeared", `UPDATE node SET spent_money = spent_money + 1 WHERE id = 'a'`},
		{"a bill that vanished", `DELETE FROM bill WHERE key = 'a/1/1'`},
		{"a hold that vanished", `DELETE FROM hold`},
		{"a hold of nobody", `PRAGMA foreign_keys = 0; UPDATE hold SET node = 99`},
		{"a node that forgot who is above", `DELETE FROM above WHERE node = 4 AND ancestor = 1`},
		{"a node with one above too many", `INSERT INTO above VALUES (4, 5)`},
		{"a key twice", `INSERT INTO hold SELECT key, node, 0, 0, 0, 0 FROM bill WHERE key = 'a/1/1'`},
		{"a trigger", `CREATE TRIGGER x AFTER INSERT ON hold BEGIN UPDATE node SET cap_money = -1; END`},
		{"a table", `CREATE TABLE x (y)`},
	} {
		path := small(t)
		raw(t, path, c.do)
		l, err := ledger.Open(ctx, path, ledger.Options{})
		if err == nil {
			err = l.Check(ctx)
			defer l.Close()
		}
		code(t, "Check after "+c.name, err, fault.Integrity)
		rebuild(t, path, journal)
		whole(t, open(t, path))
		if l != nil {
			whole(t, l) // it was open meanwhile
		}
	}
}

// TestDamaged: what is no database any more is put aside; who has it open goes on with the
// new one.
func TestDamaged(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(path string) error
	}{
		{"the beginning", func(p string) error { return overwrite(p, 0, "not a database, not at all") }},
		{"the inside", func(p string) error { return overwrite(p, 4096+100, strings.Repeat("\xff", 20000)) }},
		{"half of it", func(p string) error { return os.Truncate(p, 9000) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := small(t)
			user := open(t, path)
			whole(t, user)
			raw(t, path, `PRAGMA wal_checkpoint(TRUNCATE)`)
			if err := c.do(path); err != nil {
				t.Fatal(err)
			}
			l, err := ledger.Open(ctx, path, ledger.Options{Boot: "b2"})
			if err == nil {
				err = l.Check(ctx)
				l.Close()
			}
			code(t, "Open and Check of a damaged file", err, fault.Integrity)
			r := rebuild(t, path, journal)
			if r.Aside == "" || r.Holds != 1 || r.Bills != 2 || r.Kept != 0 {
				t.Errorf("Rebuild = %+v", r)
			}
			if _, err := os.Stat(r.Aside); err != nil {
				t.Error(err)
			}
			fresh := open(t, path)
			hold(t, user, "a", "a/3/1", amount(1, 1)) // by who had the old file
			if err := user.Release(ctx, "a/3/1"); err != nil {
				t.Error(err)
			}
			whole(t, user)
			whole(t, fresh)
			user.Close()
			settle(t, fresh, "a/2/1", ledger.Bill{Amount: amount(5, 1)})
			sound(t, open(t, path))
			if l, err := ledger.Open(ctx, path, ledger.Options{Boot: "b2"}); err != nil || l.Doubt() != ledger.Sure {
				t.Errorf("after Rebuild: %v", err)
			} else {
				l.Close()
			}
		})
	}
}

func overwrite(path string, at int64, s string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(s), at)
	return err
}

// TestRebuild: journals win over the ledger, but for what they do not know.
func TestRebuild(t *testing.T) {
	path := small(t)
	l := open(t, path)
	hold(t, l, "b", "b/2/1", amount(100, 10)) // held this moment, in no journal yet
	if err := l.End(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	r := rebuild(t, path, []ledger.Entry{
		{Node: "a", Key: "a/1/1", Held: amount(10, 1)}, // its journal ends before the bill
		{Node: "a", Key: "a/2/1", Held: amount(20, 2), Bill: &ledger.Bill{Amount: amount(3, 1)}},
		{Node: "b", Key: "lost", Held: amount(7, 1), Bill: &ledger.Bill{Amount: amount(7, 1)}},
	})
	if r.Aside != "" || r.Holds != 1 || r.Bills != 4 || r.Kept != 2 {
		t.Errorf("Rebuild = %+v", r)
	}
	if n := node(t, l, "me"); n.Held != amount(100, 10) || n.Spent != amount(12+3+7+40, 1+1+1+4) {
		t.Errorf("after Rebuild: %+v", n)
	}
	sound(t, l)
	again := rebuild(t, path, nil)
	if again.Kept != 5 {
		t.Errorf("Rebuild by empty journals = %+v, want everything kept", again)
	}
	sound(t, l)
	_, err := ledger.Rebuild(ctx, path, ledger.Options{}, nil, []ledger.Entry{{Node: "nobody", Key: "k"}})
	code(t, "an entry of an unknown node", err, fault.NotFound)
	_, err = ledger.Rebuild(ctx, path, ledger.Options{}, nil, []ledger.Entry{{Node: "a", Key: "k"}, {Node: "a", Key: "k"}})
	code(t, "a key twice", err, fault.Usage)
	sound(t, l)

	gone := at(t) // no ledger at all
	if rebuild(t, gone, journal).Kept != 0 {
		t.Error("a new ledger kept something")
	}
	whole(t, open(t, gone))
}

// TestFirstAtOnce opens a ledger that is not there by many at once.
func TestFirstAtOnce(t *testing.T) {
	path := at(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			l, err := ledger.Open(ctx, path, ledger.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			if err := l.Put(ctx, family(none, none, none, none, "a")...); err != nil {
				t.Error(err)
			}
			if err := l.Check(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// One whose maker died before the tables were there is made anew.
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "empty.db"), nil, fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	put(t, open(t, filepath.Join(filepath.Dir(path), "empty.db")), family(none, none, none, none, "a")...)
}

// TestBesideOthers: a program that knows no queue writes at the same time. Nothing fails and
// nothing is lost.
func TestBesideOthers(t *testing.T) {
	path := at(t)
	l := open(t, path)
	put(t, l, family(none, none, none, none, "a", "b")...)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ended := make(chan error, 1)
	go func() {
		for range 100 {
			if _, err := db.Exec(`UPDATE node SET cap_money = cap_money + 1 WHERE id = 'b'`); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	held := int64(0)
	for others := true; others; held++ {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			others = false
		default:
		}
		hold(t, l, "a", strconv.FormatInt(held, 10), amount(1, 1))
	}
	if n := node(t, l, "me"); n.Held != amount(held, held) || node(t, l, "b").Cap.Money != 99 {
		t.Errorf("%d holds beside another program: %+v", held, n)
	}
	sound(t, l)
}

// FuzzDamage overwrites a place in a good file. Whatever it was, the ledger is refused or
// sound, and rebuilt it is sound.
func FuzzDamage(f *testing.F) {
	good, err := os.ReadFile(checkpointed(f))
	if err != nil {
		f.Fatal(err)
	}
	for at := 0; at < len(good); at += 997 {
		f.Add(uint32(at), []byte(strconv.Itoa(at)))
	}
	f.Add(uint32(100), []byte("\r\x00\x00\xff\xff"))
	f.Fuzz(func(t *testing.T, at uint32, b []byte) {
		bad := bytes.Clone(good)
		copy(bad[int(at)%len(bad):], b)
		path := filepath.Join(t.TempDir(), "m", "ledger.db")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(ctx, path, ledger.Options{})
		if err == nil {
			if _, terr := l.Tree(ctx, ""); terr != nil {
				err = l.Check(ctx)
			} else if l.Check(ctx) == nil {
				err = l.Hold(ctx, "a", "fuzz", amount(1, 1), 1<<40)
				l.Release(ctx, "fuzz")
			}
			l.Close()
		}
		if err != nil && fault.CodeOf(err) == fault.Failed {
			t.Errorf("damage that is called something else: %v", err)
		}
		if _, err := ledger.Rebuild(ctx, path, ledger.Options{Boot: "b2"}, family(none, amount(1000, -1), none, none, "a", "b"), journal); err != nil {
			if fault.Is(err, fault.Stale) {
				return // a newer version, by its number
			}
			t.Fatalf("Rebuild: %v", err)
		}
		if l, err = ledger.Open(ctx, path, ledger.Options{}); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		sound(t, l)
	})
}

// checkpointed is small, whole in its file.
func checkpointed(t testing.TB) string {
	path := small(t)
	raw(t, path, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return path
}

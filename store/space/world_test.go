package space_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// TestMain lets the test binary be one of the processes that record at once.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RYE_TEST_RECORD"); dir != "" {
		if err := recordMany(dir, os.Getenv("RYE_TEST_NAME")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testkit.UseMemory()
	os.Exit(m.Run())
}

const genesis = "1b6e1f2f2c9d4a5f8a0d7e3c4b5a6978"

// place is the key of the project's place.
const place = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// world is one person with a key, a project and a user space.
type world struct {
	t     testing.TB
	key   *trust.FileKey
	trust *trust.Store
	clock time.Time
	project,
	user *space.Layer
	pins  map[objects.Ref]space.Pin
	cache string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), cache: t.TempDir(),
		project: &space.Layer{Space: objects.Project, Dir: filepath.Join(t.TempDir(), ".ai"), Store: filepath.Join(t.TempDir(), "store.git")},
		user:    &space.Layer{Space: objects.User, Dir: filepath.Join(t.TempDir(), ".ai"), Store: filepath.Join(t.TempDir(), "store.git")}}
	var err error
	w.key, err = trust.GenerateKey()
	w.must(err)
	w.trust, err = trust.LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
	w.must(err)
	w.must(w.trust.AddOwn(w.key.Public(), "me", "acme"))
	w.must(w.trust.Grant(w.clock, trust.Site{Place: place, Project: genesis}.OwnKeys()))
	t.Cleanup(func() { w.project.Close(); w.user.Close() })
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	testkit.Must(w.t, err)
}

// stack looks at the disk afresh, as the next command would.
func (w *world) stack() *space.Stack {
	s := &space.Stack{
		Project: &space.Layer{Space: objects.Project, Dir: w.project.Dir, Store: w.project.Store},
		User:    &space.Layer{Space: objects.User, Dir: w.user.Dir, Store: w.user.Store},
		Genesis: genesis, Place: place, Trust: w.trust, Cache: w.cache,
		Rule: func(_ context.Context, f space.Finding, _ bool) error { return f.Err }, // a person who agrees to nothing
	}
	if w.pins != nil {
		s.Locked = func(r objects.Ref) (space.Pin, bool) { p, ok := w.pins[r]; return p, ok }
	}
	w.t.Cleanup(func() { s.Project.Close(); s.User.Close() })
	return s
}

func (w *world) write(l *space.Layer, p string, raw []byte) {
	w.t.Helper()
	testkit.WriteFile(w.t, filepath.Join(l.Dir, filepath.FromSlash(p)), string(raw), 0o644)
}

func (w *world) remove(l *space.Layer, p string) {
	w.t.Helper()
	w.must(os.Remove(filepath.Join(l.Dir, filepath.FromSlash(p))))
}

// body is a tool's file, unsigned.
func body(version, says string) []byte {
	return []byte("#!/usr/bin/env bash\n# version: " + version + "\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: " + says + "\necho " + says + "\n")
}

// sign returns raw with the person's signature, a second after the one before.
func (w *world) sign(l *space.Layer, p string, raw []byte) []byte {
	w.t.Helper()
	w.clock = w.clock.Add(time.Second)
	return w.signAs(w.key, l, p, raw)
}

func (w *world) signAs(k trust.Signer, l *space.Layer, p string, raw []byte) []byte {
	w.t.Helper()
	it, err := objects.Parse(p, raw)
	w.must(err)
	scope := trust.Scope{Space: l.Space}
	if l.Space == objects.Project {
		scope.Project = genesis
	}
	out, err := trust.SignItem(w.t.Context(), k, it, scope, w.clock)
	w.must(err)
	return out
}

func (w *world) record(l *space.Layer, changes ...store.Change) store.OID {
	w.t.Helper()
	w.clock = w.clock.Add(time.Second)
	id, err := l.Record(w.t.Context(), changes, store.CommitOptions{Message: "test\n", Signer: trust.CommitSigner(w.key),
		Author: store.Ident{Name: "a", Email: "a@b"}, When: w.clock})
	w.must(err)
	return id
}

// put signs, writes and records an item.
func (w *world) put(l *space.Layer, p, version, says string) []byte {
	w.t.Helper()
	raw := w.sign(l, p, body(version, says))
	w.write(l, p, raw)
	w.record(l, store.Change{Path: p, Data: raw})
	return raw
}

const greet = "tools/acme/greet.sh"

func ref(s string) objects.Ref {
	r, err := objects.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return r
}

// want asks for tool:acme/greet and compares the code of the refusal, "" for none.
func (w *world) want(what string, code fault.Code) space.Found {
	w.t.Helper()
	f, err := w.stack().Find(w.t.Context(), ref("tool:acme/greet"))
	if fault.CodeOf(err) != code {
		w.t.Errorf("%s: %v (code %q), want code %q", what, err, fault.CodeOf(err), code)
	}
	if err != nil && f.Space == objects.User {
		w.t.Errorf("%s: fell through to the user space", what)
	}
	return f
}

// rowsOf looks at a layer and makes every row.
func rowsOf(ctx context.Context, s *space.Stack, l *space.Layer) ([]space.Row, error) {
	k, err := s.Look(ctx, l)
	if err != nil {
		return nil, err
	}
	return k.Rows(), nil
}

// states says what both Scan and Look, the second time from the catalogue, make of
// a layer, as "path state" lines, and fails where they disagree.
func (w *world) states(l *space.Layer) string {
	w.t.Helper()
	s := w.stack()
	own, err := s.Layer(l.Space)
	w.must(err)
	found, err := s.Scan(w.t.Context(), own, nil)
	w.must(err)
	want := lines(space.RowsOf(found, nil))
	for range 2 {
		rows, err := rowsOf(w.t.Context(), s, own)
		w.must(err)
		if got := lines(rows); got != want {
			w.t.Errorf("Look:\n%s\nScan:\n%s", got, want)
		}
	}
	return want
}

func lines(rows []space.Row) string {
	var b strings.Builder
	for _, r := range rows {
		rec := ""
		if r.Recorded {
			rec = " recorded"
		}
		fmt.Fprintf(&b, "%s %s%s\n", r.Path, r.State, rec)
	}
	return b.String()
}

// recordMany is a child process: it records 20 items of its own.
func recordMany(dir, name string) error {
	l := &space.Layer{Space: objects.Project, Dir: dir, Store: os.Getenv("RYE_TEST_STORE")}
	defer l.Close()
	for i := range 20 {
		_, err := l.Record(context.Background(), []store.Change{{Path: fmt.Sprintf("tools/acme/%s%d.sh", name, i), Data: body("1.0.0", name)}},
			store.CommitOptions{Message: "add\n", Author: store.Ident{Name: name, Email: "a@b"}, When: time.Unix(1e9, 0)})
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTwoProcessesRecordAtOnce(t *testing.T) {
	w := newWorld(t)
	exe, err := os.Executable()
	w.must(err)
	names := []string{"a", "b"}
	var wait []func() error
	for _, n := range names { // neither finds a store: both make it
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "RYE_TEST_RECORD="+w.project.Dir, "RYE_TEST_STORE="+w.project.Store, "RYE_TEST_NAME="+n)
		out, err := cmd.StdoutPipe()
		w.must(err)
		w.must(cmd.Start())
		wait = append(wait, func() error {
			said, _ := bufio.NewReader(out).ReadString('\n')
			if err := cmd.Wait(); err != nil {
				return errors.New(said)
			}
			return nil
		})
	}
	for i, f := range wait {
		if err := f(); err != nil {
			t.Fatalf("process %s: %v", names[i], err)
		}
	}
	n := 0
	w.must(w.project.Recorded(w.t.Context(), func(string, store.OID) error { n++; return nil }))
	if n != 40 {
		t.Errorf("%d items recorded, want 40", n)
	}
	if f, err := w.project.Fsck(t.Context()); err != nil || f.Objects < 40 || len(f.Damage) > 0 {
		t.Errorf("fsck: %+v, %v", f, err)
	}
}

package space_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// elsewhere is a person with the project in another directory, whose record restricts theirs.
type elsewhere struct {
	*world
	there *space.Layer
	index string
}

func newElsewhere(t *testing.T) *elsewhere {
	e := &elsewhere{newWorld(t), nil, filepath.Join(t.TempDir(), "index")}
	e.there = &space.Layer{Space: objects.Project, Dir: filepath.Join(t.TempDir(), ".ai"), Store: filepath.Join(t.TempDir(), "store.git")}
	t.Cleanup(func() { e.there.Close() })
	return e
}

// judged returns the greeting tool as the next command finds it; keep lets that write the index.
func (e *elsewhere) judged(keep bool) space.Finding {
	e.t.Helper()
	o := space.NewOther("key", "/another", e.there.Store, e.index)
	defer o.Close()
	s := e.stack()
	s.Others = func() ([]*space.Other, error) { return []*space.Other{o}, nil }
	f, ok, err := s.In(e.t.Context(), objects.Project, ref("tool:acme/greet"))
	if err != nil || !ok {
		e.t.Fatalf("%t, %v", ok, err)
	}
	rows, err := rowsOf(e.t.Context(), s, s.Project)
	if err != nil || len(rows) != 1 || rows[0].State != f.State {
		e.t.Errorf("the catalogue: %v, %v; want %s", rows, err, f.State)
	}
	if keep {
		e.must(o.Keep(e.t.Context()))
	}
	return f
}

// wants judges three times: by the record of the other directory, and by its index.
func (e *elsewhere) wants(what string, state objects.State, says string) {
	e.t.Helper()
	for _, keep := range []bool{false, true, false} {
		f := e.judged(keep)
		if f.State != state || (f.Err == nil) != (state == objects.Signed) || f.Err != nil && !strings.Contains(f.Err.Error(), says) {
			e.t.Errorf("%s: %s, %v; want %s, %q", what, f.State, f.Err, state, says)
		}
		if (f.Err == nil) != !f.Verified.IsZero() {
			e.t.Errorf("%s: error %v, and verified %t", what, f.Err, !f.Verified.IsZero())
		}
	}
}

// TestElsewhere: what a record of another directory removed, or narrowed, restricts this one
// by keys that count here, until this one's record takes it in later.
func TestElsewhere(t *testing.T) {
	e := newElsewhere(t)
	wide := e.sign(e.project, greet, needing("1.0.0", "{net: [a.example, b.example]}"))
	narrow := e.sign(e.project, greet, needing("2.0.0", "{net: [a.example]}"))
	same := e.sign(e.project, greet, needing("3.0.0", "{net: [a.example]}"))
	e.write(e.project, greet, wide)
	e.wants("nothing recorded there", objects.Signed, "")
	e.record(e.project, store.Change{Path: greet, Data: wide})
	e.record(e.there, store.Change{Path: greet, Data: wide})
	e.wants("the same there", objects.Signed, "")
	e.record(e.there, store.Change{Path: greet, Data: narrow})
	e.wants("wider than there", objects.Older, `in /another, which is the same project, and wider: it reaches "b.example"`)

	// What a stranger signed, and what nobody did, of tomorrow: neither narrows nor excuses.
	stranger, err := trust.GenerateKey()
	e.must(err)
	now := e.clock
	e.clock = now.Add(24 * time.Hour)
	forged := e.signAs(stranger, e.project, greet, needing("9.9.9", "{net: ['*']}"))
	broken := []byte(strings.Replace(string(e.signAs(e.key, e.project, greet, needing("9.9.9", "{write: []}"))), "9.9.9", "9.9.8", 1))
	e.clock = now
	e.record(e.there, store.Change{Path: greet, Data: forged})
	e.record(e.there, store.Change{Path: greet, Data: broken})
	e.wants("forged there", objects.Older, `reaches "b.example"`)
	e.write(e.project, greet, same)
	e.wants("no wider than what counts there", objects.Signed, "")

	e.record(e.there, store.Change{Path: greet, Delete: true})
	e.wants("removed there", objects.Returned, "in /another, which is the same project")
	e.record(e.project, store.Change{Path: greet, Data: same})
	e.wants("recorded here after that", objects.Signed, "")
	e.record(e.there, store.Change{Path: greet, Data: same})
	e.record(e.there, store.Change{Path: greet, Delete: true})
	e.wants("removed there again", objects.Returned, "removed on")
	e.write(e.project, greet, e.sign(e.project, greet, needing("4.0.0", "{net: ['*']}")))
	e.wants("signed after that", objects.Signed, "")
}

// TestElsewhereOfOthers: what only keys signed that do not count here restricts nothing.
func TestElsewhereOfOthers(t *testing.T) {
	e := newElsewhere(t)
	e.write(e.project, greet, e.sign(e.project, greet, body("1.0.0", "hello")))
	stranger, err := trust.GenerateKey()
	e.must(err)
	e.clock = e.clock.Add(time.Second)
	e.record(e.there, store.Change{Path: greet, Data: e.signAs(stranger, e.project, greet, needing("2.0.0", "{net: []}"))})
	e.wants("narrower, by a stranger", objects.Signed, "")
	e.record(e.there, store.Change{Path: greet, Delete: true})
	e.wants("a stranger's, removed", objects.Signed, "")
}

// TestElsewhereIndex: a damaged index is refused, one that cannot be written is not needed, and
// a damaged record says where it is.
func TestElsewhereIndex(t *testing.T) {
	e := newElsewhere(t)
	raw := e.sign(e.project, greet, body("1.0.0", "hello"))
	e.write(e.project, greet, raw)
	e.record(e.there, store.Change{Path: greet, Data: raw})
	e.record(e.there, store.Change{Path: greet, Delete: true})
	e.wants("removed", objects.Returned, "")
	text, err := os.ReadFile(e.index)
	e.must(err)
	e.must(os.WriteFile(e.index, []byte(strings.Replace(string(text), "greet\t1", "greet\tx", 1)), 0o600))
	o := space.NewOther("key", "/another", e.there.Store, e.index)
	defer o.Close()
	s := e.stack()
	s.Others = func() ([]*space.Other, error) { return []*space.Other{o}, nil }
	if _, _, err := s.In(t.Context(), objects.Project, ref("tool:acme/greet")); !fault.Is(err, fault.Integrity) {
		t.Errorf("a damaged index: %v", err)
	}
	e.index = filepath.Join(e.index, "below a file")
	if f := e.judged(false); f.State != objects.Returned {
		t.Errorf("without an index: %s", f.State)
	}
	e.must(os.Remove(filepath.Join(e.there.Store, "HEAD")))
	o = space.NewOther("key", "/another", e.there.Store, e.index)
	defer o.Close()
	_, _, err = s.In(t.Context(), objects.Project, ref("tool:acme/greet"))
	if !fault.Is(err, fault.Integrity) || !strings.Contains(err.Error(), "/another") {
		t.Errorf("a damaged record: %v", err)
	}
}

package space_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// needing is a tool's file that declares needs.
func needing(version, needs string) []byte {
	return []byte(strings.Replace(string(body(version, "text")), "# category", "# needs: "+needs+"\n# category", 1))
}

// found judges the working file of the greeting tool.
func (w *world) found() space.Finding {
	w.t.Helper()
	f, ok, err := w.stack().In(w.t.Context(), objects.Project, ref("tool:acme/greet"))
	if err != nil || !ok {
		w.t.Fatalf("%t, %v", ok, err)
	}
	return f
}

func (w *world) wantState(what string, state objects.State, wider string) space.Finding {
	w.t.Helper()
	f, got := w.found(), ""
	if f.Past != nil {
		got = strings.Join(f.Past.Wider, "; ")
	}
	if f.State != state || got != wider {
		w.t.Errorf("%s: %s, wider %q, want %s, %q (%v)", what, f.State, got, state, wider, f.Err)
	}
	if (f.Err == nil) != !f.Verified.IsZero() {
		w.t.Errorf("%s: error %v, and verified %t", what, f.Err, !f.Verified.IsZero())
	}
	return f
}

// TestOlderIsComparedWithTheNewest: the newest is what was signed last, wherever the
// record stands, and never what a version calls itself.
func TestOlderIsComparedWithTheNewest(t *testing.T) {
	w := newWorld(t)
	put := func(raw []byte) {
		w.write(w.project, greet, raw)
		w.record(w.project, store.Change{Path: greet, Data: raw})
	}
	wide := w.sign(w.project, greet, needing("9.0.0", "{net: [a.example, b.example]}"))
	middle := w.sign(w.project, greet, needing("5.0.0", "{net: [a.example]}"))
	newest := w.sign(w.project, greet, needing("1.0.0", "{net: [a.example], write: [out]}"))
	put(wide)
	put(newest)
	put(middle) // the record went back, as rye restore --at does
	w.wantState("what is recorded now", objects.Signed, "")
	w.write(w.project, greet, wide)
	f := w.wantState("an older one, wider than the newest", objects.Older, `reaches "b.example"`)
	if fault.CodeOf(f.Err) != fault.Rollback || !strings.Contains(f.Err.Error(), "b.example") {
		t.Errorf("wider: %v, want rollback", f.Err)
	}
	if got, _ := newestOf(t, f); !strings.HasPrefix(got, "2026-01-02T03:04:08") {
		t.Errorf("compared with the version of %s", got)
	}
	w.write(w.project, greet, newest) // newer than the record's tip, and recorded before
	w.wantState("the newest itself, which was there before", objects.Older, "")
	w.write(w.project, greet, w.sign(w.project, greet, needing("0.0.1", "{net: ['*'], write: [/]}")))
	w.wantState("signed after all of them, whatever it says of itself", objects.Signed, "")
}

func newestOf(t *testing.T, f space.Finding) (string, bool) {
	t.Helper()
	if f.Past == nil {
		return "", false
	}
	return f.Past.Newest.UTC().Format(time.RFC3339), true
}

// TestForgedNewest: the record also keeps what was replaced. A line of tomorrow that nobody
// believes neither makes everything older nor excuses what is wider.
func TestForgedNewest(t *testing.T) {
	w := newWorld(t)
	wide := w.sign(w.project, greet, needing("1.0.0", "{net: ['*']}"))
	w.write(w.project, greet, wide)
	w.record(w.project, store.Change{Path: greet, Data: wide})
	w.put(w.project, greet, "1.0.1", "x")
	narrow := w.sign(w.project, greet, needing("2.0.0", "{net: [a.example]}"))
	w.record(w.project, store.Change{Path: greet, Data: narrow})

	stranger, err := trust.GenerateKey()
	w.must(err)
	now := w.clock
	w.clock = now.Add(24 * time.Hour)
	forged := w.signAs(stranger, w.project, greet, needing("9.9.9", "{net: ['*'], write: [/]}"))
	broken := []byte(strings.Replace(string(w.signAs(w.key, w.project, greet, needing("9.9.9", "{net: ['*'], read: [/]}"))), "9.9.9", "9.9.8", 1))
	w.clock = now
	for _, raw := range [][]byte{forged, broken} {
		w.record(w.project, store.Change{Path: greet, Data: raw}) // kept, as rye add --force keeps
	}
	w.record(w.project, store.Change{Path: greet, Data: narrow})
	w.write(w.project, greet, wide)
	w.wantState("wider than what is believed", objects.Older, `reaches "*"`)
	w.write(w.project, greet, w.sign(w.project, greet, needing("2.0.1", "{net: [a.example]}")))
	w.wantState("newer than what is believed", objects.Signed, "")
}

// TestDeniedNewest: what was denied is not what others are measured by.
func TestDeniedNewest(t *testing.T) {
	w := newWorld(t)
	narrow := w.sign(w.project, greet, needing("1.0.0", "{net: [a.example]}"))
	wide := w.sign(w.project, greet, needing("2.0.0", "{net: [a.example, b.example]}"))
	bad := w.sign(w.project, greet, needing("3.0.0", "{net: ['*']}"))
	for _, raw := range [][]byte{wide, narrow, bad} {
		w.record(w.project, store.Change{Path: greet, Data: raw})
	}
	w.must(w.trust.DenyDigest(objects.DigestOf(bad), "bad"))
	w.write(w.project, greet, narrow)
	w.wantState("narrower than the newest that counts", objects.Older, "")
	w.must(w.trust.DenyDigest(objects.DigestOf(wide), "bad too"))
	w.wantState("the newest that counts", objects.Older, "")
	w.write(w.project, greet, bad)
	if f := w.found(); f.State != objects.Denied || fault.CodeOf(f.Err) != fault.Revoked {
		t.Errorf("denied: %s, %v", f.State, f.Err)
	}
}

// TestTakenBackNewest: a version that its signer took back is none that others are measured
// by, so that it excuses no wide one.
func TestTakenBackNewest(t *testing.T) {
	w := newWorld(t)
	narrow := w.sign(w.project, greet, needing("1.0.0", "{net: [a.example]}"))
	wide := w.sign(w.project, greet, needing("2.0.0", "{net: [a.example, b.example]}"))
	next := w.sign(w.project, greet, needing("2.0.1", "{net: [a.example]}"))
	bad := w.sign(w.project, greet, needing("3.0.0", "{net: ['*']}"))
	for _, raw := range [][]byte{narrow, wide, next, bad} {
		w.record(w.project, store.Change{Path: greet, Data: raw})
	}
	line, err := trust.TakeBack(t.Context(), w.key, ref("tool:acme/greet"), objects.DigestOf(bad), genesis, w.clock)
	w.must(err)
	for _, tt := range []struct {
		name  string
		raw   []byte
		lines []objects.Taken
		wider string
	}{
		{"beside a newer one that is wide", wide, nil, ""},
		{"beside one that was taken back", wide, []objects.Taken{line}, `reaches "b.example"`},
		{"as narrow as the newest that counts", narrow, []objects.Taken{line}, ""},
	} {
		w.write(w.project, greet, tt.raw)
		s := w.stack()
		s.Taken = trust.NewTaken(takenText(tt.lines), nil)
		f, ok, err := s.In(t.Context(), objects.Project, ref("tool:acme/greet"))
		if err != nil || !ok || f.Past == nil {
			t.Fatalf("%s: %t, %v, %v", tt.name, ok, err, f.Past)
		}
		if got := strings.Join(f.Past.Wider, "; "); f.State != objects.Older || got != tt.wider {
			t.Errorf("%s: %s, wider %q, want %q", tt.name, f.State, got, tt.wider)
		}
	}
}

// TestReturned: what was removed and is back is asked about, whether the same bytes or
// others that were signed before; what was signed after that is new.
func TestReturned(t *testing.T) {
	w := newWorld(t)
	early := w.sign(w.project, greet, body("1.0.0", "early"))
	first := w.put(w.project, greet, "1.0.0", "hello")
	w.record(w.project, store.Change{Path: greet, Delete: true})
	for what, raw := range map[string][]byte{"the same": first, "never recorded": early} {
		w.write(w.project, greet, raw)
		f := w.wantState(what, objects.Returned, "")
		if fault.CodeOf(f.Err) != fault.Rollback || f.Past.Removed.IsZero() {
			t.Errorf("%s: %v", what, f.Err)
		}
	}
	w.write(w.project, greet, w.sign(w.project, greet, body("1.0.0", "made anew")))
	w.wantState("signed after it was removed", objects.Signed, "")
}

// TestSignedInTheSecondOfTheRemoval: times are whole seconds. Within one, the record knows what came
// first: a move that is killed before it is recorded must not look like something that came back.
func TestSignedInTheSecondOfTheRemoval(t *testing.T) {
	w := newWorld(t)
	first := w.put(w.project, greet, "1.0.0", "hello")
	w.record(w.project, store.Change{Path: greet, Delete: true})
	again := body("1.0.0", "made anew")
	w.write(w.project, greet, w.signAs(w.key, w.project, greet, again))
	w.wantState("bytes that were never recorded", objects.Signed, "")
	w.write(w.project, greet, first)
	w.wantState("bytes that were", objects.Returned, "")
	w.clock = w.clock.Add(-time.Second)
	w.write(w.project, greet, w.signAs(w.key, w.project, greet, again))
	w.wantState("a second earlier", objects.Returned, "")
	w.clock = w.clock.Add(time.Second)
	held := w.signAs(w.key, w.project, greet, again)
	w.record(w.project, store.Change{Path: greet, Data: held})
	w.clock = w.clock.Add(-2 * time.Second)
	w.record(w.project, store.Change{Path: greet, Delete: true}) // signed and removed within one second
	w.write(w.project, greet, held)
	w.wantState("bytes of this second that were recorded", objects.Returned, "")
}

// TestRuleDecides: without a rule nothing older is used, and what a rule lets through is
// what was verified.
func TestRuleDecides(t *testing.T) {
	w := newWorld(t)
	first := w.put(w.project, greet, "1.0.0", "hello")
	w.put(w.project, greet, "1.1.0", "hi")
	w.write(w.project, greet, first)
	s := w.stack()
	s.Rule = nil
	if f, err := s.Find(t.Context(), ref("tool:acme/greet")); fault.CodeOf(err) != fault.Rollback || !f.Verified.IsZero() {
		t.Errorf("without a rule: %v", err)
	}
	no := errors.New("no")
	s.Rule = func(context.Context, space.Finding, bool) error { return no }
	if f, err := s.Find(t.Context(), ref("tool:acme/greet")); err != no || !f.Verified.IsZero() {
		t.Errorf("a rule that says no: %v", err)
	}
	w.record(w.project, store.Change{Path: greet, Delete: true})
	asked := 0
	s.Rule = func(_ context.Context, f space.Finding, _ bool) error { asked++; return nil }
	f, err := s.Find(t.Context(), ref("tool:acme/greet"))
	if err != nil || asked != 1 || f.Verified.IsZero() || f.Item().Sum != objects.DigestOf(first) || f.Past == nil {
		t.Errorf("a rule that says yes, asked %d times: %v", asked, err)
	}
	if f, ok, err := s.In(t.Context(), objects.Project, ref("tool:acme/greet")); !ok || err != nil || f.Err == nil || !f.Verified.IsZero() {
		t.Errorf("In let it through: %v", f.Err)
	}
}

// takenText is .ai/denied with some lines.
func takenText(all []objects.Taken) (raw []byte) {
	for _, l := range all {
		raw = objects.AddTaken(raw, l)
	}
	return raw
}

// TestTakenBack: a line in .ai/denied counts for its ref, its bytes and its signer alone.
func TestTakenBack(t *testing.T) {
	w := newWorld(t)
	raw := w.put(w.project, greet, "1.0.0", "hello")
	other, err := trust.GenerateKey()
	w.must(err)
	sum := objects.DigestOf(raw)
	line := func(k trust.Signer, r string, d objects.Digest) objects.Taken {
		l, err := trust.TakeBack(t.Context(), k, ref(r), d, genesis, w.clock)
		w.must(err)
		return l
	}
	mine := line(w.key, "tool:acme/greet", sum)
	moved := mine
	moved.Ref = ref("tool:acme/other")
	late := mine
	late.At = late.At.Add(time.Second)
	for name, c := range map[string]struct {
		lines []objects.Taken
		state objects.State
	}{
		"its signer":         {[]objects.Taken{mine}, objects.Denied},
		"of the body":        {[]objects.Taken{line(w.key, "tool:acme/greet", w.found().Item.Digest)}, objects.Denied},
		"a stranger":         {[]objects.Taken{line(other, "tool:acme/greet", sum)}, objects.Signed},
		"another item":       {[]objects.Taken{line(w.key, "tool:acme/other", sum), moved}, objects.Signed},
		"other bytes":        {[]objects.Taken{line(w.key, "tool:acme/greet", objects.DigestOf(nil))}, objects.Signed},
		"a changed time":     {[]objects.Taken{late}, objects.Signed},
		"beside others":      {[]objects.Taken{moved, late, mine}, objects.Denied},
		"nothing taken back": {nil, objects.Signed},
	} {
		s := w.stack()
		s.Taken = trust.NewTaken(takenText(c.lines), nil)
		f, ok, err := s.In(t.Context(), objects.Project, ref("tool:acme/greet"))
		if err != nil || !ok || f.State != c.state || (c.state == objects.Denied) != (fault.CodeOf(f.Err) == fault.Revoked) {
			t.Errorf("%s: %s, %v, want %s", name, f.State, f.Err, c.state)
		}
		if f.Verified.IsZero() != (c.state == objects.Denied) {
			t.Errorf("%s: %s, and verified by %v", name, f.State, f.Verified)
		}
	}
	// The catalogue does not keep a verdict from before the line came.
	w.settle()
	s := w.stack()
	rows, err := rowsOf(t.Context(), s, s.Project)
	if err != nil || rows[0].State != objects.Signed {
		t.Fatal(rows, err)
	}
	s = w.stack()
	s.Taken = trust.NewTaken(takenText([]objects.Taken{mine}), nil)
	if rows, err = rowsOf(t.Context(), s, s.Project); err != nil || rows[0].State != objects.Denied {
		t.Errorf("the catalogue says %s, %v", rows[0].State, err)
	}
}

// TestAbsentLetsAWeakerOneAnswerWhereGitLacksItToo is what a switch of branches leaves.
func TestAbsentLetsAWeakerOneAnswerWhereGitLacksItToo(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.remove(w.project, greet)
	find := func(lacks func(string) (bool, error)) (space.Found, error) {
		s := w.stack()
		s.Lacks = lacks
		return s.Find(t.Context(), ref("tool:acme/greet"))
	}
	says := func(gone bool, err error) func(string) (bool, error) {
		return func(p string) (bool, error) {
			if p != greet {
				t.Errorf("git was asked about %s", p)
			}
			return gone, err
		}
	}
	if _, err := find(says(true, nil)); fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "by a on 2026-01-02") {
		t.Errorf("nothing weaker: %v, want not found, and by whom", err)
	}
	w.put(w.user, greet, "1.0.0", "user")
	for what, c := range map[string]struct {
		lacks func(string) (bool, error)
		code  fault.Code
	}{
		"git has it":       {says(false, nil), fault.Integrity},
		"nobody knows":     {says(true, errors.New("reftable")), fault.Integrity},
		"no git":           {nil, fault.Integrity},
		"git lacks it too": {says(true, nil), ""},
	} {
		f, err := find(c.lacks)
		if fault.CodeOf(err) != c.code || err == nil && f.Space != objects.User {
			t.Errorf("%s: %v from the %s space, want %q", what, err, f.Space, c.code)
		}
	}
}

// TestManyOlder: for many items the record is read once, and says the same of each.
func TestManyOlder(t *testing.T) {
	w := newWorld(t)
	var first, last []store.Change
	for i := range 12 {
		p := fmt.Sprintf("tools/acme/t%d.sh", i)
		first = append(first, store.Change{Path: p, Data: w.sign(w.project, p, needing("1.0.0", "{net: [a.example, b.example]}"))})
		last = append(last, store.Change{Path: p, Data: w.sign(w.project, p, needing("2.0.0", "{net: [a.example]}"))})
	}
	w.record(w.project, first...)
	w.record(w.project, last[:8]...)
	var gone []store.Change
	for _, c := range last[8:10] { // removed, and once more under another extension
		gone = append(gone, store.Change{Path: c.Path, Delete: true})
	}
	w.record(w.project, gone...)
	other := "tools/acme/t9.bash"
	w.record(w.project, store.Change{Path: other, Data: w.sign(w.project, other, needing("3.0.0", "{net: []}"))})
	for _, c := range first {
		w.write(w.project, c.Path, c.Data)
	}
	all := strings.Split(w.states(w.project), "\n")
	var older []string
	for i := range 12 {
		f, ok, err := w.stack().At(t.Context(), objects.Project, ref(fmt.Sprintf("tool:acme/t%d", i)), first[i].Path) // each for itself
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		line := fmt.Sprintf("%s %s", first[i].Path, f.State)
		if f.Recorded {
			line += " recorded"
		}
		older = append(older, line)
		if !slices.Contains(all, line) {
			t.Errorf("%s when asked for alone, among many:\n%s", line, strings.Join(all, "\n"))
		}
	}
	want := []string{"older", "older", "older", "older", "older", "older", "older", "older", "returned", "older", "signed recorded", "signed recorded"}
	for i, line := range older {
		if !strings.HasSuffix(line, " "+want[i]) {
			t.Errorf("%s, want %s", line, want[i])
		}
	}
}

// TestLastFolderIsAsRecordedLast: a file that was recorded after the mark comes back as it
// was last.
func TestLastFolderIsAsRecordedLast(t *testing.T) {
	w := newWorld(t)
	const dir = "tools/acme/pack"
	at := func(name, text string) store.Change { return store.Change{Path: dir + "/" + name, Data: []byte(text)} }
	want := func(what, text string) {
		t.Helper()
		all, err := w.stack().Project.LastFolder(t.Context(), dir, dir+"/mark")
		w.must(err)
		got := map[string]string{}
		for _, c := range all {
			got[c.Path] = string(c.Data)
		}
		if len(got) != 2 || got[dir+"/mark"] != "mark" || got[dir+"/data"] != text {
			t.Errorf("%s: %q, want the data %q", what, got, text)
		}
	}
	w.record(w.project, at("mark", "mark"), at("data", "one"))
	want("as it was made", "one")
	w.record(w.project, at("data", "two"))
	want("a file was recorded later", "two")
}

package registry

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// TestMemoryOnlyMovesForward: processes that end in another order than they began take
// nothing back of what was verified, and two that verified different histories say so.
func TestMemoryOnlyMovesForward(t *testing.T) {
	w, _, m := attacked(t)
	at := func() oplog.Point {
		t.Helper()
		all, err := readMemory(m.o.StateDir, m.o.ID)
		if err != nil {
			t.Fatal(err)
		}
		return all["acme"]
	}
	here := at()
	ahead, behind, aside := here, here, here
	ahead.Seq, ahead.Sum = here.Seq+2, objects.DigestOf([]byte("ahead"))
	behind.Seq, behind.Sum = ahead.Seq-1, objects.DigestOf([]byte("behind"))
	aside.Seq, aside.Sum = ahead.Seq, objects.DigestOf([]byte("aside"))
	for _, step := range []struct {
		name string
		to   oplog.Point
		code fault.Code
		want oplog.Point
	}{
		{"forward", ahead, "", ahead},
		{"the same again", ahead, "", ahead},
		{"back", behind, "", ahead},
		{"sideways", aside, fault.Fork, ahead},
	} {
		if err := m.remember(w.ctx, "acme", step.to); fault.CodeOf(err) != step.code {
			t.Errorf("%s: %v, want code %q", step.name, err, step.code)
		}
		if got := at(); got != step.want {
			t.Errorf("%s: remembers %+v, want %+v", step.name, got, step.want)
		}
	}
}

// TestMemoryIsBounded: what is too much to be read again is not written.
func TestMemoryIsBounded(t *testing.T) {
	w, _, m := attacked(t)
	all, err := readMemory(m.o.StateDir, m.o.ID)
	if err != nil {
		t.Fatal(err)
	}
	m.Registry.o.URL = strings.Repeat("x", maxMemory) // as long as 60,000 namespaces
	wantCode(t, m.remember(w.ctx, "beta", all["acme"]), fault.Limit)
	if got, err := readMemory(m.o.StateDir, m.o.ID); err != nil || !maps.Equal(got, all) {
		t.Errorf("it remembers %v, %v; want %v", got, err, all)
	}
}

// TestMemoryHasOneSpelling: the file is as docs/format/registry.md has it, and no other text
// is taken for it, for what is forgotten opens the way back.
func TestMemoryHasOneSpelling(t *testing.T) {
	id, other := objects.DigestOf([]byte("registry")), objects.DigestOf([]byte("another"))
	tip := strings.Repeat("0123456789", 4)
	at, err := store.ParseOID(tip)
	if err != nil {
		t.Fatal(err)
	}
	root := oplog.Point{Seq: 2, Tip: at, Sum: other}
	acme := oplog.Point{Seq: 6, Tip: at, Sum: other, Owners: 1, Genesis: id}
	kept := memory{"": root, "acme": acme, "zoo": acme}
	head := "rye 1\nid " + id.String() + "\nurl https://git.example.org/registry.git\n"
	rootLine := ". 2 " + tip + " " + other.String() + " 0 -\n"
	tail := " 6 " + tip + " " + other.String() + " 1 " + id.String() + "\n"
	want := head + rootLine + "acme" + tail + "zoo" + tail
	if got := kept.text("https://git.example.org/registry.git", id); string(got) != want {
		t.Fatalf("written as\n%s, want\n%s", got, want)
	}
	if m, err := parseMemory([]byte(want), id); err != nil || !maps.Equal(m, kept) {
		t.Fatalf("read as %+v, %v", m, err)
	}
	skips := acme
	skips.Last = oplog.Position{Seq: 4, ID: at, Sum: id}
	kept["zoo"] = skips
	last := " 4 " + tip + " " + id.String() + "\n"
	if got := kept.text("https://git.example.org/registry.git", id); string(got) != strings.TrimSuffix(want, "\n")+last {
		t.Fatalf("with operations that were skipped, written as\n%s", got)
	}
	if m, err := parseMemory([]byte(strings.TrimSuffix(want, "\n")+last), id); err != nil || !maps.Equal(m, kept) {
		t.Fatalf("with operations that were skipped, read as %+v, %v", m, err)
	}
	kept["zoo"] = acme
	if m, err := parseMemory(kept.text("/srv/a\nacme"+tail, id), id); err != nil || !maps.Equal(m, kept) {
		t.Fatalf("in a directory with lines in its name: read as %+v, %v", m, err)
	}
	for name, text := range map[string]string{
		"nothing":               "",
		"of another registry":   strings.Replace(want, id.String(), other.String(), 1),
		"of another format":     strings.Replace(want, "rye 1", "rye 2", 1),
		"the head alone":        head,
		"without the root":      head + "acme" + tail,
		"cut short":             want[:len(want)-1],
		"cut inside":            want[:len(want)-40],
		"a line twice":          head + rootLine + "acme" + tail + "acme" + tail,
		"the root twice":        head + rootLine + rootLine,
		"in another order":      head + rootLine + "zoo" + tail + "acme" + tail,
		"an empty line":         want + "\n",
		"two spaces":            strings.Replace(want, "acme 6", "acme  6", 1),
		"another line feed":     strings.ReplaceAll(want, "\n", "\r\n"),
		"a name with a dot":     head + rootLine + ".acme" + tail,
		"no name":               head + rootLine + tail,
		"position 0":            strings.Replace(want, "acme 6", "acme 0", 1),
		"a position below 0":    strings.Replace(want, "acme 6", "acme -6", 1),
		"a position with zeros": strings.Replace(want, "acme 6", "acme 06", 1),
		"the last beyond":       strings.TrimSuffix(want, "\n") + strings.Replace(last, " 4", " 6", 1),
		"the root skips":        strings.Replace(want, " 0 -\n", " 0 -"+strings.Replace(last, " 4", " 1", 1), 1),
		"a word too many":       strings.Replace(want, " 0 -\n", " 0 - -\n", 1),
		"upper case":            strings.Replace(want, "sha256:", "SHA256:", 1),
	} {
		if m, err := parseMemory([]byte(text), id); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: read as %+v, %v", name, m, err)
		}
	}
}

// TestCachedRootIsTheVerifiedOne: a cache is a directory that others may write to. Only what
// the memory names, of the registry that is asked for, is built from it.
func TestCachedRootIsTheVerifiedOne(t *testing.T) {
	w, _, m := attacked(t)
	all, err := readMemory(m.o.StateDir, m.o.ID)
	if err != nil {
		t.Fatal(err)
	}
	cached, here := &m.reading().Reader, all[""]
	if root, err := oplog.TrustedRoot(w.ctx, cached, here, m.o.ID); err != nil || root.Seq != here.Seq {
		t.Fatalf("as verified: %+v, %v", root, err)
	}
	other := objects.DigestOf([]byte("another"))
	further, changed := here, here
	further.Seq++
	changed.Sum = other
	for name, try := range map[string]func() (oplog.Root, error){
		"of another registry":    func() (oplog.Root, error) { return oplog.TrustedRoot(w.ctx, cached, here, other) },
		"of another position":    func() (oplog.Root, error) { return oplog.TrustedRoot(w.ctx, cached, further, m.o.ID) },
		"with another operation": func() (oplog.Root, error) { return oplog.TrustedRoot(w.ctx, cached, changed, m.o.ID) },
	} {
		if _, err := try(); !fault.Is(err, fault.Integrity) {
			t.Errorf("a cached root %s: %v", name, err)
		}
	}
}

// A version ages from when this machine first saw it, whatever its publisher says; one that was
// there at first contact from what the log says.
func TestAgeOfVersions(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	m := w.machine(t)
	w.publish(m, w.ada, "acme/knowledge/a@1.0.0")
	reader := w.machine(t)
	sync := func(day int) {
		t.Helper()
		at := testTime.AddDate(0, 0, day)
		reader.Registry.o.Now = func() time.Time { return at }
		if err := reader.Sync(w.ctx, "acme"); err != nil {
			t.Fatal(err)
		}
	}
	age := func(version string) time.Time {
		t.Helper()
		since, err := AgeOf(reader.Registry, "acme")
		if err != nil {
			t.Fatal(err)
		}
		if err := Look(w.ctx, reader.Registry, "acme", mustRef("acme/knowledge/a")); err != nil {
			t.Fatal(err)
		}
		rel, err := reader.Release(mustRef("acme/knowledge/a"), version)
		if err != nil {
			t.Fatal(err)
		}
		return since(&rel.Entry)
	}
	sync(30)
	if got := age("1.0.0"); got.After(testTime.AddDate(0, 0, 1)) {
		t.Errorf("first contact: %v", got)
	}
	w.publish(m, w.ada, "acme/knowledge/a@1.1.0") // dated testTime, on the 31st day
	sync(31)
	w.publish(m, w.ada, "acme/knowledge/a@1.2.0")
	sync(60)
	for version, day := range map[string]int{"1.1.0": 31, "1.2.0": 60} {
		if got := age(version); !got.Equal(testTime.AddDate(0, 0, day).UTC().Truncate(time.Second)) {
			t.Errorf("%s ages from %v, want day %d", version, got, day)
		}
	}
	if err := os.Remove(sightingsPath(reader.Registry, "acme")); err != nil { // as an older rye left it
		t.Fatal(err)
	}
	if got := age("1.2.0"); got.After(testTime.AddDate(0, 0, 1)) {
		t.Errorf("of before anything was noted: %v", got)
	}
	w.publish(m, w.ada, "acme/knowledge/a@1.2.1")
	sync(100)
	if got := age("1.2.0"); got.After(testTime.AddDate(0, 0, 1)) {
		t.Errorf("of before the first note: %v", got)
	}
	if got := age("1.2.1"); got.Before(testTime.AddDate(0, 0, 99)) {
		t.Errorf("of the first note: %v", got)
	}
	sync(600)
	w.publish(m, w.ada, "acme/knowledge/a@1.3.0")
	sync(601)
	path := sightingsPath(reader.Registry, "acme")
	raw, err := os.ReadFile(path)
	if err != nil || bytes.Count(raw, []byte("\n")) != 2 || !bytes.Contains(raw, []byte(" -\n")) {
		t.Errorf("what is long ago is not one line: %q, %v", raw, err)
	}
	if got := age("1.2.0"); got.After(testTime.AddDate(0, 0, 1)) {
		t.Errorf("of long ago: %v", got)
	}
	sync(610)
	w.publish(m, w.ada, "acme/knowledge/a@1.3.1")
	sync(611)
	if err := os.WriteFile(path, raw, 0o600); err != nil { // as a power cut may leave it
		t.Fatal(err)
	}
	sync(620)
	if got := age("1.3.1"); got.Before(testTime.AddDate(0, 0, 619)) {
		t.Errorf("its note was lost, and it is as old as %v", got)
	}
	if got := age("1.3.0"); !got.Equal(testTime.AddDate(0, 0, 601).UTC().Truncate(time.Second)) {
		t.Errorf("the one before, whose note was not lost: %v", got)
	}
	for _, bad := range []string{"x\n", "5 -\n5 2026-01-02T03:04:05Z\n", "5 -\n6 -\n", "5 yesterday\n"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := AgeOf(reader.Registry, "acme"); !fault.Is(err, fault.Integrity) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

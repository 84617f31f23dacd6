package registry

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// TestCachedRootIsTheVerifiedOne: a cache is a directory that others may write to. Only what
// the memory names, of the registry that is asked for, is built from it.
func TestCachedRootIsTheVerifiedOne(t *testing.T) {
	w, _, m := attacked(t)
	all, err := m.mem.Recall()
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
		reader = reader.reopen(w, func(o *Options) { o.Now = func() time.Time { return at } })
		if err := reader.Sync(w.ctx, "acme"); err != nil {
			t.Fatal(err)
		}
	}
	age := func(version string) time.Time {
		t.Helper()
		since, err := reader.AgeOf("acme")
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Look(w.ctx, "acme", mustRef("acme/knowledge/a")); err != nil {
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
	if err := os.Remove(stateFile(reader, ".first/acme")); err != nil { // as an older rye left it
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
	path := stateFile(reader, ".first/acme")
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
		if _, err := reader.AgeOf("acme"); !fault.Is(err, fault.Integrity) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

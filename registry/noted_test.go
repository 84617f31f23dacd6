package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
)

// What a registry says of a version is known without it, and without its cache.
func TestNotedIsKnownWithoutTheRegistry(t *testing.T) {
	w, _, m := attacked(t)
	pub, ref, other := w.machine(t), mustRef("acme/knowledge/a"), mustRef("acme/knowledge/b")
	w.publish(pub, w.ada, "acme/knowledge/a@1.1.0", "acme/knowledge/a@1.2.0", "acme/knowledge/a@2.0.0-rc.1", "acme/knowledge/ab@3.0.0")
	mark := func(kind oplog.OpKind, version, reason string) {
		t.Helper()
		if err := pub.Mark(w.ctx, kind, StatusChange{Names: []string{"acme/knowledge/a@" + version}, Reason: reason, By: By{Signer: w.ada}}); err != nil {
			t.Fatal(err)
		}
	}
	mark(oplog.OpDeprecate, "1.0.0", `says "item":"acme/knowledge/b"`)
	mark(oplog.OpYank, "1.1.0", "greets twice")
	known := func(ref objects.Ref, version string) (oplog.Entry, oplog.Entry, time.Time) {
		t.Helper()
		n, err := memory.ReadNoted(m.o.StateDir, w.id.ID, "acme")
		if err != nil {
			t.Fatal(err)
		}
		said, newest, err := n.Of(ref, version)
		if err != nil {
			t.Fatal(err)
		}
		return said, newest, n.At
	}
	w.sync(m, "acme")
	if err := m.look(ref); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(m.o.CacheDir); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]oplog.Status{"1.0.0": oplog.StatusDeprecated, "1.1.0": oplog.StatusYanked, "1.2.0": "", "9.9.9": ""} {
		said, newest, at := known(ref, version)
		if said.Status != want || newest.Version != "1.2.0" || at.IsZero() {
			t.Errorf("%s is %q, newest %s, at %v; want %q, 1.2.0", version, said.Status, newest.Version, at, want)
		}
	}
	// Neither an item of a longer name, nor one that a text names, is taken for another.
	if said, newest, _ := known(other, "1.0.0"); said.Version+newest.Version != "" {
		t.Errorf("of b: %+v, %+v", said, newest)
	}
	mark(oplog.OpUnyank, "1.1.0", "")
	m = m.reopen(w, func(*Options) {})
	w.sync(m, "acme")
	if err := m.look(ref); err != nil {
		t.Fatal(err)
	}
	if said, _, _ := known(ref, "1.1.0"); said.Status != "" {
		t.Errorf("after unyank 1.1.0 is %s", said.Status)
	}
}

// A damaged file is an error for who reads the item, and written anew by who asks.
func TestNotedDamaged(t *testing.T) {
	w, _, m := attacked(t)
	ref := mustRef("acme/knowledge/a")
	w.sync(m, "acme")
	if err := m.look(ref); err != nil {
		t.Fatal(err)
	}
	path := stateFile(m, ".noted/acme.jsonl")
	for _, bad := range []string{`{"item":"acme/knowledge/a"`, `{"item":"acme/knowledge/a","state":"fine"}` + "\n", strings.Repeat(`{"item":"acme/knowledge/a"`, 3)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := memory.ReadNoted(m.o.StateDir, w.id.ID, "acme")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.Of(ref, "1.0.0"); err == nil {
			t.Errorf("%q is read", bad)
		}
		if err := m.look(ref); err != nil {
			t.Errorf("asked again after %q: %v", bad, err)
		}
		if n, err = memory.ReadNoted(m.o.StateDir, w.id.ID, "acme"); err != nil {
			t.Fatal(err)
		}
		if _, newest, err := n.Of(ref, "1.0.0"); err != nil || newest.Version != "1.0.0" {
			t.Errorf("written anew: %q, %v", newest.Version, err)
		}
	}
	if n, err := memory.ReadNoted(filepath.Join(m.o.StateDir, "none"), w.id.ID, "acme"); err != nil || !n.At.IsZero() {
		t.Errorf("nothing noted: %v, %v", n, err)
	}
}

package registry

import (
	"bytes"
	"slices"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// copies returns the logs of the root and of acme as a machine copies them.
func (w *world) copies(m *machine, refs ...objects.Ref) map[string][]Object {
	w.t.Helper()
	logs := map[string][]Object{}
	for _, ns := range []string{"", "acme"} {
		log, err := m.CopyLog(w.ctx, ns, refs...)
		if err != nil {
			w.t.Fatal(err)
		}
		logs[ns] = log
	}
	return logs
}

// reads opens a copy on a new machine, or that of o, without any address that answers.
func (w *world) reads(t *testing.T, o Options, logs map[string][]Object) (*machine, error) {
	t.Helper()
	dir, remove, err := MakeCopy(w.ctx, t.TempDir(), logs)
	if err != nil {
		return nil, err
	}
	t.Cleanup(remove)
	o.URL, o.Copy = closed(t), dir
	m := w.open(t, o)
	all, err := m.Survey(w.ctx, "acme")
	for _, s := range all {
		if err == nil {
			err = s.Down
		}
	}
	return m, err
}

// TestCopyOfLogs: who never saw a registry, and cannot, learns from a copy who owns a namespace,
// what was revoked, and what a retired key signed in time.
func TestCopyOfLogs(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub, bob := w.machine(t), newKey("bob")
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/gone@1.0.0")
	addKey(t, w, pub, w.ada, bob)
	w.publish(pub, bob, "acme/knowledge/b@1.0.0")
	if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRetire, Key: bob.fp()}); err != nil {
		t.Fatal(err)
	}
	if err := pub.Mark(w.ctx, oplog.OpRevoke, StatusChange{Names: []string{"acme/knowledge/gone@1.0.0"}, Reason: "steals", By: By{Signer: w.ada}}); err != nil {
		t.Fatal(err)
	}
	from := w.machine(t)
	w.sync(from, "acme")
	b := mustRef("acme/knowledge/b")
	if err := from.look(b); err != nil {
		t.Fatal(err)
	}
	logs := w.copies(from, b)
	for ns, log := range logs {
		raw := EncodeObjects(log)
		again, err := ParseObjects(raw)
		if err != nil || !bytes.Equal(EncodeObjects(again), raw) {
			t.Fatalf("the log of %q is not read as it was written: %v", ns, err)
		}
		logs[ns] = again
		if twice := EncodeObjects(w.copies(from, b)[ns]); !bytes.Equal(twice, raw) {
			t.Errorf("a second copy of %q differs", ns)
		}
	}
	m, err := w.reads(t, w.options(t), logs)
	if err != nil {
		t.Fatal(err)
	}
	want, err := from.Binding("acme")
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Binding("acme")
	if err != nil || !slices.Equal(keysOf(got), keysOf(want)) {
		t.Errorf("its owners are %v, want %v (%v)", got, want, err)
	}
	if gone, err := m.Revoked("acme"); err != nil || len(gone) != 1 {
		t.Errorf("revoked are %v, want one version (%v)", gone, err)
	}
	if n, err := m.Unread("acme"); n != 0 || err != nil {
		t.Errorf("%d revocations are unread (%v)", n, err)
	}
	if err := m.look(b); err != nil {
		t.Fatal(err)
	}
	if logged, err := m.Logged(w.ctx, "acme"); err != nil || len(logged[bob.fp()]) != 1 {
		t.Errorf("the retired key signed %v, want one item (%v)", logged, err)
	}
}

// TestHostileCopy: what a copy hides, changes or invents is refused like a host's, and leaves no
// trace.
func TestHostileCopy(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	good := w.copies(pub)
	other := newWorld(t, oplog.ClaimsGranted)
	otherPub := other.machine(t)
	other.publish(otherPub, other.ada, "acme/knowledge/a@1.0.0")
	foreign := other.copies(otherPub)
	commits := func(log []Object) []Object {
		return slices.DeleteFunc(slices.Clone(log), func(o Object) bool { return o.Type != store.TypeCommit })
	}
	last := len(commits(good["acme"]))
	for name, tt := range map[string]struct {
		logs map[string][]Object
		code fault.Code
	}{
		"another registry":               {foreign, fault.Untrusted},
		"another registry's namespace":   {map[string][]Object{"": good[""], "acme": foreign["acme"]}, fault.Integrity},
		"an operation is left out":       {map[string][]Object{"": good[""], "acme": slices.Delete(slices.Clone(good["acme"]), 1, 2)}, ""},
		"the lists are left out":         {map[string][]Object{"": good[""], "acme": commits(good["acme"])}, fault.Network},
		"it has no root":                 {map[string][]Object{"acme": good["acme"]}, fault.NotFound},
		"it has lists only":              {map[string][]Object{"": good[""], "acme": good["acme"][last:]}, ""},
		"the root ends before the claim": {map[string][]Object{"": good[""][:1], "acme": good["acme"]}, ""},
	} {
		m, err := w.reads(t, w.options(t), tt.logs)
		if tt.code != "" && fault.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %s", name, err, tt.code)
		}
		if m == nil {
			continue
		}
		if b, err := m.Binding("acme"); err == nil && len(b.Keys) > 0 {
			t.Errorf("%s: acme is bound to %v", name, b.Keys)
		}
	}
	// A machine that knows more learns nothing from an older copy, and a fork is a fork.
	knows := w.options(t)
	if _, err := w.reads(t, knows, good); err != nil {
		t.Fatal(err)
	}
	older := map[string][]Object{"": good[""], "acme": commits(good["acme"])[:last-1]}
	m, err := w.reads(t, knows, older)
	if err != nil {
		t.Errorf("an older copy is an error: %v", err)
	}
	if s, err := m.View("acme"); err != nil || s.Seq != uint64(last) {
		t.Errorf("acme is at %d after an older copy, want %d (%v)", s.Seq, last, err)
	}
	h := w.host()
	h.set(branchPrefix+"acme", older["acme"][last-2].ID())
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c"))}, nil)
	forked := w.machine(t)
	w.sync(forked, "acme")
	if _, err := w.reads(t, knows, w.copies(forked)); fault.CodeOf(err) != fault.Fork {
		t.Errorf("a fork: %v, want %s", err, fault.Fork)
	}
}

// TestCopyFromCheckpoint: a machine that began at a checkpoint fetches what came before, or says
// that it cannot.
func TestCopyFromCheckpoint(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	for _, name := range []string{"a", "b", "c"} {
		w.publish(pub, w.ada, "acme/knowledge/"+name+"@1.0.0")
	}
	if err := w.machine(t).Checkpoint(w.ctx, By{Signer: w.root}, "acme"); err != nil {
		t.Fatal(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/late@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	offline := m.reopen(w, func(o *Options) { o.Offline = true })
	if _, err := offline.CopyLog(w.ctx, "acme"); fault.CodeOf(err) != fault.Offline {
		t.Errorf("without network: %v, want %s", err, fault.Offline)
	}
	logs := w.copies(offline.reopen(w, func(o *Options) { o.Offline = false }))
	got, err := w.reads(t, w.options(t), logs)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := got.View("acme"); err != nil || s.Seq != 5 {
		t.Errorf("acme is at %d, want 5 (%v)", s.Seq, err)
	}
}

func TestParseObjects(t *testing.T) {
	raw := EncodeObjects([]Object{{store.TypeCommit, []byte("one\n")}, {store.TypeBlob, []byte("two")}})
	flipped := bytes.Replace(raw, []byte("one"), []byte("onf"), 1)
	for name, tt := range map[string]struct {
		raw  []byte
		code fault.Code
	}{
		"a flipped byte":   {flipped, fault.Integrity},
		"cut off":          {raw[:len(raw)-1], fault.Malformed},
		"conflict markers": {append([]byte("<<<<<<< ours\n"), raw...), fault.Malformed},
		"CRLF":             {bytes.ReplaceAll(raw, []byte("\n"), []byte("\r\n")), fault.Malformed},
		"a tree":           {bytes.Replace(raw, []byte(" blob "), []byte(" tree "), 1), fault.Malformed},
		"a huge size":      {bytes.Replace(raw, []byte(" blob 3"), []byte(" blob 99999999999999999999"), 1), fault.Malformed},
		"another spelling": {bytes.Replace(raw, []byte(" blob 3"), []byte(" blob 03"), 1), fault.Malformed},
		"an empty line":    {append(slices.Clone(raw), '\n'), fault.Malformed},
	} {
		if all, err := ParseObjects(tt.raw); fault.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, %v, want %s", name, all, err, tt.code)
		}
	}
}

func FuzzParseObjects(f *testing.F) {
	f.Add(EncodeObjects([]Object{{store.TypeCommit, []byte("one\n")}, {store.TypeBlob, nil}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if all, err := ParseObjects(raw); err == nil && !bytes.Equal(EncodeObjects(all), raw) {
			t.Errorf("ParseObjects(%q) is written as %q", raw, EncodeObjects(all))
		}
	})
}

func keysOf(b Binding) (all []string) {
	for _, k := range b.Bound() {
		all = append(all, k.Key.String()+" "+string(k.State))
	}
	return all
}

// TestCopyKeepsToItself: a root that locates the namespace elsewhere makes nobody ask there.
func TestCopyKeepsToItself(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	there := w.another("acme.git")
	w.spread(pub, there)
	w.locate(there)
	w.sync(pub)
	logs := w.copies(pub)
	o := w.options(t)
	o.MayAsk = func(url string) bool {
		t.Errorf("it wants to ask %s", url)
		return true
	}
	m, err := w.reads(t, o, logs)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := m.View("acme"); err != nil || s.Seq != 2 {
		t.Errorf("acme is at %d, want 2 (%v)", s.Seq, err)
	}
}

package registry

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

func TestPublishAndFetch(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	got := w.publish(pub, w.ada, "acme/knowledge/hi@1.0.0", "acme/knowledge/deep/er/x@0.1.0")
	if !got.Claimed || got.Operations != 2 || len(got.Published) != 2 || got.Tip.Seq != 2 || got.Tries != 1 {
		t.Errorf("receipt = %+v", got)
	}
	again := w.publish(pub, w.ada, "acme/knowledge/hi@1.0.0")
	if again.Operations != 0 || len(again.Unchanged) != 1 || len(again.Published) != 0 {
		t.Errorf("publishing again = %+v, want nothing to do", again)
	}
	_, err := pub.Publish(w.ctx, publication(t, w.ada, "acme/knowledge/hi@1.0.0=changed", "acme/knowledge/new@1.0.0"))
	wantCode(t, err, fault.Integrity)

	id, err := Contact(w.ctx, w.url, t.TempDir(), transport.Options{})
	if err != nil || id.ID != w.id.ID || len(id.Roots) != 1 || id.Name != "Test registry" || id.Namespaces != 1 ||
		id.Threshold != 1 || id.Seq != 2 || id.Created.IsZero() {
		t.Errorf("contact = %+v, %v", id, err)
	}
	m := w.machine(t)
	w.sync(m, "acme")
	if _, err := m.Select(mustRef("acme/knowledge/new"), mustRange("*")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a refused publication left something: %v", err)
	}
	rel, err := m.Select(mustRef("acme/knowledge/hi"), mustRange("^1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Fetch(w.ctx, rel)
	if err != nil {
		t.Fatal(err)
	}
	if objects.DigestOf(f.Raw) != rel.Sum || !strings.Contains(string(f.Raw), "text of acme/knowledge/hi") {
		t.Errorf("fetched %q", f.Raw)
	}
	checkCopy(t, w, f)
	b, err := m.Binding("acme")
	if err != nil || len(b.Bound()) != 1 || b.Bound()[0].Key != w.ada.pub {
		t.Errorf("binding = %+v, %v", b, err)
	}
	log, err := m.History(w.ctx, "acme", 0)
	if err != nil || len(log) != 2 || log[1].Text != "claim acme" || log[0].Text != "publish acme/knowledge/deep/er/x@0.1.0 and 1 more" {
		t.Errorf("history = %+v, %v", log, err)
	}
	ended, end := context.WithCancel(w.ctx)
	end()
	_, err = m.History(ended, "acme", 0)
	wantCode(t, err, fault.Interrupt)
	if rootLog, err := m.History(w.ctx, "", 1); err != nil || len(rootLog) != 1 || rootLog[0].Text != "grant acme" {
		t.Errorf("history of the root = %+v, %v", rootLog, err)
	}

	// The same machine without network, and another that never had any.
	off := m.reopen(w, func(o *Options) { o.Offline = true })
	w.sync(off, "acme")
	if _, err := off.Fetch(w.ctx, rel); err != nil {
		t.Errorf("offline: %v", err)
	}
	_, err = off.Release(mustRef("acme/knowledge/deep/er/x"), "0.1.0")
	wantCode(t, err, fault.Offline) // nobody looked at it
	on := off.reopen(w, func(o *Options) { o.Offline = false })
	other, err := on.Release(mustRef("acme/knowledge/deep/er/x"), "0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	off = on.reopen(w, func(o *Options) { o.Offline = true })
	_, err = off.Fetch(w.ctx, other)
	wantCode(t, err, fault.Offline) // looked at, and not brought
	o := w.options(t)
	o.Offline = true
	wantCode(t, w.open(t, o).Sync(w.ctx, "acme"), fault.Offline)
}

// TestFetchedIsBelievedByItsBinding follows an item to the one place where it
// becomes usable: verified against the keys that the registry bound.
func TestFetchedIsBelievedByItsBinding(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/hi@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	rel, err := m.Select(mustRef("acme/knowledge/hi"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Fetch(w.ctx, rel)
	if err != nil {
		t.Fatal(err)
	}
	it, err := objects.Parse(f.Path, f.Raw)
	if err != nil {
		t.Fatal(err)
	}
	in := trust.Scope{Space: objects.User, Place: strings.Repeat("h", 52), Registry: m.ID().String(), Pinned: rel.Sum}
	st, err := trust.LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = trust.Verify(it, in, st)
	wantCode(t, err, fault.Untrusted)
	if err := st.PinRegistry(trust.Registry{ID: m.ID().String(), URL: w.url, Roots: []objects.Fingerprint{w.root.fp()}}); err != nil {
		t.Fatal(err)
	}
	b, err := m.Binding("acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.BindNamespace("acme", m.ID().String(), b.Bound()...); err != nil {
		t.Fatal(err)
	}
	_, err = trust.Verify(it, in, st)
	wantCode(t, err, fault.Untrusted) // bound, and given the namespace by nobody
	if err := st.Grant(w.now, in.Site().Scope("acme", m.ID().String())); err != nil {
		t.Fatal(err)
	}
	if v, err := trust.Verify(it, in, st); err != nil || v.Key() != w.ada.pub {
		t.Errorf("verify: %v", err)
	}
}

func checkCopy(t *testing.T, w *world, f *Fetched) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project.git")
	repo, err := store.Init(dir, "refs/heads/spaces/project")
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	ref := "refs/rye/lock/" + f.Sum.Hex()
	for range 2 {
		if id, err := f.CopyTo(w.ctx, repo, ref); err != nil || id != f.Commit {
			t.Fatalf("CopyTo = %v, %v", id, err)
		}
	}
	if got := testkit.Git(t, dir, "show", ref+":"+f.Path); got != strings.TrimSpace(string(f.Raw)) {
		t.Errorf("git shows %q", got)
	}
	testkit.Git(t, dir, "fsck", "--strict")
}

func TestPlainGitReadsIt(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/hi@1.0.0")
	w.publish(pub, w.ada, "acme/knowledge/hi@1.1.0", "acme/knowledge/other@1.0.0")
	if err := pub.Mark(w.ctx, oplog.OpYank, StatusChange{Names: []string{"acme/knowledge/hi@1.0.0"}, Reason: "wrong", By: By{Signer: w.ada}}); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	testkit.Git(t, t.TempDir(), "clone", "-q", w.url, clone)
	testkit.Git(t, clone, "fsck", "--strict")
	testkit.Git(t, w.dir, "fsck", "--strict")
	if _, err := os.Stat(filepath.Join(clone, "README.md")); err != nil {
		t.Error(err)
	}
	want := "yank acme/knowledge/hi@1.0.0\npublish acme/knowledge/hi@1.1.0 and 1 more\npublish acme/knowledge/hi@1.0.0\nclaim acme"
	if got := testkit.Git(t, clone, "log", "--format=%s", "origin/ns/acme"); got != want {
		t.Errorf("git log = %q, want %q", got, want)
	}
	trailers := testkit.Git(t, clone, "log", "-1", "--format=%(trailers:key=Rye-Op,valueonly)", "origin/ns/acme")
	if strings.TrimSpace(trailers) != "yank" {
		t.Errorf("git reads the trailer Rye-Op as %q", trailers)
	}
	s, err := pub.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	var allowed strings.Builder // as ssh-keygen wants it
	for _, k := range s.Keys() {
		fmt.Fprintf(&allowed, "acme namespaces=\"git\" %s\n", k.Public.Authorized())
	}
	if err := os.WriteFile(signers, []byte(allowed.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"origin/ns/acme", "origin/ns/acme~1", "origin/ns/acme~3", "origin/content/acme"} {
		testkit.Git(t, clone, "-c", "gpg.ssh.allowedSignersFile="+signers, "verify-commit", c)
	}
	if got := testkit.Git(t, clone, "ls-tree", "origin/ns/acme"); got != "" {
		t.Errorf("the log holds files: %q", got)
	}
	// What docs/format/registry.md gives for checking a state by hand.
	check := exec.Command("sh", "-c", `git show "$1":catalogue/list | sha256sum`, "sh", s.Kept.String())
	check.Dir = clone
	if out, err := check.Output(); err == nil && len(out) > 64 { // where the programs are installed
		if got := "sha256:" + string(out[:64]); got != s.Digest().String() {
			t.Errorf("sha256sum says %s, the state is %s", got, s.Digest())
		}
	}
	if raw := testkit.Git(t, clone, "show", s.Kept.String()+":namespace.yaml"); !strings.Contains(raw, `namespace: "acme"`) {
		t.Errorf("namespace.yaml = %q", raw)
	}
	if raw := testkit.Git(t, clone, "show", "origin/content/acme:README.md"); raw != strings.TrimSuffix(string(contentReadme("acme")), "\n") {
		t.Errorf("README.md = %q", raw)
	}
}

func TestCreateRefusesWhatIsThere(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	_, err := Create(w.ctx, w.url, CreateOptions{Name: "Again", By: By{Signer: w.root}, TempDir: t.TempDir()})
	wantCode(t, err, fault.Conflict)
	_, err = Contact(w.ctx, emptyWorld(t).url, t.TempDir(), transport.Options{})
	wantCode(t, err, fault.NotFound)
	_, err = Open(Options{URL: w.url, CacheDir: "x", StateDir: "y"})
	wantCode(t, err, fault.Untrusted)
}

func TestDryRunChangesNothing(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	m := w.machine(t)
	before := testkit.Git(t, w.dir, "for-each-ref")
	p := publication(t, w.ada, "acme/knowledge/hi@1.0.0")
	p.DryRun = true
	got, err := m.Publish(w.ctx, p)
	if err != nil || len(got.Published) != 1 || !got.Claimed || got.Operations != 2 {
		t.Errorf("dry run = %+v, %v", got, err)
	}
	if after := testkit.Git(t, w.dir, "for-each-ref"); after != before {
		t.Errorf("refs are %q, were %q", after, before)
	}
	eve := newKey("eve")
	p = publication(t, eve, "acme/knowledge/hi@1.0.0")
	p.DryRun = true
	_, err = m.Publish(w.ctx, p)
	wantCode(t, err, fault.Untrusted)
}

func TestClaims(t *testing.T) {
	granted, open := newWorld(t, oplog.ClaimsGranted), newWorld(t, oplog.ClaimsOpen)
	bob := newKey("bob")
	_, err := granted.machine(t).Publish(granted.ctx, publication(t, bob, "bobs/knowledge/x@1.0.0"))
	wantCode(t, err, fault.Untrusted)
	_, err = granted.machine(t).Publish(granted.ctx, publication(t, bob, "acme/knowledge/x@1.0.0"))
	wantCode(t, err, fault.Untrusted)
	if got := open.publish(open.machine(t), bob, "bobs/knowledge/x@1.0.0"); !got.Claimed {
		t.Errorf("receipt = %+v", got)
	}
	_, err = open.machine(t).Publish(open.ctx, publication(t, newKey("eve"), "bobs/knowledge/y@1.0.0"))
	wantCode(t, err, fault.Untrusted)
	job := &publishing{p: Publication{By: By{Signer: bob}}}
	root, err := open.machine(t).Registry.synced(open.ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = job.claim(oplog.NewState(root, "core"))
	wantCode(t, err, fault.Denied)
}

// synced returns the root after a sync.
func (r *Registry) synced(ctx context.Context) (oplog.Root, error) {
	if err := r.Sync(ctx); err != nil {
		return oplog.Root{}, err
	}
	return r.Root(ctx)
}

// TestRegistriesAreDistinct: the same name, key and second give two identities (T23).
func TestRegistriesAreDistinct(t *testing.T) {
	a, b := newWorld(t, oplog.ClaimsGranted), newWorld(t, oplog.ClaimsGranted)
	if a.now != b.now || a.root.pub != b.root.pub {
		t.Fatal("the two worlds differ: nothing is shown")
	}
	if a.id.ID == b.id.ID {
		t.Errorf("two registries have the identity %s", a.id.ID)
	}
}

package registry

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/registry/oplog"
)

// TestRedactAndRebuild: a secret that was published is refused wherever it is cached, and
// after a rebuild no branch of the host names its bytes; everything else is as it was.
func TestRedactAndRebuild(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub, by := w.machine(t), By{Signer: w.ada}
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/secret@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	secret, err := m.Select(mustRef("acme/knowledge/secret"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(w.ctx, secret); err != nil {
		t.Fatal(err)
	}
	if err := pub.Mark(w.ctx, oplog.OpRedact, StatusChange{Names: []string{secret.Name()}, Reason: "a password", By: by}); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	if list, err := m.Revoked("acme"); err != nil || len(list) != 1 || list[0].Digest != secret.Sum {
		t.Errorf("revoked = %v, %v", list, err)
	}
	now, err := m.Release(secret.Ref, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Fetch(w.ctx, now)
	wantCode(t, err, fault.Revoked) // though it is in the cache
	named := func() bool {
		return strings.Contains(testkit.Git(t, w.dir, "rev-list", "--objects", "--all"), secret.Commit.String())
	}
	if !named() {
		t.Fatal("the test shows nothing")
	}
	w.sync(pub, "acme")
	if _, err := pub.Rebuild(w.ctx, by, "acme", true); err != nil || !named() {
		t.Errorf("a dry run: %v", err)
	}
	if _, err := pub.Rebuild(w.ctx, by, "acme", false); err != nil {
		t.Fatal(err)
	}
	if named() {
		t.Error("a branch still names what was redacted")
	}
	testkit.Git(t, w.dir, "gc", "-q", "--prune=now")
	testkit.Git(t, w.dir, "fsck", "--strict")
	if got := w.verify(w.machine(t), true); got.Redacted != 1 || got.Fetched != 1 || got.Pruned != 2 || len(got.Missing) != 0 {
		t.Errorf("verify = %+v", got)
	}
	fresh := w.machine(t)
	w.sync(fresh, "acme")
	rel, err := fresh.Select(mustRef("acme/knowledge/a"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Fetch(w.ctx, rel); err != nil {
		t.Error(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/after@1.0.0")
	if got := w.verify(w.machine(t), false); len(got.Missing) != 0 {
		t.Errorf("after another publication: %+v", got)
	}
	if readme := testkit.Git(t, w.dir, "show", contentPrefix+"acme~1:README.md"); !strings.Contains(readme, "| `acme/knowledge/secret@1.0.0` | 2025-01-02 | redacted |") {
		t.Errorf("README = %q", readme)
	}
}

// TestRebuildMends: what the host lost and a machine still has goes there again.
func TestRebuildMends(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub, by := w.machine(t), By{Signer: w.ada}
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/b@1.0.0")
	rel, err := pub.Select(mustRef("acme/knowledge/b"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	h := w.host()
	c, err := h.repo.Commit(rel.Commit)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := oplog.OnlyFile(&h.repo.Reader, c.Tree, rel.Path)
	if err != nil {
		t.Fatal(err)
	}
	h.repo.Close()
	w.loosen()
	w.remove(blob)
	other := w.machine(t)
	w.sync(other, "acme")
	_, err = other.Rebuild(w.ctx, by, "acme", false)
	wantCode(t, err, fault.Network) // it has no copy
	w.sync(pub, "acme")
	if got, err := pub.Rebuild(w.ctx, by, "acme", false); err != nil || len(got.Missing) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got := w.verify(w.machine(t), true); len(got.Missing) != 0 {
		t.Errorf("afterwards: %+v", got)
	}
	testkit.Git(t, w.dir, "fsck", "--strict")
}

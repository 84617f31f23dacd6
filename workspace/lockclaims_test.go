package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// A lock pins and never vouches (T6): a retired key was stolen; what it signs now is in the
// record, and digest and commit are in the lock, by hand.
func TestRetiredKeyWithALockOfItsOwn(t *testing.T) {
	alice, bob, _ := published(t)
	bob.add("acme/tool/greet")
	if _, err := alice.Keys().Rotate(t.Context(), rye.Terminal(), rye.KeyRotateRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Registry().Fetch(t.Context(), rye.Terminal()); err != nil {
		t.Fatal(err)
	}
	// What it signed before, and the log holds, goes on counting.
	ref := refOf("tool:acme/greet")
	for name, q := range map[string]rye.ExecuteRequest{"plain": {}, "--locked": {Locked: true}, "--frozen": {Frozen: true}} {
		q.Ref = ref
		if res, err := bob.Execute(t.Context(), rye.Terminal(), q); err != nil || !res.Metadata.Locked {
			t.Errorf("what the log holds of the retired key, %s: %+v, %v", name, res, err)
		}
	}
	good, forged := bob.read("rye.lock"), ""
	testkit.OnBranch(t, bob.dir, func() { forged = forge(t, alice, bob) })
	for name, q := range map[string]rye.ExecuteRequest{"plain": {}, "--locked": {Locked: true}, "--frozen": {Frozen: true}, "--pinned": {Pinned: true}} {
		q.Ref = ref
		_, err := bob.Execute(t.Context(), rye.Terminal(), q)
		wantCode(t, name, err, fault.Revoked)
	}
	if r, err := bob.verifyOne("tool:acme/greet"); err == nil && r.OK {
		t.Errorf("verify believes it: %+v", r)
	}
	if _, err := bob.Locks().Verify(t.Context(), rye.Terminal()); err == nil {
		t.Error("lock verify believes it")
	}
	// No pull makes it count, and an update brings back what was published.
	bob.o.Offline = true
	bob.enter(bob.dir)
	if _, err := bob.run("tool:acme/greet", nil); err == nil {
		t.Error("offline it ran")
	}
	bob.o.Offline = false
	bob.enter(bob.dir)
	if bob.read("rye.lock") != forged {
		t.Fatal("the lock was rewritten")
	}
	_, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{})
	wantCode(t, "pull", err, fault.Integrity)
	if bob.read("rye.lock") != forged {
		t.Error("pull rewrote the lock")
	}
	if _, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Update: true}); err != nil || itemsOf(bob.read("rye.lock")) != itemsOf(good) {
		t.Errorf("update: %v, and the lock is\n%s", err, bob.read("rye.lock"))
	}
	// Without the evidence, or with evidence that was changed, nothing of that key counts.
	lists, err := filepath.Glob(filepath.Join(bob.o.ConfigDir, "logged", "*"))
	if err != nil || len(lists) != 1 {
		t.Fatalf("lists of what logs hold: %v, %v", lists, err)
	}
	if err := os.WriteFile(lists[0], []byte("sha256:"+strings.Repeat("00", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = bob.run("tool:acme/greet", nil)
	wantCode(t, "with a list that was changed", err, fault.Revoked)
	if _, err := bob.Registry().Fetch(t.Context(), rye.Terminal()); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.run("tool:acme/greet", nil); err != nil {
		t.Errorf("after rye fetch: %v", err)
	}
}

// itemsOf returns what a lock says of items.
func itemsOf(lock string) string { return lock[strings.Index(lock, "items:"):] }

// forge lets alice's retired key sign other bytes, puts them into bob's record, and digest,
// blob and commit into his lock, which it returns.
func forge(t *testing.T, alice, bob *person) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(alice.o.ConfigDir, "keys", "*.retired-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("retired keys: %v, %v", files, err)
	}
	stolen, err := trust.LoadKey(files[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	it, err := objects.Parse("tools/acme/greet.sh", []byte(strings.Replace(greet, "hello", "gotcha", 1)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := trust.SignItem(t.Context(), stolen, it, trust.Scope{Space: objects.Project}, bob.o.Now().AddDate(-1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	repo, err := store.Open(filepath.Join(bob.record(), "store.git"))
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	commit, err := repo.Edit(t.Context(), "refs/heads/forged", []store.Change{{Path: "tools/acme/greet.sh", Data: raw}},
		store.CommitOptions{Message: "acme/tool/greet@1.0.0\n", Author: store.Ident{Name: "A", Email: "a@example.org"}, When: bob.o.Now()})
	if err != nil {
		t.Fatal(err)
	}
	lock := bob.read("rye.lock")
	head, item, _ := strings.Cut(lock, "  tool:acme/greet:\n")
	item, rest, _ := strings.Cut(item, "    author:")
	for field, value := range map[string]string{"sha256": objects.DigestOf(raw).Hex(), "commit": commit.String(), "blob": store.SHA1.Hash(store.TypeBlob, raw).String()} {
		item = regexp.MustCompile(`(?m)^    `+field+`: .*$`).ReplaceAllString(item, "    "+field+": "+quoted(value))
	}
	lock = head + "  tool:acme/greet:\n" + item + "    author:" + rest
	bob.write("rye.lock", lock)
	return lock
}

// quoted writes a digest as a lock does, where it could be read as a number.
func quoted(hex string) string {
	if strings.Trim(hex, "0123456789") == "" || regexp.MustCompile(`^[0-9]+e[0-9]+$`).MatchString(hex) || strings.HasPrefix(hex, "0b") {
		return `"` + hex + `"`
	}
	return hex
}

// What a lock says of a namespace's log is a claim (T20): one that does not fit is said of
// the lock, by its name; the registry is accused of nothing, and nothing waits for it.
func TestLockThatNamesAnotherTip(t *testing.T) {
	alice, bob, _ := published(t)
	bob.add("acme/tool/greet")
	alice.release("1.1.0")
	good := bob.read("rye.lock")
	seq := regexp.MustCompile(`(?m)^    seq: [0-9]+$`)
	for n, want := range map[int]fault.Code{1: fault.Integrity, 900: fault.Drift} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bad := seq.ReplaceAllString(good, fmt.Sprintf("    seq: %d", n))
			bob.write("rye.lock", bad)
			all, err := bob.Registry().Fetch(t.Context(), rye.Terminal())
			wantCode(t, "fetch", err, want)
			if err == nil || !strings.HasPrefix(err.Error(), ".ai/rye.lock: it names") {
				t.Errorf("fetch: %v, want the lock to be named", err)
			}
			if len(all) != 1 || all[0].Seen["acme"] != 3 {
				t.Errorf("fetch reports %+v, want what the registry shows now all the same", all)
			}
			if kept, _ := filepath.Glob(filepath.Join(bob.o.StateDir, "registries", "*.evidence")); len(kept) != 0 {
				t.Errorf("the registry is accused: %v", kept)
			}
			_, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{})
			wantCode(t, "pull", err, want)
			if bob.read("rye.lock") != bad {
				t.Error("a refusal changed the lock")
			}
			if _, err := bob.Locks().Verify(t.Context(), rye.Terminal()); err == nil {
				t.Error("lock verify is content with it")
			}
			if _, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Update: true}); err != nil {
				t.Errorf("update: %v", err)
			}
			if _, err := bob.Registry().Fetch(t.Context(), rye.Terminal()); err != nil {
				t.Errorf("fetch after update: %v", err)
			}
		})
	}
}

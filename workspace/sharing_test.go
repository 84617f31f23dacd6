package workspace_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace"
)

// published is alice with a registry in a directory that holds greet@1.0.0, and
// bob with a project that has pinned it. No git is needed: paths are served by
// rye itself.
func published(t *testing.T) (alice, bob *person, url string) {
	t.Helper()
	alice, url = project(t), filepath.Join(t.TempDir(), "tools.git")
	alice.write("tools/acme/greet.sh", greet)
	alice.sign("*")
	if _, err := alice.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: url}); err != nil {
		t.Fatal(err)
	}
	alice.push("tool:acme/greet")
	bob = newPerson(t)
	if _, err := bob.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: bob.dir}); err != nil {
		t.Fatal(err)
	}
	bob.enter(bob.dir)
	if _, err := bob.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url}); err != nil {
		t.Fatal(err)
	}
	return alice, bob, url
}

func (p *person) push(refs ...rye.Target) {
	p.t.Helper()
	if _, err := p.Registry().Push(p.t.Context(), rye.Terminal(), rye.PushRequest{Targets: refs}); err != nil {
		p.t.Fatal(err)
	}
}

// release signs and publishes greet anew under a version.
func (p *person) release(version string) {
	p.t.Helper()
	p.write("tools/acme/greet.sh", strings.ReplaceAll(greet, "1.0.0", version)+"# "+version+"\n")
	p.sign("tool:acme/greet")
	p.push("tool:acme/greet")
}

func (p *person) add(names ...string) {
	p.t.Helper()
	if _, err := p.Registry().Install(p.t.Context(), rye.Terminal(), rye.InstallRequest{Names: names}); err != nil {
		p.t.Fatal(err)
	}
}

func TestPublishAddExecute(t *testing.T) {
	alice, bob, _ := published(t)
	rep, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/greet@^1.0"}})
	if err != nil || len(rep.Installed) != 1 || rep.Installed[0].Version != "1.0.0" {
		t.Fatalf("install %+v, %v", rep, err)
	}
	asked := bob.asks[len(bob.asks)-1]
	if !strings.Contains(strings.Join(asked.Lines, "\n"), "author   SHA256:") {
		t.Errorf("the question names no author: %q", asked.Lines)
	}
	res, err := bob.run("tool:acme/greet", map[string]any{"name": "bob"})
	if err != nil || !bytes.Contains(res.Data, []byte("hello, bob")) || !res.Metadata.Locked {
		t.Fatalf("run %+v, %v", res, err)
	}
	if !strings.Contains(bob.read("rye.yaml"), "acme/tool/greet: ^1.0") {
		t.Errorf("rye.yaml does not list the dependency:\n%s", bob.read("rye.yaml"))
	}
	before := bob.read("rye.lock")
	if rep, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{}); err != nil || len(rep.Unchanged) != 1 {
		t.Errorf("pull again: %+v, %v", rep, err)
	}
	if bob.read("rye.lock") != before {
		t.Error("pulling nothing new changed the lock")
	}
	alice.release("1.1.0")
	if rep, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{}); err != nil || len(rep.Unchanged) != 1 {
		t.Errorf("pull keeps what is locked: %+v, %v", rep, err)
	}
	if rep, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Update: true}); err != nil || len(rep.Installed) != 1 || rep.Installed[0].Version != "1.1.0" {
		t.Errorf("update: %+v, %v", rep, err)
	}
	bob.o.Offline = true
	bob.enter(bob.dir)
	if _, err := bob.run("tool:acme/greet", nil); err != nil {
		t.Errorf("offline: %v", err)
	}
}

func TestRefusedAdditionChangesNothing(t *testing.T) {
	_, bob, _ := published(t)
	yaml := bob.read("rye.yaml")
	bob.yes = false
	_, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/greet"}})
	wantCode(t, "add without consent", err, fault.Denied)
	if _, err := os.Stat(bob.path("rye.lock")); err == nil || bob.read("rye.yaml") != yaml {
		t.Error("a refused addition left something behind")
	}
	_, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/nothing"}})
	wantCode(t, "add of what nobody published", err, fault.NotFound)
	_, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/greet@^2.0"}})
	wantCode(t, "add of a range that nothing fits", err, fault.Conflict)
}

func TestRegistryRolledBack(t *testing.T) {
	alice, bob, url := published(t)
	old := filepath.Join(t.TempDir(), "old")
	testkit.CopyDir(t, url, old)
	alice.release("1.1.0")
	bob.add("acme/tool/greet")
	testkit.CopyDir(t, old, url)
	lock := bob.read("rye.lock")
	_, err := bob.Registry().Fetch(t.Context(), rye.Terminal())
	wantCode(t, "fetch of a registry that went back", err, fault.Rollback)
	_, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Update: true})
	wantCode(t, "update from it", err, fault.Rollback)
	if bob.read("rye.lock") != lock {
		t.Error("a refusal changed the lock")
	}
	// A new machine sees that the lock names more, and says so of the lock: it cannot know
	// which of the two is wrong, and brings nothing.
	fresh := newPerson(t)
	for _, f := range []string{"rye.yaml", "rye.lock"} {
		fresh.write(f, bob.read(f))
	}
	fresh.enter(fresh.dir)
	if _, err := fresh.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: fresh.dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url}); err != nil {
		t.Fatal(err)
	}
	_, err = fresh.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{})
	wantCode(t, "pull on a new machine", err, fault.Drift)
	if !strings.Contains(err.Error(), ".ai/rye.lock: it names operation 3 of acme, but the registry has fewer") {
		t.Errorf("pull on a new machine: %v", err)
	}
}

func TestAnotherRegistryAtTheSameAddress(t *testing.T) {
	_, bob, url := published(t)
	mallory := project(t)
	mallory.write("tools/acme/greet.sh", strings.Replace(greet, "hello", "gotcha", 1))
	mallory.sign("*")
	if err := os.RemoveAll(url); err != nil {
		t.Fatal(err)
	}
	if _, err := mallory.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: url}); err != nil {
		t.Fatal(err)
	}
	mallory.push("tool:acme/greet")
	_, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/greet"}})
	wantCode(t, "add from a registry that took the address", err, fault.Untrusted)
	_, err = bob.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url})
	wantCode(t, "pinning it over the old one", err, fault.Untrusted)
}

func TestForeignNamespaceCannotBePublished(t *testing.T) {
	_, _, url := published(t)
	mallory := project(t)
	mallory.write("tools/acme/greet.sh", strings.Replace(greet, "1.0.0", "9.0.0", 1))
	mallory.sign("*")
	if _, err := mallory.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url}); err != nil {
		t.Fatal(err)
	}
	_, err := mallory.Registry().Push(t.Context(), rye.Terminal(), rye.PushRequest{Targets: []rye.Target{"tool:acme/greet"}})
	wantCode(t, "push into somebody's namespace", err, fault.Untrusted)
}

// Where anybody may claim a namespace, a registry decides about one only where its user
// named that scope: "*" is not enough.
func TestOpenRegistryNeedsANamedScope(t *testing.T) {
	alice, url := project(t), filepath.Join(t.TempDir(), "tools.git")
	alice.write("tools/acme/greet.sh", greet)
	alice.sign("*")
	if _, err := alice.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: url, Open: true}); err != nil {
		t.Fatal(err)
	}
	alice.push("tool:acme/greet")
	for _, scope := range []string{"beta", "acme"} {
		bob := newPerson(t)
		if _, err := bob.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: bob.dir}); err != nil {
			t.Fatal(err)
		}
		bob.enter(bob.dir)
		if _, err := bob.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url, Scopes: []string{scope}}); err != nil {
			t.Fatal(err)
		}
		if scope == "beta" { // as a project that came from elsewhere says
			bob.write("rye.yaml", strings.Replace(bob.read("rye.yaml"), "  beta: main", `  "*": main`, 1))
			bob.looks = true
			if _, err := bob.Trust().Statement(t.Context(), rye.Terminal(), rye.TrustRequest{Here: true}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/greet"}})
		if scope == "beta" {
			wantCode(t, `install by the scope "*"`, err, fault.Denied)
		} else if err != nil {
			t.Errorf("install by a named scope: %v", err)
		}
	}
}

func TestVersionIsPublishedOnce(t *testing.T) {
	alice, _, _ := published(t)
	rep, err := alice.Registry().Push(t.Context(), rye.Terminal(), rye.PushRequest{Targets: []rye.Target{"tool:acme/greet"}})
	if err != nil || len(rep.Unchanged) != 1 || len(rep.Published) != 0 {
		t.Errorf("push again: %+v, %v", rep, err)
	}
	alice.write("tools/acme/greet.sh", strings.Replace(greet, "hello", "good day", 1))
	alice.sign("tool:acme/greet")
	_, err = alice.Registry().Push(t.Context(), rye.Terminal(), rye.PushRequest{Targets: []rye.Target{"tool:acme/greet"}})
	wantCode(t, "another greet@1.0.0", err, fault.Integrity)
}

func TestYankedAndRevoked(t *testing.T) {
	alice, bob, _ := published(t)
	alice.release("1.1.0")
	mark := func(do, name string) {
		t.Helper()
		if _, err := alice.Registry().Mark(t.Context(), rye.Terminal(), rye.MarkRequest{Do: do, Names: []string{name}, Reason: "for the test"}); err != nil {
			t.Fatal(err)
		}
	}
	mark("yank", "acme/tool/greet@1.1.0")
	bob.add("acme/tool/greet")
	if !strings.Contains(bob.read("rye.lock"), "version: 1.0.0") {
		t.Errorf("a yanked version was selected:\n%s", bob.read("rye.lock"))
	}
	if _, err := bob.run("tool:acme/greet", nil); err != nil {
		t.Fatal(err)
	}
	mark("revoke", "acme/tool/greet@1.0.0")
	if _, err := bob.Registry().Fetch(t.Context(), rye.Terminal()); err != nil {
		t.Fatal(err)
	}
	bob.o.Offline = true
	bob.enter(bob.dir)
	_, err := bob.run("tool:acme/greet", nil)
	wantCode(t, "revoked, locked, offline", err, fault.Revoked)
}

func TestLockEditedByHand(t *testing.T) {
	_, bob, _ := published(t)
	bob.add("acme/tool/greet")
	good := bob.read("rye.lock")
	_, sum, _ := strings.Cut(good[strings.Index(good, "tool:acme/greet:"):], "sha256: ")
	sum = strings.Trim(sum[:strings.IndexByte(sum, '\n')], `"`) // quoted where it could be read as a number
	flip := func(s string, at int) string {
		c := byte('0')
		if s[at] == c {
			c = '1'
		}
		return s[:at] + string(c) + s[at+1:]
	}
	bob.write("rye.lock", strings.Replace(good, sum, flip(sum, len(sum)-1), -1))
	_, err := bob.run("tool:acme/greet", nil)
	wantCode(t, "another digest in the lock", err, fault.Drift)
	bob.write("rye.lock", strings.Replace(good, "lock: 1", "lock: 9", 1))
	_, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{})
	wantCode(t, "a lock of a newer rye", err, fault.Malformed)
	if !strings.HasPrefix(bob.read("rye.lock"), "lock: 9") {
		t.Error("a newer lock was rewritten")
	}
	bob.write("rye.lock", good)
	if _, err := bob.run("tool:acme/greet", nil); err != nil {
		t.Errorf("put back: %v", err)
	}
}

func TestFileBeforeALockedItem(t *testing.T) {
	_, bob, _ := published(t)
	bob.add("acme/tool/greet")
	bob.write("tools/acme/greet.sh", greet)
	_, err := bob.run("tool:acme/greet", nil)
	wantCode(t, "an unsigned file before it", err, fault.Untrusted)
	bob.sign("tool:acme/greet") // in a namespace that the registry gave to alice: a patch, which no lock takes
	_, err = bob.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: rye.Ref{Kind: objects.Tool, ID: "acme/greet"}, Locked: true})
	wantCode(t, "a patch before it, under the lock", err, fault.Rollback)
	_, err = bob.Registry().Push(t.Context(), rye.Terminal(), rye.PushRequest{Targets: []rye.Target{"tool:acme/greet"}})
	wantCode(t, "a patch, published", err, fault.Rollback)
}

// One scope is one registry: a higher version elsewhere is never looked at.
func TestDependencyConfusion(t *testing.T) {
	_, bob, _ := published(t)
	mallory, other := project(t), filepath.Join(t.TempDir(), "public.git")
	mallory.write("tools/acme/greet.sh", strings.Replace(greet, "1.0.0", "9.9.9", 1))
	mallory.sign("*")
	if _, err := mallory.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: other, Name: "main"}); err != nil {
		t.Fatal(err)
	}
	mallory.push("tool:acme/greet")
	if _, err := bob.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: other, Name: "public", Scopes: []string{"public"}}); err != nil {
		t.Fatal(err)
	}
	bob.add("acme/tool/greet")
	if !strings.Contains(bob.read("rye.lock"), "version: 1.0.0") {
		t.Errorf("taken from elsewhere:\n%s", bob.read("rye.lock"))
	}
	_, err := bob.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: other, Name: "public2", Scopes: []string{"*"}})
	wantCode(t, "a second registry for every scope", err, fault.Conflict)
}

// What a project names in rye.yaml is a wish; pinning is the user's.
func TestProjectCannotPin(t *testing.T) {
	_, bob, _ := published(t)
	fresh := newPerson(t)
	fresh.write("rye.yaml", bob.read("rye.yaml"))
	fresh.enter(fresh.dir)
	if _, err := fresh.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: fresh.dir}); err != nil {
		t.Fatal(err)
	}
	_, err := fresh.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/greet"}})
	wantCode(t, "add from a registry that only the project names", err, fault.Untrusted)
	if fault.HintOf(err).String() != "rye trust" {
		t.Errorf("hint %q", fault.HintOf(err).String())
	}
}

// TestAddVerifiesTheFile: an owner's log names a file that its author did not sign so.
func TestAddVerifiesTheFile(t *testing.T) {
	for _, c := range []struct {
		name, version, more string
		says                string
	}{
		{"of another version", "2.0.0", "", "the file is tool:acme/greet@2.0.0"},
		{"changed after it was signed", "1.0.0", "# more\n", "changed since it was signed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			alice, bob, url := published(t)
			alice.write("tools/acme/greet.sh", strings.ReplaceAll(greet, "1.0.0", c.version))
			alice.sign("tool:acme/greet")
			key, err := trust.LoadKey(filepath.Join(alice.home, "config", "keys", "default"), nil)
			if err != nil {
				t.Fatal(err)
			}
			signed := alice.read("tools/acme/greet.sh")
			it, err := objects.Parse("tools/acme/greet.sh", []byte(signed))
			if err != nil {
				t.Fatal(err)
			}
			h := registrytest.Open(t, url)
			h.Forge("refs/heads/ns/acme", registrytest.By(t, key), func(op *store.Commit) {
				h.Replace(op, "acme/tool/greet@1.0.0", it.Path, signed+c.more, it.Signature.SignedAt.Unix())
			})
			_, err = bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{"acme/tool/greet"}})
			wantCode(t, "add of a file "+c.name, err, fault.Integrity)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("add of a file %s: %v, want %q", c.name, err, c.says)
			}
			if _, err := os.Stat(bob.path("rye.lock")); err == nil {
				t.Error("it is locked all the same")
			}
		})
	}
}

// TestRetiredKeyOfALockedItem: a machine that has never looked at the catalogue fetches, after
// the key that published a locked item was retired. One fetch is enough to use the item.
func TestRetiredKeyOfALockedItem(t *testing.T) {
	alice, bob, _ := published(t)
	bob.add("acme/tool/greet")
	if _, err := alice.Keys().Rotate(t.Context(), rye.Terminal(), rye.KeyRotateRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(bob.o.CacheDir); err != nil {
		t.Fatal(err)
	}
	if got := bob.fetched(); got != "" {
		t.Errorf("fetch warns: %s", got)
	}
	bob.enter(bob.dir)
	if _, err := bob.run("tool:acme/greet", nil); err != nil {
		t.Errorf("after one fetch: %v", err)
	}
}

func TestContentThatIsGone(t *testing.T) {
	_, bob, url := published(t)
	bob.add("acme/tool/greet")
	if err := os.RemoveAll(bob.record()); err != nil {
		t.Fatal(err)
	}
	_, err := bob.run("tool:acme/greet", nil)
	wantCode(t, "locked, content missing", err, fault.Offline)
	if err := os.RemoveAll(bob.o.CacheDir); err != nil {
		t.Fatal(err)
	}
	bob.add()
	if _, err := bob.run("tool:acme/greet", nil); err != nil {
		t.Errorf("after rye pull: %v", err)
	}
	if _, err := os.Stat(filepath.Join(url, "objects")); err != nil {
		t.Fatal(err)
	}
}

// No command publishes anything but what it was asked to: other refs of the store
// never travel.
func TestOnlyTheNamespaceTravels(t *testing.T) {
	_, _, url := published(t)
	var refs []string
	err := filepath.WalkDir(filepath.Join(url, "refs"), func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(url, p)
			refs = append(refs, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil || strings.Join(refs, " ") != "refs/heads/content/acme refs/heads/main refs/heads/ns/acme" {
		t.Errorf("the registry holds %v, %v", refs, err)
	}
}

// Two additions at once: what a person was asked about is not put in the place of something
// that another rye pinned meanwhile, and two that pin different items keep both.
func TestAdditionsOvertake(t *testing.T) {
	alice, bob, _ := published(t)
	alice.write("tools/acme/other.sh", strings.ReplaceAll(greet, "greet", "other"))
	alice.sign("tool:acme/other")
	alice.push("tool:acme/other")
	alice.release("1.1.0")
	pinned := func() string { t.Helper(); return bob.read("rye.lock") }
	beside := func(names ...string) { // a second process of bob's, while the first one asks
		ask := bob.o.Consent
		second := workspace.Open(bob.o)
		once := false
		bob.o.Consent = func(ctx context.Context, q rye.Question) (bool, error) {
			if !once {
				once = true
				if _, err := second.Registry().Install(ctx, rye.Terminal(), rye.InstallRequest{Names: names}); err != nil {
					t.Errorf("the second process: %v", err)
				}
			}
			return ask(ctx, q)
		}
		bob.Workspace = workspace.Open(bob.o)
		bob.o.Consent = ask
	}
	install := func(name string) error {
		_, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Names: []string{name}})
		return err
	}

	beside("acme/tool/greet@1.0.0")
	wantCode(t, "another version meanwhile", install("acme/tool/greet@1.1.0"), fault.Conflict)
	wantText(t, "the lock", pinned(), "version: 1.0.0")
	beside("acme/tool/other")
	if err := install("acme/tool/greet@1.1.0"); err != nil {
		t.Errorf("another item meanwhile: %v", err)
	}
	wantText(t, "the lock", pinned(), "tool:acme/greet:", "version: 1.1.0", "tool:acme/other:")
	wantText(t, "rye.yaml", bob.read("rye.yaml"), "acme/tool/greet: 1.1.0", "acme/tool/other:")

	before := pinned()
	bob.enter(bob.dir)
	if err := install("acme/tool/greet@1.1.0"); err != nil || pinned() != before {
		t.Errorf("what is pinned already: %v, and the lock changed: %t", err, pinned() != before)
	}
	// One that was pinned before, too, is replaced by one of the two only.
	alice.release("1.2.0")
	beside("acme/tool/greet@1.0.0")
	wantCode(t, "an older version meanwhile", install("acme/tool/greet@1.2.0"), fault.Conflict)
	wantText(t, "the lock", pinned(), "tool:acme/greet:", "version: 1.0.0")
	// The same version meanwhile is what was asked for.
	beside("acme/tool/greet@1.2.0")
	if err := install("acme/tool/greet@1.2.0"); err != nil {
		t.Errorf("the same version meanwhile: %v", err)
	}
	wantText(t, "the lock", pinned(), "version: 1.2.0")
}

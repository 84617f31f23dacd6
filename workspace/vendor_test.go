package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

const vendoredGreet = "vendor/items/tools/acme/greet.sh"

// vendored is a project whose one tool is from a registry and vendored, and the tool's author.
func vendored(t *testing.T) (alice, bob *person, url string) {
	t.Helper()
	alice, bob, url = published(t)
	bob.add("acme/tool/greet")
	bob.vendor()
	return alice, bob, url
}

func (p *person) vendor() *rye.VendorReport {
	p.t.Helper()
	rep, err := p.Locks().Vendor(p.t.Context(), rye.Terminal(), rye.VendorRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	return rep
}

// clones returns a new person with a copy of bob's project, who accepted it. No registry answers.
func (p *person) clones(t *testing.T) *person {
	t.Helper()
	q := newPerson(t)
	testkit.CopyDir(t, p.path(""), q.path(""))
	q.o.Offline = true
	q.enter(q.dir)
	q.accept()
	return q
}

func (p *person) pull() error {
	_, err := p.Registry().Install(p.t.Context(), rye.Terminal(), rye.InstallRequest{})
	return err
}

func (p *person) runLocked(ref rye.Target) error {
	_, err := p.Execute(p.t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf(string(ref)), Locked: true})
	return err
}

// tree returns the text of every regular file below .ai/vendor.
func (p *person) tree() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.path("vendor"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all[path] = testkit.ReadFile(p.t, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return all
}

// TestVendoredBytes: whoever controls .ai/vendor can stop a locked item, and do nothing else. It
// costs no time, reaches nothing outside, and is reported.
func TestVendoredBytes(t *testing.T) {
	_, bob, _ := vendored(t)
	for name, tt := range map[string]struct {
		change func(p *person)
		runs   fault.Code
		checks fault.Code // of lock verify
	}{
		"untouched":      {func(*person) {}, "", ""},
		"a changed byte": {func(p *person) { p.changes(vendoredGreet, "hello", "hellO") }, fault.Integrity, fault.Integrity},
		"missing":        {func(p *person) { testkit.Must(t, os.Remove(p.path(vendoredGreet))) }, fault.Offline, fault.Drift},
		"a directory in its place": {func(p *person) {
			testkit.Must(t, os.Remove(p.path(vendoredGreet)))
			p.write(vendoredGreet+"/x", "x")
		}, fault.Malformed, fault.Integrity},
		"a link to the right bytes outside": {func(p *person) {
			out := filepath.Join(t.TempDir(), "greet.sh")
			testkit.WriteFile(t, out, p.read(vendoredGreet), 0o644)
			testkit.Must(t, os.Remove(p.path(vendoredGreet)))
			testkit.Must(t, os.Symlink(out, p.path(vendoredGreet)))
		}, fault.Malformed, fault.Integrity},
		"a folder that leads outside": {func(p *person) {
			out := filepath.Join(t.TempDir(), "tools")
			testkit.Must(t, os.Rename(p.path("vendor/items/tools"), out))
			testkit.Must(t, os.Symlink(out, p.path("vendor/items/tools")))
		}, fault.Malformed, fault.Integrity},
		"a huge file": {func(p *person) { testkit.Must(t, os.Truncate(p.path(vendoredGreet), 1<<40)) }, fault.Limit, fault.Integrity},
		"many other files": {func(p *person) {
			for i := range 2000 {
				p.write(fmt.Sprintf("vendor/items/%d", i), "")
			}
		}, "", fault.Drift},
		"a deep tree": {func(p *person) {
			testkit.Must(t, os.MkdirAll(p.path("vendor/items/tools/"+strings.Repeat("d/", 1000)), 0o755))
		}, "", fault.Drift},
		"another spelling": {func(p *person) { p.write("vendor/items/tools/acme/Greet.sh", "x") }, "", fault.Drift},
		"a log by nobody":  {func(p *person) { p.garble("x\n") }, "", fault.Integrity},
		"a huge log":       {func(p *person) { testkit.Must(t, os.Truncate(p.log("main"), 1<<40)) }, "", fault.Integrity},
	} {
		t.Run(name, func(t *testing.T) {
			p := bob.clones(t)
			testkit.Must(t, p.pull())
			tt.change(p)
			if name == "another spelling" && len(p.tree()) == len(bob.tree()) {
				t.Skip("names ignore case here")
			}
			begin := time.Now()
			wantCode(t, "run", p.runLocked(greetRef), tt.runs)
			rep, err := p.Locks().Verify(t.Context(), rye.Terminal())
			if tt.runs == "" {
				wantCode(t, "lock verify", err, tt.checks)
			} else if err == nil {
				t.Error("lock verify finds nothing")
			}
			if len(rep.Drift) > 110 {
				t.Errorf("lock verify reports %d lines", len(rep.Drift))
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// log returns the path of a vendored log.
func (p *person) log(name string) string {
	p.t.Helper()
	all, err := filepath.Glob(p.path("vendor/logs/*/" + name))
	if err != nil || len(all) != 1 {
		p.t.Fatalf("logs: %v, %v", all, err)
	}
	return all[0]
}

func (p *person) garble(text string) {
	p.t.Helper()
	testkit.WriteFile(p.t, p.log("main"), text, 0o644)
}

// TestVendoredClone: a clone on a machine that never saw the registry runs what the lock names
// after the ordinary consent, and only then.
func TestVendoredClone(t *testing.T) {
	alice, bob, url := vendored(t)
	testkit.Must(t, os.Rename(url, url+".gone"))
	stranger := newPerson(t)
	testkit.CopyDir(t, bob.path(""), stranger.path(""))
	stranger.enter(stranger.dir)
	wantHint := func(what string, err error, want string) {
		t.Helper()
		wantCode(t, what, err, fault.Untrusted)
		if got := fault.HintOf(err).String(); !strings.Contains(got, want) {
			t.Errorf("%s: the hint is %q, want %q", what, got, want)
		}
	}
	wantHint("before trust", stranger.runLocked(greetRef), "rye trust")
	wantHint("pull before trust", stranger.pull(), "rye trust")
	stranger.accept()
	wantHint("before pull", stranger.runLocked(greetRef), "rye pull")
	testkit.Must(t, stranger.pull()) // without --offline: it asks nobody
	wantCode(t, "after pull", stranger.runLocked(greetRef), "")

	// The vendored files are no items, and one that the lock does not name is nothing.
	alice.write("tools/acme/extra.sh", strings.Replace(greet, "greet", "extra", 1))
	alice.sign("tool:acme/extra")
	stranger.write("vendor/items/tools/acme/extra.sh", alice.read("tools/acme/extra.sh"))
	wantCode(t, "not locked", stranger.runLocked("tool:acme/extra"), fault.NotFound)
	items, err := stranger.List(t.Context(), rye.Terminal(), rye.ListRequest{})
	if err != nil || slices.ContainsFunc(items, func(i rye.ItemInfo) bool { return strings.Contains(i.Ref, "acme/extra") }) {
		t.Errorf("list names a vendored file (%v)", err)
	}
	// A denial holds for vendored bytes, and they are vendored no more.
	sum := objects.DigestOf([]byte(stranger.read(vendoredGreet))).String()
	if _, err := stranger.Trust().Deny(t.Context(), rye.Terminal(), rye.TrustDenyRequest{Subject: sum, Reason: "steals"}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "denied", stranger.runLocked(greetRef), fault.Revoked)
	testkit.Must(t, os.Remove(stranger.path(vendoredGreet)))
	_, err = stranger.Locks().Vendor(t.Context(), rye.Terminal(), rye.VendorRequest{})
	if err == nil {
		t.Error("a denied item was vendored")
	}
}

// TestVendoredForgery: lock and vendored bytes come from one hand, which holds a retired key.
func TestVendoredForgery(t *testing.T) {
	alice, bob, _ := published(t)
	bob.add("acme/tool/greet")
	if _, err := alice.Keys().Rotate(t.Context(), rye.Terminal(), rye.KeyRotateRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Registry().Fetch(t.Context(), rye.Terminal()); err != nil {
		t.Fatal(err)
	}
	bob.vendor()
	p := bob.clones(t)
	testkit.Must(t, p.pull())
	wantCode(t, "what the retired key signed in time", p.runLocked(greetRef), "")

	files, err := filepath.Glob(filepath.Join(alice.o.ConfigDir, "keys", "*.retired-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("retired keys: %v, %v", files, err)
	}
	stolen, err := trust.LoadKey(files[0], nil)
	testkit.Must(t, err)
	it, err := objects.Parse("tools/acme/greet.sh", []byte(strings.Replace(greet, "hello", "gotcha", 1)))
	testkit.Must(t, err)
	raw, err := trust.SignItem(t.Context(), stolen, it, trust.Scope{Space: objects.Project}, p.o.Now().AddDate(-1, 0, 0))
	testkit.Must(t, err)
	p.write(vendoredGreet, string(raw))
	lock := p.read("rye.lock")
	head, item, _ := strings.Cut(lock, "  tool:acme/greet:\n")
	item, rest, _ := strings.Cut(item, "    author:")
	for field, value := range map[string]string{"sha256": objects.DigestOf(raw).Hex(), "commit": strings.Repeat("ab", 20)} {
		item = regexp.MustCompile(`(?m)^    `+field+`: .*$`).ReplaceAllString(item, "    "+field+": "+quoted(value))
	}
	p.write("rye.lock", head+"  tool:acme/greet:\n"+item+"    author:"+rest)
	wantCode(t, "run", p.runLocked(greetRef), fault.Revoked)
	wantCode(t, "pull", p.pull(), fault.Revoked)
	wantCode(t, "run after pull", p.runLocked(greetRef), fault.Revoked)
}

// TestVendorWrites: the folder has what the lock names and nothing else, byte for byte the same
// each time; what cannot be had or may not be used changes nothing.
func TestVendorWrites(t *testing.T) {
	alice, bob, _ := published(t)
	bob.add("acme/tool/greet")
	rep, err := bob.Locks().Vendor(t.Context(), rye.Terminal(), rye.VendorRequest{DryRun: true})
	if err != nil || len(rep.Added) != 5 || len(bob.tree()) != 0 {
		t.Fatalf("dry run: %+v, %v, and there are %d files", rep, err, len(bob.tree()))
	}
	bob.vendor()
	first := bob.tree()
	if rep := bob.vendor(); len(rep.Added)+len(rep.Changed)+len(rep.Removed) > 0 || !maps.Equal(bob.tree(), first) {
		t.Errorf("the second time: %+v", rep)
	}
	if len(first) != 5 {
		t.Errorf("there are %d files, want 5", len(first))
	}
	// Whatever lies there is replaced or removed, and no link is followed.
	victim := filepath.Join(t.TempDir(), "victim")
	testkit.WriteFile(t, victim+"/precious", "precious", 0o644)
	testkit.Must(t, os.RemoveAll(bob.path("vendor/items/tools")))
	testkit.Must(t, os.Symlink(victim, bob.path("vendor/items/tools")))
	testkit.Must(t, os.Remove(bob.log("main")))
	testkit.Must(t, os.Symlink(victim+"/precious", filepath.Join(filepath.Dir(bob.log("ns")), "main")))
	testkit.Must(t, os.Symlink(victim, bob.path("vendor/items/out")))
	bob.write("vendor/items/more/x/y", "x")
	bob.vendor()
	if !maps.Equal(bob.tree(), first) || testkit.ReadFile(t, victim+"/precious") != "precious" {
		t.Errorf("it holds %v", slices.Sorted(maps.Keys(bob.tree())))
	}
	// What is not rye's is not touched.
	bob.write("vendor/notes.txt", "mine")
	_, err = bob.Locks().Vendor(t.Context(), rye.Terminal(), rye.VendorRequest{})
	wantCode(t, "a file of the user's", err, fault.Conflict)
	testkit.Must(t, os.Remove(bob.path("vendor/notes.txt")))
	// A revoked item is vendored by nobody who knows, and stays for those who do not.
	if _, err := alice.Registry().Mark(t.Context(), rye.Terminal(), rye.MarkRequest{Do: "revoke", Names: []string{"acme/tool/greet@1.0.0"}, Reason: "steals"}); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Registry().Fetch(t.Context(), rye.Terminal()); err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, os.Remove(bob.path(vendoredGreet)))
	before := bob.tree()
	_, err = bob.Locks().Vendor(t.Context(), rye.Terminal(), rye.VendorRequest{})
	wantCode(t, "a revoked item", err, fault.Revoked)
	if !maps.Equal(bob.tree(), before) {
		t.Error("a refusal changed files")
	}
}

// TestVendoredNews: a copy that a colleague renewed teaches a clone, and an older one takes nothing
// back.
func TestVendoredNews(t *testing.T) {
	alice, bob, _ := vendored(t)
	p := bob.clones(t)
	testkit.Must(t, p.pull())
	older := filepath.Join(t.TempDir(), "vendor")
	testkit.CopyDir(t, p.path("vendor"), older)
	alice.release("1.1.0")
	if _, err := alice.Registry().Mark(t.Context(), rye.Terminal(), rye.MarkRequest{Do: "revoke", Names: []string{"acme/tool/greet@1.0.0"}, Reason: "steals"}); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Registry().Install(t.Context(), rye.Terminal(), rye.InstallRequest{Update: true}); err != nil {
		t.Fatal(err)
	}
	bob.vendor()
	lock := p.read("rye.lock")
	testkit.CopyDir(t, bob.path("vendor"), p.path("vendor"))
	p.write("rye.lock", bob.read("rye.lock"))
	testkit.Must(t, p.pull())
	wantCode(t, "the new version", p.runLocked(greetRef), "")
	testkit.CopyDir(t, older, p.path("vendor"))
	p.write("rye.lock", lock)
	wantCode(t, "the revoked version, with its old copy", p.runLocked(greetRef), fault.Revoked)
	wantCode(t, "pull", p.pull(), fault.Revoked)
}

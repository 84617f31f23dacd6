package workspace_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/store"
)

// A host that takes no push says so to a dry run too, by the same code.
func TestDryRunAsksTheHost(t *testing.T) {
	root := t.TempDir()
	repo, err := store.Init(filepath.Join(root, "tools.git"), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	repo.Close()
	host := &githost.Server{Root: root, AllowPush: true}
	srv := httptest.NewServer(host)
	t.Cleanup(srv.Close)
	alice := project(t)
	alice.write("tools/acme/greet.sh", greet)
	alice.sign("*")
	if _, err := alice.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: srv.URL + "/tools.git"}); err != nil {
		t.Fatal(err)
	}
	push := func(dry bool) error {
		_, err := alice.Registry().Push(t.Context(), rye.Terminal(), rye.PushRequest{Targets: []rye.Target{"tool:acme/greet"}, DryRun: dry})
		return err
	}
	if err := push(true); err != nil {
		t.Fatalf("dry run to a host that takes pushes: %v", err)
	}
	host.AllowPush = false
	dry, wet := push(true), push(false)
	if dry == nil || wet == nil || fault.CodeOf(dry) != fault.CodeOf(wet) {
		t.Errorf("dry run %v (%s), push %v (%s): want one refusal", dry, fault.CodeOf(dry), wet, fault.CodeOf(wet))
	}
}

// What goes wrong after the one ref update is a warning: the versions are published.
func TestPublishedIsNotReportedAsFailed(t *testing.T) {
	alice := project(t)
	alice.write("tools/acme/greet.sh", greet)
	alice.sign("*")
	if _, err := alice.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: filepath.Join(t.TempDir(), "tools.git")}); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join(alice.o.ConfigDir, "trust.yaml.lock")
	if err := os.RemoveAll(block); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(block, 0o700); err != nil { // the lock of the trust store cannot be taken
		t.Fatal(err)
	}
	rep, err := alice.Registry().Push(t.Context(), rye.Terminal(), rye.PushRequest{Targets: []rye.Target{"tool:acme/greet"}})
	if err != nil || len(rep.Published) != 1 || !strings.Contains(rep.Warning, "published, but ") {
		t.Errorf("push = %+v, %v; want what was published, and a warning", rep, err)
	}
}

// A file that somebody saves while it is being published, signed and all, goes nowhere: what
// was verified is what is published, or nothing.
func TestSavedWhilePublished(t *testing.T) {
	root := t.TempDir()
	repo, err := store.Init(filepath.Join(root, "tools.git"), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	repo.Close()
	var atHost func() // the host is asked after everything was verified
	host := &githost.Server{Root: root, AllowPush: true}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do := atHost; do != nil {
			atHost = nil
			do()
		}
		host.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	alice := project(t)
	const path = "tools/acme/greet.sh"
	alice.write(path, greet+"# another\n")
	alice.sign("*")
	other := alice.read(path)
	alice.write(path, greet)
	alice.sign("*")
	if _, err := alice.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: srv.URL + "/tools.git"}); err != nil {
		t.Fatal(err)
	}
	saved := false
	atHost = func() { alice.write(path, other); saved = true }
	push := func() error {
		_, err := alice.Registry().Push(t.Context(), rye.Terminal(), rye.PushRequest{Targets: []rye.Target{"tool:acme/greet"}})
		return err
	}
	err = push()
	wantCode(t, "saved meanwhile", err, fault.Integrity)
	wantText(t, "the refusal", fmt.Sprint(err), "tool:acme/greet: the file changed while it was being published")
	if !saved || alice.read(path) != other {
		t.Error("nothing was saved meanwhile: nothing is shown")
	}
	if repo, err = store.Open(filepath.Join(root, "tools.git")); err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	if at, err := repo.Ref("refs/heads/ns/acme"); err == nil {
		t.Errorf("published all the same: %s", at)
	}
	alice.sign("*")
	if err := push(); err != nil {
		t.Errorf("pushed again: %v", err)
	}
}

package main_test

import (
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/store"
)

// TestFarLocationIsRefused (attack 78): the root of a registry on the network says that a
// namespace lies in a file of its readers' machines. No yes opens that; only the user's own
// word does.
func TestFarLocationIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	top := filepath.Dir(h.dir)
	there := filepath.Join(top, "acme.git")
	repo, err := store.Init(there, "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	repo.Close()
	h.rye("new", "knowledge", "acme/style")
	h.rye("sign", "--all")
	h.rye("registry", "init", filepath.Join(top, "registry.git"), "--yes")
	h.rye("push", "--all")
	h.rye("registry", "mirror", "push", "--to", there, "--namespace", "acme")
	h.rye("registry", "grant", "acme", "--repository", there, "--yes")

	server := httptest.NewServer(&githost.Server{Root: top})
	defer server.Close()
	bob := newHome(t)
	bob.dir = filepath.Join(filepath.Dir(bob.dir), "bob")
	if err := os.Mkdir(bob.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bob.rye("init", "--namespace", "bob")
	bob.rye("registry", "add", server.URL+"/registry.git", "--scope", "acme", "--yes")
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(there)}).String()
	said := bob.fails(16, "add", "acme/knowledge/style", "--yes")
	if !strings.Contains(said, "a root elsewhere may only name https://") || !strings.Contains(said, "rye registry mirror add main "+address) {
		t.Errorf("says %s", said)
	}
	bob.rye("registry", "mirror", "add", "main", address, "--yes")
	bob.rye("add", "acme/knowledge/style", "--yes", "--accept-owner", "acme") // his other project declares acme, too
	bob.fails(2, "registry", "mirror", "add", "main", "ext::sh -c id", "--yes")
	bob.fails(2, "registry", "mirror", "add", "main", "--yes", "--", "--upload-pack=id")
}

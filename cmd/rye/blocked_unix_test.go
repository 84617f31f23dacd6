//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// TestBlockedRevocation: cyd's key is stolen, and the thief publishes what does not follow. Ann
// revokes the key all the same, and goes on publishing; the thief's items are refused.
func TestBlockedRevocation(t *testing.T) {
	t.Parallel()
	origin := filepath.Join(t.TempDir(), "origin.git")
	person := func(name string) *mate {
		m := newMate(t, name, "")
		m.rye("init", "--namespace", name)
		m.rye("registry", "add", origin, "--name", "main", "--scope", "acme", "--yes")
		return m
	}
	ann := newMate(t, "ann", "")
	ann.rye("init", "--namespace", "acme")
	ann.rye("registry", "init", origin, "--name", "main", "--yes")
	ann.publishes("acme/greet", "1.0.0", "hello") // 2
	bob, cyd, dan, eve := person("bob"), person("cyd"), person("dan"), person("eve")
	ann.rye("registry", "members", "acme", "--add", cyd.joins("acme"), "--add", dan.joins("acme"), "--yes") // 3
	bob.rye("add", "acme/tool/greet", "--yes")
	forge := func(by *mate, change func(h *registrytest.Host, c *store.Commit)) {
		h := registrytest.Open(t, origin)
		h.Forge("refs/heads/ns/acme", registrytest.By(t, loadKey(t, by.home, "default")), func(c *store.Commit) { change(h, c) })
	}
	nowhere := registrytest.Digest("nowhere") + " " + store.SHA1.Hash(store.TypeBlob, []byte("nowhere")).String()

	// A state that calls ann's version yanked.
	cyd.publishes("acme/report", "1.0.0", "stolen") // 4
	forge(cyd, func(h *registrytest.Host, c *store.Commit) {
		h.EditLine(c, "acme/tool/greet@1.0.0", func(line string) string { return registrytest.Field(line, "description", `"Evil."`) })
	})
	eve.rye("add", "acme/tool/report", "--yes")
	eve.says("tool:acme/report", "stolen")
	key := cyd.key("default").Fingerprint
	revoke := []string{"registry", "revoke-key", "acme", key, "--reason", "laptop stolen"}
	if said := ann.rye(append(revoke, "--dry-run")...); !strings.Contains(said, "drop   operation 4, publish acme/tool/report@1.0.0") {
		t.Errorf("a dry run does not show the dropped operations:\n%s", said)
	}
	if said := ann.fails(16, append(revoke, "--yes")...); !strings.Contains(said, "--drop") {
		t.Errorf("refused with\n%s", said)
	}
	ann.fails(2, append(revoke, "--from", "5", "--yes")...)
	ann.rye(append(revoke, "--drop", "--yes")...) // 5
	ann.publishes("acme/greet", "1.1.0", "hullo") // 6
	for _, m := range []*mate{bob, eve} {
		if said, _ := m.status("fetch"); !strings.Contains(said, "dropped its changes to the catalogue from operation 4 on") {
			t.Errorf("%s: fetch does not report it:\n%s", m.name, said)
		}
	}
	if said := ann.rye("registry", "log", "acme"); !strings.Contains(said, "its changes were dropped by 5") {
		t.Errorf("the log does not show it:\n%s", said)
	}
	eve.fails(12, "execute", "tool:acme/report")
	bob.rye("update", "--yes")
	bob.says("tool:acme/greet", "hullo")
	person("fay").rye("add", "acme/tool/greet", "--yes")
	ann.rye("registry", "verify")

	// A state that nobody can read: nobody follows, until a key that the root granted acme to helps.
	dan.rye("fetch")
	dan.publishes("acme/other", "1.0.0", "stolen") // 7
	forge(dan, func(h *registrytest.Host, c *store.Commit) {
		kept := store.SHA1.Hash(store.TypeBlob, []byte("nowhere")).String()
		registrytest.SetTrailer(c, "Rye-State", nowhere+" "+kept)
		registrytest.SetTrailer(c, "Rye-Changes", fmt.Sprintf("1 acme/tool/other@1.0.0 %s", nowhere))
	})
	bob.fails(5, "fetch")
	ann.fails(5, "push", "tool:acme/greet", "--yes")
	ann.rye("registry", "grant", "acme", eve.key("default").SSH, "--yes")
	eve.rye("registry", "revoke-key", "acme", dan.key("default").Fingerprint, "--reason", "laptop stolen", "--yes")
	bob.fails(11, "fetch")
	bob.rye("fetch", "--accept-owner", "acme")
	ann.rye("fetch", "--accept-owner", "acme")
	ann.publishes("acme/greet", "1.2.0", "hey")
	bob.rye("update", "--yes")
	bob.says("tool:acme/greet", "hey")
}

//go:build unix

package main_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// joins asks to be let into a namespace and returns what is sent to a member of it.
func (m *mate) joins(namespace string) (request string) {
	m.t.Helper()
	var ask struct{ Request string }
	if err := json.Unmarshal([]byte(m.rye("registry", "members", namespace, "--join", "--json")), &ask); err != nil || ask.Request == "" {
		m.t.Fatalf("%s: members --join: %v", m.name, err)
	}
	return ask.Request
}

// publishes edits a tool and pushes it.
func (m *mate) publishes(id, version, word string) {
	m.t.Helper()
	m.edit(id, version, word, "")
	m.rye("push", "tool:"+id, "--yes")
}

// TestMonth: three people with homes of their own, two namespaces, one registry on a forge, and
// what happens to them in a month, by the commands that they would type.
func TestMonth(t *testing.T) {
	t.Parallel()
	f := newForge(t, "project.git", "registry.git")
	registry := f.URL + "/registry.git"
	person := func(name string) *mate {
		m := newMate(t, name, "")
		m.rye("init", "--namespace", name)
		m.rye("registry", "add", registry, "--name", "main", "--scope", "acme", "--scope", "bobs", "--yes")
		return m
	}

	// The first week. Ann opens the registry; Bob gets a namespace, Cyd comes into Ann's.
	ann := newMate(t, "ann", "")
	ann.rye("init", "--namespace", "acme")
	ann.rye("registry", "init", registry, "--name", "main", "--yes")
	ann.publishes("acme/greet", "1.0.0", "hello") // 2
	bob, cyd := person("bob"), person("cyd")
	ann.rye("registry", "grant", "bobs", bob.key("default").SSH, "--yes")
	bob.publishes("bobs/hello", "1.0.0", "from bob")
	ann.rye("registry", "members", "acme", "--add", cyd.joins("acme"), "--yes") // 3
	cyd.publishes("acme/report", "1.0.0", "nothing new")                        // 4
	ann.rye("registry", "add", registry, "--name", "main", "--scope", "bobs", "--yes")
	ann.rye("add", "bobs/tool/hello", "--yes")
	ann.says("tool:bobs/hello", "from bob")
	bob.rye("add", "acme/tool/report", "--yes")
	bob.says("tool:acme/report", "nothing new")
	cyd.publishes("acme/report", "1.1.0", "all is well") // 5
	bob.rye("update", "--yes")
	bob.says("tool:acme/report", "all is well", "--locked")

	// The second week. Cyd's laptop is stolen, and the thief publishes.
	cyd.publishes("acme/report", "1.2.0", "stolen") // 6
	bob.rye("update", "--yes")
	bob.says("tool:acme/report", "stolen")
	stolen := cyd.key("default").Fingerprint
	ann.rye("registry", "revoke-key", "acme", stolen, "--from", "6", "--reason", "laptop stolen", "--yes")
	bob.rye("fetch")
	bob.fails(12, "execute", "tool:acme/report")
	cyd.edit("bobs/none", "1.0.0", "x", "")
	cyd.fails(11, "push", "tool:bobs/none", "--yes")
	bob.rye("update", "--yes")
	bob.says("tool:acme/report", "all is well") // what Cyd published before stays
	dan := person("dan")
	dan.rye("add", "acme/tool/report", "--yes") // for who meets it now, too
	dan.says("tool:acme/report", "all is well")
	dan.fails(12, "add", "acme/tool/report@1.2.0", "--yes")

	// Dan becomes a member, and leaves. What he published stays, and he publishes no more.
	ann.rye("registry", "members", "acme", "--add", dan.joins("acme"), "--yes")
	dan.rye("fetch")
	dan.publishes("acme/probe", "1.0.0", "probed")
	ann.rye("registry", "members", "acme", "--retire", dan.key("default").Fingerprint, "--yes")
	bob.rye("add", "acme/tool/probe", "--yes")
	bob.says("tool:acme/probe", "probed")
	dan.rye("fetch")
	dan.write(".ai/tools/acme/probe.sh", strings.Replace(dan.read(".ai/tools/acme/probe.sh"), "1.0.0", "1.0.1", 1))
	dan.fails(12, "sign", "tool:acme/probe")

	// The third week. A release is broken, another holds a password.
	ann.publishes("acme/greet", "1.1.0", "hullo")
	bob.rye("add", "acme/tool/greet", "--yes")
	ann.rye("yank", "acme/tool/greet@1.1.0", "--reason", "cannot spell")
	bob.rye("fetch")
	bob.says("tool:acme/greet", "hullo", "--locked") // who has it keeps it
	dan.rye("add", "acme/tool/greet", "--yes")
	dan.says("tool:acme/greet", "hello") // nobody gets it anew
	ann.publishes("acme/secret", "1.0.0", "password-3f9a")
	bob.rye("add", "acme/tool/secret", "--yes")
	ann.rye("registry", "redact", "acme/tool/secret@1.0.0", "--reason", "holds a password", "--yes")
	ann.rye("registry", "rebuild", "acme", "--yes")
	bob.rye("fetch")
	bob.fails(12, "execute", "tool:acme/secret")
	dan.fails(12, "add", "acme/tool/secret", "--yes")
	dan.rye("registry", "verify", "--whole")
	if log := f.git(t, "log", "--all", "--format=%s"); strings.Contains(log, "\nacme/tool/secret@1.0.0\n") || !strings.Contains(log, "\nacme/tool/greet@1.0.0\n") {
		t.Errorf("after the rebuild the registry names\n%s", log)
	}

	// Mallory would like to have it all.
	mallory := person("mallory")
	before := f.git(t, "for-each-ref")
	mallory.edit("acme/greet", "9.0.0", "gotcha", "")
	mallory.fails(11, "push", "tool:acme/greet", "--yes")
	key := mallory.key("default").SSH
	mallory.fails(11, "registry", "grant", "acme", key, "--yes")
	mallory.fails(11, "registry", "transfer", "acme", mallory.joins("acme"), "--yes")
	mallory.fails(11, "registry", "members", "acme", "--add", mallory.joins("acme"), "--yes")
	mallory.fails(11, "yank", "acme/tool/greet@1.0.0", "--reason", "mine", "--yes")
	if f.git(t, "for-each-ref") != before {
		t.Error("Mallory changed the registry")
	}

	// The fourth week. Bob hands his namespace to Dan: nobody follows without being asked.
	bob.rye("registry", "transfer", "bobs", dan.joins("bobs"), "--yes")
	ann.fails(11, "fetch")
	ann.fails(11, "fetch", "--yes")
	ann.says("tool:bobs/hello", "from bob", "--locked")
	ann.rye("fetch", "--accept-owner", "bobs")
	dan.rye("fetch", "--accept-owner", "bobs")
	dan.publishes("bobs/hello", "1.1.0", "from dan")
	ann.fails(11, "update", "--yes") // it is signed by somebody else now
	ann.rye("update", "--yes", "--accept-signer")
	ann.says("tool:bobs/hello", "from dan")

	// The audit. A build machine without a key, told one digest, checks everything.
	ann.rye("registry", "checkpoint", "--fresh", "720h", "--yes")
	ann.git("remote", "add", "origin", f.URL+"/project.git")
	ann.save("a month")
	ci := newMate(t, "ci", f.URL+"/project.git")
	ci.rye("trust", "--accept", ann.asked())
	audit := func(verify, lock int) {
		t.Helper()
		if out, got := ci.status("registry", "verify"); got != verify {
			t.Errorf("rye registry verify: status %d, want %d\n%s", got, verify, out)
		}
		if out, got := ci.status("lock", "verify"); got != lock {
			t.Errorf("rye lock verify: status %d, want %d\n%s", got, lock, out)
		}
	}
	ci.rye("pull")
	audit(0, 0)
	ci.says("tool:bobs/hello", "from dan", "--locked")
	tip := strings.TrimSpace(f.git(t, "rev-parse", "refs/heads/ns/acme"))
	f.git(t, "update-ref", "refs/heads/ns/acme", tip+"~1")
	audit(13, 0)
	f.git(t, "update-ref", "refs/heads/ns/acme", tip)
	audit(0, 0)
	whole := ci.read(".ai/rye.lock")
	ci.write(".ai/rye.lock", strings.Replace(whole, "version: 1.1.0", "version: 1.0.0", 1))
	audit(10, 18) // and the lock says another digest for a version than the registry
	ci.write(".ai/rye.lock", whole)
	for _, m := range []*mate{ann, bob, cyd, dan, ci} {
		m.rye("fsck")
	}
	f.git(t, "fsck", "--strict")
}

// git runs git in the forge's registry.
func (f *forge) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", filepath.Join(f.dir, "registry.git")}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// revocations is a registry with two namespaces: acme is alice's, who runs the registry, and
// thief is the thief's. Both publish, and a reader uses both and items of his own.
type revocations struct {
	t      *testing.T
	origin string
	alice  *home
	thief  *home
	reader *machine
}

const thiefLog = "refs/heads/ns/thief"

func newRevocations(t *testing.T) *revocations {
	t.Helper()
	r := &revocations{t: t, origin: filepath.Join(t.TempDir(), "origin.git"), alice: newHome(t), thief: newHome(t), reader: newReader(t)}
	for version := range 2 {
		r.alice.publishable("a", version)
		if version == 0 {
			r.alice.rye("registry", "init", r.origin, "--name", "main", "--yes")
		}
		r.alice.rye("push", "knowledge:acme/a", "--yes")
	}
	r.thief.write(".ai/rye.yaml", strings.Replace(r.thief.read(".ai/rye.yaml"), "namespace: acme", "namespace: thief", 1))
	r.alice.rye("registry", "grant", "thief", loadKey(t, r.thief, "default").Public().Authorized(), "--yes")
	r.thief.rye("registry", "add", r.origin, "--scope", "thief", "--yes")
	r.thief.knowledge("thief/x", "bait")
	r.thief.rye("push", "knowledge:thief/x", "--yes")

	r.reader.rye("registry", "add", r.origin, "--yes")
	r.reader.knowledge("mine/own", "words of the reader")
	r.reader.rye("add", "acme/knowledge/a@1.0.1", "--yes")
	r.reader.rye("add", "thief/knowledge/x", "--yes")
	return r
}

// knowledge writes and signs an item.
func (h *home) knowledge(id, text string) {
	h.t.Helper()
	ns, name, _ := strings.Cut(id, "/")
	h.write(".ai/knowledge/"+id+".md", fmt.Sprintf("---\nname: %s\ntitle: T\nversion: 1.0.0\nentry_type: reference\ncategory: %s\ntags: [a]\n---\n\n%s\n", name, ns, text))
	h.rye("sign", "knowledge:"+id)
}

// revokes lets the thief revoke its own version, and its log state another digest for it.
func (r *revocations) revokes(reason string, digest objects.Digest) {
	r.t.Helper()
	r.thief.rye("revoke", "thief/knowledge/x@1.0.0", "--reason", reason, "--yes")
	if digest.IsZero() {
		return
	}
	own := objects.DigestOf([]byte(r.thief.read(".ai/knowledge/thief/x.md")))
	h := registrytest.Open(r.t, r.origin)
	h.Forge(thiefLog, registrytest.By(r.t, loadKey(r.t, r.thief, "default")), func(c *store.Commit) {
		words := strings.Fields(registrytest.Trailer(c.Message, "Rye-Changes"))
		id, err := store.ParseOID(words[3])
		if err != nil {
			r.t.Fatal(err)
		}
		list := h.Raw(id)
		if !strings.Contains(list, own.String()) {
			r.t.Fatalf("the change list does not name %s:\n%s", own, list)
		}
		list = strings.ReplaceAll(list, own.String(), digest.String())
		words[2], words[3] = objects.DigestOf([]byte(list)).String(), h.Put(store.TypeBlob, list).String()
		registrytest.SetTrailer(c, "Rye-Changes", strings.Join(words, " "))
	})
}

// TestRevocationIsNotAimed: a publisher's catalogue states the digest of somebody else's item,
// of the reader's own or of the standard library's for a version that it revokes.
func TestRevocationIsNotAimed(t *testing.T) {
	t.Parallel()
	for name, victim := range map[string]func(r *revocations) (digest objects.Digest, ref string){
		"an item of another owner": func(r *revocations) (objects.Digest, string) {
			return objects.DigestOf([]byte(r.alice.read(".ai/knowledge/acme/a.md"))), "knowledge:acme/a"
		},
		"an item of the reader's": func(r *revocations) (objects.Digest, string) {
			return objects.DigestOf([]byte(r.reader.read(".ai/knowledge/mine/own.md"))), "knowledge:mine/own"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRevocations(t)
			digest, ref := victim(r)
			r.revokes("aimed at others", digest)
			r.reader.rye("fetch")
			r.reader.rye("load", ref)
			r.reader.rye("load", ref, "--offline")
			r.reader.rye("verify", ref)
			// The same bytes elsewhere are reported, and refused nowhere.
			same := ref + " has the same bytes as thief/knowledge/x@1.0.0, which was revoked: aimed at others"
			for _, args := range [][]string{{"status"}, {"status", "--all"}, {"audit"}} {
				if out, _ := r.reader.status(args...); strings.Count(out, same) != 1 {
					t.Errorf("rye %s does not report the same bytes once:\n%s", strings.Join(args, " "), out)
				}
			}
		})
	}
}

// TestRevocationReaches: an owner's own revocation refuses the locked version, with every
// length of its reason, offline and in another directory of the reader's, and stops nothing else.
func TestRevocationReaches(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 190, 600} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r := newRevocations(t)
			reason := strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
			r.revokes(reason, objects.Digest{})
			if out := r.reader.rye("fetch"); strings.Contains(out, "not") && strings.Contains(out, "revocation") {
				t.Errorf("fetch: %s", out)
			}
			if out := r.reader.fails(12, "load", "knowledge:thief/x", "--offline"); !strings.Contains(out, "thief/knowledge/x@1.0.0 was revoked") {
				t.Errorf("load: %s", out)
			}
			r.reader.fails(12, "verify", "knowledge:thief/x")
			if out, _ := r.reader.status("audit"); strings.Contains(out, "same bytes") || !strings.Contains(out, "was revoked") {
				t.Errorf("audit of what the revocation reaches:\n%s", out)
			}
			r.reader.rye("load", "knowledge:acme/a")
			r.reader.rye("load", "knowledge:mine/own")
			r.reader.rye("update", "acme/knowledge/a", "--yes")
		})
	}
}

// TestRevocationIsNotBlocked: the host hides the change list of one revocation, or a second
// owner's log does not follow. Other revocations and keys apply all the same, and what is
// missing is reported and asked for again.
func TestRevocationIsNotBlocked(t *testing.T) {
	t.Parallel()
	t.Run("a change list that is not served", func(t *testing.T) {
		t.Parallel()
		r := newRevocations(t)
		r.revokes("hidden", objects.DigestOf([]byte("nothing")))
		h := registrytest.Open(t, r.origin)
		words := strings.Fields(registrytest.Trailer(h.Commit(h.At(thiefLog)).Message, "Rye-Changes"))
		list, err := store.ParseOID(words[3])
		if err != nil {
			t.Fatal(err)
		}
		hide(&side{t: t, dir: r.origin}, list)
		r.alice.rye("revoke", "acme/knowledge/a@1.0.1", "--reason", "wrong", "--yes")
		for range 2 {
			if out, exit := r.reader.status("fetch"); exit != 0 || !strings.Contains(out, "thief/: the registry does not serve 1 revocation") {
				t.Errorf("fetch = %d, %s", exit, out)
			}
		}
		r.reader.fails(12, "load", "knowledge:acme/a", "--offline")
	})
	t.Run("a log that does not follow", func(t *testing.T) {
		t.Parallel()
		r := newRevocations(t)
		r.alice.rye("revoke", "acme/knowledge/a@1.0.1", "--reason", "wrong", "--yes")
		registrytest.Open(t, r.origin).Forge(thiefLog, registrytest.By(t, loadKey(t, r.thief, "default")), func(c *store.Commit) {
			registrytest.SetTrailer(c, "Rye-Seq", "9")
		})
		if out, exit := r.reader.status("fetch"); exit == 0 {
			t.Errorf("fetch = 0, %s", out)
		}
		r.reader.fails(12, "load", "knowledge:acme/a", "--offline")
		r.reader.rye("load", "knowledge:mine/own")
	})
}

// pins lets the key of somebody count for thief/ in a directory of the reader's.
func (r *revocations) pins(dir string, whose *home) {
	r.t.Helper()
	k := loadKey(r.t, whose, "default").Public()
	r.reader.rye("-C", dir, "trust", "pin", k.Authorized(), "--namespace", "thief", "--space", "project", "--fingerprint", k.Fingerprint().String(), "--yes")
}

// TestRevocationByAGrantedKey: where a directory binds a namespace to no registry, a
// revocation applies if the key that signed it counts there.
func TestRevocationByAGrantedKey(t *testing.T) {
	t.Parallel()
	r := newRevocations(t)
	other := filepath.Join(t.TempDir(), "other")
	r.reader.rye("init", other)
	r.pins(other, r.thief)
	stray := filepath.Join(t.TempDir(), "stray")
	r.reader.rye("init", stray)
	r.pins(stray, r.alice)
	for _, dir := range []string{other, stray} {
		(&home{t: t, dir: dir}).write(".ai/knowledge/thief/x.md", r.thief.read(".ai/knowledge/thief/x.md"))
	}
	r.reader.rye("-C", other, "load", "knowledge:thief/x")
	r.revokes("wrong", objects.Digest{})
	r.reader.rye("fetch")
	r.reader.fails(12, "-C", other, "load", "knowledge:thief/x")
	r.reader.fails(11, "-C", stray, "load", "knowledge:thief/x") // its key does not count there at all
}

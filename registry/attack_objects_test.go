package registry

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// Attacks 24 to 33 of the list: on the git objects of a log and of its content. 30 is
// in store, 34 and 35 are in cmd/rye. 24 to 29 spoil the raw bytes of an honest
// operation and leave its signature as it is: git verify-commit calls 26 and 27 good.

// spoiled lets acme's branch end in its last commit, changed.
func (h *host) spoiled(change func(raw string) string) store.OID {
	h.w.t.Helper()
	e := h.content(h.w.ada, "acme/knowledge/c@1.0.0", "c")
	tip := h.write(forgery{s: h.state(), by: h.w.ada, op: publishOp(e)}, nil)
	_, raw, err := h.repo.Object(tip, 0)
	if err != nil {
		h.w.t.Fatal(err)
	}
	spoilt := change(string(raw))
	if spoilt == string(raw) {
		h.w.t.Fatal("nothing was changed")
	}
	id, err := h.put(store.TypeCommit, []byte(spoilt))
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.set(branchPrefix+"acme", id)
	return id
}

// serve lets a machine meet a host that hands out the commit as it is, which ours,
// that parses what it sends, would not.
func (h *host) serve(m *machine, id store.OID) *machine {
	_, raw, err := h.repo.Object(id, 0)
	if err != nil {
		h.w.t.Fatal(err)
	}
	pack := packOf(store.TypeCommit, raw)
	honest := &githost.Server{Root: filepath.Dir(h.w.dir)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !bytes.Contains(readBody(h.w.t, q), []byte("want "+id.String())) {
			honest.ServeHTTP(w, q)
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		fmt.Fprint(w, "000dpackfile\n", pktLine("\x01"+string(pack)), "0000")
	}))
	h.w.t.Cleanup(srv.Close)
	return m.reopen(h.w, func(o *Options) { o.URL = srv.URL + "/" + filepath.Base(h.w.dir) })
}

// packOf returns a pack of one object, whatever its bytes are.
func packOf(kind store.Type, raw []byte) []byte {
	pack := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01")
	pack = append(pack, byte(kind)<<4|0x80|byte(len(raw)&15), 0x80|byte(len(raw)>>4&0x7f), byte(len(raw)>>11))
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	zw.Write(raw)
	zw.Close()
	pack = append(pack, z.Bytes()...)
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

func pktLine(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }

// readBody reads a request's body and leaves it to be read again.
func readBody(t testing.TB, q *http.Request) []byte {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		t.Error(err)
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

func refusesSpoiled(t *testing.T, want string, spoils map[string]func(string) string) {
	for name, change := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, m := attacked(t)
			m = h.serve(m, h.spoiled(change))
			m.refuses(t, w, want)
			if _, err := m.Select(mustRef("acme/knowledge/b"), mustRange("*")); err != nil {
				t.Errorf("what was verified no longer serves: %v", err)
			}
		})
	}
}

func TestAttack24DuplicateTree(t *testing.T) {
	evil := "tree " + strings.Repeat("1", 40) + "\n"
	refusesSpoiled(t, "malformed", map[string]func(string) string{
		"behind": registrytest.After("tree", evil),
		"before": func(raw string) string { return evil + raw },
		"the same": func(raw string) string {
			return raw[:strings.IndexByte(raw, '\n')+1] + raw
		},
	})
}

func TestAttack25HeadersOutOfOrder(t *testing.T) {
	parent := "parent " + strings.Repeat("1", 40) + "\n"
	refusesSpoiled(t, "malformed", map[string]func(string) string{
		"a second author":       registrytest.Again("author"),
		"a second committer":    registrytest.Again("committer"),
		"a parent behind":       registrytest.After("author", parent),
		"a parent behind both":  registrytest.After("committer", parent),
		"a parent before tree":  func(raw string) string { return parent + raw },
		"author after the rest": func(raw string) string { return strings.Replace(raw, "\n\n", "\nauthor A <a> 1 +0000\n\n", 1) },
	})
}

func TestAttack26SecondSignatureHeader(t *testing.T) {
	refusesSpoiled(t, "malformed", map[string]func(string) string{
		"gpgsig-sha256": registrytest.After("committer", "gpgsig-sha256 -----BEGIN SSH SIGNATURE-----\n x\n -----END SSH SIGNATURE-----\n"),
	})
}

func TestAttack27DuplicateSignature(t *testing.T) {
	refusesSpoiled(t, "malformed", map[string]func(string) string{
		"the same":  registrytest.Again("gpgsig"),
		"an empty":  registrytest.After("committer", "gpgsig \n"),
		"a foreign": registrytest.After("committer", "gpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n"),
	})
}

func TestAttack28UnknownHeader(t *testing.T) {
	refusesSpoiled(t, "malformed", map[string]func(string) string{
		"unknown":  registrytest.After("committer", "x-note hello\n"),
		"mergetag": registrytest.After("committer", "mergetag object "+strings.Repeat("1", 40)+"\n type commit\n tag v1\n"),
		"encoding": registrytest.After("committer", "encoding ISO-8859-1\n"),
		"folded":   registrytest.After("tree", " folded\n"),
	})
}

// TestAttack29RewrittenUnderItsSignature: that a signature is there proves nothing.
func TestAttack29RewrittenUnderItsSignature(t *testing.T) {
	refusesSpoiled(t, "integrity", map[string]func(string) string{
		"the message": func(raw string) string { return strings.Replace(raw, "publish acme", "Publish acme", 1) },
		"the people": func(raw string) string {
			return strings.NewReplacer("author ", "author x", "committer ", "committer x").Replace(raw)
		},
	})
}

// TestAttack31And32Tags: rye neither makes nor reads tags in a registry, so there is
// none to be believed. A host that adds some, of every kind, changes nothing; what a
// tag of rye add <git-url> may do is in cmd/rye.
func TestAttack31And32Tags(t *testing.T) {
	w, h, m := attacked(t)
	evil := h.content(newKey("eve"), "acme/knowledge/a@9.9.9", "evil")
	tag := "object " + evil.Commit.String() + "\ntype commit\ntag acme/knowledge/b@1.0.0\ntagger Eve <e@e> 1700000000 +0000\n\nx\n"
	annotated, err := h.put(store.TypeTag, []byte(tag))
	if err != nil {
		t.Fatal(err)
	}
	h.set("refs/tags/acme/knowledge/a@1.0.0", annotated)    // 31: of another name and version
	h.set("refs/tags/acme/knowledge/a@9.9.9", evil.Commit)  // 32: lightweight
	h.set("refs/tags/acme/knowledge/b@1.0.0", h.state().At) // of an operation
	h.set("refs/heads/acme/knowledge/b@1.0.0", evil.Commit) // a branch of that name
	h.set("refs/rye/verified/ns/acme", evil.Commit)         // as if a cache said so
	for _, m := range []*machine{m, w.machine(t)} {
		w.sync(m, "acme")
		rel, err := m.Select(mustRef("acme/knowledge/a"), mustRange("*"))
		if err != nil || rel.Version != "1.0.0" || rel.Commit == evil.Commit {
			t.Fatalf("selected %s, %v", rel.Name(), err)
		}
		got, err := m.Fetch(w.ctx, rel)
		if err != nil || bytes.Contains(got.Raw, []byte("evil")) {
			t.Errorf("fetched %q, %v", got.Raw, err)
		}
		if _, err := m.Release(mustRef("acme/knowledge/a"), "9.9.9"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a version that only a tag names: %v", err)
		}
	}
}

// TestAttack33HostileTree: content with the right message and signature over a tree
// that is not just the item.
func TestAttack33HostileTree(t *testing.T) {
	for name, entry := range map[string]struct {
		mode store.Mode
		name string
	}{
		".git":              {store.ModeDir, ".git"},
		".GIT":              {store.ModeDir, ".GIT"},
		"git~1":             {store.ModeDir, "git~1"},
		"..":                {store.ModeDir, ".."},
		"a slash":           {store.ModeFile, "a/b"},
		"empty":             {store.ModeFile, ""},
		"duplicate":         {store.ModeFile, "knowledge"},
		"unsorted":          {store.ModeFile, "aaa"},
		"a mode of its own": {0o100777, "zzz"},
		"a submodule":       {store.ModeGitlink, "zzz"},
		"a link":            {store.ModeSymlink, "zzz"},
		"another file":      {store.ModeFile, "zzz"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, m := attacked(t)
			e := testEntry(w.ada, "acme/knowledge/f@1.0.0", "f")
			good, err := oplog.PutContent(h.put, e.Path, []byte("f"))
			if err != nil {
				t.Fatal(err)
			}
			_, raw, err := h.repo.Object(good, 0)
			if err != nil {
				t.Fatal(err)
			}
			blob, _ := h.put(store.TypeBlob, []byte("evil"))
			raw = append(raw, []byte(modeText(entry.mode)+" "+entry.name+"\x00"+string(blob.Bytes()))...)
			tree, err := h.put(store.TypeTree, raw)
			if err != nil {
				t.Fatal(err)
			}
			commit, err := oplog.PlainCommit(tree, e.ContentMessage(), time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			e.Commit, _ = h.put(store.TypeCommit, commit)
			if err := m.fetchForged(t, h, e); !fault.Is(err, fault.Malformed) && !fault.Is(err, fault.Network) {
				t.Errorf("%v, want malformed, or network where the host itself cannot read it", err)
			}
		})
	}
}

func modeText(m store.Mode) string {
	digits := ""
	for ; m > 0; m >>= 3 {
		digits = string(rune('0'+m&7)) + digits
	}
	return digits
}

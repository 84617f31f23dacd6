package registry

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// scale is a registry whose objects are made as a publisher makes them, without pushing each.
type scale struct {
	t     *testing.T
	ctx   context.Context
	dir   string
	repo  *store.Repo
	ada   *testKey
	now   time.Time
	root  oplog.Root
	refs  bytes.Buffer // for git update-ref --stdin
	grant time.Duration
}

// TestScale makes a registry of many namespaces with 500 items each and says what a reader,
// a publisher and a host have to carry: the figures behind "some 2,000
// namespaces" in the package comment. RYE_SOAK says how many thousand namespaces; 1 by default
// there. Without it a small one shows that the simulation is of the real format.
func TestScale(t *testing.T) {
	namespaces, items := 12, 20
	if text := os.Getenv("RYE_SOAK"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n <= 0 || n > 10 {
			n = 1
		}
		namespaces, items = int(n*1000), 500
	}
	s := newScale(t)
	started := time.Now()
	s.makeRoot(namespaces)
	rooted := time.Since(started)
	for i := 0; i < namespaces; i += 50 {
		b := s.repo.NewBatch()
		for j := i; j < min(i+50, namespaces); j++ {
			s.makeNamespace(b, j, items, j%100 == 0)
		}
		s.must(b.Flush(s.ctx))
		b.Release()
	}
	s.finish()
	made := time.Since(started)
	report := func(what, format string, args ...any) { t.Logf("%-46s %s", what, fmt.Sprintf(format, args...)) }
	report("namespaces x items", "%d x %d", namespaces, items)
	report("made in; of that the root", "%v; %v", made.Round(time.Second), rooted.Round(time.Second))
	report("the last grant alone", "%v", s.grant.Round(time.Microsecond))
	report("repository on disk (1 of 100 with content)", "%.1f MB", float64(dirSize(s.dir))/1e6)
	files, tree := s.rootTree()
	report("root: files, bytes, bytes of its trees", "%d, %d, %d", files, s.rootBytes(), tree)
	report("advertisement in version 0, to fetch", "%d bytes", s.advertisement("upload-pack", ""))
	report("advertisement in version 2, to fetch", "%d bytes", s.advertisement("upload-pack", "version=2"))
	report("advertisement to push (always version 0)", "%d bytes", s.advertisement("receive-pack", "version=2"))
	report("the same with a tag per version and state", "%d bytes, about", s.advertisement("receive-pack", "")+namespaces*(items+2)*(51+len("refs/tags/ns0000/knowledge/item000/v1.0.0")))
	for _, v2 := range []bool{true, false} {
		sent, took := s.firstContact(v2, "ns0000", items)
		report(fmt.Sprintf("first contact and one item (version 2: %v)", v2), "%d bytes, %v", sent, took.Round(time.Millisecond))
	}
	if testing.Short() || os.Getenv("RYE_SOAK") == "" {
		s.git("fsck", "--strict", "--full", "--no-dangling")
	} else {
		began := time.Now()
		s.git("fsck", "--strict", "--full", "--no-dangling")
		report("git fsck --strict", "%v", time.Since(began).Round(time.Second))
	}
	s.locator(report, 50*namespaces)
}

func newScale(t *testing.T) *scale {
	s := &scale{t: t, ctx: t.Context(), ada: newKey("ada"), now: testTime}
	s.dir = filepath.Join(t.TempDir(), "reg.git")
	testkit.Git(t, filepath.Dir(s.dir), "--version")
	repo, err := store.Init(s.dir, mainBranch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { repo.Close() })
	s.repo = repo
	return s
}

func (s *scale) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}

func (s *scale) pen() oplog.Pen {
	return oplog.Pen{Signer: s.ada, Who: store.Ident{Name: "ada", Email: "ada@example.org"}, Now: s.now, Format: store.SHA1}
}

func nameOf(i int) string { return fmt.Sprintf("ns%04d", i) }

// makeRoot writes the genesis and a grant for each namespace.
func (s *scale) makeRoot(n int) {
	b := s.repo.NewBatch()
	ops := []oplog.RootOp{{Kind: oplog.OpGenesis, Name: "Scale", Claims: oplog.ClaimsGranted, Threshold: 1, Keys: []trust.PublicKey{s.ada.pub}}}
	for i := range n {
		ops = append(ops, oplog.RootOp{Kind: oplog.OpGrant, Namespace: nameOf(i), Keys: []trust.PublicKey{s.ada.pub}})
	}
	for i, op := range ops {
		began := time.Now()
		next, err := writeRoot(s.ctx, s.pen(), b, s.root, op, nil)
		s.must(err)
		s.root, s.grant = next, time.Since(began)
		if i%500 == 499 || i == len(ops)-1 {
			s.must(b.Flush(s.ctx))
			b.Release()
			b = s.repo.NewBatch()
		}
	}
	fmt.Fprintf(&s.refs, "create %s %s\n", mainBranch, s.root.At)
}

// makeNamespace writes the log and the states of a namespace with a claim and one publication,
// and where whole its versions, too.
func (s *scale) makeNamespace(b *store.Batch, i, items int, whole bool) {
	ns := nameOf(i)
	publish := oplog.Op{Kind: oplog.OpPublish}
	for j := range items {
		body := fmt.Sprintf("---\nname: item%03d\n---\n\nWhat %s says of this, in some words: %d.\n", j, ns, i*items+j)
		e := testEntry(s.ada, fmt.Sprintf("%s/knowledge/item%03d@1.0.0", ns, j), body)
		e.Meta.Description, e.Time = "What a reader should know of this, in one sentence", s.now
		put := oplog.Hasher(store.SHA1)
		if whole {
			put = b.Add
		}
		id, err := oplog.PutVersion(put, &e, []byte(body))
		s.must(err)
		e.Commit = id
		publish.Items = append(publish.Items, e)
	}
	at := oplog.NewState(s.root, ns)
	keep := keeping{p: s.pen(), put: b.Add}
	for _, op := range []oplog.Op{{Kind: oplog.OpClaim, Keys: []oplog.KeyGrant{{Public: s.ada.pub}}}, publish} {
		w, err := s.pen().Operation(s.ctx, at, op)
		s.must(err)
		s.must(w.Put(at, b.Add))
		made := op.Items
		if !whole {
			made = nil
		}
		keep.add(w.After, made)
		at = w.After
	}
	tip, err := keep.merge(s.ctx, at)
	s.must(err)
	fmt.Fprintf(&s.refs, "create %s %s\ncreate %s %s\n", branchOf(ns), at.At, contentOf(ns), tip)
}

// finish moves the refs and packs, as a host does.
func (s *scale) finish() {
	cmd := exec.Command("git", "update-ref", "--stdin")
	cmd.Dir, cmd.Stdin = s.dir, &s.refs
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	s.git("pack-refs", "--all")
	s.git("-c", "pack.window=0", "repack", "-q", "-a", "-d") // these objects have little in common
}

func (s *scale) git(args ...string) string { return testkit.Git(s.t, s.dir, args...) }

func dirSize(dir string) (n int64) {
	filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return nil
	})
	return n
}

func (s *scale) rootBytes() (n int) {
	for _, raw := range s.root.Encode() {
		n += len(raw)
	}
	return n
}

// rootTree returns how many files the tree of the root has, and the bytes of its trees.
func (s *scale) rootTree() (files, bytes int) {
	_, err := s.root.Tree(store.SHA1, func(kind store.Type, data []byte) (store.OID, error) {
		if kind == store.TypeTree {
			bytes += len(data)
		} else {
			files++
		}
		return store.SHA1.Hash(kind, data), nil
	})
	s.must(err)
	return files, bytes
}

// advertisement returns how many bytes git says first.
func (s *scale) advertisement(service, protocol string) int {
	cmd := exec.Command("git", service, "--stateless-rpc", "--advertise-refs", s.dir)
	cmd.Env = append(os.Environ(), "GIT_PROTOCOL="+protocol)
	out, err := cmd.Output()
	s.must(err)
	return len(out)
}

// firstContact fetches one item with nothing known, and returns what was sent and how long it
// took, its own verification included.
func (s *scale) firstContact(v2 bool, ns string, items int) (int64, time.Duration) {
	var sent atomic.Int64
	server := &githost.Server{Root: filepath.Dir(s.dir)}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !v2 {
			r.Header.Del("Git-Protocol")
		}
		server.ServeHTTP(&counting{w, &sent}, r)
	}))
	defer h.Close()
	tmp := s.t.TempDir()
	began := time.Now()
	r, err := Open(Options{URL: h.URL + "/reg.git", ID: s.root.ID, CacheDir: tmp + "/cache", StateDir: tmp + "/state", Now: func() time.Time { return s.now }})
	s.must(err)
	defer r.Close()
	s.must(r.Sync(s.ctx, ns))
	ref := mustRef(fmt.Sprintf("%s/knowledge/item%03d", ns, items-1))
	s.must(r.Look(s.ctx, ns, ref))
	rel, err := r.Select(ref, mustRange("*"))
	s.must(err)
	_, err = r.Fetch(s.ctx, rel)
	s.must(err)
	return sent.Load(), time.Since(began)
}

// counting counts what a server sends.
type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counting) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

func (c *counting) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

// locator works out the root alone that locates namespaces in other repositories: what its
// tree and one more operation cost. Its log is not replayed: see the quadratic part.
func (s *scale) locator(report func(what, format string, args ...any), n int) {
	var root oplog.Root
	root.Name, root.Claims, root.Threshold, root.Keys = "Locator", oplog.ClaimsGranted, 1, []trust.PublicKey{s.ada.pub}
	var grants []*oplog.Grant
	for i := range n {
		g := &oplog.Grant{Namespace: fmt.Sprintf("ns%06d", i), Keys: root.Keys, Since: uint64(i + 2), Genesis: objects.DigestOf([]byte{byte(i)}),
			Located: fmt.Sprintf("https://git.example.org/registry-%02d.git", i*50/n)}
		grants = append(grants, g)
	}
	root = root.TestOnlyGrants(grants)
	began := time.Now()
	root.Digest()
	digest := time.Since(began)
	was := s.root
	s.root = root
	files, tree := s.rootTree()
	report("locator of 50 repositories: namespaces", "%d", n)
	report("its root: files, bytes, bytes of its trees", "%d, %d, %d", files, s.rootBytes(), tree)
	report("the digest of its state, once per operation", "%v", digest.Round(time.Microsecond))
	report("so a replay of all its grants, about", "%v", (digest * time.Duration(n) / 2).Round(time.Second))
	op := oplog.RootOp{Kind: oplog.OpGrant, Registry: grants[0].Genesis, Prev: grants[0].Genesis, Seq: 2, State: grants[0].Genesis,
		Namespace: "ns000000", Genesis: grants[0].Genesis, Located: grants[0].Located, Keys: root.Keys}
	report("and bytes of its log, before packing", "%d", n*(len(op.Message())+650))
	s.root = was
	if files != n+2 || strings.Count(string(root.Encode()["namespaces/b1/ns000000.yaml"]), "repository: ") != 1 {
		s.t.Errorf("the root has %d files for %d namespaces", files, n)
	}
}

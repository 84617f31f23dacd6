package registry

import (
	"context"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// world is a registry served over loopback HTTP, and its people. Its repository
// can be changed behind the registry's back, which is how a hostile or broken
// host is played: see attack_test.go.
type world struct {
	t    testing.TB
	ctx  context.Context
	dir  string // of the served repository
	url  string
	id   Identity
	ada  *testKey // owns acme
	root *testKey
	now  time.Time
	ssh  string // the program of that name; "" the system's
}

// newWorld makes a registry whose root grants acme to ada.
func newWorld(t testing.TB, claims oplog.Claims) *world {
	t.Helper()
	w := emptyWorld(t)
	o := CreateOptions{Name: "Test registry", Claims: claims, By: By{Signer: w.root}, TempDir: t.TempDir(),
		Now: func() time.Time { return w.now }}
	if claims == oplog.ClaimsGranted {
		o.Namespaces = map[string][]trust.PublicKey{"acme": {w.ada.pub}}
	}
	var err error
	if w.id, err = Create(w.ctx, w.url, o); err != nil {
		t.Fatal(err)
	}
	return w
}

func emptyWorld(t testing.TB) *world {
	t.Helper()
	parent := t.TempDir()
	w := &world{t: t, ctx: context.Background(), ada: newKey("ada"), root: newKey("admin"), now: testTime,
		dir: filepath.Join(parent, "reg.git")}
	repo, err := store.Init(w.dir, mainBranch)
	if err != nil {
		t.Fatal(err)
	}
	repo.Close()
	h := httptest.NewServer(&githost.Server{Root: parent, AllowPush: true})
	t.Cleanup(h.Close)
	w.url = h.URL + "/reg.git"
	return w
}

// machine is somebody's computer: a cache and a memory.
type machine struct {
	*Registry
	o Options
}

func (w *world) options(t testing.TB) Options {
	return Options{URL: w.url, ID: w.id.ID, CacheDir: filepath.Join(t.TempDir(), "cache"), StateDir: filepath.Join(t.TempDir(), "state"),
		Now: func() time.Time { return w.now }, Transport: transport.Options{SSH: w.ssh}}
}

func (w *world) machine(t testing.TB) *machine {
	t.Helper()
	return w.open(t, w.options(t))
}

func (w *world) open(t testing.TB, o Options) *machine {
	t.Helper()
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return &machine{r, o}
}

// Select looks at an item first, as whoever selects does.
func (m *machine) Select(ref objects.Ref, want objects.Range) (oplog.Release, error) {
	if err := m.look(ref); err != nil {
		return oplog.Release{}, err
	}
	return m.Registry.Select(ref, want)
}

func (m *machine) Release(ref objects.Ref, version string) (oplog.Release, error) {
	if err := m.look(ref); err != nil {
		return oplog.Release{}, err
	}
	return m.Registry.Release(ref, version)
}

func (m *machine) look(ref objects.Ref) error {
	return m.Look(context.Background(), ref.ID.Namespace(), ref)
}

// reopen is the next command on the same machine.
func (m *machine) reopen(w *world, change func(*Options)) *machine {
	w.t.Helper()
	m.Close()
	o := m.o
	if change != nil {
		change(&o)
	}
	return w.open(w.t, o)
}

// snapshot reads everything that refusing must not change: the memory, the
// verified refs, what was revoked.
func (m *machine) snapshot(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{m.o.StateDir, filepath.Join(m.o.CacheDir, m.o.ID.Hex()+".git", "refs")} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.Contains(path, ".evidence") && !strings.HasSuffix(path, ".lock") {
				raw, _ := os.ReadFile(path)
				fmt.Fprintf(&b, "%s\n%s\n", path, raw)
			}
			return nil
		})
	}
	return b.String()
}

// verified returns a signed and verified knowledge entry.
func verified(t testing.TB, author trust.Signer, name, version, text string) trust.Verified {
	t.Helper()
	ref, err := objects.ParseRef(name)
	if err != nil {
		t.Fatal(err)
	}
	path := ref.Path(".md")
	src := fmt.Sprintf("---\nname: %s\ntitle: %s\nversion: %s\nentry_type: reference\ncategory: %s\nauthor: ada\ntags: [x]\n---\n\n%s\n",
		ref.ID.Name(), ref.ID.Name(), version, ref.ID.Category(), text)
	it, err := objects.Parse(path, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	in := trust.Scope{Space: objects.User}
	raw, err := trust.SignItem(context.Background(), author, it, in, testTime)
	if err != nil {
		t.Fatal(err)
	}
	if it, err = objects.Parse(path, raw); err != nil {
		t.Fatal(err)
	}
	st, err := trust.LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.AddOwn(author.Public(), "test"); err != nil {
		t.Fatal(err)
	}
	v, err := trust.Verify(it, in, st)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func publication(t testing.TB, by trust.Signer, namesAndVersions ...string) Publication {
	t.Helper()
	p := Publication{By: By{Signer: by}}
	for _, nv := range namesAndVersions {
		name, version, _ := strings.Cut(nv, "@")
		version, text, _ := strings.Cut(version, "=")
		v := verified(t, by, name, version, "text of "+name+text)
		p.Namespace = v.Item().Ref.ID.Namespace()
		p.Items = append(p.Items, item(t, v, oplog.Meta{}))
	}
	return p
}

// item is an item as it is published, its bytes at hand.
func item(t testing.TB, v trust.Verified, meta oplog.Meta) *Item {
	t.Helper()
	it, err := NewItem(v, meta, func(string) ([]byte, error) { return v.Item().Raw, nil })
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func (w *world) publish(m *machine, by *testKey, names ...string) Receipt {
	w.t.Helper()
	got, err := m.Publish(w.ctx, publication(w.t, by, names...))
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func (w *world) sync(m *machine, namespaces ...string) {
	w.t.Helper()
	if err := m.Sync(w.ctx, namespaces...); err != nil {
		w.t.Fatal(err)
	}
}

// look brings the whole catalogue of acme.
func (w *world) look(m *machine) {
	w.t.Helper()
	if err := m.Look(w.ctx, "acme"); err != nil {
		w.t.Fatal(err)
	}
}

func mustRef(s string) objects.Ref {
	ref, err := objects.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return ref
}

func mustRange(s string) objects.Range {
	r, err := objects.ParseRange(s)
	if err != nil {
		panic(err)
	}
	return r
}

// changeKeys changes the keys of acme.
func changeKeys(w *world, m *machine, by By, op oplog.Op) error {
	_, err := m.ChangeKeys(w.ctx, "acme", by, false, op)
	return err
}

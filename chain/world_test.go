package chain

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// world is a real trust store, a real bundle of the real runtimes, and items
// signed with a real key: nothing in a plan can be made up.
type world struct {
	t      testing.TB
	key    *trust.FileKey
	store  *trust.Store
	system trust.Bundle
	items  map[objects.Space]map[objects.Ref]Link
}

const projectID = "0123456789abcdef0123456789abcdef"

var (
	now          = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	projectScope = trust.Scope{Space: objects.Project, Project: projectID, Place: strings.Repeat("a", 52)}
)

func newWorld(t testing.TB) *world {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, items: map[objects.Space]map[objects.Ref]Link{}}
	var err error
	w.key, err = trust.GenerateKey()
	must(err)
	w.store, err = trust.LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
	must(err)
	must(w.store.AddOwn(w.key.Public(), "test", "acme"))
	must(w.store.Grant(now, projectScope.Site().OwnKeys()))
	files := os.DirFS("../stdlib/system")
	m, err := objects.ManifestOf(files, "rye/bundle/system", "0.0.1")
	must(err)
	text, err := m.Encode()
	must(err)
	signed, err := trust.SignManifest(context.Background(), w.key, text, trust.Scope{Space: objects.System}, now)
	must(err)
	w.system, err = trust.VerifyBundle(signed, files, []trust.PublicKey{w.key.Public()})
	must(err)
	for _, f := range w.system.Files() {
		if !strings.HasPrefix(f.Path, "tools/") {
			continue
		}
		v, err := w.system.Item(f.Path)
		must(err)
		w.put(objects.System, Link{Verified: v, Space: objects.System})
	}
	return w
}

func (w *world) put(s objects.Space, l Link) {
	if w.items[s] == nil {
		w.items[s] = map[objects.Ref]Link{}
	}
	w.items[s][l.Ref()] = l
}

// add signs a file as its author would, verifies it and puts it into a space.
func (w *world) add(s objects.Space, path, text string) Link {
	w.t.Helper()
	in := trust.Scope{Space: s}
	if s == objects.Project {
		in = projectScope
	}
	l := Link{Verified: w.verified(w.key, in, path, text), Space: s, Blob: strings.Repeat("ab", 20)}
	w.put(s, l)
	return l
}

// verified signs a text in a scope, and verifies it there.
func (w *world) verified(key trust.Signer, in trust.Scope, path, text string) trust.Verified {
	w.t.Helper()
	it, err := objects.Parse(path, []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	raw, err := trust.SignItem(context.Background(), key, it, in, now)
	if err != nil {
		w.t.Fatal(err)
	}
	if it, err = objects.Parse(path, raw); err != nil {
		w.t.Fatal(err)
	}
	v, err := trust.Verify(it, in, w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

const registryID = "sha256:454349e422f05297191ead13e21d3db520e5abef52055e4964b82fb213f593a1"

// publish puts an item into the project as a registry of another author gives it.
func (w *world) publish(path, text string) Link {
	w.t.Helper()
	author, err := trust.GenerateKey()
	if err != nil {
		w.t.Fatal(err)
	}
	in := projectScope
	in.Registry = registryID
	ref, _, err := objects.RefOfPath(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.PinRegistry(trust.Registry{ID: registryID, URL: "https://git.example.com/r.git", Roots: []objects.Fingerprint{author.Public().Fingerprint()}}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.BindNamespace(ref.ID.Namespace(), registryID, trust.BoundKey{Key: author.Public(), State: trust.Current}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.Grant(now, in.Site().Scope(ref.ID.Namespace(), registryID)); err != nil {
		w.t.Fatal(err)
	}
	v := w.verified(author, in, path, text)
	l := Link{Verified: v, Space: objects.Project, Origin: &Origin{Registry: "origin", Version: v.Item().Meta.Version,
		Commit: strings.Repeat("3d", 20), Author: author.Public().Fingerprint(), Publisher: author.Public().Fingerprint()}}
	w.put(objects.Project, l)
	return l
}

func (w *world) FindFrom(_ context.Context, at objects.Space, ref objects.Ref) (Link, error) {
	for s := at; s >= objects.System; s-- {
		if l, ok := w.items[s][ref]; ok {
			return l, nil
		}
	}
	return Link{}, fault.New(fault.NotFound, "%s: not found", ref)
}

func tool(id string) objects.Ref { return objects.Ref{Kind: objects.Tool, ID: objects.ID(id)} }

func (w *world) plan(id string) *Plan {
	w.t.Helper()
	p, err := Resolve(context.Background(), w, tool(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func yamlTool(id, executor, more string) (string, string) {
	r := objects.Ref{Kind: objects.Tool, ID: objects.ID(id)}
	ex := "executor_id: " + executor + "\n"
	if executor == "" {
		ex = ""
	}
	return r.Path(".yaml"), "version: 1.0.0\ntool_type: runtime\ndescription: x\ncategory: " + r.ID.Category() + "\n" + ex + more
}

func (w *world) inputs(p *Plan, params string) (Inputs, *primitive.RunDir) {
	w.t.Helper()
	checked, err := p.Check([]byte(params))
	if err != nil {
		w.t.Fatal(err)
	}
	run, err := primitive.Materialise(w.t.TempDir(), p.Files())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { run.Remove() })
	project, err := filepath.EvalSymlinks(w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	in := Inputs{Params: checked, RunDir: run.Files, Temp: run.Temp, ProjectPath: project, Tier: primitive.Best()}
	if spec, ok := p.Interpreter(); ok {
		in.Interpreter, err = primitive.Interpreter(spec, primitive.Search{})
		if err != nil {
			testkit.NeedProgram(w.t, cmp.Or(spec.Binary, spec.Fallback))
			w.t.Fatal(err)
		}
	}
	return in, run
}

// execute goes the whole way: plan, materialise, run.
func (w *world) execute(id, params string) primitive.Result {
	w.t.Helper()
	p := w.plan(id)
	in, _ := w.inputs(p, params)
	c, err := p.Call(in)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := primitive.Run(context.Background(), c, nil, nil)
	if err != nil {
		w.t.Fatalf("%v: %s", err, r.Stderr)
	}
	return r
}

package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// kitFiles is a package with a skill, a tool, an executable and data.
func kitFiles() fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md":      {Data: []byte("---\nname: kit\ndescription: Helps.\n---\nHelp.\n")},
		"tools/run.sh":  {Data: []byte("#!/bin/sh\n# version: 1.0.0\ntrue\n")},
		"lib/a/b/c.txt": {Data: []byte("c\n")},
		"data.bin":      {Data: bytes.Repeat([]byte{0, 1, 2, 255}, 5000)},
	}
}

// kit returns the signed manifest of files as acme/bundle/<name>.
func kit(t testing.TB, by *testKey, name, version string, files fstest.MapFS, change func(*objects.Manifest)) (*objects.Manifest, []byte) {
	t.Helper()
	m, err := objects.ManifestOf(files, objects.ID("acme/bundle/"+name), version)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(m)
	}
	body, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := trust.SignManifest(context.Background(), by, body, trust.Scope{Space: objects.User}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = objects.ParseManifest(raw); err != nil {
		t.Fatal(err)
	}
	return m, raw
}

// kitItem is a package as it is published.
func kitItem(t testing.TB, by *testKey, version string, files fstest.MapFS) *Item {
	t.Helper()
	m, _ := kit(t, by, "kit", version, files, nil)
	st, err := trust.LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
	if err == nil {
		err = st.AddOwn(by.Public(), "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := trust.Verify(m.Item(), trust.Scope{Space: objects.User}, st)
	if err != nil {
		t.Fatal(err)
	}
	dir := v.Item().Ref.PackageDir() + "/"
	it, err := NewItem(v, oplog.Meta{}, func(p string) ([]byte, error) {
		if p == dir+objects.ManifestName {
			return v.Item().Raw, nil
		}
		return files[strings.TrimPrefix(p, dir)].Data, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// TestPackage: a package goes out as one version and comes back byte for byte, with its modes,
// as the same commit from whoever publishes it, and is verified and rebuilt like any other.
func TestPackage(t *testing.T) {
	var commits []store.OID
	for range 2 {
		w := newWorld(t, oplog.ClaimsGranted)
		pub := w.machine(t)
		item := kitItem(t, w.ada, "1.0.0", kitFiles())
		p := publication(t, w.ada, "acme/knowledge/a@1.0.0")
		p.Items = append(p.Items, item)
		if _, err := pub.Publish(w.ctx, p); err != nil {
			t.Fatal(err)
		}
		m := w.machine(t)
		w.sync(m, "acme")
		rel, err := m.Select(mustRef("acme/bundle/kit"), mustRange("^1"))
		if err != nil || rel.Path != "bundles/acme/kit/rye.bundle.yaml" {
			t.Fatalf("Select = %s, %v", rel.Path, err)
		}
		got, err := m.Fetch(w.ctx, rel)
		if err != nil {
			t.Fatal(err)
		}
		checkKit(t, got)
		commits = append(commits, rel.Commit)
		manifest, berr := item.bytes()
		if again, err := m.Fetch(w.ctx, rel); err != nil || berr != nil || !bytes.Equal(again.Raw, manifest) {
			t.Errorf("fetched from the cache: %v, %v", err, berr)
		}
		if c := w.verify(m, true); c.Versions != 2 || c.Fetched != 2 || len(c.Missing) > 0 {
			t.Errorf("verify = %+v", c)
		}
		if done, err := pub.Publish(w.ctx, p); err != nil || len(done.Published) != 0 || len(done.Unchanged) != 2 {
			t.Errorf("published again: %+v, %v", done, err)
		}
	}
	if commits[0] != commits[1] {
		t.Errorf("the same package is %s and %s", commits[0], commits[1])
	}
}

func checkKit(t *testing.T, got *Fetched) {
	t.Helper()
	repo, err := store.Init(filepath.Join(t.TempDir(), "project.git"), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	id, err := got.CopyTo(t.Context(), repo, "refs/rye/lock/x")
	if err != nil || id != got.Commit {
		t.Fatalf("CopyTo = %s, %v", id, err)
	}
	c, err := repo.Commit(id)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = repo.Walk(t.Context(), c.Tree, func(p string, e store.Entry) error {
		if e.IsDir() {
			return nil
		}
		n++
		rel := strings.TrimPrefix(p, "bundles/acme/kit/")
		raw, err := repo.Blob(e.ID, 1<<20)
		if f := kitFiles()[rel]; f != nil && (!bytes.Equal(raw, f.Data) || (e.Mode == store.ModeExec) != (rel == "tools/run.sh")) {
			t.Errorf("%s differs, mode %o", p, e.Mode)
		} else if f == nil && rel != objects.ManifestName {
			t.Errorf("%s is there", p)
		}
		return err
	})
	if err != nil || n != 1+len(kitFiles()) {
		t.Errorf("%d files, %v", n, err)
	}
}

// A treeFile is a file of a forged tree.
type treeFile struct {
	mode store.Mode
	data []byte
}

// forgedKit puts a version whose line is right and whose tree is what change makes of it.
func forgedKit(t *testing.T, h *host, version string, m *objects.Manifest, raw []byte, change func(map[string]treeFile)) oplog.Entry {
	t.Helper()
	e := oplog.Entry{Ref: mustRef("acme/bundle/kit"), Version: version, Path: "bundles/acme/kit/" + objects.ManifestName, Sum: objects.DigestOf(raw),
		Size: int64(len(raw)), Author: h.w.ada.fp()}
	files := map[string]treeFile{e.Path: {store.ModeFile, raw}}
	for p, f := range kitFiles() {
		mode := store.ModeFile
		if mf, ok := m.File(p); ok {
			mode = oplog.ModeOf(mf)
		}
		files["bundles/acme/kit/"+p] = treeFile{mode, f.Data}
	}
	change(files)
	all := map[string]store.Entry{}
	for p, f := range files {
		id, err := h.put(store.TypeBlob, f.data)
		if err != nil {
			t.Fatal(err)
		}
		all[p] = store.Entry{Mode: f.mode, ID: id}
	}
	tree, err := forgedTree(h.put, all)
	if err == nil {
		e.Commit, err = oplog.PutCommit(h.put, &e, raw, tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// forgedTree is PutFiles for modes that nobody writes: links.
func forgedTree(put oplog.Sink, files map[string]store.Entry) (store.OID, error) {
	return oplog.PutFiles(func(typ store.Type, data []byte) (store.OID, error) {
		if typ == store.TypeTree {
			data = bytes.ReplaceAll(data, []byte("100755 link\x00"), []byte("120000 link\x00"))
		}
		return put(typ, data)
	}, files)
}

// TestPackageAttacks: what a host or an owner puts into the version of a package beside, or in
// place of, what its signed manifest lists is refused before anything is kept.
func TestPackageAttacks(t *testing.T) {
	w, h, reader := attacked(t)
	const at = "bundles/acme/kit/"
	same := func(map[string]treeFile) {}
	other := kitFiles()
	other["data.bin"] = &fstest.MapFile{Data: bytes.Repeat([]byte{9}, 20000)}
	for i, tt := range []struct {
		name   string
		files  fstest.MapFS // that the manifest lists; nil: those of the tree
		as     string       // which package the manifest is of
		list   func(*objects.Manifest)
		change func(map[string]treeFile)
		want   fault.Code
	}{
		{name: "an extra file", change: func(f map[string]treeFile) { f[at+"evil.sh"] = treeFile{store.ModeFile, []byte("x")} }, want: fault.Malformed},
		{name: "an extra file elsewhere", change: func(f map[string]treeFile) { f["tools/acme/x.sh"] = treeFile{store.ModeFile, []byte("x")} }, want: fault.Malformed},
		{name: "another package beside", change: func(f map[string]treeFile) { f["bundles/acme/other/x"] = treeFile{store.ModeFile, []byte("x")} }, want: fault.Malformed},
		{name: "a second manifest", change: func(f map[string]treeFile) {
			f[at+"lib/"+objects.ManifestName] = treeFile{store.ModeFile, []byte("x")}
		}, want: fault.Malformed},
		{name: "a missing file", change: func(f map[string]treeFile) { delete(f, at+"lib/a/b/c.txt") }, want: fault.Malformed},
		{name: "another file's bytes", change: func(f map[string]treeFile) { f[at+"data.bin"] = f[at+"SKILL.md"] }, want: fault.Integrity},
		{name: "bytes of one length", change: func(f map[string]treeFile) { f[at+"lib/a/b/c.txt"] = treeFile{store.ModeFile, []byte("d\n")} }, want: fault.Integrity},
		{name: "larger than listed", change: func(f map[string]treeFile) {
			f[at+"data.bin"] = treeFile{store.ModeFile, make([]byte, 1<<20)}
		}, want: fault.Limit},
		{name: "executable", change: func(f map[string]treeFile) { f[at+"SKILL.md"] = treeFile{store.ModeExec, f[at+"SKILL.md"].data} }, want: fault.Malformed},
		{name: "not executable", change: func(f map[string]treeFile) {
			f[at+"tools/run.sh"] = treeFile{store.ModeFile, f[at+"tools/run.sh"].data}
		}, want: fault.Malformed},
		{name: "the manifest is executable", change: func(f map[string]treeFile) {
			f[at+objects.ManifestName] = treeFile{store.ModeExec, f[at+objects.ManifestName].data}
		}, want: fault.Malformed},
		{name: "a link", change: func(f map[string]treeFile) { f[at+"link"] = treeFile{store.ModeExec, []byte("/etc/passwd")} }, want: fault.Malformed},
		{name: "the files of another manifest", files: other, change: same, want: fault.Integrity},
		{name: "the manifest of another package", as: "other", change: same, want: fault.Integrity},
		{name: "one mode listed, another in the tree", list: func(m *objects.Manifest) { m.Files[0].Executable = true }, change: func(f map[string]treeFile) {
			f[at+"SKILL.md"] = treeFile{store.ModeFile, f[at+"SKILL.md"].data}
		}, want: fault.Malformed},
		{name: "no files", files: fstest.MapFS{}, change: same, want: fault.Limit},
		{name: "too large a file listed", list: func(m *objects.Manifest) { m.Files[0].Size = objects.MaxPackageFile + 1 }, change: same, want: fault.Limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, as := tt.files, tt.as
			if files == nil {
				files = kitFiles()
			}
			if as == "" {
				as = "kit"
			}
			version := "1.0." + string(rune('0'+i/10)) + string(rune('0'+i%10))
			version = strings.Replace(version, ".0.0", ".0.", 1)
			m, raw := kit(t, w.ada, as, version, files, tt.list)
			e := forgedKit(t, h, version, m, raw, tt.change)
			wantCode(t, reader.fetchForged(t, h, e), tt.want)
		})
	}
}

// TestPackageRebuilt: a package that the host lost is sent again from whoever has it, whole.
func TestPackageRebuilt(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	p := Publication{Namespace: "acme", By: By{Signer: w.ada}, Items: []*Item{kitItem(t, w.ada, "1.0.0", kitFiles())}}
	done, err := pub.Publish(w.ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	w.loosen()
	c, err := w.host().repo.Commit(done.Published[0].Commit)
	if err != nil {
		t.Fatal(err)
	}
	lost, err := w.host().repo.Lookup(c.Tree, "bundles/acme/kit/lib/a/b/c.txt")
	if err != nil {
		t.Fatal(err)
	}
	w.remove(lost.ID)
	if got := w.verify(pub, true); len(got.Missing) == 0 {
		t.Error("a file of a package is gone, and verify misses nothing")
	}
	if _, err := pub.Rebuild(w.ctx, By{Signer: w.ada}, "acme", false); err != nil {
		t.Fatal(err)
	}
	if got := w.verify(pub, true); len(got.Missing) > 0 {
		t.Errorf("after it was built anew: %v", got.Missing)
	}
}

// packageVector is a published package for other implementations.
type packageVector struct {
	Comment  string            `json:"comment"`
	Manifest string            `json:"manifest"`
	Files    map[string]string `json:"files"`  // of the package, by their paths in the manifest
	Tree     string            `json:"tree"`   // git id of the version's tree
	Commit   string            `json:"commit"` // the version, raw
	ID       string            `json:"id"`     // its git id
}

// TestPackageVector: what a version of a package is follows from the package alone.
func TestPackageVector(t *testing.T) {
	const path = "../testdata/vectors/package.json"
	var v packageVector
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	if *update {
		v = packageVector{Comment: "a package and the version that publishes it, docs/format/registry.md", Files: map[string]string{
			"SKILL.md": "---\nname: kit\ndescription: Helps.\n---\nHelp.\n", "tools/run.sh": "#!/bin/sh\n# version: 1.0.0\ntrue\n", "data/words.txt": "a\nb\n"}}
		files := fstest.MapFS{}
		for p, text := range v.Files {
			files[p] = &fstest.MapFile{Data: []byte(text)}
		}
		_, signed := kit(t, newKey("ada"), "kit", "1.2.0", files, func(m *objects.Manifest) { m.Deps = map[string]string{"beta/tool/fetch": "^1.2"} })
		v.Manifest = string(signed)
	}
	m, err := objects.ParseManifest([]byte(v.Manifest))
	if err != nil {
		t.Fatal(err)
	}
	e := oplog.Entry{Ref: m.Ref(), Version: m.Version, Path: m.Ref().PackageDir() + "/" + objects.ManifestName, Sum: m.Item().Sum}
	put := map[store.Type][]byte{}
	hash := oplog.Hasher(store.SHA1)
	sink := func(typ store.Type, data []byte) (store.OID, error) { put[typ] = data; return hash(typ, data) }
	tree, err := oplog.PutPackage(sink, &e, []byte(v.Manifest), func(f objects.File) ([]byte, error) { return []byte(v.Files[f.Path]), nil })
	if err != nil {
		t.Fatal(err)
	}
	id, err := oplog.PutCommit(sink, &e, []byte(v.Manifest), tree)
	if err != nil {
		t.Fatal(err)
	}
	got := v
	got.Tree, got.Commit, got.ID = tree.String(), string(put[store.TypeCommit]), id.String()
	if *update {
		raw, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile(path, append(raw, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	} else if got.Tree != v.Tree || got.Commit != v.Commit || got.ID != v.ID {
		t.Errorf("got %+v, want %+v", got, v)
	}
	if !strings.Contains(got.Commit, "\nRye-Item: acme/bundle/kit\n") {
		t.Errorf("the version says\n%s", got.Commit)
	}
}

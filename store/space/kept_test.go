package space

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
)

// oldRelease reads the files of the first standard library that was released.
func oldRelease(t *testing.T) (manifest []byte, files fstest.MapFS) {
	t.Helper()
	f, err := os.Open("testdata/stdlib-0.1.0.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files = fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return manifest, files
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "manifest.yaml" {
			manifest = raw
		} else if p, ok := strings.CutPrefix(h.Name, "system/"); ok && len(raw) > 0 {
			files[p] = &fstest.MapFile{Data: raw}
		}
	}
}

// A lock stays valid across upgrades: the library that it was made with is kept in
// the project's store, and is as good there as when it was compiled in.
func TestOldLibraryIsKept(t *testing.T) {
	manifest, files := oldRelease(t)
	first := stdlib.Releases()[0]
	old, err := openRelease(first, manifest, files)
	if err != nil {
		t.Fatal(err)
	}
	s := &Stack{Project: &Layer{Space: objects.Project, Dir: t.TempDir(), Store: filepath.Join(t.TempDir(), "store.git")}, System: OpenSystem}
	defer s.Project.Close()
	if _, err := s.Kept(old.Digest()); len(stdlib.Releases()) > 1 && !fault.Is(err, fault.Offline) {
		t.Errorf("Kept before it was kept = %v, want offline", err)
	}
	id, err := s.Project.keepRelease(t.Context(), old, manifest)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Kept(old.Digest())
	if err != nil {
		t.Fatal(err)
	}
	ref := objects.Ref{Kind: objects.Tool, ID: "rye/core/runtimes/bash_runtime"}
	p, ok := got.Locate(ref)
	if !ok || got.Release.Version != first.Version {
		t.Fatalf("Kept = release %s, bash_runtime there: %v", got.Release.Version, ok)
	}
	if v, err := got.Item(p); err != nil || string(v.Item().Raw) != string(files[p].Data) {
		t.Errorf("Item(%s) of the kept library = %v", p, err)
	}
	again, err := s.Project.keepRelease(t.Context(), old, manifest)
	if err != nil || again != id {
		t.Errorf("kept again as %s, %v; want %s", again, err, id)
	}
	packs, err := filepath.Glob(filepath.Join(s.Project.Store, "objects/pack/*"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	s.Project.Close()
	for _, p := range packs {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	s.Project = &Layer{Space: objects.Project, Dir: s.Project.Dir, Store: s.Project.Store}
	defer s.Project.Close()
	if _, err := s.Kept(old.Digest()); len(stdlib.Releases()) > 1 && fault.CodeOf(err) == "" {
		t.Errorf("Kept of what is gone = %v", err)
	}
	if f, err := s.Project.Fsck(t.Context()); err != nil || len(f.Damage) != 1 || !strings.Contains(fault.HintOf(f.Damage[0]).String(), "rye lock") {
		t.Errorf("Fsck of a library that is gone = %+v, %v", f, err)
	}
	if again, err := s.Project.keepRelease(t.Context(), old, manifest); err != nil || again != id {
		t.Errorf("kept once more as %s, %v; want %s", again, err, id)
	}
	if f, err := s.Project.Fsck(t.Context()); err != nil || len(f.Damage) > 0 {
		t.Errorf("Fsck after that = %+v, %v", f, err)
	}
	if _, err := s.Kept(objects.DigestOf([]byte("no release"))); !fault.Is(err, fault.Untrusted) {
		t.Errorf("Kept of an unknown manifest = %v, want untrusted", err)
	}
}

// Whoever can write refs of the store cannot pass off another library as a release.
func TestForgedLibraryIsNotKept(t *testing.T) {
	manifest, files := oldRelease(t)
	old, err := openRelease(stdlib.Releases()[0], manifest, files)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := old.Locate(objects.Ref{Kind: objects.Tool, ID: "rye/core/runtimes/bash_runtime"})
	files[p].Data = append(files[p].Data, "# evil\n"...)
	if _, err := old.Item(p); !fault.Is(err, fault.Integrity) {
		t.Errorf("a changed file of a kept library = %v, want integrity", err)
	}
	bad := []byte(strings.Replace(string(manifest), "0.1.0", "0.1.1", 1))
	if _, err := openRelease(stdlib.Releases()[0], bad, fs.FS(files)); !fault.Is(err, fault.Integrity) {
		t.Errorf("a changed manifest = %v, want integrity", err)
	}
}

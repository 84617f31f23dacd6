package stdlib_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/stdlib"
)

// release returns the last release and its key: the one that Manifest belongs to.
func release(t *testing.T) (stdlib.Release, trust.PublicKey) {
	t.Helper()
	rs := stdlib.Releases()
	if len(rs) == 0 {
		t.Fatal("no release: run make stdlib-sign")
	}
	r := rs[len(rs)-1]
	key, err := trust.ParsePublicKey(r.Key)
	if err != nil {
		t.Fatal(err)
	}
	return r, key
}

func TestManifestIsOfTheseFiles(t *testing.T) {
	r, key := release(t)
	if got := objects.DigestOf(stdlib.Manifest()).String(); got != r.Manifest {
		t.Fatalf("the manifest is %s, the last release is %s: run make stdlib-sign", got, r.Manifest)
	}
	b, err := trust.VerifyBundle(stdlib.Manifest(), stdlib.Files(), []trust.PublicKey{key})
	if err != nil {
		t.Fatalf("the manifest is not what was signed: run make stdlib-sign\n%v", err)
	}
	if err := b.Check(); err != nil {
		t.Fatalf("the standard library is not what was signed: run make stdlib-sign\n%v", err)
	}
	for ref, it := range items(t) {
		v, err := b.Item(it.Path)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		if v.Item().Ref != ref || v.Key() != key {
			t.Errorf("%s: verified as %s by %s", ref, v.Item().Ref, v.Key().Fingerprint())
		}
	}
}

// TestChangedLibraryIsRefused attacks the compiled-in library as a packager could.
func TestChangedLibraryIsRefused(t *testing.T) {
	_, key := release(t)
	other, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	const victim = "tools/rye/core/system/info.py"
	for _, c := range []struct {
		name   string
		change func(fstest.MapFS)
		keys   []trust.PublicKey
		want   fault.Code
	}{
		{"one byte", func(m fstest.MapFS) { m[victim].Data[40] ^= 1 }, []trust.PublicKey{key}, fault.Integrity},
		{"one byte more", func(m fstest.MapFS) { m[victim].Data = append(m[victim].Data, '\n') }, []trust.PublicKey{key}, fault.Integrity},
		{"a file less", func(m fstest.MapFS) { delete(m, victim) }, []trust.PublicKey{key}, fault.Integrity},
		{"a file more", func(m fstest.MapFS) { m["tools/rye/evil.sh"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n")} }, []trust.PublicKey{key}, fault.Integrity},
		{"two files swapped", func(m fstest.MapFS) {
			const other = "knowledge/rye/reference/items.md"
			m[victim].Data, m[other].Data = m[other].Data, m[victim].Data
		}, []trust.PublicKey{key}, fault.Integrity},
		{"another key", func(fstest.MapFS) {}, []trust.PublicKey{other.Public()}, fault.Untrusted},
		{"no key", func(fstest.MapFS) {}, nil, fault.Untrusted},
	} {
		files := copyFiles(t)
		c.change(files)
		b, err := trust.VerifyBundle(stdlib.Manifest(), files, c.keys)
		if err == nil {
			err = b.Check()
		}
		if fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v (code %q), want code %q", c.name, err, fault.CodeOf(err), c.want)
		}
	}
}

func TestChangedManifestIsRefused(t *testing.T) {
	_, key := release(t)
	for i := range stdlib.Manifest() {
		m := stdlib.Manifest()
		m[i] ^= 1
		if _, err := trust.VerifyBundle(m, stdlib.Files(), []trust.PublicKey{key}); err == nil {
			t.Fatalf("byte %d of the manifest changed, and it was accepted", i)
		}
	}
}

// TestChangedFileIsNotAnItem asks for one changed file, as a start of rye does,
// which verifies what it uses and not the whole library.
func TestChangedFileIsNotAnItem(t *testing.T) {
	_, key := release(t)
	files := copyFiles(t)
	const victim, bystander = "tools/rye/core/system/info.py", "knowledge/rye/reference/items.md"
	files[victim].Data[40] ^= 1
	files["tools/rye/evil.sh"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n")}
	b, err := trust.VerifyBundle(stdlib.Manifest(), files, []trust.PublicKey{key})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fault.Code{victim: fault.Integrity, "tools/rye/evil.sh": fault.NotFound, bystander: ""} {
		if _, err := b.Item(path); fault.CodeOf(err) != want {
			t.Errorf("Item(%s) = %v, want code %q", path, err, want)
		}
	}
}

// copyFiles returns the library as files that may be changed.
func copyFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	m := make(fstest.MapFS)
	err := fs.WalkDir(stdlib.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(stdlib.Files(), path)
		m[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

package trust

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// bundleFS is a file system with three items and a few dependencies.
func bundleFS(deps int) fstest.MapFS {
	files := fstest.MapFS{}
	for _, name := range []string{"one", "two", "three"} {
		path := "tools/rye/core/" + name + ".py"
		text := strings.ReplaceAll(samples[tool], `"acme"`, `"rye/core"`)
		files[path] = &fstest.MapFile{Data: []byte(text)}
	}
	for i := range deps {
		files[fmt.Sprintf("tools/rye/lib/dep%02d.txt", i)] = &fstest.MapFile{Data: bytes.Repeat([]byte{byte(i)}, 4096)}
	}
	return files
}

// signedManifest lists files and signs the list.
func signedManifest(t testing.TB, k *FileKey, files fs.FS, id objects.ID) []byte {
	t.Helper()
	m, err := objects.ManifestOf(files, id, "1.0.0")
	must(t, err)
	body, err := m.Encode()
	must(t, err)
	raw, err := SignManifest(t.Context(), k, body, inUser, noon)
	must(t, err)
	return raw
}

func TestSystemBundle(t *testing.T) {
	k, old := newKey(t), newKey(t)
	files := bundleFS(2)
	manifest := signedManifest(t, k, files, "rye/bundle/std")
	keys := []PublicKey{old.Public(), k.Public()}
	b, err := VerifyBundle(manifest, files, keys)
	must(t, err)
	must(t, b.Check())
	if b.ID() != "rye/bundle/std" || b.Version() != "1.0.0" || b.Key() != k.Public() || len(b.Files()) != 5 || b.Digest() != objects.DigestOf(manifest) {
		t.Errorf("bundle %v %v %v", b.ID(), b.Version(), b.Key())
	}
	v, err := b.Item("tools/rye/core/one.py")
	must(t, err)
	if v.Scope() != (Scope{Space: objects.System}) || v.Key() != k.Public() || v.Level() != Manifest || v.Item().Ref.ID != "rye/core/one" || !v.SignedAt().Equal(noon) {
		t.Errorf("Item: %+v", v)
	}
	if _, err := Verify(v.Item(), v.Scope(), storeOf(t, k)); !fault.Is(err, fault.Untrusted) {
		t.Errorf("the same item without its manifest: %v, want untrusted", err)
	}
	st := storeOf(t)
	must(t, st.Denied(v))
	must(t, st.DenyDigest(v.Item().Sum, "broken"))
	if err := st.Denied(v); !fault.Is(err, fault.Revoked) {
		t.Errorf("Denied = %v", err)
	}
	must(t, st.DenyKey(k.Public().Fingerprint(), ""))
	v, err = b.Item("tools/rye/core/two.py")
	must(t, err)
	if err := st.Denied(v); !fault.Is(err, fault.Revoked) {
		t.Errorf("Denied = %v", err)
	}

	for name, c := range map[string]struct {
		manifest []byte
		keys     []PublicKey
		want     fault.Code
	}{
		"other key":     {manifest, keys[:1], fault.Untrusted},
		"no keys":       {manifest, nil, fault.Untrusted},
		"zero key":      {manifest, []PublicKey{{}}, fault.Untrusted},
		"stripped":      {manifest[bytes.IndexByte(manifest, '\n')+1:], keys, fault.Untrusted},
		"other version": {bytes.Replace(manifest, []byte("version: 1.0.0"), []byte("version: 1.0.1"), 1), keys, fault.Integrity},
		"other time":    {bytes.Replace(manifest, []byte("T12:00:00Z"), []byte("T12:00:01Z"), 1), keys, fault.Integrity},
		"nothing":       {nil, keys, fault.Malformed},
	} {
		if _, err := VerifyBundle(c.manifest, files, c.keys); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for i := range manifest {
		bad := bytes.Clone(manifest)
		bad[i] ^= 1
		if _, err := VerifyBundle(bad, files, keys); err == nil {
			t.Errorf("byte %d of the manifest may be changed", i)
		}
	}
}

// TestAttack14Bundle: extra, missing, swapped and changed files.
func TestAttack14Bundle(t *testing.T) {
	k := newKey(t)
	good := bundleFS(2)
	manifest := signedManifest(t, k, good, "rye/bundle/std")
	for name, c := range map[string]struct {
		change func(fstest.MapFS)
		path   string
		want   fault.Code // of File; "" when only Check sees it
	}{
		"extra file":   {func(f fstest.MapFS) { f["tools/rye/evil.py"] = f["tools/rye/core/one.py"] }, "tools/rye/evil.py", fault.NotFound},
		"missing file": {func(f fstest.MapFS) { delete(f, "tools/rye/core/one.py") }, "tools/rye/core/one.py", fault.Integrity},
		"swapped": {func(f fstest.MapFS) {
			f["tools/rye/lib/dep00.txt"], f["tools/rye/lib/dep01.txt"] = f["tools/rye/lib/dep01.txt"], f["tools/rye/lib/dep00.txt"]
		}, "tools/rye/lib/dep00.txt", fault.Integrity},
		"longer": {func(f fstest.MapFS) {
			f["tools/rye/lib/dep00.txt"] = &fstest.MapFile{Data: make([]byte, 4097)}
		}, "tools/rye/lib/dep00.txt", fault.Integrity},
		"shorter": {func(f fstest.MapFS) {
			f["tools/rye/lib/dep00.txt"] = &fstest.MapFile{Data: make([]byte, 4095)}
		}, "tools/rye/lib/dep00.txt", fault.Integrity},
		"directory": {func(f fstest.MapFS) {
			f["tools/rye/lib/dep00.txt"] = &fstest.MapFile{Mode: fs.ModeDir}
		}, "tools/rye/lib/dep00.txt", fault.Integrity},
		"symlink": {func(f fstest.MapFS) {
			f["tools/rye/lib/dep00.txt"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("dep01.txt")}
		}, "tools/rye/lib/dep00.txt", fault.Integrity},
		"case": {func(f fstest.MapFS) { f["tools/rye/core/ONE.py"] = f["tools/rye/core/one.py"] }, "tools/rye/core/ONE.py", fault.NotFound},
	} {
		files := bundleFS(2)
		c.change(files)
		b, err := VerifyBundle(manifest, files, []PublicKey{k.Public()})
		must(t, err)
		if _, err := b.File(c.path); !fault.Is(err, c.want) {
			t.Errorf("%s: File = %v, want %s", name, err, c.want)
		}
		if _, err := b.Item(c.path); !fault.Is(err, c.want) {
			t.Errorf("%s: Item = %v, want %s", name, err, c.want)
		}
		if err := b.Check(); !fault.Is(err, fault.Integrity) {
			t.Errorf("%s: Check = %v, want integrity", name, err)
		}
	}
	b, err := VerifyBundle(manifest, good, []PublicKey{k.Public()})
	must(t, err)
	for _, path := range []string{"", ".", "..", "../x", "/etc/passwd", objects.ManifestName, "tools/rye/lib/../lib/dep00.txt"} {
		if _, err := b.File(path); !fault.Is(err, fault.NotFound) {
			t.Errorf("File(%q) = %v, want not_found", path, err)
		}
	}
	var zero Bundle
	if _, err := zero.File("x"); !fault.Is(err, fault.NotFound) {
		t.Errorf("zero Bundle: %v", err)
	}
	if zero.Check() == nil || zero.ID() != "" || zero.Version() != "" || zero.Files() != nil || !zero.Digest().IsZero() {
		t.Error("the zero Bundle holds something")
	}
}

// TestOtherBundle: a manifest vouches for nothing that its key does not own.
func TestOtherBundle(t *testing.T) {
	me, bob := newKey(t), newKey(t)
	st := storeOf(t, me)
	must(t, st.Pin(Pin{Key: bob.Public(), Namespaces: []string{"acme"}}))
	files := fstest.MapFS{
		tool:                         {Data: []byte(samples[tool])},
		"tools/local/scratch_own.py": {Data: []byte(samples["tools/local/scratch_own.py"])},
		"tools/bob/hello.py":         {Data: []byte(strings.ReplaceAll(samples[tool], `"acme"`, `"bob"`))},
	}
	manifest := signedManifest(t, bob, files, "acme/bundle/all")
	b, err := OpenBundle(manifest, files, inUser, st)
	must(t, err)
	if v, err := b.Item(tool); err != nil || v.Key() != bob.Public() || v.Scope() != inUser {
		t.Errorf("its own namespace: %v", err)
	}
	for _, path := range []string{"tools/bob/hello.py", "tools/local/scratch_own.py"} {
		if _, err := b.Item(path); !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s: %v, want untrusted", path, err)
		}
	}
	if _, err := OpenBundle(manifest, files, inA, st); !fault.Is(err, fault.Untrusted) {
		t.Errorf("where bob does not count: %v, want untrusted", err)
	}
	must(t, st.DenyDigest(objects.DigestOf([]byte(samples[tool])), ""))
	if _, err := b.Item(tool); !fault.Is(err, fault.Revoked) {
		t.Errorf("denied content: %v, want revoked", err)
	}
	changed := bytes.Replace(manifest, []byte("acme/bundle/all"), []byte("acme/bundle/any"), 1)
	if _, err := OpenBundle(changed, files, inUser, st); !fault.Is(err, fault.Integrity) {
		t.Errorf("renamed bundle: %v, want integrity", err)
	}
}

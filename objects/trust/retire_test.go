package trust

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// retired returns a trust store on disk whose key k was retired when it had signed
// the files with these digests.
func retired(t *testing.T, k *FileKey, sums ...objects.Digest) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trust.yaml")
	kept, err := KeepList(path, k.Public(), sums)
	must(t, err)
	must(t, Update(path, func(s *Store) error {
		must(t, s.Grant(noon, inA.Site().OwnKeys()))
		must(t, s.AddOwn(k.Public(), "default", "acme"))
		return s.RetireOwn(k.Public(), "default.retired-2026-11-22", "2026-11-22", kept)
	}))
	st, err := LoadStore(path)
	must(t, err)
	return st
}

// TestAttack60OwnRetiredKey: whoever has a retired key of the user's signs whatever
// he likes and dates it back: only what was signed by the time counts.
func TestAttack60OwnRetiredKey(t *testing.T) {
	k := newKey(t)
	signedBefore := sign(t, k, tool, inA)
	st := retired(t, k, signedBefore.Sum, objects.DigestOf([]byte("another")))
	for range 2 { // read, then remembered
		v, err := Verify(signedBefore, inA, st)
		if err != nil || v.Key() != k.Public() {
			t.Fatalf("what it had signed: %v", err)
		}
	}
	for name, at := range map[string]time.Time{"backdated": noon.AddDate(-1, 0, 0), "same time": noon, "today": noon.AddDate(0, 0, 2)} {
		raw, err := SignItem(t.Context(), k, parse(t, "tools/acme/hello_sh.sh", []byte(samples["tools/acme/hello_sh.sh"])), inA, at)
		must(t, err)
		refused(t, name, parse(t, "tools/acme/hello_sh.sh", raw), inA, st, fault.Revoked)
		// The very body that counts, under another line of the same key.
		raw, err = SignItem(t.Context(), k, parse(t, tool, signedBefore.Body), inA, at.Add(time.Second))
		must(t, err)
		refused(t, name+", the same body", parse(t, tool, raw), inA, st, fault.Revoked)
	}
	if _, err := st.believes(k.Public(), signedBefore.Ref, inA, objects.Digest{}); !fault.Is(err, fault.Revoked) {
		t.Errorf("believes = %v, want revoked: it may sign nothing new", err)
	}
	if err := st.AddOwn(k.Public(), "again"); !fault.Is(err, fault.Revoked) {
		t.Errorf("AddOwn = %v, want revoked", err)
	}
	must(t, st.DenyDigest(signedBefore.Digest, "broken"))
	refused(t, "denied all the same", signedBefore, inA, st, fault.Revoked)
}

// TestRetiredKeyInAnotherSpace: the list says which bytes, and the rules go on
// saying where.
func TestRetiredKeyInAnotherSpace(t *testing.T) {
	k := newKey(t)
	it := sign(t, k, tool, inA)
	st := retired(t, k, it.Sum)
	if _, err := Verify(it, inUser, st); err != nil {
		t.Errorf("user space: %v", err)
	}
	refused(t, "a project that was not accepted", it, inB, st, fault.Untrusted)
	local := sign(t, k, "tools/local/scratch_own.py", inA)
	refused(t, "not listed", local, inA, st, fault.Revoked)
}

func TestRetiredKeysBundle(t *testing.T) {
	k := newKey(t)
	files := fstest.MapFS{tool: {Data: []byte(samples[tool])}}
	manifest := signedManifest(t, k, files, "acme/bundle/all")
	st := retired(t, k, objects.DigestOf(manifest))
	b, err := OpenBundle(manifest, files, inUser, st)
	must(t, err)
	if _, err := b.Item(tool); err != nil {
		t.Errorf("an item of a bundle from before: %v", err)
	}
	later := signedManifest(t, k, fstest.MapFS{tool: {Data: []byte(samples[tool] + "# more\n")}}, "acme/bundle/all")
	if _, err := OpenBundle(later, files, inUser, st); !fault.Is(err, fault.Revoked) {
		t.Errorf("a later bundle: %v, want revoked", err)
	}
}

// TestKeptListSpoiled: a list that is gone, changed or another one keeps nothing.
func TestKeptListSpoiled(t *testing.T) {
	k := newKey(t)
	it := sign(t, k, tool, inA)
	other := objects.DigestOf([]byte("other"))
	for name, spoil := range map[string]func(path string) error{
		"gone":      os.Remove,
		"empty":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"longer":    func(p string) error { return os.WriteFile(p, encodeKept([]objects.Digest{it.Sum, other, {1}}), 0o600) },
		"malformed": func(p string) error { return os.WriteFile(p, []byte("sha256:"), 0o600) },
	} {
		st := retired(t, k, it.Sum, other)
		must(t, spoil(keptPath(st.path, k.Public())))
		refused(t, name, it, inA, st, fault.Revoked)
	}
	none := retired(t, k)
	refused(t, "no list at all", it, inA, none, fault.Revoked)
}

// TestStoreBeforeRetirement: a store of a rye that knew no retirement says what it
// said, and the fields come back from the file as they went in.
func TestStoreBeforeRetirement(t *testing.T) {
	k := newKey(t)
	it := sign(t, k, tool, inA)
	text := "format: 1\nown:\n  - key: " + k.Public().Authorized() + "\n    name: default.retired-2026-01-01\ngrants:\n  - {place: " + placeA + ", project: \"" + projectA + "\", kind: project, at: \"2026-11-22T12:00:00Z\"}\n"
	st, err := ParseStore([]byte(text))
	must(t, err)
	if _, err := Verify(it, inA, st); err != nil {
		t.Error(err)
	}
	now := retired(t, k, it.Sum)
	raw, err := now.Encode()
	must(t, err)
	again, err := ParseStore(raw)
	must(t, err)
	if o := again.Own()[0]; o.Retired != "2026-11-22" || o.Kept != now.Own()[0].Kept || o.Kept.IsZero() || len(o.Namespaces) != 0 {
		t.Errorf("read back: %+v", o)
	}
	for name, extra := range map[string]string{
		"no day":               "    retired: yesterday\n",
		"a list without a day": "    kept: sha256:" + it.Sum.Hex() + "\n",
		"claims":               "    retired: 2026-11-22\n    namespaces: [acme]\n",
		"no digest":            "    retired: 2026-11-22\n    kept: none\n",
	} {
		bad := "format: 1\nown:\n  - key: " + k.Public().Authorized() + "\n" + extra
		if _, err := ParseStore([]byte(bad)); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

func FuzzKeptList(f *testing.F) {
	f.Add(encodeKept([]objects.Digest{{1}, {2}, {3}}))
	f.Add(encodeKept([]objects.Digest{{2}}))
	f.Add([]byte("sha256:\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if parseKept(text) != nil {
			return
		}
		var sums []objects.Digest
		for line := range bytes.Lines(text) {
			d, err := objects.ParseDigest(string(line[:len(line)-1]))
			if err != nil {
				t.Fatal(err)
			}
			sums = append(sums, d)
		}
		if got := encodeKept(sums); !bytes.Equal(got, text) && len(text) > 0 {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}

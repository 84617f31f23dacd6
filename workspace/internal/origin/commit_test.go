package origin

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

const tree = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"

func TestReadCommit(t *testing.T) {
	id := strings.Repeat("ab", 20)
	whole := tree + "parent " + id + "\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\nencoding latin1\nmergetag object " + id + "\n type commit\n \n x\ngpgsig -----BEGIN SSH SIGNATURE-----\n abc\n -----END SSH SIGNATURE-----\n\nparent x\n\nhello\n"
	c, err := readCommit([]byte(whole))
	if err != nil || c.tree.String() != tree[5:45] || len(c.parents) != 1 || c.parents[0].String() != id {
		t.Fatalf("readCommit = %+v, %v", c, err)
	}
	if want := "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----"; c.armor != want {
		t.Errorf("the signature is %q, want %q", c.armor, want)
	}
	if want := strings.Replace(whole, "gpgsig -----BEGIN SSH SIGNATURE-----\n abc\n -----END SSH SIGNATURE-----\n", "", 1); string(c.signed) != want {
		t.Errorf("it covers %q, want %q", c.signed, want)
	}
	for name, raw := range map[string]string{
		"empty": "", "no tree": "author x\n\n", "a tree that is none": "tree x\n\n", "no end": tree, "two signatures": tree + "gpgsig a\ngpgsig b\n\n",
		"a bad parent": tree + "parent x\n\n", "a header without end": tree + "gpgsig a\n b", "tree later": "parent " + id + "\n" + tree + "\n",
	} {
		if c, err := readCommit([]byte(raw)); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestTagSignature(t *testing.T) {
	for in, want := range map[string][2]string{
		"object x\n\ntext\n": {"", ""},
		"object x\n\ntext\n-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\n": {"object x\n\ntext\n", "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\n"},
		"a -----BEGIN SSH SIGNATURE-----\n":                                                   {"", ""},
		"x\n-----BEGIN SSH SIGNATURE-----\n1\n-----BEGIN PGP SIGNATURE-----\n2\n":             {"x\n-----BEGIN SSH SIGNATURE-----\n1\n", "-----BEGIN PGP SIGNATURE-----\n2\n"},
	} {
		signed, armor := tagSignature([]byte(in))
		if string(signed) != want[0] || armor != want[1] {
			t.Errorf("tagSignature(%q) = %q, %q; want %q", in, signed, armor, want)
		}
	}
}

func FuzzReadCommit(f *testing.F) {
	f.Add([]byte(tree + "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nhi\n"))
	f.Add([]byte(tree + "gpgsig -----BEGIN SSH SIGNATURE-----\n a\n -----END\n\nhi"))
	f.Add([]byte("tag v1\n-----BEGIN SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if signed, armor := tagSignature(raw); armor != "" && !bytes.Equal(append(bytes.Clone(signed), armor...), raw) {
			t.Error("the two parts of a tag are not the whole")
		}
		c, err := readCommit(raw)
		if err != nil {
			return
		}
		again, err := readCommit(append([]byte(nil), raw...))
		if err != nil || again.tree != c.tree || again.armor != c.armor {
			t.Errorf("another reading: %+v, %v", again, err)
		}
		if c.armor != "" {
			if plain, err := readCommit(c.signed); err != nil || plain.tree != c.tree || plain.armor != "" {
				t.Errorf("without its signature: %+v, %v", plain, err)
			}
		}
		_, _, _ = signer(c.signed, c.armor)
	})
}

func TestResolve(t *testing.T) {
	one, two := oid(t, "1"), oid(t, "2")
	hex := strings.Repeat("a", 40)
	refs := map[string]store.OID{"HEAD": one, "refs/heads/main": one, "refs/heads/other": one, "refs/heads/both": two, "refs/tags/both": two, "refs/tags/v1": two, "refs/heads/" + hex: two}
	for ref, want := range map[string]string{"": "refs/heads/main", "main": "refs/heads/main", "v1": "refs/tags/v1", "refs/tags/both": "refs/tags/both", hex: ""} {
		got, err := resolve(objects.Source{Address: "https://h.org/x", Ref: ref}, refs, "refs/heads/main")
		if err != nil || got.ref != want {
			t.Errorf("resolve(%q) = %q, %v; want %q", ref, got.ref, err, want)
		}
		if ref == hex && got.tip == two {
			t.Error("the id of a commit was taken for a branch of that name")
		}
	}
	for ref, want := range map[string]fault.Code{"both": fault.Conflict, "nothing": fault.NotFound, "refs/heads/v1": fault.NotFound} {
		if got, err := resolve(objects.Source{Address: "https://h.org/x", Ref: ref}, refs, ""); !fault.Is(err, want) {
			t.Errorf("resolve(%q) = %+v, %v; want %s", ref, got, err, want)
		}
	}
	// A HEAD that the host does not explain, one that lies, and one that is no branch.
	for head, want := range map[string]string{"": "refs/heads/main", "refs/heads/both": "refs/heads/main", "refs/tags/v1": "refs/heads/main"} {
		if got, err := resolve(objects.Source{}, refs, head); err != nil || got.ref != want {
			t.Errorf("HEAD %q: %q, %v", head, got.ref, err)
		}
	}
	if _, err := resolve(objects.Source{}, map[string]store.OID{"HEAD": one, "refs/heads/main": two}, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("a HEAD that is no branch: %v", err)
	}
	if _, err := resolve(objects.Source{}, nil, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("an empty repository: %v", err)
	}
}

func oid(t *testing.T, digit string) store.OID {
	t.Helper()
	id, err := store.ParseOID(strings.Repeat(digit, 40))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestState(t *testing.T) {
	good := `{"format":1,"bundles":{"acme/pdf":{"address":"https://h.org/x","tree":"a"}},"sources":{"https://h.org/x":{"typed":true}}}`
	st := &state{}
	if err := st.parse([]byte(good), "origins.json"); err != nil || st.Bundles["acme/pdf"].Address != "https://h.org/x" || !st.Sources["https://h.org/x"].Typed {
		t.Errorf("%+v, %v", st, err)
	}
	for name, text := range map[string]string{
		"unknown field": `{"format":1,"more":1}`, "format": `{"format":2}`, "address": `{"format":1,"bundles":{"acme/pdf":{"address":"https://a:b@h.org/x","tree":"a"}}}`,
		"name": `{"format":1,"bundles":{"../x":{"address":"https://h.org/x","tree":"a"}}}`, "key": `{"format":1,"sources":{"x":{"signer":"ssh-ed25519 x"}}}`, "twice": `{"format":1,"format":1}`,
	} {
		if err := (&state{}).parse([]byte(text), "origins.json"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

package trust

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// patchedAs fails the test unless an item counts in a scope as this kind of patch.
func patchedAs(t *testing.T, what string, it *objects.Item, in Scope, st *Store, want Patch) {
	t.Helper()
	v, err := Verify(it, in, st)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if v.Patched() != want {
		t.Errorf("%s: patched %q, want %q", what, v.Patched(), want)
	}
}

// TestOwnPatch: the user's own signature counts for the user's own working files of an accepted
// project, in a namespace that a registry gives to others, and nowhere else.
func TestOwnPatch(t *testing.T) {
	me, owner, bob := newKey(t), newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: owner.Public(), State: Current})
	mine := sign(t, me, tool, inA)
	patchedAs(t, "own key", mine, inA, st, OwnPatch)
	patchedAs(t, "owner's key", sign(t, owner, tool, inA), inA, st, NoPatch)
	patchedAs(t, "own key, a namespace without owners", sign(t, me, "tools/local/scratch_own.py", inA), inA, st, NoPatch)
	for name, c := range map[string]struct {
		it *objects.Item
		in Scope
	}{
		"user space":                  {mine, inUser},
		"locked from the registry":    {mine, from(regOne, mine)},
		"a directory nobody accepted": {mine, Scope{Space: objects.Project, Project: projectA, Place: placeB}},
		"another contributor's key":   {sign(t, bob, tool, inA), inA},
	} {
		refused(t, name, c.it, c.in, st, fault.Untrusted)
	}
	for _, ns := range []string{"rye", "core", "std"} {
		path := "tools/" + ns + "/hello.py"
		raw, err := SignItem(t.Context(), me, parse(t, path, []byte(strings.Replace(samples[tool], `__category__ = "acme"`, `__category__ = "`+ns+`"`, 1))), inA, noon)
		must(t, err)
		refused(t, ns, parse(t, path, raw), inA, st, fault.Untrusted)
	}
	for state, code := range map[KeyState]fault.Code{Retired: fault.Revoked, Revoked: fault.Revoked} {
		st := bound(t, me, BoundKey{Key: owner.Public(), State: Current}, BoundKey{Key: me.Public(), State: state})
		refused(t, "own key, "+string(state)+" there", mine, inA, st, code)
	}
	must(t, st.DenyKey(me.Public().Fingerprint(), "lost"))
	refused(t, "own denied key", mine, inA, st, fault.Revoked)
}

// TestOwnPatchOfRemovedSigner: where an owner's signed line removed the key, it patches nothing,
// whatever the branch declares. A line by anyone else has no effect.
func TestOwnPatchOfRemovedSigner(t *testing.T) {
	me, owner := newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: owner.Public(), State: Current})
	mine := sign(t, me, tool, inA)
	removedBy := func(k *FileKey, kind objects.DismissalKind) Scope {
		l, err := Dismiss(t.Context(), k, kind, "acme", me.Public().Fingerprint(), projectA, noon)
		must(t, err)
		s := &Signers{}
		s.Add(me.Public(), "acme") // declared again, by the branch
		in := inA
		in.Declared = NewDeclared(s.Encode(), nil, nil, NewDismissed(inA.Site(), []objects.Dismissal{l}, nil))
		return in
	}
	refused(t, "removed by an owner", mine, removedBy(owner, objects.SignerRemoved), st, fault.Untrusted)
	refused(t, "denied by an owner", mine, removedBy(owner, objects.KeyDenied), st, fault.Untrusted)
	patchedAs(t, "removed by a stranger", mine, removedBy(newKey(t), objects.SignerRemoved), st, OwnPatch)
}

// TestBundlePatch: a manifest that the user signed in a namespace of others makes every file of the
// bundle a patch.
func TestBundlePatch(t *testing.T) {
	me, owner := newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: owner.Public(), State: Current})
	for _, c := range []struct {
		key  *FileKey
		want Patch
	}{{me, OwnPatch}, {owner, NoPatch}} {
		text := strings.ReplaceAll(samples[tool], `"acme"`, `"acme/report"`)
		files := fstest.MapFS{"one.py": &fstest.MapFile{Data: []byte(text)}}
		b, err := OpenBundle(signedManifest(t, c.key, files, "acme/bundle/tools/report"), files, inA, st)
		must(t, err)
		b, err = b.In("tools/acme/report")
		must(t, err)
		if b.Patched() != c.want {
			t.Errorf("manifest: patched %q, want %q", b.Patched(), c.want)
		}
		v, err := b.Item("one.py")
		if err != nil || v.Patched() != c.want {
			t.Errorf("file: %v, %v, want patched %q", v, err, c.want)
		}
	}
}

// TestGrantedPatch: a grant is for one directory, item, file and key. It ends with the removal of
// the signer, and with a denial of the version that the patch changes.
func TestGrantedPatch(t *testing.T) {
	me, owner, bob, eve := newKey(t), newKey(t), newKey(t), newKey(t)
	theirs, base := sign(t, bob, tool, inA), sign(t, owner, tool, inA)
	granted := func(at Site) *Store {
		st := bound(t, me, BoundKey{Key: owner.Public(), State: Current}, BoundKey{Key: me.Public(), State: Current})
		must(t, st.Grant(noon, at.Patch(Contribution{Ref: theirs.Ref, Sum: theirs.Sum, Base: base.Sum, Key: bob.Public()})))
		return st
	}
	st := granted(inA.Site())
	patchedAs(t, "granted", theirs, inA, st, GrantedPatch)
	raw, err := st.Encode()
	must(t, err)
	again, err := ParseStore(raw)
	must(t, err)
	patchedAs(t, "read again", theirs, inA, again, GrantedPatch)

	refused(t, "another item", sign(t, bob, "tools/acme/hello_sh.sh", inA), inA, st, fault.Untrusted)
	refused(t, "another key", sign(t, eve, tool, inA), inA, st, fault.Untrusted)
	later, err := SignItem(t.Context(), bob, theirs, inA, noon.Add(time.Hour))
	must(t, err)
	refused(t, "signed again", parse(t, tool, later), inA, st, fault.Untrusted)
	refused(t, "locked from the registry", theirs, from(regOne, theirs), st, fault.Untrusted)
	refused(t, "in the user space", theirs, inUser, st, fault.Untrusted)
	refused(t, "granted elsewhere", theirs, inA, granted(inB.Site()), fault.Untrusted)
	forgotten := granted(inA.Site())
	forgotten.Ungrant(func(g Grant) bool { return g.Kind == GrantProject })
	refused(t, "a directory that was forgotten", theirs, inA, forgotten, fault.Untrusted)

	must(t, st.DenyDigest(base.Sum, "broken"))
	refused(t, "base denied", theirs, inA, st, fault.Revoked)
	st = granted(inA.Site())
	l, err := Dismiss(t.Context(), owner, objects.SignerRemoved, "acme", bob.Public().Fingerprint(), projectA, noon.Add(time.Minute))
	must(t, err)
	in := inA
	in.Declared = NewDeclared(nil, nil, nil, NewDismissed(inA.Site(), []objects.Dismissal{l}, nil))
	refused(t, "signer removed", theirs, in, st, fault.Untrusted)
	if n := st.EndRemoved(inA.Site(), in.Declared); n != 1 {
		t.Errorf("EndRemoved = %d, want 1", n)
	}
}

// TestPatchGrantVectors carries out testdata/vectors/patch-grant.json.
func TestPatchGrantVectors(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/vectors/patch-grant.json")
	must(t, err)
	var v struct {
		Good []struct{ Value, Ref, Sum, Base, Key string }
		Bad  []struct{ Why, Value string }
	}
	must(t, json.Unmarshal(raw, &v))
	if len(v.Good) == 0 || len(v.Bad) == 0 {
		t.Fatal("no vectors")
	}
	grant := func(value string) Grant {
		return Grant{Site: inA.Site(), Kind: GrantPatch, Value: value, At: noon}
	}
	for _, c := range v.Good {
		if err := checkGrant(grant(c.Value)); err != nil {
			t.Errorf("%q: %v", c.Value, err)
			continue
		}
		got, ok := grant(c.Value).Contribution()
		if !ok || got.Ref.String() != c.Ref || got.Sum.String() != c.Sum || got.Base.String() != c.Base || got.Key.String() != c.Key {
			t.Errorf("%q = %+v, want %+v", c.Value, got, c)
		}
	}
	for _, c := range v.Bad {
		if err := checkGrant(grant(c.Value)); err == nil {
			t.Errorf("%s: %q is accepted", c.Why, c.Value)
		}
	}
}

// FuzzContribution: a value that is read is written as the same value.
func FuzzContribution(f *testing.F) {
	f.Add("tool:acme/hello sha256:" + strings.Repeat("a", 64) + " sha256:" + strings.Repeat("b", 64) + " ssh-ed25519 AAAA")
	f.Fuzz(func(t *testing.T, value string) {
		c, err := parseContribution(value)
		if err == nil && (Site{}).Patch(c).Value != value {
			t.Errorf("%q is read as %+v", value, c)
		}
	})
}

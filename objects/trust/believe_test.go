package trust

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var root = objects.Fingerprint{1}

// bound returns a store in which acme is bound to registry one with these keys.
func bound(t testing.TB, me *FileKey, keys ...BoundKey) *Store {
	t.Helper()
	st := storeOf(t, me)
	must(t, st.PinRegistry(Registry{ID: regOne, URL: "https://one.example/r.git", Roots: []objects.Fingerprint{root}}))
	must(t, st.PinRegistry(Registry{ID: regTwo, URL: "https://two.example/r.git", Roots: []objects.Fingerprint{root}}))
	must(t, st.BindNamespace("acme", regOne, keys...))
	must(t, st.Grant(noon, inA.Site().Scope("acme", regOne), inUser.Site().Scope("acme", regOne)))
	return st
}

func from(registry string, it *objects.Item) Scope {
	in := inA
	in.Registry = registry
	if it != nil {
		in.Pinned = it.Sum
	}
	return in
}

// unlogged is the same scope, of content that nothing pins.
func unlogged(in Scope) Scope {
	in.Pinned = objects.Digest{}
	return in
}

func TestOwnKeyCountsEverywhereUnowned(t *testing.T) {
	me := newKey(t)
	st := storeOf(t, me)
	it := sign(t, me, tool, inA)
	for _, in := range []Scope{inA, inUser, {Space: objects.User, Project: projectB}} {
		if _, err := Verify(it, in, st); err != nil {
			t.Errorf("%v: %v", in, err)
		}
	}
	for name, in := range map[string]Scope{
		"project not accepted": {Space: objects.Project, Project: projectB},
		"no project":           {Space: objects.Project},
		"system":               {Space: objects.System},
		"no space":             {},
	} {
		refused(t, name, it, in, st, fault.Untrusted)
	}
	st.Ungrant(func(g Grant) bool { return g == Grant{inA.Site(), GrantProject, "", noon} })
	if err := refused(t, "forgotten project", it, inA, st, fault.Untrusted); fault.HintOf(err).String() != "rye trust" {
		t.Errorf("mend %q", fault.HintOf(err).String())
	}
}

// TestBoundNamespace: then only the registry's keys count, for files of one's own
// and for locked items alike.
func TestBoundNamespace(t *testing.T) {
	me, publisher := newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: publisher.Public(), State: Current})
	mine, theirs := sign(t, me, tool, inA), sign(t, publisher, tool, inA)

	for _, in := range []Scope{inA, inUser, from(regOne, nil), from(regOne, theirs)} {
		if _, err := Verify(theirs, in, st); err != nil {
			t.Errorf("publisher's key in %v: %v", in, err)
		}
		if in != inA { // there it is a patch: TestOwnPatch
			refused(t, "own key", mine, unlogged(in), st, fault.Untrusted)
		}
	}
	if _, err := Verify(sign(t, me, "tools/local/scratch_own.py", inA), inA, st); err != nil {
		t.Errorf("own key in an unbound namespace: %v", err)
	}

	must(t, st.Grant(noon, inA.Site().Override(mine.Ref, me.Public().Fingerprint())))
	patchedAs(t, "overridden", mine, inA, st, NoPatch)
	refused(t, "override elsewhere", mine, inUser, st, fault.Untrusted)
	refused(t, "override of a locked item", mine, from(regOne, mine), st, fault.Untrusted)
	sh := sign(t, me, "tools/acme/hello_sh.sh", inA)
	patchedAs(t, "override of another id", sh, inA, st, OwnPatch)
	st.Ungrant(func(g Grant) bool { return g.Kind == GrantOverride })
	patchedAs(t, "override taken back", mine, inA, st, OwnPatch)
}

// TestAttack49and71OtherBytes: a locked item has the digest that was logged.
func TestAttack49and71OtherBytes(t *testing.T) {
	me, publisher := newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: publisher.Public(), State: Current})
	first := sign(t, publisher, tool, inA)
	raw, err := SignItem(t.Context(), publisher, first, inA, noon.AddDate(0, 0, 1))
	must(t, err)
	second := parse(t, tool, raw) // genuine too, but not what the lock pins
	refused(t, "other genuine bytes", second, from(regOne, first), st, fault.Integrity)
	refused(t, "other registry", first, from(regTwo, first), st, fault.Untrusted)
	refused(t, "lookalike registry", first, from("sha256:"+strings.Repeat("33", 32), first), st, fault.Untrusted)
}

// TestAttack60and62and68Revocation: by what was logged, not by date, and offline.
func TestAttack60and62and68Revocation(t *testing.T) {
	me, publisher, next := newKey(t), newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: publisher.Public(), State: Retired}, BoundKey{Key: next.Public(), State: Current})
	it := sign(t, publisher, tool, inA)
	refused(t, "retired key, a lock pins it, nothing is logged", it, from(regOne, it), st, fault.Revoked)
	st.path = filepath.Join(t.TempDir(), "trust.yaml")
	logged, err := KeepLogged(st.path, []objects.Digest{objects.DigestOf([]byte("other")), it.Sum})
	must(t, err)
	must(t, st.BindNamespace("acme", regOne, BoundKey{publisher.Public(), Retired, logged}, BoundKey{Key: next.Public(), State: Current}))
	for _, in := range []Scope{from(regOne, it), from(regOne, nil)} {
		if _, err := Verify(it, in, st); err != nil {
			t.Errorf("retired key, logged content: %v", err)
		}
	}
	text, err := SignItem(t.Context(), publisher, parse(t, tool, it.Body), inA, noon.Add(time.Hour))
	must(t, err)
	forged := parse(t, tool, text)
	refused(t, "retired key, the same body under another line, which a lock pins", forged, from(regOne, forged), st, fault.Revoked)
	must(t, os.WriteFile(loggedPath(st.path, logged), encodeKept([]objects.Digest{forged.Sum}), 0o600))
	st.lists = keptLists{}
	refused(t, "retired key, a list that was changed", forged, from(regOne, nil), st, fault.Revoked)
	raw, err := SignItem(t.Context(), publisher, parse(t, tool, []byte(samples[tool])), inA, noon.AddDate(-3, 0, 0))
	must(t, err)
	refused(t, "retired key, backdated file", parse(t, tool, raw), inA, st, fault.Revoked)

	must(t, st.BindNamespace("acme", regOne, BoundKey{Key: publisher.Public(), State: Revoked}, BoundKey{Key: next.Public(), State: Current}))
	refused(t, "revoked key, logged content", it, from(regOne, it), st, fault.Revoked)
	refused(t, "revoked key, own file", it, inA, st, fault.Revoked)
	if _, err := Verify(sign(t, next, tool, inA), inA, st); err != nil {
		t.Errorf("the next key: %v", err)
	}
}

// TestRevocationStaysInItsNamespace: a registry cannot take my key back for what
// is not its own.
func TestRevocationStaysInItsNamespace(t *testing.T) {
	me := newKey(t)
	st := bound(t, me, BoundKey{Key: me.Public(), State: Revoked})
	refused(t, "in the namespace", sign(t, me, tool, inA), inA, st, fault.Revoked)
	if _, err := Verify(sign(t, me, "tools/local/scratch_own.py", inA), inA, st); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}

// TestRevokedKeyUnderAnOverride: a person who puts an item of a bound namespace in the place
// of the registry's says so of their own key, not of one that the registry took back.
func TestRevokedKeyUnderAnOverride(t *testing.T) {
	me, publisher := newKey(t), newKey(t)
	mine := sign(t, me, tool, inA)
	for _, state := range []KeyState{Current, Revoked} {
		st := bound(t, me, BoundKey{Key: publisher.Public(), State: Current}, BoundKey{Key: me.Public(), State: state})
		must(t, st.Grant(noon, inA.Site().Override(mine.Ref, me.Public().Fingerprint())))
		if state == Revoked {
			refused(t, "overridden", mine, inA, st, fault.Revoked)
		} else if _, err := Verify(mine, inA, st); err != nil {
			t.Errorf("overridden, not revoked: %v", err)
		}
	}
}

func TestDenied(t *testing.T) {
	me := newKey(t)
	it := sign(t, me, tool, inA)
	for name, deny := range map[string]func(*Store) error{
		"key":  func(s *Store) error { return s.DenyKey(me.Public().Fingerprint(), "lost laptop") },
		"file": func(s *Store) error { return s.DenyDigest(it.Sum, "lost laptop") },
		"body": func(s *Store) error { return s.DenyDigest(it.Digest, "lost laptop") },
	} {
		st := storeOf(t, me)
		if _, err := Verify(it, inA, st); err != nil { // a remembered verdict must not outlive the denial
			t.Fatal(err)
		}
		must(t, deny(st))
		if err := refused(t, name, it, inA, st, fault.Revoked); !strings.Contains(err.Error(), "lost laptop") {
			t.Errorf("%s: %v does not say why", name, err)
		}
		if name == "key" {
			unknown := storeOf(t)
			must(t, deny(unknown))
			refused(t, "denied key that is not known", it, inA, unknown, fault.Revoked)
		}
		st.Allow(me.Public().Fingerprint(), it.Sum)
		st.Allow(objects.Fingerprint{}, it.Digest)
		if _, err := Verify(it, inA, st); err != nil {
			t.Errorf("%s allowed again: %v", name, err)
		}
	}
}

// TestAllowTakesBackOneDenial: every other denial stays.
func TestAllowTakesBackOneDenial(t *testing.T) {
	me, lost := newKey(t), newKey(t).Public().Fingerprint()
	it, other := sign(t, me, tool, inA), objects.DigestOf([]byte("other"))
	for name, c := range map[string]struct {
		key    objects.Fingerprint
		digest objects.Digest
		left   int
	}{
		"one digest": {digest: other, left: 2},
		"one key":    {key: lost, left: 2},
		"both":       {key: lost, digest: other, left: 1},
		"neither":    {left: 3},
	} {
		st := storeOf(t, me)
		must(t, st.DenyDigest(it.Sum, "broken"))
		must(t, st.DenyDigest(other, "broken"))
		must(t, st.DenyKey(lost, "lost laptop"))
		st.Allow(c.key, c.digest)
		if got := len(st.Denials()); got != c.left {
			t.Errorf("%s: %d denials are left, want %d", name, got, c.left)
		}
		refused(t, name+" allowed", it, inA, st, fault.Revoked)
	}
}

// TestAttack82Reserved: the system's namespaces are nobody's, unless the user
// chose so for one item in one project.
func TestAttack82Reserved(t *testing.T) {
	me := newKey(t)
	st := storeOf(t, me)
	for _, ns := range []string{"rye", "core", "std"} {
		path := "tools/" + ns + "/hello.py"
		text := strings.Replace(samples[tool], `__category__ = "acme"`, `__category__ = "`+ns+`"`, 1)
		raw, err := SignItem(t.Context(), me, parse(t, path, []byte(text)), inA, noon)
		must(t, err)
		it := parse(t, path, raw)
		err = refused(t, ns, it, inA, st, fault.Untrusted)
		if want := "rye trust override " + it.Ref.String(); fault.HintOf(err).String() != want {
			t.Errorf("mend %q, want %q", fault.HintOf(err).String(), want)
		}
		must(t, st.Grant(noon, inA.Site().Override(it.Ref, me.Public().Fingerprint())))
		if _, err := Verify(it, inA, st); err != nil {
			t.Errorf("overridden: %v", err)
		}
		refused(t, ns+" in the user space", it, inUser, st, fault.Untrusted)
		refused(t, ns+" in a registry", it, from(regOne, it), st, fault.Untrusted)
		if err := st.Pin(Pin{Key: newKey(t).Public(), Namespaces: []string{ns}}); !fault.Is(err, fault.Usage) {
			t.Errorf("pin for %s: %v", ns, err)
		}
		if err := st.AddOwn(me.Public(), "", ns); !fault.Is(err, fault.Usage) {
			t.Errorf("claim %s: %v", ns, err)
		}
		must(t, st.PinRegistry(Registry{ID: regOne, Roots: []objects.Fingerprint{root}}))
		if err := st.BindNamespace(ns, regOne, BoundKey{Key: me.Public(), State: Current}); !fault.Is(err, fault.Usage) {
			t.Errorf("bind %s: %v", ns, err)
		}
	}
	// A teammate's counts where it was granted, for that item.
	bob := newKey(t)
	must(t, st.Grant(noon, inA.Site().Signer("acme", bob.Public())))
	path := "tools/rye/hello.py"
	raw, err := SignItem(t.Context(), bob, parse(t, path, []byte(strings.Replace(samples[tool], `"acme"`, `"rye"`, 1))), inA, noon)
	must(t, err)
	theirs := parse(t, path, raw)
	refused(t, "teammate", theirs, inA, st, fault.Untrusted)
	declared := inA
	declared.Declared = NewDeclared(nil, nil, []StatedOverride{{theirs.Ref, bob.Public().Fingerprint()}}, nil)
	if err := refused(t, "declared", theirs, declared, st, fault.Untrusted); fault.HintOf(err).String() != "rye trust" {
		t.Errorf("mend %q", fault.HintOf(err))
	}
	must(t, st.Grant(noon, inA.Site().Override(theirs.Ref, bob.Public().Fingerprint())))
	if _, err := Verify(theirs, declared, st); err != nil {
		t.Errorf("granted to a teammate: %v", err)
	}
	refused(t, "granted, in a directory that declares nothing", theirs, inA, st, fault.Untrusted)
	refused(t, "in another directory", theirs, inB, st, fault.Untrusted)
	declared.Declared = NewDeclared(nil, nil, nil, nil)
	refused(t, "no longer declared", theirs, declared, st, fault.Untrusted)
}

// TestNamespaceConflicts: two owners of one name are a conflict, never a merge.
func TestNamespaceConflicts(t *testing.T) {
	me, bob, publisher := newKey(t), newKey(t), newKey(t)
	untrusted := func(what string, err error) {
		t.Helper()
		if !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s: %v, want untrusted", what, err)
		}
	}
	pub := BoundKey{Key: publisher.Public(), State: Current}

	st := storeOf(t, me)
	untrusted("registry not pinned", st.BindNamespace("acme", regOne, pub))
	must(t, st.PinRegistry(Registry{ID: regOne, URL: "https://one.example", Roots: []objects.Fingerprint{root}}))
	must(t, st.PinRegistry(Registry{ID: regTwo, Roots: []objects.Fingerprint{root}}))
	must(t, st.AddOwn(me.Public(), "default", "acme"))
	untrusted("claimed by me", st.BindNamespace("acme", regOne, pub))
	must(t, st.BindNamespace("acme", regOne, pub, BoundKey{Key: me.Public(), State: Current}))
	untrusted("bound to another registry", st.BindNamespace("acme", regTwo, pub, BoundKey{Key: me.Public(), State: Current}))
	untrusted("pinned by hand later", st.Pin(Pin{Key: bob.Public(), Namespaces: []string{"acme"}}))
	untrusted("claimed later", st.AddOwn(bob.Public(), "second", "acme"))
	if b, ok := st.Binding("acme"); !ok || b.Registry != regOne || len(b.Keys) != 2 {
		t.Errorf("Binding = %v, %v", b, ok)
	}

	must(t, st.Pin(Pin{Key: bob.Public(), Namespaces: []string{"tools"}}))
	untrusted("pinned by hand before", st.BindNamespace("tools", regOne, pub))

	// Attack 53: another identity at the same address; attack 66's kin: other roots.
	untrusted("identity changed", st.PinRegistry(Registry{ID: "sha256:" + strings.Repeat("33", 32), URL: "https://one.example", Roots: []objects.Fingerprint{root}}))
	untrusted("roots changed", st.PinRegistry(Registry{ID: regOne, URL: "https://one.example", Roots: []objects.Fingerprint{{2}}}))
	must(t, st.SetRoots(regOne, objects.Fingerprint{2}))
	if r, ok := st.Registry(regOne); !ok || r.Roots[0] != (objects.Fingerprint{2}) {
		t.Errorf("Registry = %v, %v", r, ok)
	}
	must(t, st.RemoveRegistry(regOne))
	if _, ok := st.Binding("acme"); ok {
		t.Error("a binding outlived its registry")
	}
}

func TestChangesRefused(t *testing.T) {
	me := newKey(t)
	st := storeOf(t, me)
	k := newKey(t).Public()
	must(t, st.PinRegistry(Registry{ID: regOne, Roots: []objects.Fingerprint{root}}))
	before, err := st.Encode()
	must(t, err)
	tooLong := strings.Repeat("x", maxText+1)
	for name, err := range map[string]error{
		"no key":               st.AddOwn(PublicKey{}, ""),
		"long name":            st.AddOwn(k, tooLong),
		"name of two lines":    st.AddOwn(k, "a\nb"),
		"namespace of two":     st.AddOwn(k, "", "a/b"),
		"namespace *":          st.AddOwn(k, "", "*"),
		"pin without what":     st.Pin(Pin{Key: k}),
		"pin of own key":       st.Pin(Pin{Key: me.Public(), Namespaces: []string{"acme"}}),
		"project":              st.Grant(noon, Site{placeA, "0123"}.OwnKeys()),
		"project in capitals":  st.Grant(noon, Site{placeA, strings.ToUpper(projectA)}.OwnKeys()),
		"place":                st.Grant(noon, Site{projectA, projectA}.OwnKeys()),
		"registry id":          st.PinRegistry(Registry{ID: "abc", Roots: []objects.Fingerprint{root}}),
		"registry without key": st.PinRegistry(Registry{ID: regTwo}),
		"roots of none":        st.SetRoots(regTwo, root),
		"bind local":           st.BindNamespace("local", regOne, BoundKey{Key: k, State: Current}),
		"bind without key":     st.BindNamespace("acme", regOne),
		"bind unknown state":   st.BindNamespace("acme", regOne, BoundKey{Key: k, State: "great"}),
		"bind twice":           st.BindNamespace("acme", regOne, BoundKey{Key: k, State: Current}, BoundKey{Key: k, State: Revoked}),
		"deny nothing":         st.DenyKey(objects.Fingerprint{}, ""),
		"deny no digest":       st.DenyDigest(objects.Digest{}, ""),
		"override local":       st.Grant(noon, inA.Site().Override(objects.Ref{Kind: objects.Tool, ID: "local/x"}, root)),
		"override nothing":     st.Grant(noon, inA.Site().Override(objects.Ref{}, root)),
		"remove registry":      st.RemoveRegistry(regTwo),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if after, _ := st.Encode(); string(after) != string(before) {
		t.Errorf("a refused change changed the store:\n%s\n%s", before, after)
	}
}

// TestPinIsForItsNamespaces: somebody who is believed for one namespace is not for another.
func TestPinIsForItsNamespaces(t *testing.T) {
	me, bob := newKey(t), newKey(t)
	it := sign(t, bob, tool, inUser)
	st := storeOf(t, me)
	must(t, st.Pin(Pin{Key: bob.Public(), Namespaces: []string{"other"}}))
	refused(t, "pinned for another namespace", it, inUser, st, fault.Untrusted)
	st = storeOf(t, me)
	must(t, st.Pin(Pin{Key: bob.Public(), Namespaces: []string{"acme", "other"}}))
	if _, err := Verify(it, inUser, st); err != nil {
		t.Errorf("pinned for this one: %v", err)
	}
}

// TestPinMore: a second pin of a key adds to the first; Pin itself replaces.
func TestPinMore(t *testing.T) {
	st, bob := storeOf(t), newKey(t).Public()
	must(t, st.PinMore(Pin{Key: bob, Name: "Bob", Namespaces: []string{"friends"}}))
	must(t, st.PinMore(Pin{Key: bob, Namespaces: []string{"others"}}))
	want := []Pin{{Key: bob, Name: "Bob", Namespaces: []string{"friends", "others"}}}
	if got := st.Pins(); !reflect.DeepEqual(got, want) {
		t.Errorf("pinned twice: %+v, want %+v", got, want)
	}
	if err := st.PinMore(Pin{Key: bob, Namespaces: []string{"rye"}}); !fault.Is(err, fault.Usage) {
		t.Errorf("more of a reserved namespace: %v, want usage", err)
	}
	if got := st.Pins(); !reflect.DeepEqual(got, want) {
		t.Errorf("after a refusal: %+v, want %+v", got, want)
	}
	must(t, st.Pin(Pin{Key: bob, Namespaces: []string{"others"}}))
	if got := st.Pins(); len(got) != 1 || !reflect.DeepEqual(got[0].Namespaces, []string{"others"}) {
		t.Errorf("pinned anew: %+v, want others only", got)
	}
}

// TestBindingCountsWhereTheUserGaveTheNamespace: what a registry says of a namespace decides
// only in directories whose user let it (T4, T5).
func TestBindingCountsWhereTheUserGaveTheNamespace(t *testing.T) {
	me, publisher := newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: publisher.Public(), State: Current})
	must(t, st.Grant(noon, inB.Site().OwnKeys()))
	mine, theirs := sign(t, me, tool, inB), sign(t, publisher, tool, inB)
	fromOne := inB
	fromOne.Registry = regOne
	if _, err := Verify(mine, inB, st); err != nil {
		t.Errorf("my key where no registry was given the namespace: %v", err)
	}
	refused(t, "the registry's key there", theirs, inB, st, fault.Untrusted)
	refused(t, "locked from it there", theirs, fromOne, st, fault.Untrusted)
	for name, scopes := range map[string][]Grant{
		"the namespace to another": {inB.Site().Scope("*", regOne), inB.Site().Scope("acme", regTwo)},
		"the namespace to both":    {inB.Site().Scope("acme", regOne), inB.Site().Scope("acme", regTwo)},
		"another namespace":        {inB.Site().Scope("beta", regOne)},
		"another project's":        {Site{inB.Place, projectA}.Scope("acme", regOne)},
	} {
		must(t, st.Grant(noon, scopes...))
		refused(t, name, theirs, fromOne, st, fault.Untrusted)
		st.Ungrant(func(g Grant) bool { return g.Kind == GrantScope && g.Place == inB.Place })
	}
	must(t, st.Grant(noon, inB.Site().Scope("*", regOne)))
	if _, err := Verify(theirs, fromOne, st); err != nil {
		t.Errorf("every namespace: %v", err)
	}
	patchedAs(t, "my key where the registry says whose it is", mine, inB, st, OwnPatch)
}

// TestOwnConfiguration: in the user space one's own configuration of rye's parts counts, since it
// is merged and takes nobody's place. Nobody else's does, no other kind of item, and none
// elsewhere.
func TestOwnConfiguration(t *testing.T) {
	me, bob := newKey(t), newKey(t)
	st := storeOf(t, me)
	signed := func(k *FileKey, path string) *objects.Item {
		raw, err := SignItem(t.Context(), k, parse(t, path, []byte("version: \"1.0.0\"\nid: agent\ntitle: x\nentry_type: reference\n")), inUser, noon)
		must(t, err)
		return parse(t, path, raw)
	}
	const path = "config/rye/agent.yaml"
	it := signed(me, path)
	if _, err := Verify(it, inUser, st); err != nil {
		t.Errorf("one's own: %v", err)
	}
	refused(t, "in a project", it, inA, st, fault.Untrusted)
	refused(t, "from a registry", it, from(regOne, it), st, fault.Untrusted)
	refused(t, "another's", signed(bob, path), inUser, st, fault.Untrusted)
	refused(t, "knowledge", signed(me, "knowledge/rye/agent.yaml"), inUser, st, fault.Untrusted)
}

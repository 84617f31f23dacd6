package trust

import (
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func dismiss(t testing.TB, by *FileKey, kind objects.DismissalKind, ns string, signer PublicKey, at time.Time) objects.Dismissal {
	t.Helper()
	l, err := Dismiss(t.Context(), by, kind, ns, signer.Fingerprint(), projectA, at)
	must(t, err)
	return l
}

// TestRemovedSigner: who ends what was granted to Bob for acme/, and what brings him back.
func TestRemovedSigner(t *testing.T) {
	me, bob, ann, eve := newKey(t), newKey(t), newKey(t), newKey(t)
	st := storeOf(t, me)
	at := inA.Site()
	must(t, st.Grant(noon, at.Signer("acme", bob.Public()), at.Signer("acme", ann.Public()), at.Signer("other", eve.Public())))
	it := sign(t, bob, tool, inA)
	later, earlier := noon.Add(time.Hour), noon.Add(-time.Second)
	scope := func(here, kept []objects.Dismissal) Scope {
		s, in := &Signers{}, inA
		s.Add(bob.Public(), "acme")
		in.Declared = NewDeclared(s.Encode(), nil, nil, NewDismissed(at, here, kept))
		return in
	}
	flipped := dismiss(t, me, objects.SignerRemoved, "acme", bob.Public(), later)
	flipped.Sig[5] ^= 1
	swapped := dismiss(t, eve, objects.SignerRemoved, "acme", bob.Public(), later)
	swapped.Key = me.Public().Fingerprint()
	foreign, err := Dismiss(t.Context(), me, objects.SignerRemoved, "acme", bob.Public().Fingerprint(), projectB, later)
	must(t, err)
	denial := dismiss(t, me, objects.KeyDenied, "acme", bob.Public(), later)
	denial.Kind = objects.SignerRemoved
	for name, c := range map[string]struct {
		line    objects.Dismissal
		removed bool
	}{
		"by the user":                {dismiss(t, me, objects.SignerRemoved, "acme", bob.Public(), later), true},
		"in the second of the grant": {dismiss(t, me, objects.SignerRemoved, "acme", bob.Public(), noon), true},
		"by one granted acme/":       {dismiss(t, ann, objects.SignerRemoved, "acme", bob.Public(), later), true},
		"by himself":                 {dismiss(t, bob, objects.SignerRemoved, "acme", bob.Public(), later), true},
		"by one granted other/":      {dismiss(t, eve, objects.SignerRemoved, "acme", bob.Public(), later), false},
		"by a stranger":              {dismiss(t, newKey(t), objects.SignerRemoved, "acme", bob.Public(), later), false},
		"from another namespace":     {dismiss(t, me, objects.SignerRemoved, "other", bob.Public(), later), false},
		"before the grant":           {dismiss(t, me, objects.SignerRemoved, "acme", bob.Public(), earlier), false},
		"a flipped bit":              {flipped, false},
		"another name on it":         {swapped, false},
		"of another project":         {foreign, false},
		"a denial rewritten":         {denial, false},
	} {
		for where, in := range map[string]Scope{"here": scope([]objects.Dismissal{c.line}, nil), "kept": scope(nil, []objects.Dismissal{c.line})} {
			if _, err := Verify(it, in, st); fault.Is(err, fault.Untrusted) != c.removed || (err == nil) == c.removed {
				t.Errorf("%s, %s: %v, want removed %v", name, where, err, c.removed)
			}
		}
	}

	// The user's own items stay, whoever removes them.
	against := scope([]objects.Dismissal{dismiss(t, ann, objects.SignerRemoved, "acme", me.Public(), later)}, nil)
	if _, err := Verify(sign(t, me, tool, inA), against, st); err != nil {
		t.Errorf("the user's own: %v", err)
	}

	// Granted again, he counts, also where the clock is behind; the line from before ends nothing.
	in := scope([]objects.Dismissal{dismiss(t, me, objects.SignerRemoved, "acme", bob.Public(), later)}, nil)
	must(t, st.GrantAgain(noon.Add(time.Millisecond), in.Declared, at.Signer("acme", bob.Public())))
	if _, err := Verify(it, in, st); err != nil || st.HasRemoved(at, in.Declared) {
		t.Errorf("granted again: %v", err)
	}

	// What was dropped stays so when the one who removed him is known no more.
	in = scope([]objects.Dismissal{dismiss(t, ann, objects.SignerRemoved, "acme", bob.Public(), later.Add(time.Hour))}, nil)
	if n := st.EndRemoved(at, in.Declared); n != 1 {
		t.Errorf("%d grants ended, want 1", n)
	}
	st.Ungrant(func(g Grant) bool { return g.same() == at.Signer("acme", ann.Public()) })
	refused(t, "after the one who removed him", it, in, st, fault.Untrusted)
}

// TestRemovedInBoundNamespace: there the registry's current keys decide, and nobody granted.
func TestRemovedInBoundNamespace(t *testing.T) {
	me, owner, old, bob := newKey(t), newKey(t), newKey(t), newKey(t)
	st := bound(t, me, BoundKey{Key: owner.Public(), State: Current}, BoundKey{Key: old.Public(), State: Retired}, BoundKey{Key: newKey(t).Public(), State: Revoked})
	for name, c := range map[string]struct {
		by         *FileKey
		here, kept bool
	}{"current": {owner, true, true}, "retired": {old, false, true}, "the user's own": {me, false, false}, "another": {bob, false, false}} {
		l := dismiss(t, c.by, objects.KeyDenied, "acme", newKey(t).Public(), noon)
		_, here := st.dismisses(dismissal{Dismissal: l}, inA.Site(), PublicKey{})
		_, kept := st.dismisses(dismissal{l, true}, inA.Site(), PublicKey{})
		if here != c.here || kept != c.kept {
			t.Errorf("%s: counts here %v, kept %v; want %v, %v", name, here, kept, c.here, c.kept)
		}
	}
}

// TestDeniedKey: a denial of a key refuses its items of the namespace, and no others.
func TestDeniedKey(t *testing.T) {
	me, bob, eve := newKey(t), newKey(t), newKey(t)
	st := storeOf(t, me)
	at := inA.Site()
	must(t, st.Grant(noon.Add(time.Hour), at.Signer("acme", bob.Public()), at.Signer("other", eve.Public())))
	in := declaring(t, inA, bob.Public(), "acme")
	theirs, err := Verify(sign(t, bob, tool, inA), in, st)
	must(t, err)
	mine, err := Verify(sign(t, me, tool, inA), in, st)
	must(t, err)
	for name, c := range map[string]struct {
		line objects.Dismissal
		of   Verified
		want bool
	}{
		"by the user":              {dismiss(t, me, objects.KeyDenied, "acme", bob.Public(), noon), theirs, true},
		"for another namespace":    {dismiss(t, me, objects.KeyDenied, "other", bob.Public(), noon), theirs, false},
		"by one who owns other/":   {dismiss(t, eve, objects.KeyDenied, "acme", bob.Public(), noon), theirs, false},
		"of the user's own key":    {dismiss(t, bob, objects.KeyDenied, "acme", me.Public(), noon), mine, false},
		"by the user, of himself":  {dismiss(t, me, objects.KeyDenied, "acme", me.Public(), noon), mine, false},
		"for a reserved namespace": {dismiss(t, bob, objects.KeyDenied, "rye", bob.Public(), noon), theirs, false},
	} {
		var nothing *Taken
		err := nothing.WithKeys(NewDismissed(at, []objects.Dismissal{c.line}, nil)).Denies(c.of, st)
		if fault.Is(err, fault.Revoked) != c.want || (err == nil) == c.want {
			t.Errorf("%s: %v, want denied %v", name, err, c.want)
		}
	}
}

// TestSignersKeepRemovals: a removal is a comment that every writer keeps, and a damaged one
// spoils no other line.
func TestSignersKeepRemovals(t *testing.T) {
	me, bob := newKey(t), newKey(t)
	s := &Signers{}
	s.Add(bob.Public(), "acme", "tools")
	l := dismiss(t, me, objects.SignerRemoved, "acme", bob.Public(), noon)
	s.Remove(l)
	s.Remove(l)
	again, err := ParseSigners(append([]byte("# rye:removed:v1:damaged\n"), s.Encode()...))
	must(t, err)
	again.Add(me.Public(), "acme")
	lines, bad := objects.ParseDismissals(objects.SignerRemoved, again.Encode())
	if len(lines) != 1 || lines[0] != l || len(bad) != 1 || again.Has(bob.Public(), "acme") || !again.Has(bob.Public(), "tools") {
		t.Errorf("%s", again.Encode())
	}
	s.Remove(dismiss(t, me, objects.SignerRemoved, "tools", bob.Public(), noon))
	if len(s.Keys()) != 0 || s.Of(bob.Public()) != nil {
		t.Errorf("left: %v", s.Keys())
	}
}

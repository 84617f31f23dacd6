package trust

import (
	"slices"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// TestGrantBelongsToPlaceAndProject: neither the place nor the id alone is enough (T11).
func TestGrantBelongsToPlaceAndProject(t *testing.T) {
	me, bob := newKey(t), newKey(t)
	st := storeOf(t, me)
	must(t, st.Grant(noon, inA.Site().Signer("acme", bob.Public())))
	mine, theirs := sign(t, me, tool, inA), sign(t, bob, tool, inA)
	for _, it := range []*objects.Item{mine, theirs} {
		if _, err := Verify(it, declaring(t, inA, bob.Public(), "acme"), st); err != nil {
			t.Errorf("granted: %v", err)
		}
		for name, in := range map[string]Scope{
			"a clone with this id":              {Space: objects.Project, Project: projectA, Place: placeB},
			"another project at this path":      {Space: objects.Project, Project: projectB, Place: placeA},
			"another directory":                 inB,
			"this id without a place":           {Space: objects.Project, Project: projectA},
			"this place without an id":          {Space: objects.Project, Place: placeA},
			"the place of a user space, no pin": {Space: objects.User, Place: placeA},
		} {
			if it == mine && in.Space == objects.User {
				continue // one's own key counts there
			}
			refused(t, name, it, declaring(t, in, bob.Public(), "acme"), st, fault.Untrusted)
		}
	}
}

// declaring returns a scope whose directory declares a key for namespaces.
func declaring(t testing.TB, in Scope, k PublicKey, namespaces ...string) Scope {
	t.Helper()
	s := &Signers{}
	s.Add(k, namespaces...)
	return declared(in, string(s.Encode()))
}

// declared returns a scope whose directory has this allowed_signers.
func declared(in Scope, text string, overrides ...StatedOverride) Scope {
	in.Declared = NewDeclared([]byte(text), nil, overrides, nil)
	return in
}

func TestMoveAndDropGrants(t *testing.T) {
	st := storeOf(t)
	bob := newKey(t).Public()
	here, there := inA.Site(), Site{placeB, projectA}
	must(t, st.Grant(noon, here.Signer("acme", bob), inB.Site().OwnKeys()))
	must(t, st.Grant(noon.Add(time.Hour), there.OwnKeys()))
	must(t, st.MoveGrants(placeA, placeB))
	if !st.Accepted(there) || !st.Granted(there.Signer("acme", bob)) || !st.Accepted(inB.Site()) || st.Accepted(here) {
		t.Errorf("moved: %v", st.Grants())
	}
	if got := there.Among(st.Grants()); len(got) != 2 || !slices.IsSortedFunc(got, compareGrants) || !got[0].At.Equal(noon.Add(time.Hour)) {
		t.Errorf("of the new place: %v, want two, what it had before with its time", got)
	}
	text, err := st.Encode()
	must(t, err)
	if _, err := ParseStore(text); err != nil {
		t.Errorf("after a move: %v\n%s", err, text)
	}
	if err := st.MoveGrants(placeB, "elsewhere"); !fault.Is(err, fault.Usage) || !st.Accepted(there) {
		t.Errorf("moved to no place: %v", err)
	}
	if n := st.DropGrants(placeB); n != 3 || len(st.Grants()) != 0 {
		t.Errorf("%d dropped, left %v", n, st.Grants())
	}
}

// TestGrantTwice: what is granted keeps its time, and one mistake records nothing.
func TestGrantTwice(t *testing.T) {
	st := storeOf(t)
	d := inA.Site()
	must(t, st.Grant(noon.Add(time.Hour), d.OwnKeys(), d.Owner(5), d.Owner(5)))
	if got := st.Grants(); len(got) != 2 || !got[1].At.Equal(noon) {
		t.Errorf("granted twice: %v", got)
	}
	if err := st.Grant(noon, d.Owner(6), d.Scope("local", regOne)); !fault.Is(err, fault.Usage) || st.Granted(d.Owner(6)) {
		t.Errorf("with a mistake: %v, %v", err, st.Grants())
	}
	many := make([]Grant, maxGrants)
	for i := range many {
		many[i] = d.Owner(i + 10)
	}
	if err := st.Grant(noon, many...); !fault.Is(err, fault.Limit) {
		t.Errorf("too many: %v", err)
	}
	if st.Granted(Grant{}) || st.Accepted(Site{}) {
		t.Error("nothing was granted to nobody")
	}
}

// TestScopeOfTwoRegistries: a scope that two registries were granted belongs to neither, and
// not to the registry of "*" either.
func TestScopeOfTwoRegistries(t *testing.T) {
	d := inA.Site()
	for _, first := range []string{regOne, regTwo} {
		st := storeOf(t)
		must(t, st.Grant(noon, d.Scope("*", first), d.Scope("acme", regOne)))
		if got := d.RegistryOf(st, "acme"); got != regOne {
			t.Errorf("granted to one: %q, want %q", got, regOne)
		}
		must(t, st.Grant(noon, d.Scope("acme", regTwo)))
		if got := d.RegistryOf(st, "acme"); got != "" {
			t.Errorf("granted to two, and * to %q: %q, want none", first, got)
		}
		if got := d.RegistryOf(st, "beta"); got != first {
			t.Errorf("another namespace: %q, want that of *, %q", got, first)
		}
	}
}

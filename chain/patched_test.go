package chain

import (
	"slices"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// TestPatchedOf: each file beside the tool counts, and grants leave a run patched.
func TestPatchedOf(t *testing.T) {
	p := &Plan{Around: []Source{
		{Path: "tools/acme/b.py", Patch: trust.OwnPatch},
		{Path: "tools/acme/a.py", Patch: trust.GrantedPatch},
		{Path: "tools/acme/c.py"},
	}}
	got := PatchedOf(p)
	if want := []string{".ai/tools/acme/a.py", ".ai/tools/acme/b.py"}; !slices.Equal(got.Names(), want) {
		t.Errorf("PatchedOf = %q, want %q", got.Names(), want)
	}
	ref := objects.Ref{Kind: objects.Tool, ID: "acme/t"}
	if left := got.Ungranted(); len(left) != 1 || left[0].Name != ".ai/tools/acme/b.py" {
		t.Errorf("Ungranted = %+v", left)
	}
	if err := got.Refuse("lock", ref); !fault.Is(err, fault.Untrusted) {
		t.Errorf("Refuse = %v, want untrusted", err)
	}
	if err := got[:1].Refuse("lock", ref); err != nil {
		t.Errorf("Refuse of granted ones = %v", err)
	}
}

// TestLockKeepsItsOrigin: a file of the project does not take the entry of a registry's item.
func TestLockKeepsItsOrigin(t *testing.T) {
	w := newWorld(t)
	l := w.add(objects.Project, "tools/acme/greet.py", "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"rye/core/runtimes/python_script_runtime\"\n__category__ = \"acme\"\n__tool_description__ = \"Greet.\"\n")
	plan, err := Resolve(t.Context(), w, l.Ref())
	if err != nil {
		t.Fatal(err)
	}
	pin := Pin{From: "main", Version: "1.0.0", Path: "tools/acme/greet.py", SHA256: l.Verified.Item().Sum}
	lock := &Lock{Items: map[objects.Ref]Pin{l.Ref(): pin}}
	for name, err := range map[string]error{"Set": lock.Set(plan), "SetItem": lock.SetItem(l)} {
		if !fault.Is(err, fault.Drift) {
			t.Errorf("%s = %v, want drift", name, err)
		}
	}
	if got := lock.Items[l.Ref()]; got.From != "main" {
		t.Errorf("the entry is %+v, want %+v", got, pin)
	}
	fresh := &Lock{}
	if err := fresh.Set(plan); err != nil {
		t.Errorf("Set in an empty lock: %v", err)
	}
}

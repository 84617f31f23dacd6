package workspace_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// A client and a thread name items in every form, too, but only those that they may use.
func TestNameForCallers(t *testing.T) {
	p := greeter(t)
	for _, name := range []string{"greet", "acme/greet", "acme/tool/greet", "tool:acme/greet"} {
		for who, c := range map[string]rye.Caller{"client": rye.Client(), "thread": thread(t, []string{"rye.load.tool.acme.*"}, nil)} {
			ref, err := p.Name(t.Context(), c, rye.NameRequest{Name: name, Verb: "load"})
			if err != nil || ref != refOf("tool:acme/greet") {
				t.Errorf("%s: %q = %v, %v", who, name, ref, err)
			}
		}
	}
	other := thread(t, []string{"rye.load.tool.other.*"}, nil)
	for _, name := range []string{"greet", "acme/greet", "gret"} {
		ref, err := p.Name(t.Context(), other, rye.NameRequest{Name: name, Verb: "load"})
		if err == nil || strings.Contains(err.Error()+fault.HintOf(err).String(), "tool:acme/greet") {
			t.Errorf("a thread without the capability: %q = %v, %v, which names the item", name, ref, err)
		}
	}
	// An item that the caller may not use makes no name ambiguous.
	p.write("tools/other/greet.sh", strings.Replace(greet, "category: acme", "category: other", 1))
	p.sign("tool:other/greet")
	if _, err := p.Name(t.Context(), rye.Client(), rye.NameRequest{Name: "greet", Verb: "load"}); !fault.Is(err, fault.Usage) ||
		!strings.Contains(err.Error(), "tool:acme/greet or tool:other/greet") {
		t.Errorf("two items: %v", err)
	}
	if ref, err := p.Name(t.Context(), other, rye.NameRequest{Name: "greet", Verb: "load"}); err != nil || ref != refOf("tool:other/greet") {
		t.Errorf("the one that it may load: %v, %v", ref, err)
	}
}

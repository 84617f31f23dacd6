package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var here = consent.Place{Key: "here", Inode: 7, Born: 9}

func TestRemember(t *testing.T) {
	a := objects.Ref{Kind: objects.Tool, ID: "acme/a"}
	text := []byte("policy: 1\nauto_approve_up_to: t0\n")
	for _, one := range []Approval{
		{hello, other, here, sum, false, command.T2},
		{hello, sum, here, sum, false, command.T3}, // in place of the first
		{hello, sum, here, objects.Digest{}, true, command.T3},
		{hello, sum, consent.Place{Key: "there"}, sum, false, command.T3},
		{a, sum, here, objects.Digest{}, true, command.T2},
	} {
		var err error
		if text, err = Remember(text, one); err != nil {
			t.Fatal(err)
		}
	}
	r := rules(t, string(text))
	if len(r.Allowed) != 4 || r.AutoApprove != command.T0 || r.Allowed[0].Ref != a || !slices.Contains(r.Allowed, Approval{hello, sum, here, sum, false, command.T3}) {
		t.Errorf("remembered %+v", r.Allowed)
	}
	if _, err := Remember(nil, Approval{hello, sum, here, sum, false, command.T4}); !fault.Is(err, fault.Denied) {
		t.Errorf("T4 remembered: %v", err)
	}
	text, err := Forget(text, func(o Approval) bool { return o.Ref == hello })
	if r := rules(t, string(text)); err != nil || len(r.Allowed) != 1 || r.Allowed[0].Ref != a {
		t.Errorf("forgotten: %+v, %v", r.Allowed, err)
	}
}

// What a person wrote into the file stays as they wrote it, wherever they wrote it.
func TestRememberKeepsWhatAPersonWrote(t *testing.T) {
	one := Approval{hello, sum, here, sum, false, command.T3}
	entry := one.file().line()
	for name, tc := range map[string]struct{ was, want string }{
		"no file":          {"", "policy: 1\nallowed:\n" + entry},
		"no end of line":   {"policy: 1", "policy: 1\nallowed:\n" + entry},
		"comments":         {"# mine\npolicy: 1 # one\n\n# why\ndeny:   [rye.load.*]\n", "# mine\npolicy: 1 # one\n\n# why\ndeny:   [rye.load.*]\nallowed:\n" + entry},
		"in the middle":    {"policy: 1\nallowed: []\n# why\nolder: refuse\n", "policy: 1\nallowed:\n" + entry + "# why\nolder: refuse\n"},
		"flow on one line": {"policy: 1\nallowed: [{ref: 'tool:acme/hello', plan: " + other.Hex() + ", place: here, inode: 7, born: 9, params: " + sum.Hex() + ", tier: t1}]\n", "policy: 1\nallowed:\n" + entry},
		"comments among entries": {"policy: 1\nallowed: # by rye\n  # the first\n" + strings.Replace(entry, sum.Hex(), other.Hex(), 1) + "  # the second\n\nolder: refuse\n",
			"policy: 1\nallowed: # by rye\n" + entry + "  # the first\n  # the second\n\nolder: refuse\n"},
		"no indent": {"policy: 1\nallowed:\n- ref: tool:acme/hello\n  plan: " + other.Hex() + "\n  place: here\n  inode: 7\n  born: 9\n  params: " + sum.Hex() + "\n  tier: t1\nolder: refuse\n",
			"policy: 1\nallowed:\n" + entry + "older: refuse\n"},
	} {
		got, err := Remember([]byte(tc.was), one)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, tc.want)
		}
	}
	// What cannot be cut out is written anew, and means the same.
	odd := "{policy: 1, older: refuse, allowed: []}\n"
	got, err := Remember([]byte(odd), one)
	if r := rules(t, string(got)); err != nil || !r.RefuseOlder || len(r.Allowed) != 1 || r.Allowed[0] != one {
		t.Errorf("%s: %v\n%s", odd, err, got)
	}
	if _, err := Remember([]byte("policy: 1\nunknown: x\n"), one); !fault.Is(err, fault.Malformed) {
		t.Errorf("a file with an unknown field: %v", err)
	}
}

// Whatever the file says, remembering adds one approval and changes nothing else.
func FuzzRemember(f *testing.F) {
	for _, text := range []string{"", "policy: 1\n", entry("any", "t1", ""), "policy: 1\nallowed:\n\n# x\n  - {ref: 'tool:a/b', plan: x}\n", "policy: 1\r\nallowed: []\r\n", "{policy: 1, allowed: []}"} {
		f.Add([]byte(text))
	}
	one := Approval{hello, sum, here, sum, false, command.T3}
	f.Fuzz(func(t *testing.T, raw []byte) {
		was, err := ParseRules(raw)
		if err != nil {
			return
		}
		text, err := Remember(raw, one)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		is, err := ParseRules(text)
		if err != nil || !slices.Contains(is.Allowed, one) || len(is.Allowed) < len(was.Allowed) || len(is.Allowed) > len(was.Allowed)+1 ||
			is.AutoApprove != was.AutoApprove || is.DenyFrom != was.DenyFrom || is.RefuseOlder != was.RefuseOlder || len(is.Deny) != len(was.Deny) {
			t.Fatalf("%q became %q: %v", raw, text, err)
		}
	})
}

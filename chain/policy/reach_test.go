package policy

import (
	"testing"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/objects"
)

func TestReach(t *testing.T) {
	for _, c := range []struct {
		name string
		n    objects.Needs
		want command.Tier
		why  string
	}{
		{"silent", objects.Needs{}, command.T0, ""},
		{"nothing", objects.Needs{Declared: true}, command.T0, ""},
		{"the project", objects.Needs{Read: []string{".", "a/b", "/home/ann/p/x"}, Write: []string{"out", "./out", "/home/ann/p"}}, command.T0, ""},
		{"the system", objects.Needs{Read: []string{"/usr/share/dict", "/usr", "/lib/x"}}, command.T0, ""},
		{"hosts by name", objects.Needs{Net: []string{"a.example", "b.example:8080", "*.example"}}, command.T0, ""},
		{"everything", objects.Needs{Read: []string{"/"}}, command.T2, "it reads /"},
		{"a home", objects.Needs{Read: []string{".", "/home/ann"}}, command.T2, "it reads /home/ann"},
		{"beside the project", objects.Needs{Read: []string{"/home/ann/p2"}}, command.T2, "it reads /home/ann/p2"},
		{"out by dots", objects.Needs{Read: []string{"/usr/../home"}}, command.T2, "it reads /usr/../home"},
		{"out of the project by dots", objects.Needs{Write: []string{"a/../../x"}}, command.T2, "it writes a/../../x"},
		{"the system, to write", objects.Needs{Write: []string{"/usr/local"}}, command.T2, "it writes /usr/local"},
		{"another drive", objects.Needs{Read: []string{`C:\Users`}}, command.T2, `it reads C:\Users`},
		{"every host", objects.Needs{Net: []string{"a.example", "*"}}, command.T2, "it reaches every host"},
		{"a port of this machine", objects.Needs{Listen: []string{"5173"}}, command.T2, "it serves at port 5173 of this machine"},
		{"sockets", objects.Needs{Net: []string{"unix"}}, command.T2, "it reaches sockets of this machine"},
	} {
		if got, why := Reach(c.n, "/home/ann/p"); got != c.want || why != c.why {
			t.Errorf("%s: %s %q, want %s %q", c.name, got, why, c.want, c.why)
		}
	}
	if got, _ := Reach(objects.Needs{Read: []string{"/home/ann/p"}}, ""); got != command.T2 {
		t.Errorf("outside of a project: %s", got)
	}
}

// What a chain reaches raises its tier; only the user's own word lowers it again.
func TestDecideByReach(t *testing.T) {
	q := Request{Verb: "execute", Ref: objects.Ref{Kind: objects.Tool, ID: "acme/x"}, Caps: Caps{"rye.execute.*"}, Floor: command.T1, Reach: command.T2, Reaches: "it reads /"}
	if d := Default().Decide(q); d.Verdict != Ask || d.Tier != command.T2 || d.Rule != "needs: it reads /" {
		t.Errorf("%+v", d)
	}
	q.Person = true
	if d := Default().Decide(q); d.Verdict != Allow {
		t.Errorf("typed by a person: %+v", d)
	}
	q.Person = false
	lower := "policy: 1\ntool_overrides: {acme/x: t1}\n"
	if r, err := ParseRules([]byte(lower)); err != nil || r.Decide(q).Verdict != Allow {
		t.Errorf("the user's override: %v, %+v", err, r.Decide(q))
	}
	if r, err := Default().Tighten([]byte(lower)); err != nil || r.Decide(q).Verdict != Ask {
		t.Errorf("the project's override: %v, %+v", err, r.Decide(q))
	}
}

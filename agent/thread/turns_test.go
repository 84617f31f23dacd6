package thread

import (
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/transcript"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// TestWhoSeesWhichTurns: a person sees all, a thread itself (but for the turn that it is in) and
// what it started, a client what it started; and the scope narrows each.
func TestWhoSeesWhichTurns(t *testing.T) {
	const own, child, other = "01kdyak348041061050r3gg28a", "01kdyak348041061050r3gg28b", "01kdyak348041061050r3gg28c"
	threads := map[string]*transcript.Thread{
		"own":    {ID: own, Begun: transcript.Begun{Directive: "directive:acme/a", Starter: "mcp"}},
		"child":  {ID: child, Begun: transcript.Begun{Directive: "directive:acme/b", Starter: "thread", Parent: own}},
		"below":  {ID: other, Begun: transcript.Begun{Directive: "directive:acme/c", Starter: "thread", Parent: child}},
		"laptop": {ID: other, Begun: transcript.Begun{Directive: "directive:acme/a", Starter: "mcp laptop"}},
		"person": {ID: other, Begun: transcript.Begun{Directive: "directive:acme/a", Starter: "terminal"}},
	}
	token := tokenOfThread(own)
	for name, c := range map[string]struct {
		caller rye.Caller
		sees   map[string]bool
	}{
		"a person":       {rye.Terminal(), map[string]bool{"own": true, "child": true, "below": true, "laptop": true, "person": true}},
		"a client":       {rye.Client(), map[string]bool{"own": true}},
		"another client": {rye.ClientNamed("laptop"), map[string]bool{"laptop": true}},
		"a thread":       {rye.Thread(token), map[string]bool{"own": true, "child": true}},
	} {
		w := &seer{c: c.caller, q: TurnsRequest{Directive: func(objects.ID) bool { return true }}}
		for which, th := range threads {
			if got := w.sees(th, false); got != c.sees[which] {
				t.Errorf("%s sees %s: %v", name, which, got)
			}
			if got, want := w.sees(th, true), c.sees[which] && !(name == "a thread" && which == "own"); got != want {
				t.Errorf("%s sees the open turn of %s: %v", name, which, got)
			}
		}
		w.q.Directive = func(id objects.ID) bool { return id == "acme/z" }
		for which, th := range threads {
			if w.sees(th, false) {
				t.Errorf("%s sees %s beyond the scope", name, which)
			}
		}
	}
}

// TestWhoMayNotLook: tools are refused before anything is read, whoever runs them.
func TestWhoMayNotLook(t *testing.T) {
	s := New(Options{}) // has no record to read
	for name, c := range map[string]rye.Caller{
		"a tool of a thread":      rye.Thread(tokenOfThread("01kdyak348041061050r3gg28a/tool:acme/x")),
		"a tool of a client":      rye.Program("mcp", "rye.search.*"),
		"a tool of a person":      rye.Program("run", "rye.search.*"),
		"a rye within a run":      rye.Inside(),
		"who says it is a person": rye.Program("terminal", "rye.search.*"),
		"the zero Caller":         {},
	} {
		if _, err := OpenTurns(t.Context(), s, c, TurnsRequest{}); !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tokenOfThread is the token of a thread that may search.
type tokenOfThread string

func (t tokenOfThread) Thread() string        { return string(t) }
func (tokenOfThread) Parent() string          { return "" }
func (tokenOfThread) Do() []string            { return []string{"rye.search.*"} }
func (tokenOfThread) Deny() []string          { return nil }
func (tokenOfThread) Expires() (at time.Time) { return at }

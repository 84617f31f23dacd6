//go:build unix

package workspace_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/workspace"
)

// callsBack is a tool that asks rye for one execution, and prints what it is told.
const callsBack = `#!/usr/bin/env bash
# version: 1.0.0
# tool_type: bash
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Call rye.
# needs: {read: [.], rye: [rye.execute.tool.acme.*]}
read -r hello <&"$RYE_CALL"; echo "$hello"
for item in acme/greet acme/risky; do
  echo '{"id":"1","verb":"execute","params":{"item_type":"tool","item_id":"'$item'"}}' >&"$RYE_CALL"
  read -r answer <&"$RYE_CALL"; echo "$answer"
done
`

func caller(t *testing.T) *person {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.write("tools/acme/risky.sh", strings.Replace(greet, "# description", "# tier: t2\n# description", 1))
	p.write("tools/acme/back.sh", callsBack)
	p.sign("tool:acme/greet", "tool:acme/risky", "tool:acme/back")
	return p
}

// TestCallbackTakesNoTurn: one execution at a time is enough for a tool that waits for another;
// and a person who would be asked is not asked in its middle.
func TestCallbackTakesNoTurn(t *testing.T) {
	p := caller(t)
	o, asked := p.o, 0
	o.Workers = 1
	o.Consent = func(context.Context, rye.Question) (bool, error) { asked++; return true, nil }
	w := workspace.Open(o)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, c := range []rye.Caller{rye.Terminal(), rye.Client()} {
		res, err := w.Execute(ctx, c, rye.ExecuteRequest{Ref: refOf("tool:acme/back")})
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		if out := string(res.Data); !strings.Contains(out, `hello, world`) || !strings.Contains(out, `\"code\":\"denied\"`) || !strings.Contains(out, "rye approve") || asked != 0 {
			t.Errorf("%s, asked %d times: %s", c.Name(), asked, out)
		}
	}
}

// holder is who holds what a tool asks: it notes the words, and refuses when it is told to.
type holder struct {
	said   []string
	refuse error
}

func (h *holder) Grant(tool rye.Ref, needs []string, until time.Time) (*rye.CallbackGrant, error) {
	h.said = append(h.said, "grant "+tool.String()+" "+strings.Join(needs, " "))
	return &rye.CallbackGrant{Caller: rye.Program("held", needs...), Token: "text", Denied: []string{"rye.sign.*"}}, nil
}

func (h *holder) Begin(c rye.CalledBack) (rye.Callback, error) {
	h.said = append(h.said, "begin "+c.Verb+" "+c.Item)
	return h, h.refuse
}

func (h *holder) End(c rye.CalledBack, _ time.Duration, result error) error {
	h.said = append(h.said, "end "+c.Item+" "+string(fault.CodeOf(result)))
	return nil
}

// TestCallbackIsHeld: who holds what a tool asks says who asks, hears of each call before and
// after it, and can refuse it; an agent thread's tool that nobody holds has nothing.
func TestCallbackIsHeld(t *testing.T) {
	p := caller(t)
	thread := callerOf(t, mint(t, []string{"rye.execute.tool.acme.*"}, nil))
	h := &holder{}
	res, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/back"), Callback: h})
	if err != nil {
		t.Fatal(err)
	}
	want := "grant tool:acme/back rye.execute.tool.acme.*|begin execute tool:acme/greet|end tool:acme/greet |begin execute tool:acme/risky|end tool:acme/risky denied"
	if got := strings.Join(h.said, "|"); got != want {
		t.Errorf("held %s", got)
	}
	if out := string(res.Data); !strings.Contains(out, `\"token\":\"text\"`) || !strings.Contains(out, "hello, world") || !strings.Contains(out, `\"denied\":[\"rye.sign.*\"]`) {
		t.Errorf("told %s", out)
	}
	h = &holder{refuse: fault.New(fault.Failed, "no room")}
	res, err = p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/back"), Callback: h})
	if err != nil || strings.Contains(string(res.Data), "hello, world") || strings.Count(string(res.Data), "no room") != 2 || len(h.said) != 3 {
		t.Errorf("refused: %s, %v, held %s", res.Data, err, h.said)
	}
	o := p.o
	o.Now = func() time.Time { return year[0].Add(time.Hour) }
	res, err = workspace.Open(o).Execute(t.Context(), thread, rye.ExecuteRequest{Ref: refOf("tool:acme/back")})
	if err != nil || strings.Contains(string(res.Data), "hello, world") || strings.Count(string(res.Data), `\"code\":\"denied\"`) != 2 {
		t.Errorf("nobody holds a thread's: %v, %v", res, err)
	}
}

// TestCallbackIsLocked: what a tool calls is locked as the tool is.
func TestCallbackIsLocked(t *testing.T) {
	p := caller(t)
	if _, err := p.Locks().Lock(t.Context(), rye.Terminal(), rye.LockRequest{Targets: []rye.Target{"tool:acme/back"}}); err != nil {
		t.Fatal(err)
	}
	for locked, want := range map[bool]string{false: "hello, world", true: `\"code\":\"drift\"`} {
		res, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/back"), Locked: locked})
		if err != nil || !strings.Contains(string(res.Data), want) {
			t.Errorf("locked %v: %v, %v", locked, res, err)
		}
	}
}

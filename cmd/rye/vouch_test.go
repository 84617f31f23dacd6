package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// colleague is a person whose key counts for acme in bob's project, where one of the
// colleague's notes lies.
func colleague(t *testing.T) (bob *home, key string) {
	bob, key, _ = pinned(t)
	bob.rye("trust", "pin", key, "--namespace", "acme", "--name", "alice", "--yes")
	bob.rye("load", "knowledge:acme/style")
	return bob, key
}

type signReport struct {
	Signed, Failed int
	Commit         string
	Results        []struct{ Ref, Status, SignedBy, Signed_By, Error, Code, Hint string }
}

// signs runs rye sign --json, and returns what it reported and its exit status.
func (h *home) signs(args ...string) (rep signReport, status int) {
	h.t.Helper()
	out, err := h.command(append([]string{"sign", "--json"}, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		h.t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if err := json.Unmarshal([]byte(line), &rep); err != nil {
		h.t.Fatalf("rye sign --json: %v\n%s", err, out)
	}
	return rep, status
}

// passesOver demands that no request for many items signs style, whose line it returns to.
func passesOver(t *testing.T, bob *home, key string) {
	t.Helper()
	const path = ".ai/knowledge/acme/style.md"
	before := bob.read(path)
	for _, args := range [][]string{{"--all"}, {"*"}, {"knowledge:*"}, {"--all", "--yes"}, {"knowledge:acme/style", "knowledge:acme/mine", "--yes"}} {
		if out := bob.rye(append([]string{"sign"}, args...)...); !strings.Contains(out, "skipped  knowledge:acme/style: signed by "+key+"\n") {
			t.Errorf("rye sign %s does not say that it passed it over:\n%s", strings.Join(args, " "), out)
		}
		if got := bob.read(path); got != before {
			t.Fatalf("rye sign %s changed it:\n%s", strings.Join(args, " "), got)
		}
	}
	rep, status := bob.signs("--all")
	if r := rep.Results[1]; status != 0 || rep.Signed != 0 || rep.Failed != 0 || r.Status != "passed over" || r.Signed_By != key {
		t.Errorf("rye sign --all --json: %d, %+v", status, rep)
	}
	said := bob.fails(16, "sign", "knowledge:acme/style")
	for _, want := range []string{key, "Your signature would replace it", "hint: rye sign knowledge:acme/style --yes"} {
		if !strings.Contains(said, want) {
			t.Errorf("rye sign of it, with nobody to ask, does not say %q:\n%s", want, said)
		}
	}
	if got := bob.read(path); got != before {
		t.Errorf("it was signed although nobody agreed:\n%s", got)
	}
}

// TestSigningVouches is T8: what a stranger, a denied key or a colleague signed is signed
// by name only, and what nobody signed by any request.
func TestSigningVouches(t *testing.T) {
	t.Parallel()
	t.Run("stranger", func(t *testing.T) {
		alice, bob := newHome(t), newHome(t)
		alice.rye("new", "knowledge", "acme/style")
		alice.rye("sign", "--all")
		bob.write(".ai/knowledge/acme/style.md", alice.read(".ai/knowledge/acme/style.md"))
		bob.rye("new", "knowledge", "acme/mine")
		passesOver(t, bob, alice.key("").Fingerprint)
		bob.fails(11, "sign", "--all", "--check")
		// Its text was changed since: whether the stranger had signed it cannot be told.
		bob.write(".ai/knowledge/acme/style.md", strings.Replace(alice.read(".ai/knowledge/acme/style.md"), "What a reader", "All that a reader", 1))
		passesOver(t, bob, alice.key("").Fingerprint)
		bob.rye("sign", "knowledge:acme/style", "--yes")
		bob.rye("load", "knowledge:acme/style")
	})
	t.Run("denied", func(t *testing.T) {
		bob, key := colleague(t)
		bob.rye("new", "knowledge", "acme/mine")
		bob.rye("trust", "deny", key)
		passesOver(t, bob, key)
		bob.fails(12, "sign", "--all", "--check")
		bob.rye("sign", "knowledge:acme/style", "--yes")
		bob.rye("load", "knowledge:acme/style")
	})
	t.Run("colleague", func(t *testing.T) {
		bob, key := colleague(t)
		bob.rye("new", "knowledge", "acme/mine")
		passesOver(t, bob, key)
		bob.rye("sign", "--all", "--check") // it is signed by whom bob believes
		if out := bob.rye("sign", "knowledge:acme/style", "--yes"); !strings.Contains(out, "signed  knowledge:acme/style") {
			t.Error(out)
		}
		if out := bob.rye("show", "knowledge:acme/style"); !strings.Contains(out, bob.key("").Fingerprint) {
			t.Errorf("it is not signed by bob:\n%s", out)
		}
	})
	t.Run("edited after a colleague signed it", func(t *testing.T) {
		bob, _ := colleague(t)
		bob.write(".ai/knowledge/acme/style.md", strings.Replace(bob.read(".ai/knowledge/acme/style.md"), "What a reader", "All that a reader", 1))
		if out := bob.rye("sign", "--all"); !strings.Contains(out, "signed  knowledge:acme/style\n") {
			t.Error(out)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		bob := newHome(t)
		bob.rye("new", "knowledge", "acme/style")
		if out := bob.rye("sign", "--all"); !strings.Contains(out, "signed  knowledge:acme/style\n") {
			t.Error(out)
		}
	})
	t.Run("own retired key", func(t *testing.T) {
		bob := newHome(t)
		bob.rye("new", "knowledge", "acme/style")
		bob.rye("sign", "--all")
		bob.rye("key", "rotate", "--yes")
		if out := bob.rye("sign", "--all"); !strings.Contains(out, "signed  knowledge:acme/style\n") {
			t.Error(out)
		}
	})
	t.Run("bundle", func(t *testing.T) {
		alice, bob := newHome(t), newHome(t)
		alice.write(".ai/tools/acme/pack/data.txt", "one\n")
		alice.rye("sign", ".ai/tools/acme/pack")
		for _, name := range []string{"data.txt", "rye.bundle.yaml"} {
			bob.write(".ai/tools/acme/pack/"+name, alice.read(".ai/tools/acme/pack/"+name))
		}
		before := bob.read(".ai/tools/acme/pack/rye.bundle.yaml")
		if out := bob.rye("sign", "--all", "--yes"); !strings.Contains(out, "skipped  ") || !strings.Contains(out, alice.key("").Fingerprint) {
			t.Error(out)
		}
		bob.fails(16, "sign", ".ai/tools/acme/pack")
		bob.write(".ai/tools/acme/pack/data.txt", "two\n")
		bob.fails(16, "sign", ".ai/tools/acme/pack")
		if got := bob.read(".ai/tools/acme/pack/rye.bundle.yaml"); got != before {
			t.Errorf("the manifest was changed:\n%s", got)
		}
		bob.rye("sign", ".ai/tools/acme/pack", "--yes")
		bob.rye("bundle", "verify", ".ai/tools/acme/pack")
	})
}

// TestMCPSignShowsTheSigner is T13: who signed it before, and all of the text, although
// the record holds the very same version.
func TestMCPSignShowsTheSigner(t *testing.T) {
	t.Parallel()
	bob, key := colleague(t)
	shown := ""
	bob.lists("test")
	s, _ := bob.connect(&mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		shown = q.Params.Message
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	}})
	res, isErr := call(t, s, "sign", map[string]any{"item_type": "knowledge", "item_id": "acme/*"})
	if raw, _ := json.Marshal(res); isErr || shown != "" || !strings.Contains(string(raw), `"passed_over":[{"item":"knowledge:acme/style","signed_by":"`+key) {
		t.Errorf("a pattern: %s, and asked %q", raw, shown)
	}
	res, isErr = call(t, s, "sign", map[string]any{"item_type": "knowledge", "item_id": "acme/style"})
	if isErr {
		t.Fatalf("sign: %v", res)
	}
	for _, want := range []string{key + " (alice)", "is valid and trusted here", "new:", "+What a reader should know."} {
		if !strings.Contains(shown, want) {
			t.Errorf("the question does not show %q:\n%s", want, shown)
		}
	}
}

// TestMCPSignShowsWhatCanBeSeen is T14: nothing stands beyond the edge of what is read.
func TestMCPSignShowsWhatCanBeSeen(t *testing.T) {
	t.Parallel()
	needBash(t)
	for name, tc := range map[string]struct{ line, code string }{
		"behind 5,000 spaces": {"echo hello" + strings.Repeat(" ", 5000) + "; echo hidden", "limit"},
		"behind 990 spaces":   {"echo hello" + strings.Repeat(" ", 990) + "; echo hidden", "limit"},
		"right to left":       {"echo hello # \u202e olleh ohce", "denied"},
		"a letter of nothing": {"echo \u3164", "denied"},
		"zero width":          {"ec\u200bho", "denied"},
		"a tag":               {"echo \U000e0041", "denied"},
		"a carriage return":   {"echo evil\recho good", "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write(toolFile, attackTool+tc.line+"\n")
			asked := false
			h.lists("test")
			s, _ := h.connect(&mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked = true
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
			}})
			res, isErr := call(t, s, "sign", map[string]any{"item_type": "tool", "item_id": "acme/hello"})
			raw, _ := json.Marshal(res)
			if !isErr || asked || !strings.Contains(string(raw), tc.code) {
				t.Errorf("asked %v, error %v: %s", asked, isErr, raw)
			}
			if strings.Contains(h.read(toolFile), "rye:signed") {
				t.Error("it was signed")
			}
		})
	}
	h := newHome(t)
	h.write(toolFile, attackTool+"echo hello"+strings.Repeat(" ", 600)+"; echo hidden\n")
	shown := ""
	h.lists("test")
	s, _ := h.connect(&mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		shown = q.Params.Message
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": false}}, nil
	}})
	call(t, s, "sign", map[string]any{"item_type": "tool", "item_id": "acme/hello"})
	if !strings.Contains(shown, "; echo hidden") {
		t.Fatalf("the question does not show all of a long line:\n%s", shown)
	}
	for _, l := range strings.Split(shown, "\n") {
		if len(l) > 200 {
			t.Errorf("a line of %d bytes is shown: %q", len(l), l)
		}
	}
}

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye/internal/testkit"
)

const (
	connectRef  = "tool:team/send"
	connectHost = "api.example.org:443"
	connectAsk  = "[y/a/N]"
)

// toolmate is somebody who signs tools of the namespace team.
type toolmate struct{ *home }

func newToolmate(t *testing.T) toolmate {
	t.Helper()
	needBash(t)
	h := emptyHome(t)
	h.rye("init", "--namespace", "team")
	return toolmate{h}
}

// gives signs the tool with these needs and this script, and lays it into a project.
func (c toolmate) gives(h *home, needs, script string) {
	c.t.Helper()
	text := "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: team\n# description: Send the weather report\n# needs: " + needs + "\n" + script
	c.write(".ai/tools/team/send.sh", text)
	c.rye("sign", connectRef)
	h.write(".ai/tools/team/send.sh", c.read(".ai/tools/team/send.sh"))
}

// connecting is a project with a colleague's tool whose needs name a host.
func connecting(t *testing.T) (c toolmate, h *home) {
	t.Helper()
	c, h = newToolmate(t), newHome(t)
	c.gives(h, "{net: ['"+connectHost+"']}", "echo it ran\n")
	c.trustedBy(h)
	return c, h
}

// trustedBy makes the key count in a project.
func (c toolmate) trustedBy(h *home) {
	c.t.Helper()
	key := c.key("")
	h.rye("trust", "pin", key.SSH, "--namespace", "team", "--fingerprint", key.Fingerprint, "--yes")
}

// refusedHost runs the tool without a terminal, and returns the hint of the refusal.
func (h *home) refusedHost() string {
	h.t.Helper()
	said := h.fails(16, "run", connectRef)
	m := regexp.MustCompile(`(?m)^rye: hint: (?:rye )(.*)$`).FindStringSubmatch(said)
	if m == nil || !strings.Contains(said, connectHost) {
		h.t.Fatalf("not refused for its host:\n%s", said)
	}
	return m[1]
}

// TestHostIsAskedOnce: a terminal asks about the host of another signer's tool, with three answers. The
// remembered one is listed and withdrawn, and its command is the hint where nobody can be asked.
func TestHostIsAskedOnce(t *testing.T) {
	t.Parallel()
	_, h := connecting(t)
	for _, more := range [][]string{{"run", connectRef}, {"run", connectRef, "--yes"}, {"policy", "allow", connectRef, "--host", connectHost}} {
		if shown, exit := terminal(t, h.with("CLAUDECODE=1"), connectAsk, "a\n", more...); exit != 16 || strings.Contains(shown, connectAsk) || !strings.Contains(shown, "CLAUDECODE") || strings.Contains(shown, "agent started, run: rye run "+connectRef+" --yes") {
			t.Errorf("%s at an agent's terminal: exit %d\n%s", more, exit, shown)
		}
	}
	for _, tc := range []struct {
		typed string
		exit  int
		ran   bool
	}{{"n\n", 16, false}, {"y\n", 0, true}, {"x\n", 16, false}, {"a\n", 0, true}} {
		shown, exit := terminal(t, h, connectAsk, tc.typed, "run", connectRef)
		for _, want := range []string{"It connects to " + connectHost, connectRef, `"Send the weather report"`, h.dir, connectAsk} {
			if !strings.Contains(shown, want) {
				t.Errorf("%q: it shows no %q:\n%s", tc.typed, want, shown)
			}
		}
		if exit != tc.exit || strings.Contains(shown, "it ran") != tc.ran {
			t.Errorf("%q: exit %d:\n%s", tc.typed, exit, shown)
		}
	}
	if shown, exit := terminal(t, h, connectAsk, "n\n", "run", connectRef); exit != 0 || strings.Contains(shown, connectAsk) {
		t.Errorf("asked again: exit %d\n%s", exit, shown)
	}
	if listed := h.rye("policy", "list"); !strings.Contains(listed, "connections to "+connectHost) || !strings.Contains(listed, connectRef) {
		t.Errorf("listed: %s", listed)
	}
	h.rye("policy", "forget", connectRef)
	if listed := h.rye("policy", "list"); strings.Contains(listed, connectHost) {
		t.Errorf("still listed: %s", listed)
	}
	hint := h.refusedHost()
	if want := "policy allow " + connectRef + " --host " + connectHost; hint != want {
		t.Errorf("hint %q, want %q", hint, want)
	}
	h.rye("run", connectRef, "--yes")
	h.refusedHost() // --yes was for one run
	h.rye(strings.Fields(hint)...)
	h.rye("run", connectRef)
	h.rye(append(strings.Fields(hint), "--forget")...)
	h.refusedHost()
	h.fails(3, "policy", "allow", connectRef, "--host", "other.example.org")
	h.rye("policy", "allow", connectRef, "--any") // of the whole tool
	h.rye("run", connectRef)
	h.rye("policy", "forget", connectRef)
	h.refusedHost()
	config := strings.TrimSpace(h.rye("where", "config"))
	testkit.WriteFile(t, filepath.Join(config, "policy.yaml"), "policy: 1\nnet: {allow: ['"+connectHost+"']}\n", 0o600)
	h.rye("run", connectRef)
	// A tool of one's own is not asked about.
	h.write(".ai/tools/acme/own.sh", netTool("Own", "{net: ['own.example.org:443']}", "echo it ran\n"))
	h.rye("sign", "tool:acme/own")
	h.rye("run", "tool:acme/own")
}

// TestHostAnswerHoldsForOneThing: the remembered answer is for one digest, one project and one host, and
// a file of answers that others could have written is refused.
func TestHostAnswerHoldsForOneThing(t *testing.T) {
	t.Parallel()
	c, h := connecting(t)
	allow := func() { h.rye("policy", "allow", connectRef, "--host", connectHost) }
	allow()
	h.rye("run", connectRef)

	c.gives(h, "{net: ['"+connectHost+"']}", "echo it ran otherwise\n")
	h.refusedHost()
	c.gives(h, "{net: ['"+connectHost+"', 'evil.example.org:443']}", "echo it ran\n")
	if said := h.fails(16, "run", connectRef); !strings.Contains(said, "evil.example.org:443") {
		t.Errorf("a further host: %s", said)
	}
	c.gives(h, "{net: ['"+connectHost+"']}", "echo it ran\n")
	allow()
	h.rye("run", connectRef)

	// Another project of the same user, and a link in the place of the first one.
	other := *h
	other.dir = h.dir + "-other"
	testkit.Must(t, os.CopyFS(other.dir, os.DirFS(h.dir)))
	c.trustedBy(&other)
	other.refusedHost()
	link := *h
	link.dir = filepath.Join(filepath.Dir(h.dir), "link")
	testkit.Must(t, os.Symlink(other.dir, link.dir))
	link.refusedHost()
	testkit.Must(t, os.Rename(h.dir, h.dir+"-moved"))
	testkit.Must(t, os.Symlink(other.dir, h.dir))
	h.refusedHost()
	testkit.Must(t, os.Remove(h.dir))
	moved := *h
	moved.dir = h.dir + "-moved"
	c.trustedBy(&moved)
	moved.refusedHost()
	testkit.Must(t, os.CopyFS(h.dir, os.DirFS(moved.dir)))
	c.trustedBy(h)
	h.refusedHost() // a new directory at the old path
	testkit.Must(t, os.RemoveAll(h.dir))
	testkit.Must(t, os.Rename(moved.dir, h.dir))
	h.rye("run", connectRef)

	// Records that lie.
	path := filepath.Join(strings.TrimSpace(h.rye("where", "config")), "consent.yaml")
	raw, err := os.ReadFile(path)
	testkit.Must(t, err)
	for _, tc := range []struct {
		name, old, new string
		mode           os.FileMode
		exit           int
	}{
		{"another digest", "sha256: [0-9a-f]{8}", "sha256: 00000000", 0o600, 16},
		{"another host", "path: " + regexp.QuoteMeta(connectHost), "path: evil.example.org:443", 0o600, 16},
		{"another tool", "for: " + regexp.QuoteMeta(connectRef), "for: tool:team/other", 0o600, 16},
		{"another project", "place: [a-z0-9]{4}", "place: aaaa", 0o600, 16},
		{"another directory", "inode: [0-9]+", "inode: 1", 0o600, 16},
		{"another kind", "what: connect", "what: host", 0o600, 16},
		{"an unknown kind", "what: connect", "what: everything", 0o600, 19},
		{"writable by others", "", "", 0o666, 6},
	} {
		text := regexp.MustCompile(tc.old).ReplaceAllString(string(raw), tc.new)
		if tc.old == "" {
			text = string(raw)
		}
		testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
		testkit.Must(t, os.Chmod(path, tc.mode))
		out, exit := h.ends("run", connectRef)
		if exit != tc.exit || strings.Contains(out, "it ran") {
			t.Errorf("%s: exit %d, want %d:\n%s", tc.name, exit, tc.exit, out)
		}
	}
}

// TestHostAnsweredTwiceAtOnce: two terminals answer the same question at once. Both run, and one answer
// is remembered.
func TestHostAnsweredTwiceAtOnce(t *testing.T) {
	t.Parallel()
	_, h := connecting(t)
	var ready, done sync.WaitGroup
	ready.Add(2)
	for range 2 {
		done.Go(func() {
			shown, exit := terminalWhile(t, h, connectAsk, func() string { ready.Done(); ready.Wait(); return "a\n" }, "run", connectRef)
			// The answer to a question counts once: the slower one may be told so, and runs nothing.
			if once := strings.Contains(shown, "valid once"); strings.Contains(shown, "it ran") == once || (exit == 0) == once {
				t.Errorf("exit %d:\n%s", exit, shown)
			}
		})
	}
	done.Wait()
	if listed := h.rye("policy", "list"); strings.Count(listed, connectHost) != 1 {
		t.Errorf("listed: %s", listed)
	}
	h.rye("run", connectRef)
}

// withoutNamespaces is a home whose rye has no rye-cage beside it, and so no namespaces.
func (h *home) withoutNamespaces() *home {
	h.t.Helper()
	dir := h.t.TempDir()
	for _, name := range []string{"rye", "rye-engine"} {
		raw, err := os.ReadFile(program(name))
		testkit.Must(h.t, err)
		testkit.Must(h.t, os.WriteFile(filepath.Join(dir, name), raw, 0o755))
	}
	g := *h
	g.wrap = []string{"sh", "-c", `shift; exec "$0" "$@"`, filepath.Join(dir, "rye")}
	return &g
}

// TestHostWithoutNamespaces: where named hosts do not bind, the question says what is asked, any host. An
// answer for a named host does not hold there, and a client's call of such a tool is asked about.
func TestHostWithoutNamespaces(t *testing.T) {
	t.Parallel()
	if !namespaces() {
		t.Skip("no namespaces here, so nothing to compare with")
	}
	_, h := connecting(t)
	h.rye("policy", "allow", connectRef, "--host", connectHost)
	h.rye("policy", "allow", connectRef, "--any") // up to t1, as hosts bind
	h.rye("run", connectRef)
	bare := h.withoutNamespaces()
	said := bare.fails(16, "run", connectRef)
	for _, want := range []string{"Its needs name " + connectHost + ". On this system the limit is any host. Allow any host?", "every host can be reached, not only " + connectHost, "rye policy allow " + connectRef + " --host '*'"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	bare.fails(3, "policy", "allow", connectRef, "--host", connectHost)
	if shown, exit := terminal(t, bare, connectAsk, "a\n", "run", connectRef); exit != 0 || !strings.Contains(shown, "a  always: this tool until it changes, any host, in this project") {
		t.Errorf("exit %d:\n%s", exit, shown)
	}
	bare.rye("run", connectRef)
	h.rye("policy", "forget", connectRef)
	bare.rye("policy", "allow", connectRef, "--host", "*")
	bare.rye("run", connectRef)
	h.refusedHost() // an answer about any host is none about a named one

	h.write(".ai/tools/acme/own.sh", netTool("Own", "{net: ['own.example.org:443']}", "echo it ran\n"))
	h.rye("sign", "tool:acme/own")
	h.lists("test")
	var asked string
	s := bare.asking(func(message string) bool { asked = message; return false })
	for _, id := range []string{"team/send", "acme/own"} {
		got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": id})
		if raw, _ := json.Marshal(got); strings.Contains(string(raw), "it ran") || !strings.Contains(asked, id) ||
			!strings.Contains(asked, "limit        any host: this system cannot hold a program to ") || !strings.Contains(asked, "it reaches every host") {
			t.Errorf("%s: %s\nasked:\n%s", id, raw, asked)
		}
	}
	if h, _ := h.connect(nil); h != nil {
		if got, failed := call(t, h, "execute", map[string]any{"item_type": "tool", "item_id": "acme/own"}); failed {
			t.Errorf("with namespaces an own tool is asked about: %v", got)
		}
	}
}

// TestHostQuestionOfAClient: a client's question names the host with its port, the tool and the project.
// A client that cannot ask gets the command for a person. A yes holds for later calls.
func TestHostQuestionOfAClient(t *testing.T) {
	t.Parallel()
	_, h := connecting(t)
	args := map[string]any{"item_type": "tool", "item_id": "team/send"}
	plain, _ := h.connect(nil)
	got, _ := call(t, plain, "execute", args)
	id := question(t, got)
	if shown, exit := terminal(t, h.with("CLAUDECODE=1"), "[y/N]", "y\n", "approve", id); exit != 16 || strings.Contains(shown, "[y/N]") {
		t.Errorf("at a marked terminal: exit %d\n%s", exit, shown)
	}
	shown, exit := terminal(t, h, "[y/N]", "n\n", "approve", id)
	for _, want := range []string{connectHost, connectRef, h.dir} {
		if exit != 16 || !strings.Contains(shown, want) {
			t.Errorf("exit %d, no %q in\n%s", exit, want, shown)
		}
	}
	h.lists("test")
	asked := []string{}
	s := h.asking(func(message string) bool { asked = append(asked, message); return true })
	for range 2 {
		if got, failed := call(t, s, "execute", args); failed || !strings.Contains(fmt.Sprint(got), "it ran") {
			t.Fatalf("%v, asked %q", got, asked)
		}
	}
	if len(asked) != 1 || !strings.Contains(asked[0], "It connects to "+connectHost) || !strings.Contains(asked[0], connectRef) ||
		!strings.Contains(asked[0], h.dir) || !strings.Contains(asked[0], "covers later calls") {
		t.Errorf("asked %q", asked)
	}
}

// TestDeniedHostOverMCP: the answer to a client names the host that a tool did not reach, and the line
// of needs that admits it.
func TestDeniedHostOverMCP(t *testing.T) {
	t.Parallel()
	needBash(t)
	testkit.NeedProgram(t, "curl")
	if !namespaces() {
		t.Skip("hosts do not bind here")
	}
	h := newHome(t)
	h.write(".ai/tools/acme/get.sh", netTool("Get", "{net: ['*.example.org:443']}", "curl -sS -m 5 http://other.example.net/; true\n"))
	h.rye("sign", "tool:acme/get")
	s, _ := h.connect(nil)
	res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"item_type": "tool", "item_id": "acme/get"}})
	testkit.Must(t, err)
	raw, _ := json.Marshal(res)
	for _, want := range []string{"reaching other.example.net:80: its needs do not name it", "other.example.net:80"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %q in %s", want, raw)
		}
	}
	if got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/get"}); !strings.Contains(fmt.Sprint(got["denied"]), "net: ") {
		t.Errorf("no line of needs in %v", got["denied"])
	}
}

// TestUnboundIsShown: what does not bind is shown at a terminal once for each project and set of limits,
// and in JSON, the answers to a client, questions and doctor each time.
func TestUnboundIsShown(t *testing.T) {
	t.Parallel()
	h := risky(t)
	h.write(".ai/tools/acme/quiet.sh", netTool("Quiet", "{read: [.]}", "echo it ran\n"))
	h.rye("sign", "tool:acme/quiet")
	bare := h.withoutNamespaces()
	const open = "permissions and times of all this user's files can change"
	count := func(name, text string, want int) {
		t.Helper()
		if n := strings.Count(strings.Join(strings.Fields(text), " "), open); n != want {
			t.Errorf("%s: %d times, want %d:\n%s", name, n, want, text)
		}
	}
	for i := range 2 {
		shown, _ := terminal(t, bare, "never", "", "run", "tool:acme/quiet")
		count("terminal", shown, 1-i)
	}
	s, _ := bare.connect(nil) // after the terminal has shown it
	out, _ := bare.ends("run", "tool:acme/quiet", "--json")
	count("JSON", out, 1)
	for range 2 {
		got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/quiet"})
		count("a client's answer", fmt.Sprint(got["not_limited"]), 1)
	}
	shown, _ := terminal(t, bare, "[y/N]", "n\n", "run", riskyRef)
	count("a question", shown, 1)
	out, _ = bare.ends("doctor")
	count("doctor", out, 1)
	if !strings.Contains(out, "every host can be reached, not only the hosts in its needs") {
		t.Errorf("doctor says nothing of hosts:\n%s", out)
	}
}

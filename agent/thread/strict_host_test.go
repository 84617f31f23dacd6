//go:build unix

package thread

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/modelhost"
	"github.com/rye-os/rye/objects"
)

// Asked of a strict host, every request of a thread has to be one that the service would accept:
// each call answered, thinking as it came, roles in turn. A process that took up a thread wrongly
// would be refused.

// hosted takes the script out of a provider item. Each process of the site serves it by a strict
// host, and sends there what the provider sends to its service.
func (c *crashSite) hosted(t *testing.T, item string) string {
	t.Helper()
	doc, err := objects.YAMLValues([]byte(item), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	config := doc["config"].(map[string]any)
	script, err := objects.EncodeYAML(config[scripted])
	if err != nil {
		t.Fatal(err)
	}
	c.Script = string(script)
	delete(config, scripted)
	for name, group := range scriptedGroups {
		if config[name] == nil {
			config[name] = group
		}
	}
	raw, err := objects.EncodeYAML(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// serve starts the host of a process, and returns the client that reaches it by every address.
func (c crashSite) serve(ctx context.Context) (*http.Client, error) {
	s, err := modelhost.Parse([]byte(c.Script))
	if err != nil {
		return nil, err
	}
	v, err := modelhost.Serve(ctx, s)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(v.URL)
	return &http.Client{Transport: toHost{at.Host, c.Heard}}, err
}

// toHost sends every request to one host, and appends each with its status to a file.
type toHost struct{ host, heard string }

// heardLine is one line of that file.
type heardLine struct {
	Status int
	Body   json.RawMessage
}

func (h toHost) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host, r.Body = "http", h.host, "", io.NopCloser(bytes.NewReader(body))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || h.heard == "" {
		return res, err
	}
	line, err := json.Marshal(heardLine{res.StatusCode, body})
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(h.heard, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return res, err
}

// strictTurns are turns with everything that makes a conversation hard to write: thinking before a
// text and without one, several calls at once, one of which fails, words of hooks behind results, and
// a text where calls are expected.
const strictTurns = `
  mock:
    key: k
    turns:
      - think: [I plan, " to begin."]
        say: [I, " begin."]
        calls:
          - {name: rye_execute, args: {item_type: tool, item_id: acme/once, parameters: {text: first}}}
          - {name: rye_execute, args: {item_type: tool, item_id: acme/look}}
      - when: {turn: 2, contains: Be brief}
        think: [Now the rest.]
        calls:
          - {name: rye_execute, args: {item_type: tool, item_id: acme/once, parameters: {text: second}}}
          - {name: rye_execute, args: {item_type: tool, item_id: acme/nothing}}
      - {when: {turn: 3, contains: Come to an end}, say: "I am done."}
      - {when: {turn: 4}, calls: [{name: directive_return, args: {verdict: "good"}}]}
`

// Whole threads of the library's providers ask in a way that a strict service accepts, in both
// formats: also one that was killed, in the middle of its calls or of a question, and resumed.
func TestStrictHost(t *testing.T) {
	for name, wants := range map[string][]string{
		"anthropic": {`"cache_control"`, `"type":"thinking","thinking":"I plan to begin.","signature"`, `"type":"tool_result"`, `"is_error":true`},
		"openai":    {`"prompt_cache_key"`, `"role":"tool"`, `"role":"developer"`},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile("../../stdlib/system/tools/rye/agent/providers/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			c := newCrashSite(t, "\n"+strings.Replace(string(raw), "category: rye/agent/providers", "category: acme", 1)+strictTurns[1:])
			c.rewrite(t, `spend="0.9"/>`, `spend="0.9"/><hooks><hook id="brief" event="thread_started"><action action="note">Be brief.</action></hook>`+
				`<hook id="late" event="after_step"><condition path="turn" op="gte" value="2"/><action action="note">Come to an end.</action></hook></hooks>`)
			c.Log, c.Heard = filepath.Join(c.Home, "steps"), filepath.Join(c.Home, "heard")
			first := c.run(t)
			if first.Status != Completed || first.Outputs["verdict"] != "good" {
				t.Fatalf("the thread ended as %s: %s\n%s", first.Status, first.Why, c.heard(t))
			}
			c.Spent = first.Spent
			want := c.export(t, first.ID)
			said := c.heard(t)
			for _, w := range append(wants, "Be brief", "Come to an end") {
				if !strings.Contains(said, w) {
					t.Errorf("no request has %s:\n%s", w, said)
				}
			}
			for _, at := range []struct {
				step string
				nth  int
			}{{"after tool_call_start", 1}, {"before tool_call_result", 2}, {"after model_intent", 3}} {
				n := c.stepOf(t, at.step, at.nth)
				t.Run(fmt.Sprint(at.step, " ", at.nth), func(t *testing.T) { c.killAt(t, n, want) })
			}
			c.heard(t)
		})
	}
}

// heard returns the requests that the site's hosts heard, and checks that none was refused.
func (c crashSite) heard(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(c.Heard)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var l heardLine
		if err := json.Unmarshal(line, &l); err != nil || l.Status != http.StatusOK {
			t.Errorf("status %d, %v, for %s", l.Status, err, l.Body)
		}
	}
	return string(raw)
}

// rewrite changes a text in the directive of a site, and signs it.
func (c crashSite) rewrite(t *testing.T, old, text string) {
	t.Helper()
	path := filepath.Join(c.Dir, ".ai", "directives", "acme", "review.md")
	if err := os.WriteFile(path, []byte(strings.Replace(crashDirective, old, text, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.workspace().Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"directive:acme/review"}}); err != nil {
		t.Fatal(err)
	}
}

// A conversation that no service accepts ends the thread, so every test of this package with a model
// notices one.
func TestStrictHostRefuses(t *testing.T) {
	c := newCrashSite(t, crashScript)
	client, err := c.serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	const open = `{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"x"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":"and?"}]}`
	r, err := http.NewRequestWithContext(t.Context(), "POST", "https://api.anthropic.com/v1/messages", strings.NewReader(open))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("anthropic-version", "2023-06-01")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if raw, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusBadRequest || !slices.Contains(strings.Fields(string(raw)), "`tool_result`") {
		t.Errorf("a call without an answer: %d %s", res.StatusCode, raw)
	}
}

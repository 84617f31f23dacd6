package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/testkit"
)

// askAll is shell text that connects to each of its arguments, host and port, and prints the last
// line of the answer.
const askAll = `trap '' PIPE
ask() { if exec 3<>/dev/tcp/$1/$2; then printf 'GET / HTTP/1.0\r\nHost: %s\r\n\r\n' "$1" >&3; echo "$1 $2 $(tail -n 1 <&3)"; exec 3>&-; else echo "$1 $2 no"; fi 2>/dev/null; }
`

// outcomeOf is the result of a run.
type outcomeOf struct {
	Data     struct{ Stdout, Stderr string }
	Metadata struct {
		Sandbox string
		Unbound []string `json:"unbound"`
		Hosts   []rye.HostUse
	}
	raw string
}

// runIn runs a tool on a machine; nil is this one.
func (h *home) runIn(in *internet, tool string, more ...string) (r outcomeOf) {
	h.t.Helper()
	cmd := h.command(append([]string{"run", tool, "--json"}, more...)...)
	if in != nil {
		cmd = in.move(cmd)
	}
	out, _ := cmd.CombinedOutput()
	r.raw = string(out)
	if i := strings.Index(r.raw, "{"); i >= 0 {
		testkit.Must(h.t, json.NewDecoder(strings.NewReader(r.raw[i:])).Decode(&r))
	}
	return r
}

// TestHostsBind: a tool reaches the hosts and ports that its needs name, by name and by address,
// with programs that know no proxy, and nothing else of this machine and of the network. A name
// that leads inward reaches nothing, and the result says why.
func TestHostsBind(t *testing.T) {
	t.Parallel()
	needBash(t)
	in := newInternet(t, webAddress+" web.example.org", webAddress6+" web6.example.org", dbAddress+" db.example.org", webAddress+" other.example.org",
		"127.0.0.1 evil.example.org", metadata+" cloud.example.org", privateHost+" inner", hereAddress+" self.example.org")
	for _, at := range []string{webAddress + ":80", webAddress + ":5432", dbAddress + ":5432", "[" + webAddress6 + "]:80", privateHost + ":5432"} {
		in.says(in.there, at)
	}
	var inward []func() int
	for _, at := range []string{metadata + ":80", privateHost + ":80"} {
		inward = append(inward, in.says(in.there, at))
	}
	for _, at := range []string{"127.0.0.1:80", "127.0.0.1:6379", hereAddress + ":80"} {
		inward = append(inward, in.says(in.here, at))
	}
	in.says(in.here, "127.0.0.1:7777")
	h := newHome(t)
	h.env = withoutNetwork(h.env)
	needs := "{net: ['web.example.org:80', 'web6.example.org:80', 'db.example.org:5432', 'evil.example.org:80', 'cloud.example.org:80', 'self.example.org:80', 'inner:5432', '" + webAddress + ":5432', 'localhost:7777']}"
	h.write(".ai/tools/acme/ask.sh", netTool("Ask", needs, askAll+`
for a in web.example.org web6.example.org evil.example.org cloud.example.org self.example.org 169.254.169.254 10.1.2.3 127.0.0.1 other.example.org; do ask $a 80; done
for a in db.example.org web.example.org inner 93.184.215.14 93.184.215.15; do ask $a 5432; done
ask localhost 7777; ask 127.0.0.1 7777; ask 127.0.0.1 6379; ask web.example.org 22
curl -sS -m 10 http://web.example.org/ http://other.example.org/
`))
	h.rye("sign", "--all")
	r := h.runIn(in, "tool:acme/ask")
	for _, want := range []string{
		"web.example.org 80 this is 93.184.215.14:80\n", "web6.example.org 80 this is [2606:2800:21f::14]:80\n", "db.example.org 5432 this is 93.184.215.15:5432\n",
		"inner 5432 this is 10.1.2.3:5432\n", "93.184.215.14 5432 this is 93.184.215.14:5432\n", "localhost 7777 this is 127.0.0.1:7777\n", "127.0.0.1 7777 this is 127.0.0.1:7777\n",
		"evil.example.org 80 \n", "cloud.example.org 80 \n", "self.example.org 80 \n",
		"169.254.169.254 80 no\n", "10.1.2.3 80 no\n", "127.0.0.1 80 no\n", "other.example.org 80 no\n", "web.example.org 5432 no\n", "93.184.215.15 5432 no\n", "127.0.0.1 6379 no\n", "web.example.org 22 no\n",
	} {
		if !strings.Contains(r.Data.Stdout, want) {
			t.Errorf("no %q in\n%s", want, r.Data.Stdout)
		}
	}
	for i, came := range inward {
		if n := came(); n != 0 {
			t.Errorf("%d connections came to a server that no need names, number %d", n, i)
		}
	}
	for _, want := range []string{"reaching evil.example.org:80: its name leads to 127.0.0.1, a loopback address", "reaching cloud.example.org:80: its name leads to 169.254.169.254, a cloud metadata address",
		"reaching self.example.org:80: its name leads to 93.184.215.1, a local (this machine's own) address", "its needs do not name it"} {
		if !strings.Contains(r.raw, want) {
			t.Errorf("the result says no %q:\n%s", want, r.raw)
		}
	}
	reached := map[string]rye.HostUse{}
	for _, u := range r.Metadata.Hosts {
		reached[fmt.Sprint(u.Host, ":", u.Port)] = u
	}
	if web := reached["web.example.org:80"]; web.Conns != 2 || web.Sent == 0 || web.Received == 0 || len(reached) != 6 {
		t.Errorf("the result counts %+v", r.Metadata.Hosts)
	}
	log := h.rye("policy", "log", "--json")
	if !strings.Contains(log, `"verb":"reach","ref":"tool:acme/ask"`) || !strings.Contains(log, `{"host":"web.example.org","port":80,"connections":2,"sent":`) {
		t.Errorf("the log has no host:\n%s", log)
	}
	if text := h.rye("policy", "log"); !strings.Contains(text, "reached 93.184.215.14:5432 (") {
		t.Errorf("the log has no host:\n%s", text)
	}
	if r.Metadata.Sandbox != "S3" || strings.Contains(strings.Join(r.Metadata.Unbound, "\n"), "host") {
		t.Errorf("sandbox %s, not limited: %q", r.Metadata.Sandbox, r.Metadata.Unbound)
	}
}

// TestSilentToolsReachPublicHosts: a tool that states no needs, such as rye's own bash, reaches public hosts at the web's
// ports through the proxy, and nothing of this machine and its network. A pattern does the same for
// the hosts that it covers. The refusal names the host and the line of needs that admits it.
func TestSilentToolsReachPublicHosts(t *testing.T) {
	t.Parallel()
	needBash(t)
	testkit.NeedProgram(t, "curl")
	in := newInternet(t, webAddress+" web.example.org", dbAddress+" db.other.net", "127.0.0.1 evil.example.org", metadata+" cloud.example.org", privateHost+" inner.example.org", hereAddress+" self.example.org")
	for _, at := range []string{webAddress + ":80", webAddress + ":443", webAddress + ":8080", dbAddress + ":80", dbAddress + ":443"} {
		in.says(in.there, at)
	}
	var inward []func() int
	for _, at := range []string{metadata + ":80", privateHost + ":80"} {
		inward = append(inward, in.says(in.there, at))
	}
	for _, at := range []string{"127.0.0.1:80", "[::1]:80", hereAddress + ":80"} {
		inward = append(inward, in.says(in.here, at))
	}
	h := newHome(t)
	h.env = withoutNetwork(h.env)
	const fetch = askAll + `
get() { echo "$1 $(curl -s -m 10 -w '%{http_code} %{http_connect} %{errormsg}' "$@" | tail -n 1)"; }
get http://web.example.org/; get http://web.example.org:443/ -p; get http://db.other.net/; get http://web.example.org:8080/
curl -sS -m 10 http://web.example.org/ -x "socks5h://${http_proxy#http://}"
for h in evil.example.org cloud.example.org inner.example.org self.example.org 127.0.0.1:80 127.1 0x7f000001 '[::1]' '[::ffff:127.0.0.1]' 169.254.169.254 10.1.2.3 localhost; do
	curl -s -m 10 -o /dev/null -w "$h %{http_code}\n" --noproxy '' "http://$h/"
done
ask web.example.org 80; ask 127.0.0.1 80; ask 93.184.215.14 80
env | grep -ci _proxy=
`
	h.write(".ai/tools/acme/some.sh", netTool("Fetch", "{net: ['*.example.org:80', 'db.other.net:443']}", fetch))
	h.rye("sign", "--all")
	inside := "evil.example.org 403\ncloud.example.org 403\ninner.example.org 403\nself.example.org 403\n127.0.0.1:80 403\n127.1 403\n0x7f000001 403\n[::1] 403\n[::ffff:127.0.0.1] 403\n169.254.169.254 403\n10.1.2.3 403\nlocalhost 403\n" +
		"web.example.org 80 no\n127.0.0.1 80 no\n93.184.215.14 80 no\n12\n"
	for tool, want := range map[string][]string{
		"tool:rye/bash/bash": {"http://web.example.org/ 200 000", "http://web.example.org:443/ 200 200", "http://db.other.net/ 200 000", "http://web.example.org:8080/ 403 000"},
		"tool:acme/some":     {"http://web.example.org/ 200 000", "http://web.example.org:443/ 000 403", "http://db.other.net/ 403 000", "http://web.example.org:8080/ 403 000"},
	} {
		r := h.runIn(in, tool, map[string][]string{"tool:rye/bash/bash": {"--yes", "-p", "command=" + fetch}}[tool]...)
		for _, line := range append(want, "this is 93.184.215.14:80\n", inside) {
			if !strings.Contains(r.Data.Stdout, line) {
				t.Errorf("%s: no %q in\n%s%s", tool, line, r.Data.Stdout, r.Data.Stderr)
			}
		}
		for _, line := range []string{"reaching web.example.org:8080: its needs do not name it", `web.example.org:8080\"]}`, "reaching evil.example.org:80: its name leads to 127.0.0.1"} {
			if !strings.Contains(r.raw, line) {
				t.Errorf("%s: the result says no %q:\n%s", tool, line, r.raw[strings.Index(r.raw, `"denied"`):])
			}
		}
		if strings.Contains(strings.Join(r.Metadata.Unbound, "\n"), "host") {
			t.Errorf("%s: not limited: %q", tool, r.Metadata.Unbound)
		}
	}
	for i, came := range inward {
		if n := came(); n != 0 {
			t.Errorf("%d connections came inward, to server %d", n, i)
		}
	}
}

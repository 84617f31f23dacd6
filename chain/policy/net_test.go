package policy

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		entry, host, to string
		want            bool
	}{
		{"127.0.0.1:11434", "localhost", "127.0.0.1:11434", true}, {"127.0.0.1:11434", "localhost", "127.0.0.1:1", false}, {"127.0.0.1", "x", "127.0.0.1:1", true},
		{"127.0.0.1", "x", "[::ffff:127.0.0.1]:1", true}, {"127.0.0.1", "127.0.0.1", "127.0.0.2:1", false},
		{"localhost:8080", "LocalHost.", "[::1]:8080", true}, {"localhost:8080", "localhost", "[::1]:80", false}, {"localhost", "evil.example.org", "127.0.0.1:80", false},
		{"10.0.0.0/8", "x", "10.255.1.2:1", true}, {"10.0.0.0/8", "x", "11.0.0.1:1", false}, {"10.0.0.0/8:80", "x", "10.0.0.1:80", true}, {"10.0.0.0/8:80", "x", "10.0.0.1:81", false},
		{"[::1]:80", "x", "[::1]:80", true}, {"::1", "x", "[::1]:80", true}, {"[fd00::]/8", "x", "[fd12::1]:1", true}, {"fd00::/8", "x", "[fe80::1]:1", false},
		{"*.corp.example.org", "a.b.corp.example.org", "10.0.0.1:1", true}, {"*.corp.example.org", "corp.example.org", "10.0.0.1:1", false}, {"*.corp.example.org", "xcorp.example.org", "10.0.0.1:1", false},
	} {
		h, err := ParseHost(c.entry)
		if err != nil {
			t.Errorf("ParseHost(%q): %v", c.entry, err)
			continue
		}
		if got := h.matches(c.host, netip.MustParseAddrPort(c.to)); got != c.want {
			t.Errorf("%s matches %s at %s = %v", c.entry, c.host, c.to, got)
		}
	}
	for _, s := range []string{"", "*", "a b", "127.1", "10.0.0.1/8", "http://x", "x:0", "x:99999", "x:y", ":80", "fe80::1%eth0", "a..b", "x/8", "::ffff:10.0.0.0/104", "0x7f.1x/", "a.*"} {
		if h, err := ParseHost(s); !fault.Is(err, fault.Malformed) {
			t.Errorf("ParseHost(%q) = %+v, %v", s, h, err)
		}
	}
}

// TestNetTightens: whatever a project's policy says, nothing more is reached.
func TestNetTightens(t *testing.T) {
	list := func(s string) string { return "[" + s + "]" }
	entries := []string{"", "127.0.0.1", "10.0.0.0/8, localhost", "localhost", "127.0.0.1:80"}
	at := []struct{ host, to string }{{"localhost", "127.0.0.1:80"}, {"localhost", "127.0.0.1:81"}, {"x.org", "127.0.0.1:80"}, {"x.org", "10.1.1.1:80"}, {"meta", "169.254.169.254:80"}}
	file := func(allow, deny string, proxy bool) []byte {
		text := fmt.Sprintf("policy: 1\nnet:\n  deny: %s\n  proxy: %v\n", list(deny), proxy)
		if allow != "none" {
			text += "  allow: " + list(allow) + "\n"
		}
		return []byte(text)
	}
	for _, ua := range append(entries, "none") {
		for _, pa := range append(entries, "none") {
			for _, deny := range entries {
				user, err := ParseRules(file(ua, "", ua != ""))
				if err != nil {
					t.Fatal(err)
				}
				both, err := user.Tighten(file(pa, deny, true))
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range at {
					to := netip.MustParseAddrPort(a.to)
					u, b := user.Net.Allows(a.host, to), both.Net.Allows(a.host, to)
					if b && !u || both.Net.Proxy && !user.Net.Proxy || user.Net.Denies(a.host, to) && !both.Net.Denies(a.host, to) {
						t.Errorf("user %q, project %q: %s at %s is reached", ua, pa, a.host, a.to)
					}
					if pa == "none" && b != u {
						t.Errorf("user %q, a project that is silent: %v, want %v", ua, b, u)
					}
				}
			}
		}
	}
	if (Net{}).Allows("localhost", netip.MustParseAddrPort("127.0.0.1:80")) {
		t.Error("the default reaches this machine")
	}
	r, err := ParseRules([]byte("policy: 1\nnet: {proxy: true}\n"))
	if err != nil || !r.Net.Proxy {
		t.Fatalf("%+v, %v", r.Net, err)
	}
	if r, _ = r.Tighten([]byte("policy: 1\nnet: {proxy: false}\n")); r.Net.Proxy {
		t.Error("a project cannot turn proxies off")
	}
	for _, bad := range []string{"net: {allow: [x y]}", "net: {deny: ['127.1']}", "net: {alow: [x]}", "net: true"} {
		if _, err := ParseRules([]byte("policy: 1\n" + bad + "\n")); err == nil || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

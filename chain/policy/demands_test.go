package policy

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"https://github.com/acme", "https://github.com/acme/skills", true},
		{"https://github.com/acme/", "https://github.com/acme/skills.git", true},
		{"https://github.com/acme", "https://github.com/acme", true},
		{"https://github.com/acme", "https://github.com/acme-evil/skills", false},
		{"https://github.com/acme", "https://github.com/acme/../evil/skills", false},
		{"https://github.com/acme", "https://github.com/acme%2f..%2fevil", false},
		{"https://github.com/acme", "https://github.com.evil.example/acme/skills", false},
		{"https://github.com/acme", "https://github.com:8443/acme/skills", false},
		{"https://github.com/acme", "http://github.com/acme/skills", false},
		{"https://github.com/acme", "https://github.com/acme@evil.example/x", false},
		{"https://github.com/acme", "https://github.com@evil.example/acme/x", false},
		{"https://github.com/acme", "https://evil.example/?https://github.com/acme", false},
		{"https://github.com/acme", "https://evil.example/#https://github.com/acme", false},
		{"https://github.com/acme/skills", "https://github.com/acme", false},
		{"https://github.com/acme/skills", "https://github.com/acme/skills.git", true},
		{"https://github.com/*/skills", "https://github.com/acme/skills", true},
		{"https://github.com/*/skills", "https://github.com/acme/other", false},
		{"https://GitHub.com", "https://github.com/any/thing", true},
		{"https://*.example.org", "https://git.example.org/a", true},
		{"https://*.example.org", "https://a.b.example.org/a", true},
		{"https://*.example.org", "https://example.org/a", false},
		{"https://*.example.org", "https://notexample.org/a", false},
		{"https://*.example.org", "https://user@git.example.org/a", false},
		{"ssh://git@git.example.org/team", "ssh://git@git.example.org/team/skills.git", true},
		{"ssh://git@git.example.org/team", "ssh://eve@git.example.org/team/skills.git", false},
		{"ssh://git@git.example.org/team", "ssh://git:pw@git.example.org/team/skills.git", false},
		{"file:", "file:skills", true},
		{"file:", "file:///srv/skills.git", true},
		{"file:", "/srv/skills", true},
		{"file:", "./skills", true},
		{"file:", "file://evil.example/skills", false},
		{"file:", "//evil.example/skills", false},
		{"https://github.com", "file:skills", false},
	} {
		p, err := ParseAddress(c.pattern)
		if err != nil {
			t.Fatalf("ParseAddress(%q): %v", c.pattern, err)
		}
		if got := p.Fits(c.address); got != c.want {
			t.Errorf("%q fits %q: %v, want %v", c.pattern, c.address, got, c.want)
		}
		again, err := ParseAddress(p.String())
		if err != nil || again.Fits(c.address) != c.want {
			t.Errorf("%q is written as %q, which differs: %v", c.pattern, p.String(), err)
		}
	}
	for _, bad := range []string{"", "github.com/acme", "*", "https://", "https://*", "https://git*.example.org", "https://*.a.*.org",
		"https://example.org/a*", "https://user:pw@example.org", "https://example.org/a?b", "https://example.org/../a", "https://example.org//a", "javascript:alert(1)"} {
		if p, err := ParseAddress(bad); !fault.Is(err, fault.Malformed) {
			t.Errorf("ParseAddress(%q) = %v, %v; want malformed", bad, p, err)
		}
	}
}

func TestDemandsOnlyTighten(t *testing.T) {
	user, err := ParseRules([]byte("policy: 1\nrequire_origin: true\nallowed_sources: [https://github.com]\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := user.Tighten([]byte("policy: 1\nrequire_origin: false\nlocked_only: true\nallowed_sources: [https://github.com/acme, https://git.example.org]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Demands.Origin || !r.Demands.Locked || r.Demands.Review || r.Demands.NoDrift {
		t.Errorf("demands %v", r.Demands.Lines())
	}
	for address, want := range map[string]bool{"https://github.com/acme/x": true, "https://github.com/eve/x": false, "https://git.example.org/x": false} {
		if got := r.Demands.Source(address) == nil; got != want {
			t.Errorf("%s allowed: %v, want %v", address, got, want)
		}
	}
	none, err := Default().Tighten([]byte("policy: 1\nallowed_sources: []\n"))
	if err != nil || none.Demands.Source("https://github.com/acme/x") == nil {
		t.Errorf("an empty list allows a source: %v", err)
	}
}

// looser has, for each field of a policy that a project can set, how it becomes milder.
var looser = []struct{ field, old, now, want string }{
	{"locked_only", "locked_only: true", "", "locked_only"},
	{"locked_only", "locked_only: true", "locked_only: false", "locked_only"},
	{"require_origin", "require_origin: true", "", "require_origin"},
	{"require_review", "require_review: true", "", "require_review"},
	{"fail_on_drift", "fail_on_drift: true", "", "fail_on_drift"},
	{"allowed_sources", "allowed_sources: [https://a.example]", "", "allowed_sources"},
	{"allowed_sources", "allowed_sources: [https://a.example]", "allowed_sources: [https://a.example, https://b.example]", "b.example"},
	{"allowed_sources", "allowed_sources: []", "allowed_sources: [https://b.example]", "b.example"},
	{"auto_approve_up_to", "auto_approve_up_to: t0", "auto_approve_up_to: t1", "auto_approve_up_to"},
	{"auto_approve_up_to", "auto_approve_up_to: t0", "", "auto_approve_up_to"},
	{"deny_from", "deny_from: t2", "deny_from: t3", "deny_from"},
	{"deny_above", "deny_above: t1", "", "deny_from"},
	{"sub_agent_policy", "sub_agent_policy: {deny_from: t2}", "", "sub_agent_policy"},
	{"approval_timeout_secs", "approval_timeout_secs: 10", "approval_timeout_secs: 20", "approval_timeout_secs"},
	{"allow_legacy", "allow_legacy: false", "", "allow_legacy"},
	{"older", "older: refuse", "", "older"},
	{"stale", "stale: refuse", "", "stale"},
	{"min_age", "min_age: 7d", "min_age: 6d", "min_age"},
	{"min_age", "min_age: 7d", "", "min_age"},
	{"min_age_except", "min_age: 7d", "min_age: 7d\nmin_age_except: [acme/*]", "min_age_except"},
	{"deny", "deny: [rye.execute.tool.acme.a, rye.execute.tool.acme.b]", "deny: [rye.execute.tool.acme.a]", "acme.b"},
	{"callers", "callers: {mcp: [rye.search.*]}", "", "callers.mcp"},
	{"callers", "callers: {mcp: [rye.search.*]}", "callers: {mcp: [rye.search.*, rye.load.*]}", "rye.load"},
	{"tool_overrides", "tool_overrides: {acme/a: t3}", "tool_overrides: {acme/a: t2}", "acme/a"},
	{"dangerous_patterns", "dangerous_patterns: [{pattern: x+, label: x}]", "dangerous_patterns: [{pattern: x+, label: x, tier: t2}]", "dangerous_patterns"},
	{"sandbox", "sandbox: S3", "sandbox: S2", "sandbox"},
	{"sandbox", "sandbox: S2", "", "sandbox"},
	{"net", "net: {allow: [a.example]}", "", "net.allow"},
	{"net", "net: {allow: []}", "net: {allow: [a.example]}", "net.allow"},
	{"net", "net: {deny: [a.example]}", "net: {deny: []}", "net.deny"},
	{"net", "net: {proxy: false}", "", "net.proxy"},
}

// Each field that tightens is noticed when it goes, and when it gets milder; its way back is none.
func TestLooser(t *testing.T) {
	for _, c := range looser {
		old, now := policyText(c.old), policyText(c.now)
		lines, err := Looser(old, now)
		if err != nil || len(lines) == 0 || !strings.Contains(strings.Join(lines, "\n"), c.want) {
			t.Errorf("from %q to %q: %q, %v; want %q", c.old, c.now, lines, err, c.want)
		}
		if lines, err := Looser(old, old); err != nil || len(lines) > 0 {
			t.Errorf("%q is looser than itself: %q, %v", c.old, lines, err)
		}
		if c.field == "dangerous_patterns" {
			continue // another tier is another pattern: it cannot be compared
		}
		if lines, err := Looser(now, old); err != nil || len(lines) > 0 {
			t.Errorf("from %q to %q is looser: %q, %v", c.now, c.old, lines, err)
		}
	}
	if lines, err := Looser(policyText("locked_only: true"), nil); err != nil || len(lines) != 1 {
		t.Errorf("the removal of the file: %q, %v", lines, err)
	}
	if lines, err := Looser(nil, policyText("locked_only: true")); err != nil || len(lines) != 0 {
		t.Errorf("a first file: %q, %v", lines, err)
	}
}

// A field that is added to policies is compared too, or is the user's alone.
func TestLooserKnowsEachField(t *testing.T) {
	usersOwn := []string{"policy", "unprotected", "elicitation", "allowed"} // Tighten refuses the last three
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for i := range typ.NumField() {
			name, option, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
			if option == "inline" {
				walk(typ.Field(i).Type)
				continue
			}
			compared := slices.ContainsFunc(looser, func(c struct{ field, old, now, want string }) bool { return c.field == name })
			if !compared && !slices.Contains(usersOwn, name) {
				t.Errorf("the field %s is in no row of this test", name)
			}
		}
	}
	walk(reflect.TypeFor[file]())
}

func policyText(lines string) []byte { return []byte("policy: 1\n" + lines + "\n") }

func FuzzLooser(f *testing.F) {
	for _, c := range looser {
		f.Add(c.old, c.now)
	}
	f.Fuzz(func(t *testing.T, old, now string) {
		if len(old)+len(now) > 4096 {
			return
		}
		a, b := policyText(old), policyText(now)
		if _, err := ParseRules(a); err != nil {
			return
		}
		if lines, err := Looser(a, a); err != nil || len(lines) > 0 {
			t.Errorf("%q is looser than itself: %q, %v", a, lines, err)
		}
		Looser(a, b)
	})
}

package policy

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// tool is an item of a shell tool with more lines of metadata.
func tool(t *testing.T, p, more string) *objects.Item {
	t.Helper()
	text := "# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n"
	for line := range strings.Lines(more) {
		text += "# " + line
	}
	it, err := objects.Parse(p, []byte(text+"\necho\n"))
	if err != nil {
		t.Fatalf("%s: %v", more, err)
	}
	return it
}

func TestWider(t *testing.T) {
	const p = "tools/acme/x.sh"
	for _, c := range []struct{ name, now, was, want string }{
		{"the same", "needs: {net: [a.example]}\n", "needs: {net: [a.example]}\n", ""},
		{"silent, both", "", "", ""},
		{"silent, and was declared", "", "needs: {read: [.]}\n", `writes "."; reaches "*"`},
		{"declared, and was silent", "needs: {read: [.], write: [out], net: [a.example]}\n", "", ""},
		{"more than silence gives", "needs: {read: [/etc], write: [/tmp/x, .], net: [unix]}\n", "", `reads "/etc"; writes "/tmp/x"; reaches "unix"`},
		{"a port", "needs: {listen: [5173, 5174]}\n", "needs: {listen: [5173]}\n", `listens at port "5174"`},
		{"a port, and was silent", "needs: {listen: [5173]}\n", "", `listens at port "5173"`},
		{"a path below", "needs: {write: [out/a]}\n", "needs: {write: [out]}\n", ""},
		{"a path beside", "needs: {write: [outer]}\n", "needs: {write: [out]}\n", `writes "outer"`},
		{"a path above", "needs: {write: [out/..]}\n", "needs: {write: [out]}\n", `writes "out/.."`},
		{"out of the project", "needs: {read: [../x]}\n", "needs: {read: [.]}\n", `reads "../x"`},
		{"everything, absolute", "needs: {read: [/]}\n", "needs: {read: [/etc]}\n", `reads "/"`},
		{"another host", "needs: {net: [b.example]}\n", "needs: {net: [a.example]}\n", `reaches "b.example"`},
		{"one port of all", "needs: {net: ['a.example:8080']}\n", "needs: {net: ['a.example:*']}\n", ""},
		{"another port", "needs: {net: ['a.example:8080']}\n", "needs: {net: [a.example]}\n", `reaches "a.example:8080"`},
		{"every host", "needs: {net: true}\n", "needs: {net: [a.example]}\n", `reaches "*"`},
		{"calls rye, and did not", "needs: {rye: [rye.load.*]}\n", "needs: {}\n", `calls rye for "rye.load.*"`},
		{"calls rye, and was silent", "needs: {rye: [rye.load.*]}\n", "", `calls rye for "rye.load.*"`},
		{"calls rye for less", "needs: {rye: [rye.execute.tool.acme.a]}\n", "needs: {rye: [rye.execute.tool.acme.*]}\n", ""},
		{"calls rye for more", "needs: {rye: [rye.execute.*]}\n", "needs: {rye: [rye.execute.tool.*]}\n", `calls rye for "rye.execute.*"`},
		{"no sandbox", "", "needs: {sandbox: S3}\n", "asks for less than sandbox S3"},
		{"a lower tier", "tier: t1\n", "tier: t2\n", "is of tier t1, not t2"},
		{"no tier", "", "tier: t2\n", "is of tier t0, not t2"},
		{"a higher tier", "tier: t3\n", "tier: t2\n", ""},
		{"a tier in another's words", "tier: T2\n", "tier: t2\n", ""},
		{"no limit", "", "limits: {memory: 100}\n", "has no limit memory"},
		{"a larger limit", "limits: {memory: 200}\n", "limits: {memory: 100}\n", "has the limit memory: 200, not 100"},
		{"a smaller limit", "limits: {memory: 50, time: 3}\n", "limits: {memory: 100, time: 4s}\n", ""},
		{"a larger limit, in units", "limits: {memory: 1GiB}\n", "limits: {memory: 1MiB}\n", "has the limit memory: 1GiB, not 1MiB"},
		{"the same limit in another unit", "limits: {memory: 1GiB, cpu: 1m}\n", "limits: {memory: 1024MiB, cpu: 60}\n", ""},
		{"a limit instead of the usual", "limits: {processes: 4000}\n", "", "has the limit processes: 4000, not the usual one"},
		{"a longer run", "config: {timeout: 90}\n", "config: {timeout: 30}\n", "has the limit config.timeout: 90, not 30"},
		{"another environment", "env_config: {env: {A: b}}\n", "", "has another environment"},
		{"another variable", "config: {env: {LD_PRELOAD: x}}\n", "", "has another environment"},
		{"another anchor", "anchor: {env_paths: {PATH: {prepend: [x]}}}\n", "", "has another environment"},
	} {
		got := strings.Join(Wider(tool(t, p, c.now), tool(t, p, c.was)), "; ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	other := tool(t, "tools/acme/x.bash", "")
	other.Meta.Executor = "acme/runtime"
	if got := strings.Join(Wider(other, tool(t, p, "")), "; "); !strings.Contains(got, "file .bash") || !strings.Contains(got, `"acme/runtime"`) {
		t.Errorf("another executor: %q", got)
	}
}

func TestWiderCapabilities(t *testing.T) {
	for _, c := range []struct{ now, was, want string }{
		{"rye.execute.tool.acme.a", "rye.execute.tool.acme.*", ""},
		{"rye.execute.tool.*", "rye.execute.tool.acme.*", "holds rye.execute.tool.*"},
		{"rye.execute.tool.acme.a rye.load.*", "rye.execute.*", "holds rye.load.*"},
		{"", "rye.load.*", "declares no capabilities"},
		{"rye.load.*", "", "holds rye.load.*"},
		{"", "", ""},
	} {
		now, was := &objects.Item{}, &objects.Item{}
		now.Meta.Permissions, was.Meta.Permissions = strings.Fields(c.now), strings.Fields(c.was)
		if got := strings.Join(Wider(now, was), "; "); got != c.want {
			t.Errorf("%q after %q: %q, want %q", c.now, c.was, got, c.want)
		}
	}
}

// TestOlderIsTightenedOnly: a project can refuse what is older, or stale, and not allow it again.
func TestOlderIsTightenedOnly(t *testing.T) {
	const refuse = "policy: 1\nolder: refuse\n"
	for _, c := range []struct {
		user, project string
		want          bool
	}{{"", "", false}, {refuse, "", true}, {"", refuse, true}, {refuse, "policy: 1\n", true}, {refuse, refuse, true}} {
		r, err := ParseRules([]byte(c.user))
		if err == nil {
			r, err = r.Tighten([]byte(c.project))
		}
		if err != nil || r.RefuseOlder != c.want {
			t.Errorf("user %q, project %q: %t, %v, want %t", c.user, c.project, r.RefuseOlder, err, c.want)
		}
	}
	for _, c := range []struct{ user, project string }{{"stale: refuse\n", ""}, {"", "stale: refuse\n"}} {
		r, err := ParseRules([]byte("policy: 1\n" + c.user))
		if err == nil {
			r, err = r.Tighten([]byte("policy: 1\n" + c.project))
		}
		if err != nil || !r.RefuseStale {
			t.Errorf("user %q, project %q: stale is not refused (%v)", c.user, c.project, err)
		}
	}
	for _, text := range []string{"stale: allow", "stale: true", "older: allow", "older: true", "older: [refuse]", "older: Refuse"} {
		if _, err := ParseRules([]byte("policy: 1\n" + text + "\n")); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
}

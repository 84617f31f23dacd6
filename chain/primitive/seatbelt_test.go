package primitive

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

var update = flag.Bool("update", false, "write the golden profiles anew")

// seatbeltCases are runs as the needs of tools make them, in a project of Ann's.
var seatbeltCases = []struct {
	name string
	call Call
}{
	{"no_needs", Call{}},
	{"read_project", Call{Sandbox: Sandbox{Read: []string{"/Users/ann/w"}, Exec: []string{"/Users/ann/w"}}}},
	{"write_src", Call{Sandbox: Sandbox{
		Read: []string{"/Users/ann/w"}, Write: []string{"/Users/ann/w/src"},
		Protect: []string{"/Users/ann/w/.ai", "/Users/ann/w/src/sub/.git"},
	}}},
	{"net_hosts", Call{Sandbox: Sandbox{Net: true, Ports: []uint16{443, 5432}, Hosts: []string{"api.x.org", "db.x.org:5432"}}}},
	{"net_all", Call{Sandbox: Sandbox{Net: true}}},
	{"sockets", Call{Sandbox: Sandbox{Unix: true, Hide: []string{"/Users/ann/.ssh"}}}},
	{"secrets_hidden", Call{Sandbox: Sandbox{
		Read: []string{"/Users/ann/w"}, Write: []string{"/Users/ann/w"}, Create: []string{"/Users/ann/out"},
		Hide: []string{"/Users/ann/w/.env", "/Users/ann/.ssh", "/Users/ann/w/link"},
	}}},
	{"characters", Call{Sandbox: Sandbox{Read: []string{
		`/Users/ann/a "quoted" name`, `/Users/ann/back\slash`, "/Users/ann/line\nfeed", "/Users/ann/tab\tbell\a", "/Users/ann/del\x7f",
		`/Users/ann/")) (allow default) (x "`, `/Users/ann/a=b`, "/Users/ann/ü",
	}}}},
	{"system_links", Call{Argv: []string{"/usr/bin/python3"}, Dir: "/tmp/w", Temp: "/var/folders/x/T/rye", Sandbox: Sandbox{
		Read: []string{"/tmp/w"}, Write: []string{"/tmp/w/out"}, Protect: []string{"/var/folders/x/T"}, Hide: []string{"/tmp/secret"},
	}}},
	{"links", Call{Argv: []string{"/Users/ann/bin/python"}, Sandbox: Sandbox{Read: []string{"/Users/ann/w/link", "/Users/ann/w/src", "relative", ""}}}},
}

// annsLinks is the file system of the cases: a path behind a link, and its target.
func annsLinks(p string) string {
	for link, target := range map[string]string{"/tmp": "/private/tmp", "/var": "/private/var", "/Users/ann/w/link": "/Users/ann/.aws", "/Users/ann/bin/python": "/opt/py/bin/python3"} {
		if within(p, link) {
			return target + p[len(link):]
		}
	}
	return p
}

// TestSeatbelt compares the profiles with golden files. No system here can run them.
func TestSeatbelt(t *testing.T) {
	for _, c := range seatbeltCases {
		t.Run(c.name, func(t *testing.T) {
			p, err := seatbelt(&c.call, annsLinks)
			if err != nil {
				t.Fatal(err)
			}
			wellFormed(t, p)
			base, rules, _ := strings.Cut(p.text, seatbeltBase)
			if base != "" {
				t.Error("the base does not come first")
			}
			for _, v := range p.values {
				rules += fmt.Sprintf("-D %q\n", v)
			}
			compare(t, c.name, rules)
		})
	}
	compare(t, "base", seatbeltBase)
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "seatbelt", name+".sb")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s differs:\n%s", file, got)
	}
}

// TestSeatbeltRefuses: a path through a link is not writable.
func TestSeatbeltRefuses(t *testing.T) {
	for _, s := range []Sandbox{{Write: []string{"/Users/ann/w/link"}}, {Create: []string{"/Users/ann/w/link/x"}}, {Write: []string{"w"}}} {
		if _, err := seatbelt(&Call{Sandbox: s}, annsLinks); !fault.Is(err, fault.Denied) {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// TestSeatbeltArguments: each path is one argument of sandbox-exec, after -D.
func TestSeatbeltArguments(t *testing.T) {
	path := `/Users/ann/a "b" (c)`
	p, err := seatbelt(&Call{Sandbox: Sandbox{Read: []string{path}}}, annsLinks)
	if err != nil {
		t.Fatal(err)
	}
	argv := p.argv([]string{"/bin/echo", "-p", "x"})
	i := slices.Index(argv, "READ_0="+path)
	if i < 1 || argv[i-1] != "-D" || argv[0] != "/usr/bin/sandbox-exec" || !slices.Equal(argv[len(argv)-5:], []string{"-p", p.text, "/bin/echo", "-p", "x"}) {
		t.Errorf("%q", argv)
	}
}

// TestSeatbeltUnbound: what the profile does not limit is parameters, and that it is untested.
func TestSeatbeltUnbound(t *testing.T) {
	got := strings.Join(seatbeltUnbound(&Sandbox{Net: true, Ports: []uint16{443}, Hosts: []string{"api.x.org"}}), "\n")
	for _, want := range []string{"untested here", "resource limits", "shared memory", "limits only ports, here to 443", "not only api.x.org"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// TestSeatbeltStanding: rye doctor says that the profile is untested, or why there is none.
func TestSeatbeltStanding(t *testing.T) {
	for _, c := range []struct{ system, no, want string }{
		{"darwin", "", "untested here"},
		{"darwin", "sandbox-exec refuses it", "no Seatbelt profile is used: sandbox-exec refuses it"},
		{"windows", "only macOS has it", "only Linux has namespaces"},
	} {
		if got := noDeeper(c.system, c.no); !strings.Contains(got, c.want) || c.system == "windows" && got != c.want {
			t.Errorf("noDeeper(%q, %q) = %q", c.system, c.no, got)
		}
	}
}

var (
	texts      = regexp.MustCompile(`"[^"]*"`)
	constants  = regexp.MustCompile(`^"([A-Z]+_[0-9]+|[a-zA-Z0-9/.*:_-]*)"$`)
	syntax     = regexp.MustCompile(`^[a-z0-9()*; \n-]*$`)
	parameters = regexp.MustCompile(`\(param "([A-Z]+_[0-9]+)"\)`)
)

// wellFormed fails unless the text has nothing of a path in it: its strings are constants or names
// of parameters, its brackets match, and each parameter has one value.
func wellFormed(t *testing.T, p profile) {
	t.Helper()
	rules := strings.TrimPrefix(p.text, seatbeltBase)
	for _, s := range texts.FindAllString(rules, -1) {
		if !constants.MatchString(s) {
			t.Errorf("string %s", s)
		}
	}
	left := texts.ReplaceAllString(strings.ReplaceAll(rules, "AF_UNIX", ""), "")
	if !syntax.MatchString(left) || strings.Count(left, "(") != strings.Count(left, ")") {
		t.Errorf("outside of strings: %q", left)
	}
	values := map[string]bool{}
	for _, v := range p.values {
		name, _, _ := strings.Cut(v, "=")
		if values[name] {
			t.Errorf("%s has two values", name)
		}
		values[name] = true
	}
	for _, m := range parameters.FindAllStringSubmatch(rules, -1) {
		if !values[m[1]] {
			t.Errorf("%s has no value", m[1])
		}
	}
}

// FuzzSeatbelt: no path can end its string, become a rule, or change another one.
func FuzzSeatbelt(f *testing.F) {
	for _, p := range []string{"/a", "", ".", "/", `/"`, `/\"`, "/a\n(allow default)", `/")) (allow default) ((x "`, "/tmp/../etc", "/a=b", "/\x00", "//", "/Users/ann/w/link/x", "-p"} {
		f.Add(p, "/Users/ann/w")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		for _, s := range []Sandbox{
			{Read: []string{one, two}, Exec: []string{two, one}, Protect: []string{one}, Hide: []string{two}, Net: true, Unix: true},
			{Write: []string{one}, Create: []string{two}, Protect: []string{two, one}, Hide: []string{one + "/x"}},
		} {
			p, err := seatbelt(&Call{Argv: []string{one}, Dir: two, Temp: one, Sandbox: s}, annsLinks)
			if err != nil {
				continue
			}
			wellFormed(t, p)
		}
	})
}

package clients

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/fault"
)

var update = flag.Bool("update", false, "write the golden file anew")

var (
	program = Server{Command: "/opt/rye bin/rye", Args: []string{"mcp"}}
	older   = Server{Command: "/old/rye", Args: []string{"mcp", "-C", "/gone"}}
	address = Server{URL: "http://127.0.0.1:7777/mcp", Token: "tok\u007fen\"<&>"}
	byName  = Server{URL: "https://rye.example.org/mcp", Var: "RYE_MCP_TOKEN"}
)

// others are files with servers of others and comments, by format; MAP is the client's name
// for them.
var others = map[format][]string{
	strict: {
		"{\n  \"theme\": \"dark\",\n  \"MAP\": {\n    \"other\": {\n      \"command\": \"x\",\n      \"args\": [\"a\", \"}\"]\n    }\n  },\n  \"n\": 12345678901234567890\n}\n",
		"{\r\n\t\"MAP\": {\r\n\t\t\"other\": {\"url\": \"https://x\"}\r\n\t}\r\n}\r\n",
		`{"MAP":{"other":{"command":"x"}},"b":[1,{"c":null}]}`,
		`{ "MAP": { "a": {"command": "x"}, "b": {"command": "y"} } }`,
	},
	commented: {
		"// mine\n{\n  \"theme\": \"dark\", // \"rye\"\n  \"MAP\": {\n    /* keep { this */\n    \"other\": {\"command\": \"x\",}, // and this\n    // this too\n  },\n}\n",
		"\xef\xbb\xbf{\n    \"MAP\": {\n        \"a\": {}, /* x */ \"b\": [1, 2,] // last\n    } // end\n    // really\n}",
		"{\n  \"MAP\": {\n    \"other\": {\"command\": \"//x\"} // no comma\n    // ,\n  }\n}\n",
	},
	tables: {
		"# mine\nmodel = \"o\" # why\n\n[MAP.other]\ncommand = \"x\"\nargs = [\n  \"a\", # first\n  \"[MAP.rye]\",\n]\n\n[MAP.other.env]\nK = '''\n[MAP.rye]\n'''\n\n# the last\n[tui]\ntheme = 'dark'\n",
		"[MAP.other]\r\ncommand = \"x\"\r\n",
		"[[profile]]\nname = \"a\"\n[[profile]]\nname = \"b\"\n[MAP]\nother = { command = \"x\" }",
	},
	block: {
		"# mine\nGOOSE_MODEL: o # why\nMAP:\n  # keep\n  other:\n    type: stdio\n    cmd: x\n    args:\n    - a\n    - 'rye: b'\n    text: |\n      rye:\n        no\n\n  # the last\nlast: [1, 2]\n",
		"MAP:\r\n    other:\r\n        cmd: x\r\n",
		"a: \"x\n  MAP: y\"\nMAP:\n  other: {cmd: x}",
	},
}

func texts(c Client) (all []string) {
	for _, text := range others[c.format] {
		all = append(all, strings.ReplaceAll(text, "MAP", c.servers))
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestEveryClient: in every file of every client the entry comes in, is read back, changes,
// keeps what the user added to it, and goes without a trace.
func TestEveryClient(t *testing.T) {
	for _, c := range All() {
		servers := []Server{program, older}
		if c.CanCall(false) == nil {
			servers = append(servers, address)
		}
		if c.CanCall(true) == nil {
			servers = append(servers, byName)
		}
		for i, text := range texts(c) {
			for j, s := range servers {
				t.Run(fmt.Sprintf("%s/%d/%d", c.Name, i, j), func(t *testing.T) { journey(t, c, text, s) })
			}
		}
		for name, text := range map[string]string{"no file": "", "blanks": "\n", "no servers": empties(c)[0], "null or none": empties(c)[1]} {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				with := must(c.With([]byte(text), program, false))
				without := must(c.Without(with))
				before, after := must(c.format.values([]byte(text))), must(c.format.values(without))
				if !reflect.DeepEqual(c.rest(before), c.rest(after)) {
					t.Errorf("%q became\n%s\nand then\n%s", text, with, without)
				}
			})
		}
	}
}

// empties are files in which there is no server yet.
func empties(c Client) [2]string {
	switch c.format {
	case tables:
		return [2]string{"a = 1\n", "[" + c.servers + "]\n"}
	case block:
		return [2]string{"a: 1\n", c.servers + ": {} # none\nb: 2\n"}
	}
	return [2]string{"{}", "{\"" + c.servers + "\": {}}"}
}

func journey(t *testing.T, c Client, text string, s Server) {
	with := must(c.With([]byte(text), s, false))
	got, found, err := c.Entry(with)
	if err != nil || !found || !same(got, s) {
		t.Fatalf("read back %+v, %v, %v, want %+v in\n%s", got, found, err, s, with)
	}
	rest := []byte(text) // every byte of it is still there, in its order
	for _, b := range with {
		if len(rest) > 0 && rest[0] == b {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		t.Errorf("%q is gone from\n%s", rest, with)
	}
	if again := must(c.With(with, s, false)); !bytes.Equal(again, with) {
		t.Errorf("a second time it became\n%s", again)
	}
	if back := must(c.Without(with)); string(back) != text {
		t.Errorf("with:\n%s\nwithout: %q\nbefore:  %q", with, back, text)
	}
	changed := must(c.With(with, older, false))
	if got, _, _ := c.Entry(changed); !same(got, older) {
		t.Errorf("%+v became %+v in\n%s", s, got, changed)
	}
	if back := must(c.Without(changed)); string(back) != text {
		t.Errorf("changed:\n%s\nwithout: %q\nbefore:  %q", changed, back, text)
	}
	if replaced := must(c.With(changed, s, true)); string(must(c.Without(replaced))) != text {
		t.Errorf("replaced:\n%s", replaced)
	}
}

// TestUsersAdditionsStay: what the user wrote into our entry stays when it is brought up to date.
func TestUsersAdditionsStay(t *testing.T) {
	for _, tc := range []struct{ client, before, want string }{
		{"cursor", `{"mcpServers": {"rye": {"command": "/old/rye", "args": ["mcp", "-C", "/gone"], "env": {"RYE_KEY": "work"} /* mine */}}}`,
			`{"mcpServers": {"rye": {"command": "/opt/rye bin/rye", "args": ["mcp"], "env": {"RYE_KEY": "work"} /* mine */}}}`},
		{"opencode", "{\"mcp\": {\"rye\": {\n  \"type\": \"local\", \"command\": [\"/old/rye\", \"mcp\", \"-C\", \"/gone\"], \"enabled\": false}}}",
			"{\"mcp\": {\"rye\": {\n  \"type\": \"local\", \"command\": [\"/opt/rye bin/rye\", \"mcp\"], \"enabled\": false}}}"},
		{"codex", "[mcp_servers.rye] # mine\ncommand = '/old/rye' # old\nargs = [\"mcp\",\n  '-C', '/gone']\nstartup_timeout_sec = 9\n\n[mcp_servers.rye.env]\nRYE_KEY = \"work\"\n",
			"[mcp_servers.rye] # mine\ncommand = \"/opt/rye bin/rye\" # old\nargs = [\"mcp\"]\nstartup_timeout_sec = 9\n\n[mcp_servers.rye.env]\nRYE_KEY = \"work\"\n"},
		{"goose", "extensions:\n  rye:\n    # mine\n    name: rye\n    type: stdio\n    cmd: /old/rye\n    args:\n    - mcp\n    - -C\n    - /gone\n    enabled: false\n    envs: {RYE_KEY: work}\n",
			"extensions:\n  rye:\n    # mine\n    name: rye\n    type: stdio\n    cmd: \"/opt/rye bin/rye\"\n    args: [\"mcp\"]\n    enabled: false\n    envs: {RYE_KEY: work}\n    timeout: 300\n"},
	} {
		c, err := Find(tc.client)
		if err != nil {
			t.Fatal(err)
		}
		if s, _, err := c.Entry([]byte(tc.before)); err != nil || !same(s, older) || !s.IsRye() {
			t.Fatalf("%s: read %+v, %v", tc.client, s, err)
		}
		if got := must(c.With([]byte(tc.before), program, false)); string(got) != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.client, got, tc.want)
		}
	}
}

// TestRefused: a text that does not parse, or in which nobody could tell which entry counts,
// is left alone.
func TestRefused(t *testing.T) {
	for _, tc := range []struct{ client, text string }{
		{"claude-code", `{"mcpServers": {`}, {"claude-code", `{"mcpServers": {},}`}, {"claude-code", "// x\n{}"}, {"claude-code", "\xef\xbb\xbf{}"},
		{"claude-code", `[]`}, {"claude-code", `null`}, {"claude-code", `{"mcpServers": []}`}, {"claude-code", `{"mcpServers": {"rye": 3}}`},
		{"claude-code", `{"mcpServers": {}, "mcpServers": {"rye": {"command": "evil"}}}`},
		{"claude-code", `{"mcpServers": {"rye": {}, "rye": {"command": "evil"}}}`},
		{"claude-code", `{"mcpServers": {"rye": {}, "\u0072ye": {"command": "evil"}}}`},
		{"vscode", `{"servers": {} /* }`}, {"vscode", `{"servers": {,}}`}, {"vscode", `{"a": [1,,]}`}, {"vscode", "{\"a\": 1} x"},
		{"codex", "mcp_servers = 1\n"}, {"codex", "[a\n"}, {"codex", "a = 1\na = 2\n"}, {"codex", "[mcp_servers]\nrye = 1\n"},
		{"codex", "mcp_servers = { other = { command = 'x' } }\n"}, {"codex", "[[mcp_servers]]\nx = 1\n"},
		{"goose", "a: [\n"}, {"goose", "extensions: [a]\n"}, {"goose", "extensions: {other: {cmd: x}}\n"}, {"goose", "- a\n"},
		{"goose", "extensions: &a\n  x: 1\n"}, {"goose", "extensions:\n  rye: 1\n"}, {"goose", "{extensions: {}}\n"}, {"goose", "a: 1\n---\nb: 2\n"},
	} {
		c, err := Find(tc.client)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.With([]byte(tc.text), program, false)
		if !fault.Is(err, fault.Malformed) || got != nil {
			t.Errorf("%s: %q: %v\n%s", tc.client, tc.text, err, got)
		}
	}
	if _, err := all[0].With(bytes.Repeat([]byte(" "), MaxFile+1), program, false); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v", err)
	}
}

// TestChangesAreJudged: an edit counts only when the entry is what was wanted, and the rest is
// what it was.
func TestChangesAreJudged(t *testing.T) {
	c, err := Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	const right = `{"a": [1.0], "mcpServers": {"b": {"command": "x"}, "rye": {"command": "/opt/rye bin/rye", "args": ["mcp"]}}}`
	before := must(c.format.values([]byte(`{"a": [1.0], "mcpServers": {"b": {"command": "x"}}}`)))
	for text, want := range map[string]bool{
		right:                                             true,
		strings.Replace(right, "1.0", "1", 1):             false,
		strings.Replace(right, `"x"`, `"y"`, 1):           false,
		strings.Replace(right, `"b"`, `"c"`, 1):           false,
		strings.Replace(right, `"a"`, `"d"`, 1):           false,
		strings.Replace(right, `"mcp"]`, `]`, 1):          false,
		strings.Replace(right, "rye\": {", "ryd\": {", 1): false,
		right[1:]: false,
	} {
		if got := c.holds([]byte(text), program, before); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestFormsOfItsOwn: an entry that is written in another way than rye would is replaced, or
// taken out, as a whole.
func TestFormsOfItsOwn(t *testing.T) {
	for _, tc := range []struct{ client, text string }{
		{"codex", "mcp_servers.rye.command = '/old/rye'\nmcp_servers.rye.args = ['mcp']\na = 1\n"},
		{"codex", "[mcp_servers]\nrye = { command = '/old/rye', args = ['mcp'] }\nb = { command = 'x' }\n"},
		{"codex", "[mcp_servers.rye]\nurl = 'https://x'\n[mcp_servers.rye.http_headers]\nAuthorization = 'Bearer a'\n[c]\n"},
	} {
		c, err := Find(tc.client)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Server{program, address} {
			with := must(c.With([]byte(tc.text), s, false))
			if got, _, err := c.Entry(with); err != nil || !same(got, s) {
				t.Errorf("%q became\n%s: %v", tc.text, with, err)
			}
			must(c.Without(with))
		}
		must(c.Without([]byte(tc.text)))
	}
}

// TestAnyText: whatever the text, the result parses, has the entry, and says the same
// otherwise; and it goes out again as it came.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		gap := func() string {
			return rapid.SampledFrom([]string{"", " ", "\n", "\n  ", " // c\n", "/* , } */", "\r\n\t", " /**/ "}).Draw(t, "gap")
		}
		var value func(depth int) string
		value = func(depth int) string {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				return rapid.SampledFrom([]string{`1`, `-2.5e3`, `"a"`, `"\"}, // {"`, `null`, `true`, `[]`, `{}`, `[1, "]"]`}).Draw(t, "value")
			}
			b := "{" + gap()
			n := rapid.IntRange(0, 3).Draw(t, "n")
			for i := range n {
				b += fmt.Sprintf(`"k%d"`, i) + gap() + ":" + gap() + value(depth-1) + gap()
				if i < n-1 || rapid.Bool().Draw(t, "trailing") {
					b += "," + gap()
				}
			}
			return b + "}"
		}
		b.WriteString(gap() + `{` + gap() + `"x":` + value(2) + `,` + gap() + `"servers"` + gap() + ":" + gap() + `{` + gap() + `"other":` + value(2) + gap())
		b.WriteString(rapid.SampledFrom([]string{"", ",", `, "more": {}`}).Draw(t, "rest") + gap() + "}" + gap() + rapid.SampledFrom([]string{"", ","}).Draw(t, "end") + gap() + "}" + gap())
		c, _ := Find("vscode")
		with, err := c.With([]byte(b.String()), program, false)
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		without, err := c.Without(with)
		if err != nil || string(without) != b.String() {
			t.Fatalf("%q became\n%s\nand then %q: %v", b.String(), with, without, err)
		}
	})
}

// fuzz is the property of an editor: no panic; and what it makes of a text that it takes
// parses, has the entry, and says the same otherwise.
func fuzz(f *testing.F, names ...string) {
	for _, name := range names {
		c, err := Find(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, text := range append(texts(c), empties(c)[0], empties(c)[1]) {
			f.Add([]byte(text))
			with, err := c.With([]byte(text), older, false)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(with)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, name := range names {
			c, _ := Find(name)
			before, _, err := c.open(raw)
			if err != nil {
				continue
			}
			old := maps.Clone(before)
			for _, replace := range []bool{false, true} {
				with, err := c.With(raw, program, replace)
				if err != nil {
					continue
				}
				after, entry, err := c.open(with)
				if err != nil || !same(c.read(entry), program) || !reflect.DeepEqual(c.rest(old), c.rest(after)) {
					t.Fatalf("%s: %q became %q: %v", name, raw, with, err)
				}
				if without, err := c.Without(with); err == nil {
					if left, entry, err := c.open(without); err != nil || entry != nil || !reflect.DeepEqual(c.rest(old), c.rest(left)) {
						t.Fatalf("%s: %q became %q and then %q: %v", name, raw, with, without, err)
					}
				}
			}
		}
	})
}

func FuzzJSON(f *testing.F) { fuzz(f, "claude-code", "vscode", "opencode") }
func FuzzTOML(f *testing.F) { fuzz(f, "codex") }
func FuzzYAML(f *testing.F) { fuzz(f, "goose") }

// TestPaths: each client's files, on each system.
func TestPaths(t *testing.T) {
	machines := []Machine{
		{OS: "linux", Home: "/home/ann", Getenv: env(nil)},
		{OS: "darwin", Home: "/Users/ann", Getenv: env(nil)},
		{OS: "windows", Home: `C:\Users\ann`, Getenv: env(map[string]string{"APPDATA": `C:\Users\ann\AppData\Roaming`, "LOCALAPPDATA": `C:\Users\ann\AppData\Local`})},
	}
	var got strings.Builder
	for _, c := range All() {
		for _, m := range machines {
			fmt.Fprintf(&got, "%-14s %-8s %s\n", c.Name, m.OS, strings.Join(c.Paths(User, m), " | "))
		}
		fmt.Fprintf(&got, "%-14s %-8s %s\n", c.Name, "project", strings.Join(c.Paths(Project, Machine{}), " | "))
	}
	golden := filepath.Join("testdata", "paths.txt")
	if *update {
		must(0, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	raw := must(os.ReadFile(golden))
	if got.String() != string(raw) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), raw)
	}
}

func env(m map[string]string) func(string) string { return func(name string) string { return m[name] } }

// TestPathsFollowVariables: a variable that names a directory is followed, one that is
// relative is not, and without a home nothing is guessed.
func TestPathsFollowVariables(t *testing.T) {
	for _, tc := range []struct {
		client, os, home string
		vars             map[string]string
		want             string
	}{
		{"codex", "linux", "/h", map[string]string{"CODEX_HOME": "/c"}, "/c/config.toml"},
		{"codex", "linux", "/h", map[string]string{"CODEX_HOME": "c"}, "/h/.codex/config.toml"},
		{"codex", "linux", "", nil, ""},
		{"codex", "windows", `C:\h`, map[string]string{"CODEX_HOME": `D:\c`}, `D:\c\config.toml`},
		{"zed", "linux", "/h", map[string]string{"XDG_CONFIG_HOME": "/x/"}, "/x/zed/settings.json"},
		{"claude-desktop", "windows", `C:\h`, nil, `C:\h\AppData\Roaming\Claude\claude_desktop_config.json`},
		{"cline-cli", "linux", "/h", map[string]string{"CLINE_DIR": "/c"}, "/c/data/settings/cline_mcp_settings.json"},
		{"copilot-cli", "linux", "/h", map[string]string{"XDG_CONFIG_HOME": "/x"}, "/x/mcp-config.json"},
	} {
		c, err := Find(tc.client)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Paths(User, Machine{OS: tc.os, Home: tc.home, Getenv: env(tc.vars)})
		if strings.Join(got, " ") != tc.want && (len(got) == 0 || got[0] != tc.want) {
			t.Errorf("%s on %s: %q, want %q", tc.client, tc.os, got, tc.want)
		}
	}
}

// TestIsRye: whose entry it is, is told by the program and what it is told to do.
func TestIsRye(t *testing.T) {
	for _, tc := range []struct {
		s    Server
		want bool
	}{
		{program, true}, {older, true}, {Server{Command: `C:\x\rye.exe`, Args: []string{"mcp", "serve"}}, true},
		{Server{Command: "rye", Args: []string{"mcp"}}, true}, {Server{Command: "rye"}, false}, {Server{Command: "rye", Args: []string{"mcp", "install"}}, false},
		{Server{Command: "rye", Args: []string{"run", "mcp"}}, false}, {Server{Command: "bye", Args: []string{"mcp"}}, false}, {address, false},
	} {
		if got := tc.s.IsRye(); got != tc.want {
			t.Errorf("%+v: %v", tc.s, got)
		}
	}
	if dirs := (Server{Args: []string{"mcp", "-C", "/a", "--project", "/b"}}).Dirs(); !slices.Equal(dirs, []string{"/a", "/b"}) {
		t.Errorf("dirs %q", dirs)
	}
}

// TestNames: a client that is not known is refused, one that is nearly known is named.
func TestNames(t *testing.T) {
	if _, err := Find("claudecode"); !fault.Is(err, fault.NotFound) || !strings.Contains(fault.HintOf(err).String(), "claude-code?") {
		t.Errorf("%v, %v", err, fault.HintOf(err))
	}
	names := Names()
	if sorted := slices.Clone(names); len(slices.Compact(slices.Sorted(slices.Values(sorted)))) != len(names) {
		t.Errorf("a name is there twice: %q", names)
	}
}

// TestNestedTooDeep: a file that is nested without end is refused before it is read, wherever
// comments or strings seem to hide its brackets.
func TestNestedTooDeep(t *testing.T) {
	deep := strings.Repeat("[", 1<<20)
	for name, text := range map[string]string{
		"plain":                 deep,
		"after a comment":       `/* " */` + deep,
		"after a line comment":  "// \"\n" + deep,
		"after a string":        `{"a\"//": ` + deep,
		"after an open comment": "{" + deep + "/*",
	} {
		for _, f := range []format{strict, commented} {
			if _, err := f.values([]byte(text)); !fault.Is(err, fault.Limit) {
				t.Errorf("%s: %v, want code %q", name, err, fault.Limit)
			}
		}
	}
	for _, text := range []string{`{"a": "` + deep + `"}`, "{/*" + deep + "*/}", "{}//" + deep} {
		if _, err := commented.values([]byte(text)); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

package trust

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

// What one hostile text may cost at most, whatever it is: reading it, refusing it,
// or accepting it as an item and finding its mistakes.
const (
	boundTime  = 2 * time.Second // of the processor; the slowest row takes a tenth
	boundBytes = 160 << 20       // allocated in all, most of it given back at once
)

// within runs a parser on a text and fails when it takes more than the bounds.
func within(t *testing.T, name string, parse func() error) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := testkit.CPUTime()
	err := parse()
	took := testkit.CPUTime() - start
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > boundBytes {
		t.Errorf("%s: allocated %d bytes, want at most %d", name, n, boundBytes)
	}
	if took > boundTime {
		t.Errorf("%s: took %s of the processor, want at most %s", name, took, boundTime)
	}
	return err
}

// bombs are texts in the syntax of one dialect, by what they are.
type bombs struct{ nested, aliases, number string }

// laughs is a billion of aliases in YAML, below a head.
func laughs(head string) string {
	s := head + "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		s += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return s
}

func commented(sign, yaml string) string {
	return sign + " " + strings.ReplaceAll(strings.TrimSuffix(yaml, "\n"), "\n", "\n"+sign+" ") + "\n"
}

// itemBombs returns the bombs in every dialect of items.
func itemBombs() map[string]bombs {
	const deep = 200_000
	digits := strings.Repeat("9", 100_000)
	yaml := bombs{
		nested:  "version: 1.0.0\na: " + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "\n",
		aliases: laughs("version: 1.0.0\n"),
		number:  "version: " + digits + "." + digits + ".0\nn: 1e" + digits + "\nm: 0x" + digits + "\n",
	}
	xml := func(inner string) string {
		return "```xml\n<directive name=\"x\" version=\"1.0.0\">" + inner + "</directive>\n```\n"
	}
	entities := "<!DOCTYPE d [<!ENTITY a \"x\">"
	for i := range 9 {
		entities += fmt.Sprintf("<!ENTITY a%d \"%s\">", i, strings.Repeat("&a;", 10))
	}
	all := map[string]bombs{
		"tools/acme/x.yaml": yaml, "config/acme/x.yaml": yaml, "knowledge/acme/x.yaml": yaml,
		"knowledge/acme/front.md":  {"---\n" + yaml.nested + "---\n", "---\n" + yaml.aliases + "---\n", "---\n" + yaml.number + "---\n"},
		"knowledge/acme/fence.md":  {"```yaml\n" + yaml.nested + "```\n", "```yaml\n" + yaml.aliases + "```\n", "```yaml\n" + yaml.number + "```\n"},
		"directives/acme/front.md": {"---\n" + yaml.nested + "---\n", "---\n" + yaml.aliases + "---\n", "---\n" + yaml.number + "---\n"},
		"directives/acme/x.md": {
			nested:  xml(strings.Repeat("<a>", deep) + strings.Repeat("</a>", deep)),
			aliases: xml(entities + "]>&a8;"),
			number:  xml("<metadata><limits turns=\"" + digits + "\" spend=\"1e" + digits + "\" max_tokens=\"-" + digits + "\"/></metadata>&#" + digits + ";"),
		},
		"tools/acme/x.py": {
			nested:  "__version__ = '1.0.0'\nCONFIG = " + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "\n",
			aliases: "__version__ = '1.0.0'\nCONFIG = " + strings.Repeat("'x' * 99999999 * ", 10_000) + "1\n",
			number:  "__version__ = '1.0.0'\nCONFIG = {'a': " + digits + ", 'b': 1e" + digits + ", 'c': 0x" + digits + ", 'd': 9**9**9**9}\n",
		},
		"tools/acme/x.json": {
			nested:  `{"version":"1.0.0","a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}",
			aliases: `{"version":"1.0.0",` + strings.TrimSuffix(strings.Repeat(`"a":{"$ref":"#/a"},`, 10_000), ",") + "}",
			number:  `{"version":"1.0.0","a":` + digits + `,"b":1e` + digits + `,"c":-0.` + digits + "}",
		},
	}
	for ext, sign := range map[string]string{".sh": "#", ".js": "//", ".ts": "//", ".toml": "#", ".sql": "--"} {
		all["tools/acme/x"+ext] = bombs{commented(sign, yaml.nested), commented(sign, yaml.aliases), commented(sign, yaml.number)}
	}
	return all
}

// TestBoundsOfItems: every dialect of items, signed or not.
func TestBoundsOfItems(t *testing.T) {
	st := storeOf(t, newKey(t))
	all := itemBombs()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		b := all[path]
		open := func(raw []byte) func() error {
			return func() error {
				it, err := objects.Parse(path, raw)
				if err == nil {
					it.Validate()
					_, err = Verify(it, inA, st)
				}
				return err
			}
		}
		for name, text := range map[string]string{"nesting": b.nested, "aliases": b.aliases, "huge numbers": b.number} {
			if err := within(t, path+": "+name, open([]byte(text))); err == nil {
				t.Errorf("%s: %s: accepted", path, name)
			} else if c := fault.CodeOf(err); c != fault.Malformed && c != fault.Limit && c != fault.Untrusted {
				t.Errorf("%s: %s: %v (%s)", path, name, err, c)
			}
		}
		err := within(t, path+": 100 MB", open(make([]byte, 100<<20)))
		if c := fault.CodeOf(err); c != fault.Malformed && c != fault.Limit {
			t.Errorf("%s: 100 MB: %v", path, err)
		}
	}
}

// TestBoundsOfParsers: every other text that comes from outside.
func TestBoundsOfParsers(t *testing.T) {
	k := newKey(t)
	line, sample := sign(t, k, tool, inA).Signature.Line(), samples[tool]
	digits := strings.Repeat("9", 100_000)
	ssh := func(line string) error { _, err := ParsePublicKey(line); return err }
	parsers := map[string]struct {
		parse func(string) error
		b     bombs
	}{
		"lines in a file": {func(s string) error {
			it, err := objects.Parse(tool, []byte(s))
			if err == nil {
				_, err = Verify(it, inA, storeOf(t, k))
			}
			return err
		}, bombs{sample + strings.Repeat("# "+line+"\n", 20_000) + "# " + strings.Repeat("rye:signed:v2:", 100_000) + "\n", "# " + strings.Repeat(line, 20_000) + "\n" + sample,
			"# " + strings.Replace(line, "2026", digits, 1) + "\n" + sample}},
		"lines of RYE OS": {func(s string) error {
			it, err := objects.Parse("directives/acme/x.md", []byte(s))
			if err == nil {
				_, err = Verify(it, inA, storeOf(t, k))
			}
			return err
		}, bombs{strings.Repeat("<!-- rye:signed:2026-02-20T10:00:00Z:"+strings.Repeat("a", 64)+":x:0123456789abcdef -->\n", 20_000),
			strings.Repeat("<!-- kiwi-mcp:validated:x -->\n<directive\n", 20_000), "<!-- rye:signed:" + digits + "-01-01T00:00:00Z:" + digits + ":" + digits + ":0123456789abcdef -->\n"}},
		"trust store": {func(s string) error { _, err := ParseStore([]byte(s)); return err },
			bombs{"format: 1\nown: " + strings.Repeat("[", 200_000) + "\n", laughs("format: 1\n"), "format: " + digits + "\n"}},
		"bundle manifest": {func(s string) error { _, err := objects.ParseManifest([]byte(s)); return err },
			bombs{"bundle: 1\nfiles: " + strings.Repeat("[", 200_000) + "\n", laughs("bundle: 1\n"), "bundle: 1\nfiles:\n  - {path: a, mode: 0644, size: " + digits + "}\n"}},
		"YAML": {func(s string) error { var v struct{ N uint64 }; return objects.DecodeYAML([]byte(s), 1<<20, &v) },
			bombs{"n: " + strings.Repeat("{a: ", 100_000) + "\n", laughs(""), "n: " + digits + "\n"}},
		"JSON": {func(s string) error { var v struct{ N uint64 }; return strict.Decode([]byte(s), 1<<20, &v) },
			bombs{`{"N":` + strings.Repeat("[", 200_000), `{` + strings.Repeat(`"N":1,`, 50_000) + `"N":1}`, `{"N":` + digits + "}"}},
		"key, public": {ssh, bombs{strings.Repeat("ssh-ed25519 ", 100_000), "ssh-ed25519 " + strings.Repeat("A", 1<<20), "ssh-ed25519 " + digits}},
		"key, PEM": {func(s string) error { _, err := ParsePEM([]byte(s)); return err },
			bombs{strings.Repeat("-----BEGIN PUBLIC KEY-----\n", 100_000), "-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("A", 1<<20) + "\n-----END PUBLIC KEY-----\n", digits}},
		"key, private": {func(s string) error { _, err := parseKey([]byte(s), nil); return err },
			bombs{strings.Repeat("-----BEGIN OPENSSH PRIVATE KEY-----\n", 50_000), "-----BEGIN OPENSSH PRIVATE KEY-----\n" + strings.Repeat("/", 1<<20) + "\n-----END OPENSSH PRIVATE KEY-----\n", digits}},
		"key, foreign": {func(s string) error { _, err := ParseForeign([]byte(s), nil); return err },
			bombs{"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIAw", 50_000) + "\n-----END PRIVATE KEY-----\n", strings.Repeat("-----BEGIN PRIVATE KEY-----\n", 50_000), digits}},
		"key, TOML": {func(s string) error { _, err := ParseTrustedTOML([]byte(s)); return err },
			bombs{strings.Repeat("[a", 100_000), strings.Repeat("owner = \"a\"\n", 50_000), "fingerprint = " + digits + "\n"}},
		"SSH signature": {func(s string) error { _, err := VerifySSHSIG(s, GitNamespace, nil); return err },
			bombs{strings.Repeat("-----BEGIN SSH SIGNATURE-----\n", 50_000), "-----BEGIN SSH SIGNATURE-----\n" + strings.Repeat(strings.Repeat("/", 70)+"\n", 20_000) + "-----END SSH SIGNATURE-----", digits}},
		"list of kept files": {func(s string) error { return parseKept([]byte(s)) },
			bombs{strings.Repeat("sha256:", 100_000), strings.Repeat("sha256:"+strings.Repeat("a", 64)+"\n", 20_000), digits}},
	}
	hundred := string(make([]byte, 100<<20))
	for _, name := range slices.Sorted(maps.Keys(parsers)) {
		p := parsers[name]
		for what, text := range map[string]string{"nesting": p.b.nested, "repetition": p.b.aliases, "huge numbers": p.b.number} {
			if err := within(t, name+": "+what, func() error { return p.parse(text) }); err == nil {
				t.Errorf("%s: %s: accepted", name, what)
			}
		}
		if err := within(t, name+": 100 MB", func() error { return p.parse(hundred) }); err == nil {
			t.Errorf("%s: 100 MB: accepted", name)
		}
	}
}

// TestBoundsOfFiles: what is read from a file is refused by its size before it is
// read as a whole. The files are 100 MB of nothing, which costs no disk.
func TestBoundsOfFiles(t *testing.T) {
	big := func(dir, name string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Truncate(path, 100<<20))
		return path
	}
	dir := t.TempDir()
	k := newKey(t)
	st := retired(t, k, objects.DigestOf(nil))
	must(t, os.Truncate(keptPath(st.path, k.Public()), 100<<20))
	for name, read := range map[string]func() error{
		"trust store":        func() error { _, err := LoadStore(big(dir, "trust.yaml")); return err },
		"key":                func() error { _, err := LoadKey(big(dir, "key"), nil); return err },
		"key, open half":     func() error { _, err := ReadPublic(big(dir, "open")); return err },
		"foreign key":        func() error { _, err := ReadForeign(big(dir, "foreign"), nil); return err },
		"secret":             func() error { _, err := ReadSecret(big(dir, "secret")); return err },
		"list of kept files": func() error { _, err := readKept(st.path, keptPath(st.path, k.Public()), st.Own()[0].Kept); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := within(t, name, read)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: 100 MB: accepted", name)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
			t.Errorf("%s: allocated %d bytes for a file that is too large", name, n)
		}
	}
}

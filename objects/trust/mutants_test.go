package trust

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rye-os/rye/objects"
)

// moreSamples are dialects that the other tests do without.
var moreSamples = map[string]string{
	"tools/acme/hello_ts.ts":     "// version: 1.0.0\n// description: Says hello.\n// executor_id: rye/core/runtimes/node_runtime\n\nconst who: string = 'you'\nconsole.log('hello', who)\n",
	"tools/acme/hello_toml.toml": "# version: 1.0.0\n# description: Says hello.\n# executor_id: rye/core/runtimes/node_runtime\n\n[greeting]\ntext = \"hello\"\n",
	"knowledge/acme/fenced.md":   "# Notes\n\n```yaml\nid: fenced\nversion: 1.0.0\ntitle: Notes\nentry_type: reference\ncategory: acme\n```\n\nHello is a greeting.\n\nSo is good day.\n",
}

// A specimen is one genuine signed file and the door that decides about it.
type specimen struct {
	path string
	raw  []byte
	line []byte // its signature line with the line feed; nil where another file carries it
	door func(path string, raw []byte, in Scope) error
}

// specimens returns a signed file of every type, the bundle's two included.
func specimens(t *testing.T, k *FileKey, st *Store) map[string]specimen {
	types := map[string]string{
		"python": tool, "shell": "tools/acme/hello_sh.sh", "javascript": "tools/acme/hello_js.js", "typescript": "tools/acme/hello_ts.ts",
		"yaml": "tools/acme/hello_yaml.yaml", "toml": "tools/acme/hello_toml.toml", "config": "config/acme/settings.yaml",
		"directive, xml": "directives/acme/greet.md", "directive, front matter": "directives/acme/front.md",
		"knowledge, front matter": "knowledge/acme/notes.md", "knowledge, fence": "knowledge/acme/fenced.md", "knowledge, yaml": "knowledge/acme/data.yaml",
		"local": "tools/local/scratch_own.py",
	}
	verify := func(path string, raw []byte, in Scope) error {
		it, err := objects.Parse(path, raw)
		if err == nil {
			_, err = Verify(it, in, st)
		}
		return err
	}
	all := make(map[string]specimen)
	for name, path := range types {
		text, ok := samples[path]
		if !ok {
			text = moreSamples[path]
		}
		raw, err := SignItem(t.Context(), k, parse(t, path, []byte(text)), inA, noon)
		must(t, err)
		all[name] = specimen{path, raw, lineOf(raw), verify}
	}

	const asset = "tools/acme/pack/table.json"
	files := fstest.MapFS{
		asset:                    {Data: []byte("{\n  \"version\": \"1.0.0\",\n  \"tool_type\": \"http\",\n  \"description\": \"Says hello.\",\n  \"words\": [\"hello\", \"good day\"]\n}\n")},
		"tools/acme/pack/run.py": {Data: []byte(strings.ReplaceAll(samples[tool], `"acme"`, `"acme/pack"`))},
	}
	manifest := signedManifest(t, k, files, "acme/bundle/pack")
	all["bundle manifest"] = specimen{objects.ManifestName, manifest, lineOf(manifest), func(path string, raw []byte, in Scope) error {
		if path != objects.ManifestName {
			return verify(path, raw, in)
		}
		_, err := OpenBundle(raw, files, in, st)
		return err
	}}
	all["json in a bundle"] = specimen{asset, files[asset].Data, nil, func(path string, raw []byte, in Scope) error {
		b, err := OpenBundle(manifest, files, in, st)
		if err == nil {
			_, err = b.Cover(path, raw)
		}
		return err
	}}
	return all
}

func lineOf(raw []byte) []byte {
	i := bytes.Index(raw, []byte("rye:signed:"))
	start := bytes.LastIndexByte(raw[:i], '\n') + 1
	return raw[start : i+bytes.IndexByte(raw[i:], '\n')+1]
}

// lineStarts returns the offset of every line, and of the end.
func lineStarts(raw []byte) []int {
	at := []int{0}
	for i, c := range raw {
		if c == '\n' {
			at = append(at, i+1)
		}
	}
	return at
}

func insertAt(raw []byte, at int, text []byte) []byte { return slices.Concat(raw[:at], text, raw[at:]) }

// A mutant is what somebody made of a genuine file. Its path and scope are those
// of the genuine one unless they are what was changed.
type mutant struct {
	path string
	raw  []byte
	in   Scope
}

// mutations are the classes of change. Each yields any number of mutants.
var mutations = []struct {
	class string
	make  func(s specimen, others map[string]specimen, yield func(mutant))
}{
	{"byte of the line", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		start := bytes.Index(s.raw, s.line)
		for i := range s.line {
			b := slices.Clone(s.raw)
			b[start+i] ^= 0x01
			yield(mutant{raw: b})
		}
	}},
	{"byte elsewhere", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		for i, c := range s.raw {
			if at := bytes.Index(s.raw, s.line); len(s.line) > 0 && i >= at && i < at+len(s.line) {
				continue
			}
			b := slices.Clone(s.raw)
			if b[i] ^= 0x20; c == '\n' {
				b[i] = ' '
			}
			yield(mutant{raw: b})
		}
	}},
	{"byte left out", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		for i := 0; i < len(s.raw); i += 3 {
			yield(mutant{raw: slices.Delete(slices.Clone(s.raw), i, i+1)})
		}
	}},
	{"cut off", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		for i := 0; i < len(s.raw); i += 5 {
			yield(mutant{raw: s.raw[:i]})
		}
	}},
	{"line moved", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		body := bytes.Replace(s.raw, s.line, nil, 1)
		for _, at := range lineStarts(body) {
			if len(s.line) > 0 {
				yield(mutant{raw: insertAt(body, at, s.line)})
			}
		}
	}},
	{"line doubled", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		for _, at := range lineStarts(s.raw) {
			if len(s.line) > 0 {
				yield(mutant{raw: insertAt(s.raw, at, s.line)})
			}
		}
	}},
	{"line in a code fence", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		if len(s.line) == 0 {
			return
		}
		body := bytes.Replace(s.raw, s.line, nil, 1)
		for _, fence := range []string{"```\n", "````md\n", "~~~\n"} {
			block := slices.Concat([]byte(fence), s.line, []byte(strings.TrimRight(fence, "md\n")+"\n"))
			for _, at := range lineStarts(body) {
				yield(mutant{raw: insertAt(body, at, block)})
			}
			yield(mutant{raw: append(slices.Clone(s.raw), block...)})
		}
	}},
	{"another item's line", func(s specimen, others map[string]specimen, yield func(mutant)) {
		for _, name := range slices.Sorted(maps.Keys(others)) {
			if o := others[name]; len(s.line) > 0 && len(o.line) > 0 && o.path != s.path {
				was, is := innerLine(s.line), innerLine(o.line)
				yield(mutant{raw: bytes.Replace(s.raw, was, is, 1)})
				// Its own digest, so that only the signature can tell.
				f := bytes.Split(is, []byte(":"))
				f[len(f)-3] = bytes.Split(was, []byte(":"))[len(f)-3]
				yield(mutant{raw: bytes.Replace(s.raw, was, bytes.Join(f, []byte(":")), 1)})
				// And its own key's name.
				f[len(f)-1] = bytes.Split(was, []byte(":"))[len(f)-1]
				if forged := bytes.Join(f, []byte(":")); !bytes.Equal(forged, was) {
					yield(mutant{raw: bytes.Replace(s.raw, was, forged, 1)})
				}
			}
		}
	}},
	{"another id", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		dir, file := s.path[:strings.LastIndexByte(s.path, '/')+1], s.path[strings.LastIndexByte(s.path, '/')+1:]
		for _, name := range []string{"x" + file, "other/" + file, strings.Replace(file, ".", "2.", 1), "../else/" + file} {
			yield(mutant{path: dir + name, raw: s.raw})
		}
		if dir != "" {
			kind, _, _ := strings.Cut(dir, "/")
			yield(mutant{path: kind + "/else/" + file, raw: s.raw})
			yield(mutant{path: kind + "/" + file, raw: s.raw})
		}
	}},
	{"another kind", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		own, rest, _ := strings.Cut(s.path, "/")
		for _, k := range objects.Kinds {
			if k.Dir() != own {
				yield(mutant{path: k.Dir() + "/" + rest, raw: s.raw})
			}
		}
	}},
	{"another item's file", func(s specimen, others map[string]specimen, yield func(mutant)) {
		for _, name := range slices.Sorted(maps.Keys(others)) {
			if o := others[name]; o.path != s.path {
				yield(mutant{raw: o.raw})
			}
		}
	}},
	{"another version", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		for _, v := range []string{"1.0.1", "0.9.0", "9.9.9", "1.0.0-rc.1", "1.0", " 1.0.0"} {
			for _, old := range []string{"1.0.0", "0.1.0"} {
				if bytes.Contains(s.raw, []byte(old)) {
					yield(mutant{raw: bytes.Replace(s.raw, []byte(old), []byte(v), 1)})
				}
			}
		}
	}},
	{"another project", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		stranger := Scope{Space: objects.Project, Project: "0123456789abcdef0123456789abcdef"}
		yield(mutant{raw: s.raw, in: stranger})
		yield(mutant{raw: s.raw, in: Scope{Space: objects.Project}})
		yield(mutant{raw: s.raw, in: Scope{Space: objects.System}})
		if strings.Contains(s.path, "/"+objects.LocalNamespace+"/") {
			yield(mutant{raw: s.raw, in: Scope{Space: objects.Project, Project: projectB, Place: placeA}})
			yield(mutant{raw: s.raw, in: inUser})
		}
	}},
	{"line ends", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		yield(mutant{raw: bytes.ReplaceAll(s.raw, []byte("\n"), []byte("\r\n"))})
		yield(mutant{raw: bytes.ReplaceAll(s.raw, []byte("\n"), []byte("\r"))})
		for _, at := range lineStarts(s.raw)[1:] {
			yield(mutant{raw: insertAt(s.raw, at-1, []byte("\r"))})
			yield(mutant{raw: insertAt(s.raw, at, []byte("\n"))})
			yield(mutant{raw: insertAt(s.raw, at-1, []byte(" "))})
		}
	}},
	{"byte order mark", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		for _, at := range lineStarts(s.raw) {
			yield(mutant{raw: insertAt(s.raw, at, []byte("\ufeff"))})
		}
	}},
	{"bidi and invisible", func(s specimen, _ map[string]specimen, yield func(mutant)) {
		for _, r := range []string{"\u202e", "\u2066", "\u200b", "\u00ad", "\u0000", "\u0085"} {
			for _, at := range lineStarts(s.raw)[1:] {
				yield(mutant{raw: insertAt(s.raw, at-1, []byte(r))})
			}
		}
	}},
}

// innerLine returns a signature line without its comment signs.
func innerLine(line []byte) []byte {
	s := line[bytes.Index(line, []byte("rye:signed:")):]
	return s[:bytes.IndexAny(s, " \n")]
}

// TestMutantsNeverVerify changes signed files of every type in every way on the
// list, thousands in all: the door lets none of them through, and every genuine
// file. -v prints how many there were of each.
func TestMutantsNeverVerify(t *testing.T) {
	const want = 3000
	k := newKey(t)
	st := storeOf(t, k)
	must(t, st.Grant(noon, inB.Site().OwnKeys()))
	all, twins := specimens(t, k, st), specimens(t, newKey(t), st)
	counts := make(map[string]map[string]int)
	total := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		if err := s.door(s.path, s.raw, inA); err != nil {
			t.Fatalf("%s: the genuine file: %v", name, err)
		}
		counts[name] = make(map[string]int)
		for _, m := range mutations {
			others := all
			if m.class == "another item's line" { // and its own line by a key that is not known
				others = maps.Clone(all)
				tw := twins[name]
				tw.path = "of an unknown key"
				others["twin"] = tw
			}
			m.make(s, others, func(x mutant) {
				if x.path == "" {
					x.path = s.path
				}
				if x.in == (Scope{}) {
					x.in = inA
				}
				if x.path == s.path && x.in == inA && bytes.Equal(x.raw, s.raw) {
					return // no mutant: the line moved to where it was
				}
				counts[name][m.class]++
				total++
				if err := s.door(x.path, x.raw, x.in); err == nil {
					t.Errorf("%s, %s: verified at %s in the %s:\n%s", name, m.class, x.path, x.in, x.raw)
				}
			})
		}
	}
	for _, m := range mutations {
		row := fmt.Sprintf("%-22s", m.class)
		n := 0
		for _, name := range slices.Sorted(maps.Keys(all)) {
			c := counts[name][m.class]
			n += c
			row += fmt.Sprintf(" %5d", c)
			if c == 0 && all[name].line != nil && !(m.class == "another version" && name == "config") {
				t.Errorf("%s, %s: no mutant was made", name, m.class)
			}
		}
		t.Logf("%s  = %d", row, n)
	}
	t.Logf("columns: %s", strings.Join(slices.Sorted(maps.Keys(all)), " | "))
	if t.Logf("%d mutants of %d types", total, len(all)); total < want {
		t.Errorf("%d mutants, want at least %d", total, want)
	}
}

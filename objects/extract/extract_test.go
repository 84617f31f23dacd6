package extract_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/stdlib"
)

// shipped returns the standard library's extractor for a kind.
func shipped(t testing.TB, k objects.Kind) *extract.Rules {
	t.Helper()
	p := extract.Ref(k).Path(".yaml")
	raw, err := fs.ReadFile(stdlib.Files(), p)
	if err != nil {
		t.Fatal(err)
	}
	return rules(t, p, string(raw))
}

func item(t testing.TB, path, text string) *objects.Item {
	t.Helper()
	it, err := objects.Parse(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func rules(t testing.TB, path, text string) *extract.Rules {
	t.Helper()
	r, err := extract.Parse(item(t, path, text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// golden returns the items of package objects' tests: every dialect, and every
// mistake that parses.
func golden(t testing.TB) []*objects.Item {
	t.Helper()
	files, err := filepath.Glob("../testdata/good/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden items: %v", err)
	}
	var all []*objects.Item
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "-- want --\n")
		_, body, _ := strings.Cut(head, "-- ")
		path, raw, _ := strings.Cut(body, " --\n")
		all = append(all, item(t, path, raw))
	}
	return all
}

// The standard library's extractors say what rye does without them: whoever copies
// one and changes nothing changes nothing.
func TestShippedSayWhatRyeDoes(t *testing.T) {
	for _, it := range golden(t) {
		r := shipped(t, it.Ref.Kind)
		var none *extract.Rules
		if got, want := r.Texts(it), none.Texts(it); !slices.Equal(got.Tags, want.Tags) || got.Name != want.Name || got.Title != want.Title ||
			got.Description != want.Description || got.Category != want.Category {
			t.Errorf("%s is listed as %+v, want %+v", it.Path, got, want)
		}
		have := it.Validate()
		for _, p := range r.Validate(it) {
			if !slices.ContainsFunc(have, func(h objects.Problem) bool { return h.Field == p.Field }) {
				t.Errorf("%s: only the extractor finds %v", it.Path, p)
			}
		}
	}
	for _, k := range objects.Kinds {
		if w := shipped(t, k).Weights; len(w) == 0 {
			t.Errorf("the extractor of %s has no weights: nothing would be found", k)
		}
	}
}

// override is a knowledge extractor with the given parts.
func override(parts string) string {
	return "version: 1.0.0\ntool_type: extractor\nexecutor_id: null\ndescription: ours\n" + parts
}

const place = "tools/rye/core/extractors/knowledge/knowledge_extractor.yaml"

// TestAttackWhatTheLawReads: no extractor moves the signature line, the executor,
// permissions, needs, limits, the version, an id or a digest; whatever is tried is
// refused with its place, and the item reads as before.
func TestAttackWhatTheLawReads(t *testing.T) {
	for _, tc := range []struct{ name, path, text, want string }{
		{"signature prefix", place, override("signature_format: {prefix: '#'}\n"), "5:20: signature_format: prefix: an extractor cannot change the place of the signature line"},
		{"signature suffix", place, override("signature_format:\n  prefix: <!--\n  suffix: '*/'\n"), "7:3: signature_format: suffix"},
		{"signature after shebang", place, override("signature_format: {after_shebang: true}\n"), "after_shebang"},
		{"signature elsewhere", place, override("signature_format: {line: 7}\n"), "signature_format: line"},
		{"signature is text", place, override("signature_format: last\n"), "want a mapping"},
		{"executor from another field", place, override("extraction_rules:\n  executor_id: {type: path, key: evil}\n"), "6:3: extraction_rules: executor_id: an extractor cannot change the place of executor_id in an item"},
		{"executor from the file name", place, override("extraction_rules: {executor_id: {type: filename}}\n"), "executor_id"},
		{"executor by its Python name", place, override("extraction_rules: {executor: {type: path, key: __executor_id__}}\n"), "extraction_rules: executor"},
		{"permissions from another field", place, override("extraction_rules: {permissions: {type: path, key: tags}}\n"), "extraction_rules: permissions"},
		{"part of the permissions", place, override("extraction_rules: {permissions: {type: path, key: permissions.wide}}\n"), "extraction_rules: permissions"},
		{"capabilities", place, override("extraction_rules: {capabilities: {type: path, key: capabilities.x}}\n"), "extraction_rules: capabilities"},
		{"needs", place, override("extraction_rules: {needs: {type: path, key: wishes}}\n"), "extraction_rules: needs"},
		{"limits", place, override("extraction_rules: {limits: {type: path, key: budget}}\n"), "extraction_rules: limits"},
		{"tier", place, override("extraction_rules: {tier: {type: path, key: calm}}\n"), "extraction_rules: tier"},
		{"version", place, override("extraction_rules: {version: {type: path, key: rev}}\n"), "extraction_rules: version"},
		{"id from elsewhere", place, override("extraction_rules: {id: {type: path, key: alias}}\n"), "extraction_rules: id"},
		{"digest", place, override("extraction_rules: {digest: {type: path, key: sum}}\n"), "extraction_rules: digest"},
		{"body", place, override("extraction_rules: {body: {type: path, key: summary}}\n"), "extraction_rules: body"},
		{"a parser of its own", place, override("parser: my_parser\n"), "5:1: parser: parser \"my_parser\": rye reads a knowledge itself"},
		{"the parser of another kind", place, override("parser: python_ast\n"), "python_ast"},
		{"an executor of its own", place, "version: 1.0.0\ntool_type: extractor\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: x\n", "3:1: executor_id: an extractor is read and never executed"},
		{"another type", place, "version: 1.0.0\ntool_type: runtime\nexecutor_id: null\ndescription: x\n", "2:1: tool_type"},
		{"permissions of its own", place, override("permissions: [rye.*]\n"), "5:1: permissions: an extractor cannot set permissions"},
		{"needs of its own", place, override("needs: {net: true}\n"), "an extractor cannot set needs"},
		{"an unknown field", place, override("extraction_rule: {}\n"), "an extractor cannot set extraction_rule"},
		{"an unknown rule", place, override("validation_schema:\n  fields:\n    team: {require: true}\n"), "7:12: validation_schema: fields.team: \"require\" is not a rule"},
		{"a rule that allows more", place, override("validation_schema: {fields: {version: {optional: true}}}\n"), "\"optional\" is not a rule"},
		{"beside the fields", place, override("validation_schema: {strict: false}\n"), "want fields and nothing else"},
		{"a pattern that does not compile", place, override("validation_schema: {fields: {team: {pattern: 'a)|(b'}}}\n"), "want a pattern that compiles"},
		{"a weight of nothing", place, override("search_fields: {title: 0}\n"), "the weight of title"},
		{"a weight that takes all", place, override("search_fields: {title: 1e308}\n"), "at most 1000"},
		{"a weight that is no number", place, override("search_fields: {title: .nan}\n"), "want a number"},
		{"a file type that is none", place, override("extensions: [.md, .exe]\n"), "extension \".exe\": rye has no knowledge in such files"},
		{"another id", "tools/rye/core/extractors/knowledge/other.yaml", override(""), "not an extractor's id"},
		{"in Python", "tools/rye/core/extractors/tool/tool_extractor.py", "__version__ = '1.0.0'\n__tool_type__ = 'extractor'\nEXTRACTION_RULES = {'executor_id': {'type': 'path', 'key': '__evil__'}}\n", "3:1: extraction_rules: executor_id"},
	} {
		_, err := extract.Parse(item(t, tc.path, tc.text))
		if !fault.Is(err, fault.Malformed) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want malformed with %q", tc.name, err, tc.want)
		}
		if fault.HintOf(err).IsZero() {
			t.Errorf("%s: no remedy", tc.name)
		}
	}
}

// What says what rye does is accepted, in RYE OS's spellings too.
func TestAccepted(t *testing.T) {
	for path, text := range map[string]string{
		place: override("parser: markdown_frontmatter\nsignature_format: {prefix: '<!--', suffix: '-->', after_shebang: false}\n" +
			"extraction_rules: {id: {type: filename}, version: {type: path, key: version}, title: {type: path, key: heading.title}}\n"),
		"tools/rye/core/extractors/tool/tool_extractor.py": "__version__ = '1.0.0'\n__tool_type__ = 'extractor'\n__executor_id__ = None\n" +
			"EXTENSIONS = ['.py', '.yaml']\nPARSER = 'python_ast'\nSIGNATURE_FORMAT = {'prefix': '#', 'after_shebang': True}\n" +
			"EXTRACTION_RULES = {'name': {'type': 'filename'}, 'executor_id': {'type': 'path', 'key': '__executor_id__'}}\n" +
			"SEARCH_FIELDS = {'title': 3, 'content': 1.0}\nVALIDATION_SCHEMA = {'fields': {'name': {'required': True}}}\n",
		"tools/rye/core/extractors/config/config_extractor.yaml": override(""),
	} {
		if _, err := extract.Parse(item(t, path, text)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// note is a knowledge entry with more fields than rye knows.
const note = `---
title: Pumps
version: 1.0.0
entry_type: reference
team: platform
level: 3
owner:
  name: ada
  mail: ada@example.org
links:
  - {url: a, kind: doc}
  - {url: b}
summary: How pumps are primed.
---
Text.
`

// Each rule of the schema, kept and broken, with the place of what breaks it.
func TestValidate(t *testing.T) {
	it := item(t, "knowledge/acme/pumps.md", note)
	by := " (asked for by tool:rye/core/extractors/knowledge/knowledge_extractor)"
	for _, tc := range []struct{ field, want string }{
		{"team: {required: true, type: string}", ""},
		{"absent: {type: string}", ""},
		{"absent: {required: true}", "2: absent: required field is missing: absent"},
		{"absent: {required: true, nullable: true}", ""},
		{"team: {type: integer}", "5:1: team: team must be a whole number, have text"},
		{"level: {type: integer}", ""},
		{"level: {type: string}", "6:1: level: level must be text, have a number"},
		{"level: {type: boolean}", "6:1: level: level must be true or false, have a number"},
		{"level: {minimum: 4}", "6:1: level: level must be a number of at least 4"},
		{"level: {maximum: 2.5}", "6:1: level: level must be a number of at most 2.5"},
		{"level: {minimum: 3, maximum: 3}", ""},
		{"team: {minimum: 1}", "5:1: team: team must be a number of at least 1"},
		{"team: {type: enum, values: [core, platform]}", ""},
		{"team: {type: enum, values: [core, web]}", "5:1: team: team is none of core, web"},
		{"team: {format: snake_case}", ""},
		{"summary: {format: snake_case}", "13:1: summary: summary must be lower-case letters, digits and _, a letter first"},
		{"team: {pattern: '[a-z]+'}", ""},
		{"team: {pattern: 'plat'}", "5:1: team: team does not match plat"},
		{"version: {type: semver}", ""},
		{"title: {type: semver}", "2:1: title: title must be a semantic version, have text"},
		{"title: {match_filename: true}", `2:1: title: title "Pumps" is not the file's name "pumps"`},
		{"title: {match_path: true}", `2:1: title: title "Pumps" is not the file's directory "acme"`},
		{"id: {required: true, match_filename: true}", ""},
		{"owner: {type: object, nested: {name: {required: true}, mail: {type: string}}}", ""},
		{"owner: {type: object, nested: {phone: {required: true}}}", "7:1: owner: required field is missing: owner.phone"},
		{"owner: {nested: {mail: {pattern: '.*@acme.org'}}}", "9:3: owner: owner.mail does not match .*@acme.org"},
		{"owner: {type: array}", "7:1: owner: owner must be a list, have a mapping"},
		{"links: {type: array, item_type: object, item_required: [url]}", ""},
		{"links: {type: array, item_type: object, item_required: [url, kind]}", "12:5: links: links: entry 2 lacks kind"},
		{"links: {type: array, item_type: string}", "11:5: links: links: entry 1 must be text, have a mapping"},
		{"links: {type: object}", "10:1: links: links must be a mapping, have a list"},
	} {
		r := rules(t, place, override("validation_schema:\n  fields:\n    "+tc.field+"\n"))
		got := ""
		if ps := r.Validate(it); len(ps) > 0 {
			got = strings.TrimSuffix(ps[0].String(), by)
			if ps[0].Mend == "" {
				t.Errorf("%s: no remedy", tc.field)
			}
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.field, got, tc.want)
		}
	}
	if r := rules(t, place, override("extensions: [.yaml]\n")); len(r.Validate(it)) != 1 {
		t.Error("a file type that the project does not want is accepted")
	}
	if r := rules(t, place, override("validation_schema: {fields: {x: {required: true}}}\n")); r.Validate(item(t, "tools/acme/x.lua", "")) != nil {
		t.Error("the rules of one kind are held against another")
	}
}

// What RYE OS's own schemas say is understood as its parser meant it.
func TestRyeOSForms(t *testing.T) {
	it := item(t, "directives/acme/go.md", "```xml\n<directive name=\"go\" version=\"1.0.0\">\n<metadata><description>d</description><author>a</author>"+
		"<limits max_turns=\"5\"/><permissions><load>*</load></permissions></metadata><inputs><input name=\"a\"/></inputs>\n</directive>\n```\nGo.\n")
	r := rules(t, "tools/rye/core/extractors/directive/directive_extractor.yaml", override("validation_schema:\n  fields:\n"+
		"    permissions: {type: array, item_type: object, item_required: [tag]}\n    limits: {type: object, nested: {turns: {type: integer, required: true}}}\n"+
		"    inputs: {type: array, item_type: object, item_required: [name, type]}\n"))
	if ps := r.Validate(it); len(ps) > 0 {
		t.Errorf("problems: %v", ps)
	}
}

// Lists tell what the rules of extraction say, and the item itself stays as it is.
func TestTexts(t *testing.T) {
	it := item(t, "knowledge/acme/pumps.md", note)
	r := rules(t, place, override(`extraction_rules:
  title: {type: path, key: owner.name}
  description: {type: path, key: summary}
  tags: {type: path, key: links}
  category: {type: filename}
  contact: {type: path, key: owner.mail}
  nothing: {type: path, key: owner.none.deeper}
search_fields: {team: 5, title: 2, links: 1, content: 1, id: 1, name: 2}
`))
	got := r.Texts(it)
	want := extract.Texts{Name: "pumps", Title: "ada", Description: "How pumps are primed.", Category: "pumps",
		More: []extract.Text{{Name: "contact", Value: "ada@example.org"}, {Name: "team", Value: "platform"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	bare := item(t, "knowledge/acme/bare.md", "---\ntitle: Bare\nversion: 1.0.0\nentry_type: x\ntags: [own]\n---\n")
	if got := r.Texts(bare); got.Title != "Bare" || got.Tags[0] != "own" {
		t.Errorf("where the key leads to nothing: %+v, want what the item says itself", got)
	}
	if it.Meta.Title != "Pumps" || it.Meta.Description != "" {
		t.Error("the item was changed")
	}
	if got, want := fmt.Sprint(r.Weights), "[{team 5} {name 2} {title 2} {id 1} {content 1} {links 1}]"; got != want {
		t.Errorf("weights %s, want %s", got, want)
	}
}

// Bounds: an extractor cannot make listing or signing costly.
func TestBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString(override("search_fields:\n"))
	for i := range extract.MaxRules + 1 {
		fmt.Fprintf(&b, "  f%d: 1\n", i)
	}
	if _, err := extract.Parse(item(t, place, b.String())); err == nil || !strings.Contains(err.Error(), "rules") {
		t.Errorf("too many rules: %v", err)
	}
	deep := "{required: true}"
	for range extract.MaxNesting + 1 {
		deep = "{nested: {x: " + deep + "}}"
	}
	if _, err := extract.Parse(item(t, place, override("validation_schema: {fields: {x: "+deep+"}}\n"))); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("too deep: %v", err)
	}
	long := item(t, "knowledge/acme/long.md", "---\ntitle: t\nversion: 1.0.0\nentry_type: x\nsummary: "+strings.Repeat("ü", 10000)+"\nlist: ["+strings.Repeat("x, ", 5000)+"x]\n---\n")
	r := rules(t, place, override("extraction_rules: {description: {type: path, key: summary}}\nvalidation_schema: {fields: {list: {type: array, item_type: integer}, summary: {pattern: '(ü|u)*'}}}\n"))
	if n := len(r.Texts(long).Description); n > extract.MaxText || n < extract.MaxText-4 {
		t.Errorf("a text of %d bytes is listed", n)
	}
	if n := len(r.Validate(long)); n == 0 || n > 200 {
		t.Errorf("%d problems", n)
	}
}

// Two projects in one process: nothing of one set is seen in another.
func TestSets(t *testing.T) {
	a := rules(t, place, override("search_fields: {title: 1}\n"))
	b := rules(t, place, override("search_fields: {title: 2}\n"))
	one, two, none := extract.NewSet(a), extract.NewSet(b), extract.NewSet()
	if one.For(objects.Knowledge) != a || two.For(objects.Knowledge) != b || none != nil || none.For(objects.Knowledge) != nil || one.For(objects.Tool) != nil {
		t.Error("For")
	}
	if one.Digest() == two.Digest() || !none.Digest().IsZero() || one.Digest() != extract.NewSet(a).Digest() {
		t.Error("Digest")
	}
}

// The examples of docs/format/extractor.md are extractors, and say what the page says.
func TestDocsExamples(t *testing.T) {
	raw, err := os.ReadFile("../../docs/format/extractor.md")
	if err != nil {
		t.Fatal(err)
	}
	example := func(begins, ends, path string) *extract.Rules {
		_, after, ok := strings.Cut(string(raw), "\n    "+begins)
		if !ok {
			t.Fatalf("no example that begins with %q", begins)
		}
		text, _, _ := strings.Cut("    "+begins+after, ends)
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimPrefix(line, "    "))
		}
		it := item(t, path, b.String())
		if ps := it.Validate(); len(ps) > 0 {
			t.Errorf("the example %s: %v", path, ps)
		}
		return rules(t, path, b.String())
	}
	r := example("version: 1.0.0", "\n## ", place)
	ps := r.Validate(item(t, "knowledge/acme/x.md", "---\ntitle: x\nversion: 1.0.0\nentry_type: x\nabout: {summary: s}\n---\n"))
	if len(ps) != 1 || ps[0].Mend != "team: platform" {
		t.Errorf("the first example finds %v", ps)
	}
	if got := r.Texts(item(t, "knowledge/acme/x.md", "---\nabout: {summary: s}\n---\n")).Description; got != "s" {
		t.Errorf("the first example lists %q", got)
	}
	r = example("__version__", "\x00", "tools/rye/core/extractors/tool/tool_extractor.py")
	tool := "__version__ = '1.0.0'\n__tool_type__ = 'python'\n__tool_description__ = 'd'\n"
	if ps := r.Validate(item(t, "tools/acme/x.py", tool)); len(ps) != 1 || ps[0].Mend != `__team__ = "..."` {
		t.Errorf("the second example finds %v", ps)
	}
	if ps := r.Validate(item(t, "tools/acme/x.py", tool+"__team__ = 'core'\n")); len(ps) != 0 {
		t.Errorf("the second example finds %v", ps)
	}
}

// Whatever an extractor says, it is understood or refused with a place and a remedy,
// and no item loses a problem or a field by it.
func FuzzExtractor(f *testing.F) {
	for i, k := range objects.Kinds {
		raw, err := fs.ReadFile(stdlib.Files(), extract.Ref(k).Path(".yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, string(raw))
	}
	f.Add(2, override("validation_schema: {fields: {x: {type: array, nested: {y: {values: [1, a, true]}}, item_type: enum, pattern: '(a|b)*'}}}\n"))
	f.Add(0, override("extraction_rules: {title: {type: path, key: a.b.c}, team: {type: filename}}\nsearch_fields: {team: 1e3}\n"))
	items := map[objects.Kind][]*objects.Item{}
	for _, it := range golden(f) {
		items[it.Ref.Kind] = append(items[it.Ref.Kind], it)
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		k := objects.Kinds[uint(i)%uint(len(objects.Kinds))]
		it, err := objects.Parse(extract.Ref(k).Path(".yaml"), []byte(text))
		if err != nil {
			return
		}
		placed(t, it, extract.Check(it))
		r, err := extract.Parse(it)
		if err != nil {
			return
		}
		for _, it := range items[k] {
			have, more := it.Validate(), r.Validate(it)
			if got := extract.Merge(have, more); len(got) < len(have) {
				t.Fatalf("%s lost problems", it.Path)
			}
			placed(t, it, more)
			r.Texts(it)
		}
	})
}

// placed fails for a problem without place, words or remedy.
func placed(t *testing.T, it *objects.Item, problems []objects.Problem) {
	t.Helper()
	for _, p := range problems {
		if p.Line < 1 || p.Rule == "" || p.Mend == "" {
			t.Fatalf("%s: problem %+v", it.Path, p)
		}
	}
}

package objects

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Parse parses the file at path (slashes, below .ai): its ref, its signature line and
// its metadata, in every dialect of docs/format/item.md. It reads text and runs
// nothing. A wrong path is Usage; a file that breaks its format is Malformed with line
// and column (SyntaxError). A file with git's marks of a conflict, and without a signature that
// fits, is Conflict (ConflictError). Validate checks the rules of the kind.
//
// The item keeps raw; the caller must not change it afterwards.
func Parse(path string, raw []byte) (*Item, error) {
	ref, ext, err := RefOfPath(path)
	if err != nil {
		return nil, err
	}
	body, sig, legacy, err := Split(path, raw)
	if err != nil {
		if between := conflict(path, raw); between != nil && fault.Is(err, fault.Malformed) {
			return nil, between
		}
		return nil, err
	}
	it := &Item{Ref: ref, Path: path, Raw: raw, Body: body, Signature: sig, Legacy: legacy}
	it.Sum = DigestOf(raw)
	it.Digest = it.Sum
	if len(body) != len(raw) {
		it.Digest = DigestOf(body)
	}
	if sig == nil && legacy == nil {
		if _, m, ok := SplitMerged(path, raw); ok {
			it.Merged = &m
		}
	}
	if legacy == nil && (sig == nil || sig.Digest != it.Digest) {
		if err := conflict(path, raw); err != nil {
			return nil, err
		}
	}
	p := &parser{path: path, ext: ext, ref: ref, body: body, ryeOS: legacy != nil}
	if len(body) != len(raw) {
		p.gap = gapLine(raw, body)
	}
	if err := p.checkBody(); err != nil {
		return nil, err
	}
	if err := p.parse(&it.Meta); err != nil {
		return nil, err
	}
	it.places = p.places
	it.dialect = p.dialect
	it.yaml, it.yamlAt = p.yaml, p.yamlAt
	return it, nil
}

// Dialects that the rules of validation distinguish.
const (
	dialectOurs   = iota // rye's front matter or comment block; name and category follow from the path
	dialectXML           // RYE OS's directive
	dialectFence         // RYE OS's knowledge
	dialectPython        // dunder assignments
	dialectData          // a file that is YAML or JSON as a whole
	dialectSkill         // the SKILL.md of an Agent Skill
)

// parser reads the metadata of one item. Offsets are into body. Places in messages
// count the signature line, which body lacks.
type parser struct {
	path, ext string
	ref       Ref
	body      []byte
	gap       int // line of the signature in the file; 0 when there is none
	dialect   int
	ryeOS     bool // RYE OS signed it: fields that RYE OS never read may have any form
	tooled    bool // a file in tools/ has a field of a tool's header

	fields  map[string]any
	texts   map[string]string // literal text of scalar fields
	places  map[string]mark
	unknown []string

	yaml   []byte // the text of the fields, if it is YAML
	yamlAt mark
}

// gapLine returns the number of the line in raw that body lacks.
func gapLine(raw, body []byte) int { return markOf(raw, gapStart(raw, body)).line }

// gapStart returns the offset of the line in raw that body lacks.
func gapStart(raw, body []byte) int {
	i := len(body)
	if !bytes.HasPrefix(raw, body) { // the line is not the last one
		for i = 0; i < len(body) && raw[i] == body[i]; {
			i++
		}
	}
	return bytes.LastIndexByte(raw[:i], '\n') + 1
}

// at returns the place in the file of an offset in the body.
func (p *parser) at(off int) mark {
	m := markOf(p.body, off)
	if p.gap > 0 && m.line >= p.gap {
		m.line++
	}
	return m
}

func (p *parser) bad(m mark, format string, args ...any) *fault.Error {
	return malformed(p.path, m.line, m.col, format, args...)
}

// badField returns the error for a known field in the wrong form.
func (p *parser) badField(name, format string, args ...any) *fault.Error {
	m := p.places[name]
	return malformed(p.path, m.line, m.col, "field "+name+": "+format, args...)
}

// checkBody refuses a body that is not UTF-8.
func (p *parser) checkBody() error {
	if IsSkill(p.path) {
		return nil // its front matter must be; its text is for people and models
	}
	if i := invalidUTF8(p.body); i >= 0 {
		m := p.at(i)
		return p.bad(m, "byte 0x%02X is not UTF-8 text", p.body[i])
	}
	return nil
}

func (p *parser) parse(m *Meta) error {
	p.fields = map[string]any{}
	p.texts = map[string]string{}
	p.places = map[string]mark{}
	m.Name = p.ref.ID.Name()
	if err := p.read(m); err != nil {
		return err
	}
	if err := p.common(m); err != nil {
		return err
	}
	var known map[string]bool
	var err error
	switch p.ref.Kind {
	case Tool:
		known, err = toolFields, p.tool(m)
	case Directive:
		known, err = directiveFields, p.directive(m)
	case Knowledge:
		known = knowledgeFields
		if m.EntryType, err = p.text("entry_type"); p.dialect == dialectSkill {
			known, err = skillFields, p.skillMeta(m)
		}
	case Config:
		m.Config = p.fields
	}
	if err != nil {
		return err
	}
	if known != nil {
		for name := range p.fields {
			if !known[name] && !commonFields[name] {
				p.unknown = append(p.unknown, name)
			}
		}
	}
	slices.Sort(p.unknown)
	m.Fields, m.Unknown = p.fields, slices.Compact(p.unknown)
	return nil
}

// read fills the fields. Kind and extension decide the dialect.
func (p *parser) read(m *Meta) error {
	if err := CheckExtension(p.path); err != nil {
		return err
	}
	switch p.ref.Kind {
	case Directive:
		return p.readDirective(m)
	case Knowledge:
		if IsSkill(p.path) {
			return p.readSkill(m)
		}
		if p.ext == ".md" {
			return p.readMarkdown(m)
		}
		m.Prose = string(p.body)
		return p.readYAML()
	case Config:
		return p.readYAML()
	}
	var err error
	switch p.ext {
	case ".py":
		return p.readPython()
	case ".yaml", ".yml":
		err = p.readYAML()
	case ".json":
		err = p.readJSON()
	case ".md":
		err = p.readMarkdown(m)
	default:
		err = p.readBlock()
	}
	for name := range p.fields {
		p.tooled = p.tooled || toolFields[name] || commonFields[name] && name != "examples" // many data files have some
	}
	return err
}

// CheckExtension refuses a path (below .ai) with an extension that its kind does not have.
func CheckExtension(path string) error {
	ref, ext, err := RefOfPath(path)
	if err != nil {
		return err
	}
	yaml := ext == ".yaml" || ext == ".yml"
	switch {
	case ext != strings.ToLower(ext): // signatures bind it, and file systems disagree about case
		return malformed(path, 0, 0, "the extension %s is not in lower case", ext).
			Advise("rename it to %s", strings.TrimSuffix(path, ext)+strings.ToLower(ext))
	case ref.Kind == Directive && ext != ".md":
		return malformed(path, 0, 0, "a directive is a Markdown file (.md)")
	case ref.Kind == Knowledge && ext != ".md" && !yaml:
		return malformed(path, 0, 0, "a knowledge entry is Markdown (.md) or YAML (.yaml, .yml)")
	case ref.Kind == Config && !yaml:
		return malformed(path, 0, 0, "a config item is YAML (.yaml, .yml)")
	}
	return nil
}

// Names of known fields, by kind. Other fields are kept and reported.
var (
	commonFields    = names("name id version title description category author tags examples deps created_at updated_at license")
	knowledgeFields = names("entry_type references extended_from source sources related format thread_id directive status model duration elapsed_seconds turns input_tokens output_tokens spend")
	directiveFields = names("model limits permissions inputs outputs actions hooks templates preamble content extends context cost")
	toolFields      = names("tool_type executor_id needs config_schema input_schema output_schema parameters env_config config anchor verify_deps " +
		"tier limits tool_id requires tier_mapping pricing context_window prompts tool_use cache inputs outputs child_constraints permissions " +
		"extensions parser signature_format extraction_rules search_fields validation_schema sealed entrypoint")
)

func names(s string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(s) {
		m[n] = true
	}
	return m
}

// common reads the fields that every kind has.
func (p *parser) common(m *Meta) error {
	name := "name"
	if p.ref.Kind == Knowledge && p.fields["id"] != nil {
		name = "id"
	}
	for _, f := range []struct {
		name string
		into *string
	}{
		{name, &m.Name}, {"version", &m.Version}, {"title", &m.Title}, {"description", &m.Description},
		{"category", &m.Category}, {"author", &m.Author},
	} {
		s, err := p.text(f.name)
		if err != nil {
			return err
		}
		if s != "" {
			*f.into = s
		}
	}
	var err error
	if m.Tags, err = p.list("tags"); err != nil {
		return err
	}
	m.Examples = examplesOf(p.fields["examples"])
	m.Deps, err = p.depsOf()
	return err
}

// text returns a field's literal text, "" when it is absent or null: a version
// written 1.10 is "1.10" and not a number.
func (p *parser) text(name string) (string, error) {
	v, ok := p.fields[name]
	if !ok || v == nil {
		return "", nil
	}
	if s, ok := p.texts[name]; ok {
		return s, nil
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	if l, err := p.stringList(name, v); name == "author" && err == nil {
		return strings.Join(l, ", "), nil
	}
	return "", p.badField(name, "want text, have %s", Shape(v))
}

// list returns a field that is a list of texts; a single text is a list of one.
func (p *parser) list(name string) ([]string, error) {
	return p.stringList(name, p.fields[name])
}

func (p *parser) stringList(name string, v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []string{v}, nil
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, p.badField(name, "want a list of texts, have %s in it", Shape(e))
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, p.badField(name, "want a list of texts, have %s", Shape(v))
}

// mapping returns a field that is a mapping; nil when it is absent or null.
func (p *parser) mapping(name string) (map[string]any, error) {
	v := p.fields[name]
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, p.badField(name, "want a mapping, have %s", Shape(v))
	}
	return m, nil
}

// Shape names the type of a value from a data file, for people: "a list", "text".
func Shape(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "true or false"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}

// sortedKeys returns the keys of m in order, so that errors are always the same.
func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

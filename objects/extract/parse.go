package extract

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// allowed are the fields of an extractor. Any other field is refused: rye must not
// silently ignore a field that its author meant as a rule.
const allowed = " version name tool_id title description category author tags license created_at updated_at tool_type executor_id " +
	"extensions parser signature_format extraction_rules search_fields validation_schema "

// law are the fields that decide what an item is and may do. A rule of extraction
// may name one only to repeat the built-in behaviour.
const law = " version kind ref path space executor executor_id tool_type needs permissions capabilities acknowledged_risks " +
	"limits cost tier model inputs outputs actions hooks config config_schema input_schema output_schema parameters env_config anchor verify_deps " +
	"child_constraints sealed entrypoint requires extends context templates preamble body content raw prose " +
	"signature digest integrity hash sha256 signer signed_at key fingerprint id "

// listed are the fields that lists have for every item.
const listed = " name title version description category tags id body content "

// in reports whether name is one of the words of list.
func in(list, name string) bool {
	return !strings.Contains(name, " ") && strings.Contains(list, " "+name+" ")
}

// reader reads one extractor and collects its problems.
type reader struct {
	it       *objects.Item
	rules    int
	problems []objects.Problem
}

func read(it *objects.Item) (*Rules, []objects.Problem) {
	p := &reader{it: it}
	r := &Rules{Sum: it.Sum, sources: map[string][]string{}}
	kind, ok := KindOf(it.Ref)
	if !ok {
		p.bad(nil, "%s is not an extractor's id", "rye/core/extractors/<kind>/<kind>_extractor", it.Ref)
		return r, p.problems
	}
	r.Kind = kind
	for _, name := range slices.Sorted(maps.Keys(it.Meta.Fields)) {
		if !in(allowed, name) {
			p.bad([]string{name}, "an extractor cannot set %s", "delete it", name)
		}
	}
	if it.Meta.ToolType != "extractor" {
		p.bad([]string{"tool_type"}, "the tool_type of an extractor is extractor, not %q", p.it.Example("tool_type", "extractor"), words.Brief(it.Meta.ToolType))
	}
	if it.Meta.Executor != "" {
		p.bad([]string{"executor_id"}, "an extractor is read and never executed, so it has no executor", "executor_id: null")
	}
	p.parser(kind)
	p.signature(kind)
	p.extensions(r)
	p.sources(r)
	p.weights(r)
	p.schema(r)
	r.more = r.moreFields()
	sort.SliceStable(p.problems, func(i, j int) bool { return p.problems[i].Line < p.problems[j].Line })
	return r, p.problems
}

// bad notes a problem at the value that path leads to.
func (p *reader) bad(path []string, format, mend string, args ...any) {
	if len(p.problems) >= maxProblems {
		return
	}
	line, col := p.it.Place(path...)
	field := ""
	if len(path) > 0 {
		field = path[0]
	}
	rule := strings.TrimPrefix(fmt.Sprintf(format, args...), field+".") // faces name the field
	p.problems = append(p.problems, objects.Problem{Line: line, Column: col, Field: field, Rule: rule, Mend: mend})
}

// count bounds the total number of rules. It returns false, and notes a problem, when
// there are too many.
func (p *reader) count(path []string, n int) bool {
	if p.rules += n; p.rules > MaxRules {
		p.bad(path, "more than %d rules", "fewer of them", MaxRules)
		return false
	}
	return true
}

// mapping returns a field that is a mapping; nil when it is absent or null.
func (p *reader) mapping(v any, path ...string) map[string]any {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		p.bad(path, "%s: want a mapping, have %s", "name: value, each on a line of its own", strings.Join(path, "."), objects.Shape(v))
	}
	if len(m) > 0 && !p.count(path, len(m)) {
		return nil
	}
	return m
}

// text returns a value that is a text, "" when it is absent or null.
func (p *reader) text(v any, path ...string) string {
	s, ok := v.(string)
	if !ok && v != nil {
		p.bad(path, "%s: want text, have %s", "put quotes around it", strings.Join(path, "."), objects.Shape(v))
	}
	return s
}

// flag returns a value that is true or false, false when it is absent or null.
func (p *reader) flag(v any, path ...string) bool {
	b, ok := v.(bool)
	if !ok && v != nil {
		p.bad(path, "%s: want true or false, have %s", "true or false", strings.Join(path, "."), objects.Shape(v))
	}
	return b
}

// texts returns a value that is a list of texts.
func (p *reader) texts(v any, path ...string) []string {
	if v == nil {
		return nil
	}
	l, ok := v.([]any)
	if !ok || len(l) > MaxValues {
		p.bad(path, "%s: want a list of at most %d texts", "[one, two]", strings.Join(path, "."), MaxValues)
		return nil
	}
	var all []string
	for _, e := range l {
		s, ok := e.(string)
		if !ok || s == "" {
			p.bad(path, "%s: want texts, have %s in it", "[one, two]", strings.Join(path, "."), objects.Shape(e))
			return nil
		}
		all = append(all, s)
	}
	return all
}

// parser accepts only the name of rye's own parser for the kind.
func (p *reader) parser(k objects.Kind) {
	ours := map[objects.Kind][]string{objects.Directive: {"markdown_xml"}, objects.Knowledge: {"markdown_frontmatter"},
		objects.Tool: {"python_ast", "yaml"}, objects.Config: {"yaml"}}[k]
	name := p.text(p.it.Meta.Fields["parser"], "parser")
	if name != "" && !slices.Contains(ours, name) {
		p.bad([]string{"parser"}, "parser %q: rye reads a %s itself, and no item can replace that", "delete it, or write "+strings.Join(ours, " or "), words.Brief(name), k)
	}
}

// signature accepts only a description of the place where rye reads the signature line.
// An extractor cannot move it: an item could hide unsigned text there.
func (p *reader) signature(k objects.Kind) {
	m := p.mapping(p.it.Meta.Fields["signature_format"], "signature_format")
	prefix, suffix, shebang := []string{"#", "//"}, "", true
	switch k {
	case objects.Directive, objects.Knowledge:
		prefix, suffix, shebang = []string{"<!--"}, "-->", false
	case objects.Config:
		prefix, shebang = []string{"#"}, false
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		ok := false
		switch v := m[key].(type) {
		case nil:
			ok = true
		case string:
			ok = key == "prefix" && slices.Contains(prefix, strings.TrimSpace(v)) || key == "suffix" && strings.TrimSpace(v) == suffix
		case bool:
			ok = key == "after_shebang" && v == shebang
		}
		if !ok {
			p.bad([]string{"signature_format", key}, "signature_format.%s: an extractor cannot change the place of the signature line, nor the text that it covers", "delete signature_format", words.Brief(key))
		}
	}
}

// extensions reads the list of file extensions that items of the kind may have.
func (p *reader) extensions(r *Rules) {
	for _, e := range p.texts(p.it.Meta.Fields["extensions"], "extensions") {
		if e == "*" { // every extension that rye reads
			r.extensions = nil
			return
		}
		if len(e) < 2 || e[0] != '.' || len(e) > 16 || strings.ContainsAny(e[1:], "./\\ ") ||
			objects.CheckExtension(objects.Ref{Kind: r.Kind, ID: "x"}.Path(e)) != nil {
			p.bad([]string{"extensions"}, "extension %q: rye has no %s in such files", "delete it", words.Brief(e), r.Kind)
		}
		r.extensions = append(r.extensions, e)
	}
}

// sources reads extraction_rules: field → {type: path, key: …} or {type: filename}.
func (p *reader) sources(r *Rules) {
	const field = "extraction_rules"
	m := p.mapping(p.it.Meta.Fields[field], field)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		at := []string{field, name}
		if !fieldName(name) {
			p.bad(at, "%q is not a field name", "lower-case letters, digits and _", words.Brief(name))
			continue
		}
		how := p.mapping(m[name], at...)
		for _, key := range slices.Sorted(maps.Keys(how)) {
			if key != "type" && key != "key" {
				p.bad(append(at, key), "%s: want type and key, have %q", "{type: path, key: "+name+"}", strings.Join(at, "."), words.Brief(key))
			}
		}
		key := p.text(how["key"], append(at, "key")...)
		switch typ := p.text(how["type"], append(at, "type")...); {
		case typ == "filename" && key == "":
			r.sources[name] = nil
			if in(law, name) && name != "id" {
				p.notYours(at, name)
			}
		case typ == "path" && key != "":
			keys, ok := split(key)
			if !ok {
				p.bad(append(at, "key"), "key %q: want 1 to %d names with dots between them", name, words.Brief(key), MaxNesting)
				continue
			}
			r.sources[name] = keys
			if in(law, name) && !(len(keys) == 1 && keys[0] == name) {
				p.notYours(at, name)
			}
		default:
			p.bad(at, "%s: want {type: path, key: …} or {type: filename}", "{type: path, key: "+name+"}", strings.Join(at, "."))
		}
	}
}

// notYours refuses a rule about a field of the law.
func (p *reader) notYours(at []string, name string) {
	p.bad(at, "%s: an extractor cannot change the place of %s in an item", "delete the rule", strings.Join(at, "."), name)
}

// split splits a key at its dots. It replaces a Python name by the field that it fills.
func split(key string) ([]string, bool) {
	keys := strings.Split(key, ".")
	if f := objects.PythonField(keys[0]); f != "" {
		keys[0] = f
	}
	return keys, len(keys) <= MaxNesting && len(key) <= 512 && !slices.Contains(keys, "")
}

// fieldName reports whether s can name a field: at most 64 lower-case letters, digits
// and _, with no digit first.
func fieldName(s string) bool {
	if s == "" || len(s) > 64 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// usual is the order of fields that have the same weight.
var usual = []string{"name", "title", "description", "tags", "category", "id"}

// weights reads search_fields: field → number.
func (p *reader) weights(r *Rules) {
	const field = "search_fields"
	m := p.mapping(p.it.Meta.Fields[field], field)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		w, ok := number(m[name])
		switch {
		case !fieldName(name):
			p.bad([]string{field, name}, "%q is not a field name", "lower-case letters, digits and _", words.Brief(name))
		case !ok || !(w > 0 && w <= MaxWeight):
			p.bad([]string{field, name}, "the weight of %s: want a number above 0 and at most %d", "leave the field out to not search it", name, MaxWeight)
		default:
			r.Weights = append(r.Weights, Weight{name, w})
		}
	}
	rank := func(f string) int {
		if i := slices.Index(usual, f); i >= 0 {
			return i
		}
		return len(usual)
	}
	slices.SortStableFunc(r.Weights, func(a, b Weight) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(rank(a.Field), rank(b.Field)))
	})
}

// moreFields returns the fields that lists must keep in addition to listed, at most maxMore.
func (r *Rules) moreFields() []string {
	seen := map[string]bool{}
	for name := range r.sources {
		seen[name] = true
	}
	for _, w := range r.Weights {
		seen[w.Field] = true
	}
	for name := range seen {
		if in(listed, name) || in(law, name) {
			delete(seen, name)
		}
	}
	all := slices.Sorted(maps.Keys(seen))
	return all[:min(len(all), maxMore)]
}

// number returns v as a number; ok is false when v is not a finite one.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return 0, false
}

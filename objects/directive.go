package objects

import (
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// readDirective reads rye's form, front matter with prose below, or RYE OS's form, a
// fenced xml block with prose around it.
func (p *parser) readDirective(m *Meta) error {
	if done, err := p.readFrontMatter(m); done || err != nil {
		return err
	}
	f, ok := findFence(p.body, "xml")
	if !ok {
		if at, found := nearFence(p.body); found {
			return p.bad(p.at(at), "a fence around <directive> that is not an xml block: want exactly ```xml").Advise("write ```xml, with three backticks, in lower case, and nothing after it")
		}
		return p.bad(mark{}, "no metadata: want a ```xml block with <directive>, or front matter between --- lines").
			Advise("rye new directive <id> shows the form")
	}
	if !f.terminated {
		return p.bad(p.at(f.start), "an xml fence that never ends")
	}
	if f.end-f.text > MaxMetaSize {
		return p.bad(p.at(f.start), "%d bytes of metadata, at most %d are allowed", f.end-f.text, MaxMetaSize)
	}
	return p.readXML(f, m)
}

// readXML reads the fenced block f.
func (p *parser) readXML(f fence, m *Meta) error {
	p.dialect = dialectXML
	r := &xmlReader{p: p, i: f.text, end: f.end}
	root, err := r.document()
	if err != nil {
		return err
	}
	if root.name != "directive" {
		return p.bad(p.at(root.off), "the xml block holds <%s>, want <directive>", words.Brief(root.name))
	}
	m.Prose = strings.TrimSpace(string(p.body[f.after:]))
	if m.Prose == "" { // the oldest form keeps the process in the XML
		m.Prose = strings.TrimSpace(string(p.body[f.text:f.end]))
	}
	if r.hidden != nil {
		p.fields["templates"] = r.hidden
	}
	if pre := strings.TrimSpace(string(p.body[:f.start])); pre != "" {
		p.fields["preamble"] = pre
	}
	return p.rootFields(root, m)
}

// set keeps a field and its place, and refuses a second one.
func (p *parser) set(name string, v any, off int) error {
	if _, twice := p.places[name]; twice {
		return p.bad(p.at(off), "xml: %s is given twice", name)
	}
	p.fields[name] = v
	p.places[name] = p.at(off)
	return nil
}

// rootFields reads <directive> and its children.
func (p *parser) rootFields(root *element, m *Meta) error {
	for _, a := range root.attrs {
		if err := p.set(a.name, a.value, root.off); err != nil {
			return err
		}
	}
	about := root.child("description") // has precedence over the one in metadata
	if about != nil && about.content() != "" {
		if err := p.set("description", about.content(), about.off); err != nil {
			return err
		}
	}
	for _, k := range root.kids {
		var err error
		switch k.name {
		case "metadata":
			err = p.metadata(k, about != nil && about.content() != "")
		case "description":
			if k != about {
				err = p.bad(p.at(k.off), "xml: description is given twice")
			}
		case "inputs":
			err = p.inputs(k)
		case "outputs":
			err = p.listed(k, "outputs", "output", func(k *element) any { return k.values("description") })
		case "model", "model_class", "limits", "permissions", "hooks", "deps":
			_, err = p.special(k)
		}
		if err != nil {
			return err
		}
		if k.name != "metadata" && k.name != "permissions" && k.name != "hooks" {
			m.Actions = k.actions(m.Actions)
		}
	}
	return nil
}

// metadata reads the children of <metadata>. A field of the root may be repeated with
// the same value. A description is skipped when the root has one.
func (p *parser) metadata(e *element, described bool) error {
	for _, k := range e.kids {
		done, err := p.special(k)
		if err != nil {
			return err
		}
		if done || k.name == "description" && described {
			continue
		}
		var v any = k.content()
		if len(k.kids) > 0 {
			v = k.tree()
		}
		if old, ok := p.fields[k.name].(string); ok && v == any(old) {
			continue
		}
		if err := p.set(k.name, v, k.off); err != nil {
			return err
		}
	}
	return nil
}

// special reads the elements that have a special form.
func (p *parser) special(k *element) (bool, error) {
	switch k.name {
	case "model", "model_class":
		return true, p.set("model", k.values("content"), k.off)
	case "limits":
		return true, p.limits(k)
	case "permissions":
		return true, p.permissions(k)
	case "hooks":
		return true, p.listed(k, "hooks", "", hookOf)
	case "deps":
		return true, p.depsElement(k)
	}
	return false, nil
}

// listed reads the children with a name as a list, or all children when name is "". It notes
// the place of each.
func (p *parser) listed(e *element, field, name string, read func(*element) any) error {
	list := []any{}
	for _, k := range e.kids {
		if name != "" && k.name != name {
			continue
		}
		p.places[field+"."+strconv.Itoa(len(list))] = p.at(k.off)
		list = append(list, read(k))
	}
	return p.set(field, list, e.off)
}

// hookOf reads <hook id event><condition path op value/><action action>text</action></hook>.
func hookOf(k *element) any {
	h := k.tree()
	m, _ := h.(map[string]any)
	if does, ok := m["action"].(map[string]any); ok && does["content"] != nil && does["text"] == nil {
		does["text"] = does["content"]
		delete(does, "content")
	}
	if c, ok := m["condition"].(map[string]any); ok {
		if s, _ := c["value"].(string); s != "" && sized[text(c["op"])] {
			c["value"] = limitValue(s)
		}
	}
	return h
}

// sized are the operators of conditions that read an attribute as a number.
var sized = map[string]bool{"gt": true, "gte": true, "lt": true, "lte": true}

func text(v any) string { s, _ := v.(string); return s }

// limits reads attributes and children in the same way. It drops "max_" before a name.
func (p *parser) limits(e *element) error {
	l := map[string]any{}
	put := func(name, value string, off int) error {
		name = strings.TrimPrefix(name, "max_")
		if _, twice := l[name]; twice {
			return p.bad(p.at(off), "xml: limit %s is given twice", name)
		}
		l[name] = limitValue(strings.TrimSpace(value))
		return nil
	}
	for _, a := range e.attrs {
		if err := put(a.name, a.value, e.off); err != nil {
			return err
		}
	}
	for _, k := range e.kids {
		if err := put(k.name, k.text, k.off); err != nil {
			return err
		}
		if c, ok := k.get("currency"); ok {
			if err := put(k.name+"_currency", c, k.off); err != nil {
				return err
			}
		}
	}
	return p.set("limits", l, e.off)
}

// limitValue returns a float64 for a number with a point, an int for any other number, and
// otherwise the text.
func limitValue(s string) any {
	if strings.ContainsRune(s, '.') {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
		return s
	}
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return s
}

// verbs are the four actions on items.
var verbs = map[string]bool{"execute": true, "search": true, "load": true, "sign": true}

// permissions turns the elements into capability strings. Slashes in ids become dots.
func (p *parser) permissions(e *element) error {
	caps := []any{}
	add := func(parts ...string) {
		caps = append(caps, strings.ReplaceAll(strings.Join(parts, "."), "/", "."))
	}
	if e.content() == "*" && len(e.kids) == 0 {
		add("rye", "*")
	}
	for _, k := range e.kids {
		text := k.content()
		switch {
		case k.name == "cap" && text != "":
			add(text)
		case !verbs[k.name]:
			p.unknown = append(p.unknown, "permissions."+k.name)
		case len(k.kids) > 0:
			for _, item := range k.kids {
				if t := item.content(); t != "" {
					add("rye", k.name, item.name, t)
				}
			}
		case text != "":
			add("rye", k.name, text)
		}
	}
	return p.set("permissions", caps, e.off)
}

// inputs reads <input name type required default>description</input>.
func (p *parser) inputs(e *element) error {
	list := []any{}
	for _, k := range e.kids {
		if k.name != "input" {
			continue
		}
		in := map[string]any{"type": "string", "required": false}
		for _, a := range k.attrs {
			switch a.name {
			case "required":
				in["required"] = strings.EqualFold(a.value, "true")
			default:
				in[a.name] = a.value
			}
		}
		if s := k.content(); s != "" {
			in["description"] = s
		}
		if _, ok := in["name"]; !ok {
			return p.bad(p.at(k.off), "xml: an <input> without a name")
		}
		p.places["inputs."+strconv.Itoa(len(list))] = p.at(k.off)
		list = append(list, in)
	}
	return p.set("inputs", list, e.off)
}

// actions collects the action elements in e and below it.
func (e *element) actions(into []Action) []Action {
	if verbs[e.name] {
		a := Action{Primary: e.name, Attrs: map[string]string{}, Params: map[string]string{}}
		for _, at := range e.attrs {
			a.Attrs[at.name] = at.value
		}
		for _, k := range e.kids {
			if name, _ := k.get("name"); k.name == "param" && name != "" {
				v, _ := k.get("value")
				if v == "" {
					v = k.content()
				}
				a.Params[name] = v
			}
		}
		into = append(into, a)
	}
	for _, k := range e.kids {
		into = k.actions(into)
	}
	return into
}

// tree returns an element as data: attributes by name, text as "content",
// children by name (several of one name as a list), named ones by their name.
func (e *element) tree() any {
	if s := e.content(); s != "" && len(e.attrs) == 0 && len(e.kids) == 0 {
		return s
	}
	m := e.values("content")
	for _, k := range e.kids {
		v := k.tree()
		switch old := m[k.name].(type) {
		case nil:
			m[k.name] = v
		case []any:
			m[k.name] = append(old, v)
		default:
			m[k.name] = []any{old, v}
		}
	}
	return m
}

// directive turns the fields of either form into the meta data.
func (p *parser) directive(m *Meta) error {
	var err error
	if m.Permissions, err = p.list("permissions"); err != nil {
		return err
	}
	limits, err := p.mapping("limits")
	if err != nil {
		return err
	}
	if limits != nil {
		m.Budget = map[string]any{}
		for _, k := range sortedKeys(limits) {
			name := strings.TrimPrefix(k, "max_")
			if _, twice := m.Budget[name]; twice {
				return p.badField("limits", "%s is given twice", name)
			}
			m.Budget[name] = limits[k]
		}
	}
	model, err := p.mapping("model")
	if err != nil {
		return err
	}
	for _, k := range sortedKeys(model) {
		if m.Model == nil {
			m.Model = map[string]string{}
		}
		if m.Model[k], err = p.scalar("model", model[k]); err != nil {
			return err
		}
	}
	m.Outputs = outputsOf(p.fields["outputs"])
	return p.declaredInputs(m)
}

// scalar returns a value inside the field as text.
func (p *parser) scalar(field string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case nil:
		return "", nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return "", p.badField(field, "want plain values, have %s in it", Shape(v))
}

// nearFence finds a fence that holds a <directive> but is not ```xml. That is the most
// common mistake of newcomers.
func nearFence(body []byte) (int, bool) {
	at, fence := 0, -1
	for line := range strings.Lines(string(body)) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~"):
			fence = at
			if text == "```xml" {
				fence = -1 // a correct fence inside a longer one is an example
			}
		case strings.HasPrefix(text, "<directive") && fence >= 0:
			return fence, true
		case text != "":
			fence = -1
		}
		at += len(line)
	}
	return 0, false
}

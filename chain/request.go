package chain

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/web"
	"github.com/rye-os/rye/fault"
)

// Request returns the http primitive's one exchange. Like Call it is a pure function of the plan
// and its inputs. For variables that unsigned sources filled, it holds their names and not their
// values, except in the URL. So it can be shown.
func (p *Plan) Request(in Inputs) (web.Request, error) {
	b, err := p.builder(in)
	if err != nil {
		return web.Request{}, err
	}
	r := web.Request{Whole: p.config.timeout, Method: "GET"}
	for _, step := range []func(*web.Request) error{b.line, b.target, b.fields, b.auth, b.body, b.limits, b.retry} {
		if err := step(&r); err != nil {
			return web.Request{}, err
		}
	}
	return r, nil
}

// Asks returns the destination of a request as its author wrote it: the template of its URL, and
// the hosts that the chain declares. hosts is nil when it declares none.
func (p *Plan) Asks() (url string, hosts []string) {
	url, _ = p.config.values["url"].(string)
	if p.config.needs.Declared {
		hosts = append([]string{}, p.config.needs.Net...)
	}
	return url, hosts
}

// builder makes texts that hold the names of unsigned variables instead of their values.
type builder struct {
	*scope
	p     *Plan
	in    Inputs
	vars  map[string]web.Text // each variable of env_config
	outer bool                // a parameter or a project's file decided about the origin
}

func (p *Plan) builder(in Inputs) (*builder, error) {
	s, err := p.scope(in)
	if err != nil {
		return nil, err
	}
	b := &builder{scope: s, p: p, in: in, vars: map[string]web.Text{}}
	for _, name := range slices.Sorted(maps.Keys(p.config.vars)) {
		if in.Vars[name] != "" && primitive.FromFile(name) {
			b.vars[name] = web.Text{{Secret: name}}
			continue
		}
		if b.vars[name], err = b.text(p.config.vars[name], web.Plain); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *builder) malformed(key, want string) error {
	return badConfig(b.p.Tool(), key, want)
}

// text fills one text. A variable from an unsigned source stays a name.
func (b *builder) text(tmpl string, as web.Encoding) (web.Text, error) {
	var out web.Text
	literal := func(s string) {
		if n := len(out); n > 0 && out[n-1].Secret == "" {
			out[n-1].Literal += s
		} else if s != "" {
			out = append(out, web.Part{Literal: s})
		}
	}
	err := b.pieces(tmpl, func(p piece) error {
		name, isVar := p.variable()
		switch known := b.vars[name]; {
		case p.template == "":
			literal(p.literal)
		case isVar && secrets(known):
			for _, part := range known {
				if part.Secret == "" {
					literal(part.Literal)
				} else {
					out = append(out, web.Part{Secret: part.Secret, As: as})
				}
			}
		default:
			literal(paramText(p.value))
		}
		return nil
	})
	return out, err
}

func secrets(t web.Text) bool {
	return slices.ContainsFunc(t, func(p web.Part) bool { return p.Secret != "" })
}

// absent reports whether a text is exactly one parameter that was not given. The caller then
// leaves out the field.
func (b *builder) absent(tmpl string) bool {
	name, ok := whole(tmpl)
	return ok && b.values[name] == nil
}

// variableOf returns the variable's name when tmpl is exactly ${NAME:-}, a variable that may be
// unset.
func variableOf(tmpl string) (string, bool) {
	name, ok := strings.CutPrefix(tmpl, "${")
	name, end := strings.CutSuffix(name, ":-}")
	return name, ok && end && !strings.ContainsAny(name, "${}")
}

// line reads the method.
func (b *builder) line(r *web.Request) error {
	if v, ok := b.p.config.values["method"]; ok {
		if r.Method, ok = v.(string); !ok {
			return b.malformed("method", "a text")
		}
		r.Method = strings.ToUpper(r.Method)
	}
	return nil
}

// target computes the URL of the request and the hosts that it may reach. The author or the
// user's environment decides the host. A parameter or a file of the project may decide it only
// when the tool declares its hosts.
func (b *builder) target(r *web.Request) (err error) {
	tmpl, ok := b.p.config.values["url"].(string)
	if !ok || tmpl == "" {
		return fault.New(fault.Malformed, "plan %s: no item of its chain has a config.url", b.p.Tool().Ref)
	}
	if r.URL, err = b.url(tmpl); err != nil {
		return err
	}
	if name, ok := variableOf(tmpl); ok && r.URL == "" {
		return fault.New(fault.Usage, "run %s: %s is not set: it names the service", b.p.Tool().Ref, name).
			Advise("export %s=https://… where rye or your client's server starts; rye load %s lists the services that it understands", name, b.p.Tool().Ref)
	}
	tool := b.p.Links[0].Verified
	switch {
	case b.p.config.needs.Declared:
		r.Hosts = append([]string{}, b.p.config.needs.Net...)
	case b.outer:
		return fault.New(fault.Denied, "run %s: its caller, or a file of the project, chooses the host", b.p.Tool().Ref).
			Advise("declare needs: {net: [\"*\"]} in the tool, or the hosts that it may reach, and rye sign %s", b.p.Tool().Ref)
	case tool.Scope().Registry == "":
		r.Hosts = []string{"*"} // for redirects; a registry's tool stays at its host
	}
	return nil
}

// url fills the template of a URL. Values in the path or the query are encoded, so that they
// cannot leave their place.
func (b *builder) url(tmpl string) (string, error) {
	var out strings.Builder
	inPath := false
	err := b.pieces(tmpl, func(p piece) error {
		if p.template == "" {
			out.WriteString(p.literal)
			return nil
		}
		v := paramText(p.value)
		name, isVar := p.variable()
		if isVar && (secretive(name) || slices.ContainsFunc(b.vars[name], func(p web.Part) bool { return secretive(p.Secret) })) {
			return fault.New(fault.Malformed, "plan %s: config.url holds ${%s}: URLs are shown in messages", b.p.Tool().Ref, name).
				Advise("config.auth: {type: api_key, query: <parameter>, key: \"${%s}\"}", name)
		}
		switch place(out.String()) {
		case inOrigin:
			b.outer = b.outer || !isVar && b.fromCaller(p) || isVar && b.weak(name)
		case inQuery:
			v = url.QueryEscape(v)
		default:
			if v == "" {
				return fault.New(fault.Usage, "run %s: %s is part of the path and must not be empty", b.p.Tool().Ref, p.template)
			}
			inPath = true
			v = url.PathEscape(v)
		}
		out.WriteString(v)
		return nil
	})
	text := out.String()
	if err == nil && inPath && dotted(text) {
		err = fault.New(fault.Usage, "run %s: a parameter makes \".\" or \"..\" of a part of the path", b.p.Tool().Ref)
	}
	return text, err
}

// fromCaller reports whether a {name} is not a key of the signed configuration.
func (b *builder) fromCaller(p piece) bool {
	name, _, _ := strings.Cut(strings.Trim(p.template, "{}"), ".")
	_, given := b.params[name]
	_, signed := b.p.config.values[name]
	return given || !signed
}

// weak reports whether a file of the project filled a part of a variable.
func (b *builder) weak(name string) bool {
	return slices.ContainsFunc(b.vars[name], func(p web.Part) bool { return b.in.Weak[p.Secret] })
}

// secretive reports whether a variable's name looks like a secret's.
func secretive(name string) bool {
	for _, part := range strings.Split(name, "_") {
		switch part {
		case "KEY", "TOKEN", "SECRET", "PASSWORD", "PASS", "CREDENTIAL", "CREDENTIALS":
			return true
		}
	}
	return false
}

type urlPlace uint8

const (
	inOrigin urlPlace = iota
	inURLPath
	inQuery
)

// place returns the part of a URL that the next byte belongs to.
func place(so string) urlPlace {
	_, rest, ok := strings.Cut(so, "://")
	i := strings.IndexAny(rest, "/?#")
	switch {
	case !ok || i < 0:
		return inOrigin
	case strings.ContainsAny(rest, "?#"):
		return inQuery
	}
	return inURLPath
}

func dotted(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	rest, _, _ = strings.Cut(rest, "?")
	for _, seg := range strings.FieldsFunc(rest, func(c rune) bool { return c == '/' || c == '\\' }) {
		if plain, err := url.PathUnescape(seg); err == nil && (plain == "." || plain == "..") {
			return true
		}
	}
	return false
}

// fields reads query and headers.
func (b *builder) fields(r *web.Request) (err error) {
	if r.Query, err = b.list("query", b.p.config.values["query"]); err != nil {
		return err
	}
	if r.Header, err = b.list("headers", b.p.config.values["headers"]); err != nil {
		return err
	}
	headers, _ := b.p.config.values["headers"].(map[string]any)
	for _, f := range r.Header {
		switch strings.ToLower(f.Name) {
		case "authorization", "cookie":
			if _, err := b.secret("headers."+f.Name, headers[f.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// list reads a mapping of fields, sorted by name. A list makes several fields with one name.
func (b *builder) list(key string, v any) (out []web.Field, err error) {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, b.malformed(key, "a mapping")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		values, isList := m[name].([]any)
		if !isList {
			values = []any{m[name]}
		}
		if tmpl, ok := m[name].(string); ok {
			if param, ok := whole(tmpl); ok {
				if several, ok := b.values[param].([]any); ok {
					for _, v := range several {
						out = append(out, web.Field{Name: name, Value: web.Literal(paramText(v))})
					}
					continue
				}
			}
		}
		for _, v := range values {
			t, given, err := b.value(key+"."+name, v)
			if err != nil {
				return nil, err
			}
			if given {
				out = append(out, web.Field{Name: name, Value: t})
			}
		}
	}
	return out, nil
}

// value reads a text, a number or {secret: NAME}.
func (b *builder) value(key string, v any) (t web.Text, given bool, err error) {
	if m, ok := v.(map[string]any); ok {
		t, err := b.secret(key, m)
		return t, true, err
	}
	tmpl, ok := scalarText(v)
	if !ok {
		return nil, false, b.malformed(key, "a text, a number or {secret: NAME}")
	}
	if b.absent(tmpl) {
		return nil, false, nil
	}
	t, err = b.text(tmpl, web.Plain)
	_, optional := variableOf(tmpl)
	return t, err != nil || !optional || len(t) > 0, err
}

// limits reads the bounds of the exchange.
func (b *builder) limits(r *web.Request) error {
	vs := b.p.config.values
	for key, into := range map[string]*time.Duration{"connect_timeout": &r.Connect, "header_timeout": &r.First, "idle_timeout": &r.Idle} {
		if v, ok := vs[key]; ok {
			if *into, ok = seconds(v); !ok {
				return b.malformed(key, "a number of seconds above 0")
			}
		}
	}
	r.Redirects = 5
	size := web.DefaultBody
	for _, n := range []struct {
		key      string
		into     *int
		min, max int
	}{{"redirects", &r.Redirects, 0, web.MaxRedirects}, {"max_bytes", &size, 1, web.MaxBody}} {
		if err := b.number(vs, n.key, n.into, n.min, n.max); err != nil {
			return err
		}
	}
	r.MaxBody = int64(size)
	if v := b.word("convert"); v != "" {
		var ok bool
		if r.Convert, ok = web.ParseFormat(v); !ok {
			return b.malformed("convert", "text, markdown, html or results")
		}
		if name, ok := whole(paramText(b.p.config.values["results"])); ok {
			r.Results, _ = strconv.Atoi(paramText(b.values[name]))
		}
	}
	mode := b.word("mode")
	switch mode {
	case "", "sync":
	case "stream":
		r.Stream = true
	default:
		return b.malformed("mode", "sync or stream")
	}
	return nil
}

// word reads a text that may be a parameter.
func (b *builder) word(key string) string {
	s, _ := b.p.config.values[key].(string)
	if name, ok := whole(s); ok {
		s, _ = b.values[name].(string)
	}
	return s
}

func (b *builder) number(from map[string]any, key string, into *int, least, most int) error {
	v, given := from[key]
	if !given {
		return nil
	}
	n, ok := v.(int)
	if !ok || n < least || n > most {
		return b.malformed(key, fmt.Sprintf("a number from %d to %d", least, most))
	}
	*into = n
	return nil
}

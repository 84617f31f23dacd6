package chain

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/web"
	"github.com/rye-os/rye/fault"
)

// secret reads a credential: {secret: NAME}, or a text with ${NAME} in it. A literal credential
// is refused, because signed files are public. A parameter in it is refused, because a model
// would then hold the credential.
func (b *builder) secret(key string, v any) (web.Text, error) {
	ref := b.p.Tool().Ref
	tmpl, ok := v.(string)
	if m, isMap := v.(map[string]any); isMap && len(m) == 1 {
		if name, _ := m["secret"].(string); isVariable(name) {
			tmpl, ok = "${"+name+"}", true
		}
	}
	if !ok {
		return nil, b.malformed(key, "{secret: NAME}, or a text with ${NAME}")
	}
	var names []string
	err := b.pieces(tmpl, func(p piece) error {
		name, isVar := p.variable()
		switch {
		case p.template == "":
		case !isVar:
			return fault.New(fault.Malformed, "plan %s: config.%s holds %s: a secret comes from a variable, not from a parameter", ref, key, p.template)
		default:
			if _, declared := b.p.config.vars[name]; !declared || !primitive.FromFile(name) {
				return fault.New(fault.Malformed, "plan %s: config.%s names %s, which its chain does not declare", ref, key, name).
					Advise("env_config: {env: {%s: \"\"}}", name)
			}
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fault.New(fault.Malformed, "plan %s: config.%s holds the secret itself, and everyone can read a signed file", ref, key).
			Advise("env_config: {env: {TOKEN: \"\"}} and ${TOKEN} in its place")
	}
	t, err := b.text(tmpl, web.Plain)
	if err == nil && !secrets(t) && strings.TrimSpace(t.String()) == strings.TrimSpace(outside(tmpl)) {
		t = web.Text{{Secret: names[0]}} // unset: the primitive reports that
	}
	return t, err
}

// outside returns a template without its ${...}.
func outside(tmpl string) string {
	for {
		i := strings.Index(tmpl, "${")
		if i < 0 {
			return tmpl
		}
		n := strings.IndexByte(tmpl[i:], '}')
		if n < 0 {
			return tmpl
		}
		tmpl = tmpl[:i] + tmpl[i+n+1:]
	}
}

// auth reads config.auth into a header, a parameter of the query, or a user name and password.
func (b *builder) auth(r *web.Request) error {
	v, ok := b.p.config.values["auth"]
	if !ok || v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return b.malformed("auth", "a mapping with a type")
	}
	kind, _ := m["type"].(string)
	keys, ok := map[string][]string{"none": {}, "bearer": {"token"}, "api_key": {"key", "header", "query"}, "basic": {"username", "password"}}[kind]
	if !ok {
		return b.malformed("auth.type", "bearer, api_key, basic or none")
	}
	for key := range m {
		if key != "type" && !slices.Contains(keys, key) {
			return b.malformed("auth."+key, "one of "+strings.Join(append(keys, "type"), ", "))
		}
	}
	if kind == "none" {
		return nil
	}
	held := map[string]string{"bearer": "token", "api_key": "key", "basic": "password"}[kind]
	t, err := b.secret("auth."+held, m[held])
	if err != nil {
		return err
	}
	switch kind {
	case "bearer":
		r.Header = append(r.Header, web.Field{Name: "Authorization", Value: append(web.Literal("Bearer "), t...)})
	case "api_key":
		return b.apiKey(r, m, t)
	case "basic":
		user, given, err := b.value("auth.username", m["username"])
		if err != nil {
			return err
		}
		if !given {
			return b.malformed("auth.username", "a text")
		}
		r.Auth = &web.Basic{User: user, Password: t}
	}
	return nil
}

func (b *builder) apiKey(r *web.Request, m map[string]any, t web.Text) error {
	header, inHeader := m["header"].(string)
	query, inQuery := m["query"].(string)
	switch {
	case inHeader && inQuery:
		return b.malformed("auth", "header or query, not both")
	case inQuery:
		r.Query = append(r.Query, web.Field{Name: query, Value: t})
		return nil
	case !inHeader:
		header = "X-API-Key"
	}
	r.Header = append(r.Header, web.Field{Name: header, Value: t})
	return nil
}

// body reads config.body, a text or a value that becomes JSON, or config.form.
func (b *builder) body(r *web.Request) (err error) {
	form, isForm := b.p.config.values["form"]
	body, isBody := b.p.config.values["body"]
	switch {
	case isForm && isBody:
		return b.malformed("form", "body or form, not both")
	case isForm:
		fields, err := b.list("form", form)
		if err != nil {
			return err
		}
		r.Type, r.Body = "application/x-www-form-urlencoded", formText(fields)
	case isBody && body != nil:
		if r.Body, r.Type, err = b.content(body); err != nil {
			return err
		}
	}
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, "Content-Type") {
			r.Type = "" // the tool sets it itself
		}
	}
	return nil
}

// content fills a body. A parameter standing alone keeps its type. A text is sent as it is,
// anything else as JSON.
func (b *builder) content(body any) (web.Text, string, error) {
	const asJSON, asText = "application/json", "text/plain; charset=utf-8"
	if tmpl, ok := body.(string); ok {
		name, alone := whole(tmpl)
		_, isText := b.values[name].(string)
		switch {
		case tmpl == "{params_json}":
			return web.Literal(paramText(b.values["params_json"])), asJSON, nil
		case b.absent(tmpl):
			return nil, "", nil
		case !alone || isText:
			t, err := b.text(tmpl, web.Plain)
			return t, asText, err
		}
	}
	var w jsonText
	err := w.write(b, body)
	return w.text(), asJSON, err
}

func formText(fields []web.Field) (out web.Text) {
	sep := ""
	for _, f := range fields {
		out = append(out, web.Part{Literal: sep + url.QueryEscape(f.Name) + "="})
		sep = "&"
		for _, p := range f.Value {
			if p.Secret == "" {
				p.Literal = url.QueryEscape(p.Literal)
			}
			p.As = web.Form
			out = append(out, p)
		}
	}
	if out == nil {
		out = web.Literal("")
	}
	return out
}

// jsonText writes sorted, compact JSON that holds the names of secrets instead of their values.
type jsonText struct {
	out web.Text
	buf bytes.Buffer
}

func (w *jsonText) text() web.Text {
	if w.buf.Len() > 0 {
		w.out = append(w.out, web.Part{Literal: w.buf.String()})
		w.buf.Reset()
	}
	return w.out
}

func (w *jsonText) write(b *builder, v any) error {
	switch v := v.(type) {
	case map[string]any:
		w.buf.WriteByte('{')
		sep := ""
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if t, ok := v[k].(string); ok && b.absent(t) {
				continue
			}
			key, err := encodeJSON(k)
			if err != nil {
				return err
			}
			w.buf.WriteString(sep + string(key) + ":")
			sep = ","
			if err := w.write(b, v[k]); err != nil {
				return err
			}
		}
		w.buf.WriteByte('}')
		return nil
	case []any:
		w.buf.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				w.buf.WriteByte(',')
			}
			if err := w.write(b, e); err != nil {
				return err
			}
		}
		w.buf.WriteByte(']')
		return nil
	case string:
		return w.string(b, v)
	}
	return w.plain(v)
}

// plain writes a value as it is. Texts in a parameter's value are no templates.
func (w *jsonText) plain(v any) error {
	raw, err := encodeJSON(v)
	w.buf.Write(raw)
	return err
}

// string writes a template. Exactly one parameter keeps its type; anything else becomes a text.
func (w *jsonText) string(b *builder, tmpl string) error {
	if name, ok := whole(tmpl); ok {
		if v, ok := b.values[name]; ok || b.schema[name] {
			return w.plain(v)
		}
	}
	t, err := b.text(tmpl, web.JSON)
	if err != nil {
		return err
	}
	w.buf.WriteByte('"')
	for _, p := range t {
		if p.Secret != "" {
			w.text()
			w.out = append(w.out, p)
			continue
		}
		raw, err := encodeJSON(p.Literal)
		if err != nil {
			return err
		}
		w.buf.Write(raw[1 : len(raw)-1])
	}
	w.buf.WriteByte('"')
	return nil
}

// retry reads config.retry.
func (b *builder) retry(r *web.Request) error {
	v, ok := b.p.config.values["retry"]
	if !ok || v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return b.malformed("retry", "a mapping")
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		v, ok := m[key], true
		switch key {
		case "max_attempts":
			if err := b.number(m, key, &r.Retry.Attempts, 1, web.MaxAttempts); err != nil {
				return err
			}
		case "statuses":
			r.Retry.Statuses, ok = statuses(v)
		case "backoff":
			s, _ := v.(string)
			r.Retry.Fixed, ok = s == "fixed", s == "fixed" || s == "exponential"
		case "base":
			r.Retry.Base, ok = seconds(v)
		case "max_wait":
			r.Retry.Max, ok = seconds(v)
		case "idempotent":
			r.Retry.Repeatable, ok = v.(bool)
		default:
			ok = false
		}
		if !ok {
			return b.malformed("retry."+key, "max_attempts, statuses, backoff (exponential, fixed), base and max_wait in seconds, idempotent (true, false)")
		}
	}
	return nil
}

func statuses(v any) ([]int, bool) {
	list, ok := v.([]any)
	out := []int{}
	for _, e := range list {
		n, isInt := e.(int)
		if !isInt || n < 300 || n > 599 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, ok
}

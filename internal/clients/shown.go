package clients

import (
	"encoding/json"
	"strings"
)

// Shown returns the entry in a text as JSON, a member on each line, sorted; "" when there is
// none. It hides possible secrets: values of variables and headers, unless they are a reference
// to a variable, and the user, password, query and fragment of an address.
func (c Client) Shown(raw []byte) (string, error) {
	_, entry, err := c.open(raw)
	if err != nil || entry == nil {
		return "", err
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c.veiled(entry)); err != nil {
		return "", err
	}
	return b.String(), nil
}

// hidden replaces a hidden value.
const hidden = "(hidden)"

func (c Client) veiled(entry map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range entry {
		switch name {
		case "env", "envs", "environment", "headers", "http_headers":
			v = c.veil(v)
		case "url", "uri", "httpUrl", "serverUrl":
			if text, ok := v.(string); ok {
				v = bare(text)
			}
		}
		out[name] = v
	}
	return out
}

func (c Client) veil(v any) any {
	all, ok := v.(map[string]any)
	if !ok {
		return hidden
	}
	out := map[string]any{}
	for name, v := range all {
		text, _ := v.(string)
		before, after, ok := strings.Cut(c.ref, "%s")
		ok = ok && c.ref != "%s" && strings.HasPrefix(strings.TrimPrefix(text, "Bearer "), before) && strings.HasSuffix(text, after)
		if out[name] = hidden; ok {
			out[name] = text
		}
	}
	return out
}

// bare returns an address without user, password, query and fragment.
func bare(text string) string {
	text, _, _ = strings.Cut(text, "?")
	text, _, _ = strings.Cut(text, "#")
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return hidden
	}
	host, path, slash := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if slash {
		host += "/" + path
	}
	return scheme + "://" + host
}

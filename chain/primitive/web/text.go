package web

import (
	"encoding/json"
	"net/url"
	"strings"
)

// Text is a text that holds the names of secrets. Without secrets it has at most one part.
type Text []Part

// Part is a piece of a Text: a literal, or the name of a secret and the encoding of its value.
type Part struct {
	Literal string
	Secret  string
	As      Encoding
}

// Encoding is the form of a secret in a text.
type Encoding uint8

// The encodings.
const (
	Plain Encoding = iota
	JSON           // inside the quotes of a JSON string
	Form           // percent-encoded, as in a query
)

// Literal returns a text without secrets.
func Literal(s string) Text { return Text{{Literal: s}} }

// String returns the text with secrets as ${NAME}.
func (t Text) String() string {
	return t.fill(func(p Part) string { return "${" + p.Secret + "}" })
}

// MarshalText returns the same as String.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// names lists the secrets in t.
func (t Text) names() (out []string) {
	for _, p := range t {
		if p.Secret != "" {
			out = append(out, p.Secret)
		}
	}
	return out
}

func (t Text) fill(secret func(Part) string) string {
	var b strings.Builder
	for _, p := range t {
		if p.Secret == "" {
			b.WriteString(p.Literal)
		} else {
			b.WriteString(secret(p))
		}
	}
	return b.String()
}

// reveal returns the text with the values of the secrets.
func (t Text) reveal(secrets map[string]string) string {
	return t.fill(func(p Part) string { return p.As.write(secrets[p.Secret]) })
}

func (e Encoding) write(s string) string {
	switch e {
	case JSON:
		quoted, _ := json.Marshal(s)
		return string(quoted[1 : len(quoted)-1])
	case Form:
		return url.QueryEscape(s)
	}
	return s
}

package run

import (
	"strings"

	"github.com/rye-os/rye/workspace/internal/look"
)

// interpolate replaces {input:key}, {input:key?} and {input:key:default} in a
// directive's text, once: what a value contains is never read as a template. A
// key without value stays as it is, becomes empty, or becomes the default.
func interpolate(text string, inputs map[string]any) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "{input:")
		if i < 0 {
			break
		}
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			break
		}
		b.WriteString(text[:i])
		whole := text[i : i+end+1]
		b.WriteString(inputValue(whole, inputs))
		text = text[i+end+1:]
	}
	b.WriteString(text)
	return b.String()
}

func inputValue(whole string, inputs map[string]any) string {
	key, def, hasDefault := strings.Cut(whole[len("{input:"):len(whole)-1], ":")
	key, optional := strings.CutSuffix(key, "?")
	v, ok := inputs[key]
	switch {
	case ok:
		return look.InputText(v)
	case hasDefault:
		return def
	case optional:
		return ""
	}
	return whole
}

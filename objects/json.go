package objects

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/rye-os/rye/internal/strict"
)

// readJSON reads a file that is one JSON object.
func (p *parser) readJSON() error {
	p.dialect = dialectData
	fields, places, err := strict.Object(p.body, MaxMetaSize)
	if at := (*strict.Error)(nil); errors.As(err, &at) {
		bad := malformed(p.path, at.Line, at.Column, "%s", at.Msg)
		if mend := strict.Mend(at.Msg); mend != "" {
			bad = bad.Advise("%s", mend)
		}
		return bad
	}
	if err != nil {
		return err
	}
	if fields == nil {
		return p.bad(mark{1, 1}, "metadata is not an object")
	}
	for k, v := range fields {
		if n, ok := v.(json.Number); ok {
			p.texts[k] = n.String()
		}
		p.fields[k] = plainNumbers(v)
		p.places[k] = p.at(places[k])
	}
	return nil
}

// plainNumbers replaces every json.Number by an int or a float64, as in yamlValue.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return int(i)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// Package expr fills templates and evaluates conditions of data files. Both are pure, end
// after a bounded amount of work, and reach nothing but the values they are handed.
//
// Values are what JSON and YAML know: nil, bool, string, int, int64, float64,
// json.Number, []any and map[string]any.
//
// # Reasons
//
// The text of a template is expanded once, and a value comes out as it went in: a
// parameter ${SECRET} stays those nine characters. RYE OS expanded values too, and leaked
// secrets by it.
package expr

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Bounds. A text over one of them is refused with the code limit.
const (
	MaxDepth  = 64      // nesting of conditions and of values
	MaxNodes  = 4096    // conditions in one tree
	MaxText   = 1 << 20 // bytes in the result of one expansion
	maxRegexp = 1024    // bytes of a pattern
)

// Lookup finds the value of a name. The bool is false for an absent name.
type Lookup func(name string) (any, bool)

// Of returns a Lookup of dotted paths in data: "state.items.0.name" goes through
// mappings by key and through lists by index, from the end when it is negative.
func Of(data any) Lookup {
	return func(path string) (any, bool) { return Get(data, path) }
}

// Get follows a dotted path. The empty path is data itself.
func Get(data any, path string) (any, bool) {
	if path == "" {
		return data, true
	}
	for path != "" {
		key, rest, _ := strings.Cut(path, ".")
		switch v := data.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				return nil, false
			}
			data = next
		case []any:
			i, err := strconv.Atoi(key)
			if err == nil && i < 0 {
				i += len(v)
			}
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			data = v[i]
		default:
			return nil, false
		}
		path = rest
	}
	return data, true
}

// Text returns a value as text: "" for nil, true or false, numbers without needless
// digits, JSON for lists and mappings.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case json.Number:
		return v.String()
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	if depth(v) > MaxDepth {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// depth returns the nesting of v, at most one more than MaxDepth.
func depth(v any) int { return depthFrom(v, 0) }

func depthFrom(v any, at int) int {
	if at > MaxDepth {
		return at
	}
	deepest := at
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depthFrom(e, at+1))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depthFrom(e, at+1))
		}
	}
	return deepest
}

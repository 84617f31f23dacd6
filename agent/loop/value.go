package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/rye-os/rye/internal/strict"
)

// encoder writes values as canonical JSON: names sorted by their bytes, no spaces, only the escapes
// that JSON requires, whole numbers as digits. Other numbers are as short as they can be read back,
// with a point or an exponent, so that 1.0 does not become an integer.
type encoder struct {
	out  []byte
	most int
}

var errLarge = errors.New("too large")

// encode writes v in at most most bytes.
func encode(v starlark.Value, most int) ([]byte, error) {
	e := encoder{most: most}
	if err := e.value(v, 1); err != nil {
		if errors.Is(err, errLarge) {
			err = fmt.Errorf("more than %d bytes of JSON", most)
		}
		return nil, err
	}
	return e.out, nil
}

func (e *encoder) value(v starlark.Value, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("nested deeper than %d levels", maxNesting)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return e.put("null")
	case starlark.Bool:
		return e.put(strconv.FormatBool(bool(v)))
	case starlark.Int:
		n, ok := v.Int64()
		if !ok {
			return errors.New("a number of more than 64 bits")
		}
		return e.put(strconv.FormatInt(n, 10))
	case starlark.Float:
		return e.float(float64(v))
	case starlark.String:
		return e.text(string(v))
	case *starlark.List:
		return e.list(v, depth)
	case starlark.Tuple:
		return e.list(v, depth)
	case *starlark.Dict:
		return e.dict(v, depth)
	}
	return fmt.Errorf("a %s is not JSON: want None, a bool, number, string, list or dict", v.Type())
}

func (e *encoder) put(s string) error {
	if len(e.out)+len(s) > e.most {
		return errLarge
	}
	e.out = append(e.out, s...)
	return nil
}

func (e *encoder) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("a number that is not finite")
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if bytes.IndexAny([]byte(s), ".e") < 0 {
		s += ".0"
	}
	return e.put(s)
}

func (e *encoder) text(s string) error {
	if len(s) > e.most {
		return errLarge
	}
	if !utf8.ValidString(s) {
		return errors.New("a string that is not UTF-8")
	}
	if err := e.put(`"`); err != nil {
		return err
	}
	for i := range len(s) {
		var err error
		switch c := s[i]; {
		case c == '"' || c == '\\':
			err = e.put(string([]byte{'\\', c}))
		case c < 0x20:
			err = e.put(fmt.Sprintf(`\u%04x`, c))
		case len(e.out) >= e.most:
			err = errLarge
		default:
			e.out = append(e.out, c)
		}
		if err != nil {
			return err
		}
	}
	return e.put(`"`)
}

func (e *encoder) list(list starlark.Indexable, depth int) error {
	if err := e.put("["); err != nil {
		return err
	}
	for i := range list.Len() {
		if i > 0 {
			if err := e.put(","); err != nil {
				return err
			}
		}
		if err := e.value(list.Index(i), depth+1); err != nil {
			return err
		}
	}
	return e.put("]")
}

func (e *encoder) dict(d *starlark.Dict, depth int) error {
	if d.Len() > e.most/4 { // "":0
		return errLarge
	}
	values := make(map[string]starlark.Value, d.Len())
	for k, v := range d.Entries() {
		name, ok := k.(starlark.String)
		if !ok {
			return fmt.Errorf("a %s as a key: want strings", k.Type())
		}
		values[string(name)] = v
	}
	sep := "{"
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := e.put(sep); err != nil {
			return err
		}
		if err := e.text(name); err != nil {
			return err
		}
		if err := e.put(":"); err != nil {
			return err
		}
		if err := e.value(values[name], depth+1); err != nil {
			return err
		}
		sep = ","
	}
	if sep == "{" {
		return e.put("{}")
	}
	return e.put("}")
}

// decoder reads JSON into values. It refuses duplicate names. Whole numbers of up to 64 bits are
// ints, others floats.
type decoder struct{ in *strict.Reader }

// decode reads one value, and refuses bytes after it.
func decode(raw []byte) (starlark.Value, error) {
	in, err := strict.NewReader(raw, strict.Rules{Size: math.MaxInt, Depth: maxNesting, Leaves: true})
	if err != nil {
		return nil, err
	}
	v, err := (&decoder{in}).value()
	if err != nil {
		return nil, err
	}
	return v, in.End()
}

func (d *decoder) value() (starlark.Value, error) {
	switch d.in.Kind() {
	case '[':
		return d.list()
	case '{':
		return d.dict()
	}
	v, err := d.in.Scalar()
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case bool:
		return starlark.Bool(v), nil
	case json.Number:
		return number(v)
	case string:
		return starlark.String(v), nil
	}
	return starlark.None, nil
}

func number(n json.Number) (starlark.Value, error) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return starlark.MakeInt64(i), nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %.40s", n)
	}
	return starlark.Float(f), nil
}

func (d *decoder) list() (starlark.Value, error) {
	var list []starlark.Value
	err := d.in.Array(func() error {
		v, err := d.value()
		list = append(list, v)
		return err
	})
	return starlark.NewList(list), err
}

func (d *decoder) dict() (starlark.Value, error) {
	dict := starlark.NewDict(0)
	err := d.in.Object(func(name string) error {
		v, err := d.value()
		if err != nil {
			return err
		}
		return dict.SetKey(starlark.String(name), v)
	})
	return dict, err
}

// plain converts a value that encode has accepted into Go values as encoding/json makes them, but
// with int64 for whole numbers.
func plain(v starlark.Value) any {
	switch v := v.(type) {
	case starlark.Bool:
		return bool(v)
	case starlark.Int:
		n, _ := v.Int64()
		return n
	case starlark.Float:
		return float64(v)
	case starlark.String:
		return string(v)
	case *starlark.Dict:
		m := make(map[string]any, v.Len())
		for k, x := range v.Entries() {
			m[string(k.(starlark.String))] = plain(x)
		}
		return m
	case starlark.Indexable: // a list or a tuple
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	}
	return nil
}

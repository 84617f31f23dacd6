package loop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// predeclared are the names that every program has besides Starlark's own. Their values never
// change.
var predeclared = names()

func names() starlark.StringDict {
	d := starlark.StringDict{"next": nextModule{}}
	for op := range guarded {
		d[guardName(op.String())] = operator(op)
		d[guardName(op.String()+"=")] = inPlace(op)
		d[guardName("[]"+op.String()+"=")] = elementInPlace(op)
	}
	d[guardName(".")] = starlark.NewBuiltin(".", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return attribute(meterOf(t), args[0], string(args[1].(starlark.String)))
	})
	d[guardName("copy")] = starlark.NewBuiltin("copy", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return args[0], meterOf(t).charge(sizeOf(args[0]), 1)
	})
	for name, cost := range functions {
		d[name] = charged(name, cost, starlark.Universe[name])
	}
	for _, name := range []string{"bytes", "getattr", "hash", "set"} {
		d[name] = starlark.NewBuiltin(name, func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return nil, fmt.Errorf("%s is not in the language of loops", name)
		})
	}
	return d
}

// cost charges for a call before it is made. self is nil for a function.
type cost func(m *meter, self starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error

// charged returns a function that charges the cost of a call and then calls what.
func charged(name string, c cost, what starlark.Value) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := c(meterOf(t), nil, args, kwargs); err != nil {
			return nil, err
		}
		return starlark.Call(t, what, args, kwargs)
	})
}

// each charges for every element of the arguments that can be iterated over.
func each(size int64) cost {
	return func(m *meter, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
		if err := m.charge(int64(len(kwargs)), size); err != nil {
			return err
		}
		for _, a := range args {
			if _, ok := a.(starlark.Iterable); !ok {
				continue // the function refuses it in its own words
			}
			n, err := length(a)
			if err == nil {
				err = m.charge(n, size)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// shown charges for the texts of all arguments.
func shown(m *meter, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, a := range args {
		if s, ok := a.(starlark.String); ok {
			if err := m.charge(4*int64(len(s)), 1); err != nil {
				return err
			}
			continue
		}
		n, err := m.weigh(a)
		if err == nil {
			err = m.charge(n, 1)
		}
		if err != nil {
			return err
		}
	}
	for _, kv := range kwargs { // for sep between the arguments
		if s, ok := kv[1].(starlark.String); ok {
			if err := m.charge(int64(len(args)), int64(len(s))); err != nil {
				return err
			}
		}
	}
	return nil
}

// digits limits int("…") to numbers that fit.
func digits(_ *meter, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, kv := range kwargs {
		args = append(slices.Clone(args), kv[1])
	}
	for _, a := range args {
		if s, ok := a.(starlark.String); ok && len(s) > maxBits/4 {
			return fmt.Errorf("a number of %d digits", len(s))
		}
	}
	return nil
}

// functions are Starlark's functions whose result may be larger than their arguments.
var functions = map[string]cost{
	"dict": each(entry), "enumerate": each(box + element), "list": each(3 * element), "reversed": each(3 * element),
	"sorted": each(5 * element), "tuple": each(3 * element), "zip": each(box),
	"fail": shown, "print": shown, "repr": shown, "str": shown, "int": digits,
}

// methods are the methods of the types in programs. A nil cost means a constant cost.
var methods = map[string]map[string]cost{
	"string": {
		"count": nil, "elems": nil, "endswith": nil, "find": nil, "index": nil, "isalnum": nil, "isalpha": nil, "isdigit": nil,
		"islower": nil, "isspace": nil, "istitle": nil, "isupper": nil, "lstrip": nil, "partition": nil, "removeprefix": nil,
		"removesuffix": nil, "rfind": nil, "rindex": nil, "rpartition": nil, "rstrip": nil, "startswith": nil, "strip": nil,
		"capitalize": letters, "lower": letters, "title": letters, "upper": letters,
		"format": format, "join": join, "replace": replace, "rsplit": split, "split": split, "splitlines": lines,
	},
	"list": {"append": nil, "clear": nil, "index": nil, "insert": nil, "pop": nil, "remove": nil, "extend": each(4 * element)},
	"dict": {
		"clear": nil, "get": nil, "pop": nil, "popitem": nil, "setdefault": nil,
		"items": whole(box), "keys": whole(element), "values": whole(element), "update": each(entry),
	},
}

// attribute returns x.name.
func attribute(m *meter, x starlark.Value, name string) (starlark.Value, error) {
	table, ok := methods[x.Type()]
	if !ok {
		if x, ok := x.(starlark.HasAttrs); ok {
			if v, err := x.Attr(name); v != nil || err != nil {
				return v, err
			}
			return nil, fmt.Errorf("%s has no %s; it has %s", x.Type(), name, strings.Join(x.AttrNames(), ", "))
		}
		return nil, fmt.Errorf("%s has no %s", x.Type(), name)
	}
	c, ok := table[name]
	if !ok {
		return nil, fmt.Errorf("%s has no %s; it has %s", x.Type(), name, strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	method, err := x.(starlark.HasAttrs).Attr(name)
	if err != nil || c == nil {
		return method, err
	}
	return charged(name, func(m *meter, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
		return c(m, x, args, kwargs)
	}, method), nil
}

// whole charges for every element of the receiver.
func whole(size int64) cost {
	return func(m *meter, self starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
		n, err := length(self)
		if err != nil {
			return err
		}
		return m.charge(n, size)
	}
}

func letters(m *meter, self starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
	return m.charge(sizeOf(self), 4) // a letter in another case may be longer
}

func format(m *meter, self starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	values := slices.Clone(args)
	for _, kv := range kwargs {
		values = append(values, kv[1])
	}
	return m.written(string(self.(starlark.String)), "{", values...)
}

func join(m *meter, self starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) != 1 {
		return nil
	}
	list, ok := args[0].(starlark.Sequence)
	if !ok {
		_, err := length(args[0])
		return err
	}
	if err := m.charge(int64(list.Len()), sizeOf(self)+element); err != nil {
		return err
	}
	it := list.Iterate()
	defer it.Done()
	var x starlark.Value
	for it.Next(&x) {
		s, _ := x.(starlark.String)
		if err := m.charge(int64(len(s)), 1); err != nil {
			return err
		}
	}
	return nil
}

func replace(m *meter, self starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) < 2 {
		return nil
	}
	s, old, by := self.(starlark.String), args[0], args[1]
	o, _ := old.(starlark.String)
	n, _ := by.(starlark.String)
	if err := m.charge(int64(len(s)), 1); err != nil {
		return err
	}
	return m.charge(int64(strings.Count(string(s), string(o))), int64(len(n)))
}

func split(m *meter, self starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	s := string(self.(starlark.String))
	n := len(s)/2 + 1
	if len(args) > 0 {
		if sep, ok := args[0].(starlark.String); ok && sep != "" {
			n = strings.Count(s, string(sep)) + 1
		}
	}
	return m.charge(int64(n), 3*element)
}

func lines(m *meter, self starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
	return m.charge(int64(strings.Count(string(self.(starlark.String)), "\n")+1), 3*element)
}

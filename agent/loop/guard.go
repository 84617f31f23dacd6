package loop

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/rye-os/rye/fault"
)

// meter counts down the memory that operations may request. It belongs to the program's goroutine.
type meter struct {
	thread *starlark.Thread
	left   int64 // bytes
	stop   error // of the law; the program is over
}

const meterKey = "meter"

func meterOf(t *starlark.Thread) *meter { return t.Local(meterKey).(*meter) }

// halt ends the program.
func (m *meter) halt(err error) error {
	if m.stop == nil {
		m.stop = err
	}
	m.thread.Cancel(err.Error())
	return err
}

// charge subtracts n times size bytes.
func (m *meter) charge(n, size int64) error {
	hi, sum := bits.Mul64(uint64(max(n, 0)), uint64(size))
	if hi != 0 || sum > uint64(max(m.left, 0)) {
		return m.halt(fault.New(fault.Limit, "the program asks for more memory than a turn is allowed"))
	}
	m.left -= int64(sum)
	return nil
}

// Sizes of values in bytes, measured with go.starlark.net of 2026-09 and rounded up. An element is
// an interface; an entry of a dict includes its share of a table that is half empty.
const (
	element = 16
	entry   = 128
	box     = 96  // a list, a tuple, a text or a number behind an interface
	table   = 600 // an empty dict, including its first eight entries
)

// length returns the number of elements that an iteration over v gives.
func length(v starlark.Value) (int64, error) {
	if n := starlark.Len(v); n >= 0 {
		return int64(n), nil
	}
	return 0, fmt.Errorf("want a list, tuple or dict, got %s", v.Type())
}

// operator returns the guard of x op y.
func operator(op syntax.Token) *starlark.Builtin {
	return starlark.NewBuiltin(op.String(), func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return meterOf(t).binary(op, args[0], args[1])
	})
}

func (m *meter) binary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if err := m.operation(op, x, y); err != nil {
		return nil, err
	}
	return starlark.Binary(op, x, y)
}

// operation charges for x op y. It charges nothing when the operator will refuse its operands.
func (m *meter) operation(op syntax.Token, x, y starlark.Value) error {
	if i, ok := x.(starlark.Int); ok {
		if j, ok := y.(starlark.Int); ok {
			return m.integers(op, i, j)
		}
	}
	switch op {
	case syntax.PLUS, syntax.PIPE:
		return m.charge(sizeOf(x)+sizeOf(y), 1)
	case syntax.STAR:
		if i, ok := y.(starlark.Int); ok {
			return m.repeat(x, i)
		} else if i, ok := x.(starlark.Int); ok {
			return m.repeat(y, i)
		}
	case syntax.PERCENT:
		if s, ok := x.(starlark.String); ok {
			return m.written(string(s), "%", y)
		}
	}
	return nil
}

// integers limits numbers to a size that their operators handle at once.
func (m *meter) integers(op syntax.Token, x, y starlark.Int) error {
	if _, ok := x.Int64(); ok && op != syntax.LTLT {
		if _, ok := y.Int64(); ok {
			return nil
		}
	}
	n := max(size(x), size(y)) + 1
	switch op {
	case syntax.STAR:
		n = size(x) + size(y)
	case syntax.LTLT:
		by, ok := y.Int64()
		if !ok || by > maxBits {
			by = maxBits
		}
		n = size(x) + int(max(by, 0))
	}
	if n > maxBits {
		return fmt.Errorf("a number of more than %d bits", maxBits)
	}
	return m.charge(int64(n)/8, 1)
}

// size returns the number of bits of i.
func size(i starlark.Int) int {
	if n, ok := i.Int64(); ok {
		if n < 0 {
			n = -n
		}
		return bits.Len64(uint64(n))
	}
	return i.BigInt().BitLen()
}

func (m *meter) repeat(x starlark.Value, times starlark.Int) error {
	n, ok := times.Int64()
	if !ok && times.Sign() > 0 {
		return errors.New("repeat count too large")
	}
	return m.charge(n, sizeOf(x))
}

// sizeOf returns the size of a copy of v, without the values that its elements refer to.
func sizeOf(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String:
		return int64(len(v))
	case *starlark.List:
		return int64(v.Len()) * element
	case starlark.Tuple:
		return int64(v.Len()) * element
	case *starlark.Dict:
		return int64(v.Len()) * entry
	case starlark.Sequence: // a range, and other values that make their elements on demand
		return int64(v.Len()) * 3 * element
	}
	return 0
}

// written charges for a text in which all of the values may replace every mark.
func (m *meter) written(text, mark string, values ...starlark.Value) error {
	n := int64(0)
	for _, v := range values {
		s, err := m.weigh(v)
		if err != nil {
			return err
		}
		n += s
	}
	if err := m.charge(int64(len(text)), 1); err != nil {
		return err
	}
	return m.charge(int64(strings.Count(text, mark)), n)
}

// maxText bounds the text of one value, so that weighing it is fast: a program can quickly nest
// thirty lists that each contain the previous one twice.
const maxText = 4 << 20

// weigh returns an upper bound of the length of v's text.
func (m *meter) weigh(v starlark.Value) (int64, error) {
	most := min(m.left, maxText)
	n, err := m.weight(v, most, 1)
	if err == nil && n > most {
		err = m.halt(fault.New(fault.Limit, "the text of a value takes more memory than allowed"))
	}
	return n, err
}

func (m *meter) weight(v starlark.Value, most int64, depth int) (int64, error) {
	if depth > maxNesting {
		return 0, fmt.Errorf("a value that is nested deeper than %d levels", maxNesting)
	}
	switch v := v.(type) {
	case starlark.String:
		return 4*int64(len(v)) + 2, nil // \x00
	case starlark.Int:
		return int64(size(v))/3 + 2, nil
	case starlark.NoneType, starlark.Bool:
		return 8, nil
	case starlark.Float:
		return 400, nil // "%f" % 1e308
	case *starlark.Function, *starlark.Builtin:
		return 2*maxName + 64, nil
	case *starlark.List:
		return m.weights(v, most, depth)
	case starlark.Tuple:
		return m.weights(v, most, depth)
	case *starlark.Dict:
		n := int64(2)
		for k, x := range v.Entries() {
			w, err := m.weights(starlark.Tuple{k, x}, most-n, depth)
			if n += w; err != nil || n > most {
				return n, err
			}
		}
		return n, nil
	}
	if v.Type() == "range" {
		return 64, nil
	}
	return 0, fmt.Errorf("a %s has no text", v.Type())
}

func (m *meter) weights(list starlark.Sequence, most int64, depth int) (int64, error) {
	it := list.Iterate()
	defer it.Done()
	n := int64(4)
	var x starlark.Value
	for it.Next(&x) {
		w, err := m.weight(x, most-n, depth+1)
		if n += w + 2; err != nil || n > most {
			return n, err
		}
	}
	return n, nil
}

// inPlace returns the guard of x op= y: a list or a dict takes y in, any other x becomes a new
// value.
func inPlace(op syntax.Token) *starlark.Builtin {
	return starlark.NewBuiltin(op.String()+"=", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return update(t, op, args[0], args[1])
	})
}

func update(t *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	taking := ""
	switch x.(type) {
	case *starlark.List:
		if _, ok := y.(starlark.Iterable); ok && op == syntax.PLUS {
			taking = "extend"
		}
	case *starlark.Dict:
		if _, ok := y.(*starlark.Dict); ok && op == syntax.PIPE {
			taking = "update"
		}
	}
	if taking == "" {
		return meterOf(t).binary(op, x, y)
	}
	method, err := attribute(meterOf(t), x, taking)
	if err == nil {
		_, err = starlark.Call(t, method, starlark.Tuple{y}, nil)
	}
	return x, err
}

// elementInPlace returns the guard of x[i] op= y.
func elementInPlace(op syntax.Token) *starlark.Builtin {
	return starlark.NewBuiltin(op.String()+"=", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		x, key, y := args[0], args[1], args[2]
		switch x := x.(type) {
		case *starlark.Dict:
			old, found, err := x.Get(key)
			if err != nil || !found {
				return nil, cmpErr(err, fmt.Errorf("the dict has no such key"))
			}
			v, err := update(t, op, old, y)
			if err != nil {
				return nil, err
			}
			return starlark.None, x.SetKey(key, v)
		case *starlark.List:
			i, err := starlark.AsInt32(key)
			if i < 0 {
				i += x.Len()
			}
			if err != nil || i < 0 || i >= x.Len() {
				return nil, cmpErr(err, fmt.Errorf("the list has %d elements", x.Len()))
			}
			v, err := update(t, op, x.Index(i), y)
			if err != nil {
				return nil, err
			}
			return starlark.None, x.SetIndex(i, v)
		}
		return nil, fmt.Errorf("%s has no elements to assign to", x.Type())
	})
}

// cmpErr returns err, or other when err is nil.
func cmpErr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

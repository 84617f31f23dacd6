package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/rye-os/rye/fault"
)

// Init returns the first state of a thread: the result of the program's init(ctx), where ctx is in
// (docs/format/loop.md, "ctx"). encoding/json must be able to write in, in at most MaxArgs bytes;
// nil means an empty one. A program that fails is fault.Failed; a program that exceeds b is
// fault.Limit.
func (p *Program) Init(ctx context.Context, in map[string]any, b Bounds) (json.RawMessage, error) {
	if in == nil {
		in = map[string]any{}
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, fault.New(fault.Malformed, "loop %s: ctx: %w", p.name, err)
	}
	if len(raw) > MaxArgs {
		return nil, fault.New(fault.Limit, "loop %s: ctx has %d bytes, at most %d are allowed", p.name, len(raw), MaxArgs)
	}
	r := newRun(p.name, b, nil, nil)
	r.ctx = ctx
	var state json.RawMessage
	err = r.do(func() error {
		arg, err := decode(raw)
		if err != nil {
			return err
		}
		init, err := p.function(r.thread, "init")
		if err != nil {
			return err
		}
		got, err := starlark.Call(r.thread, init, starlark.Tuple{arg}, nil)
		if err == nil {
			state, err = stateOf("init", got)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return state, nil
}

// Turn runs one turn from a state that Init or an earlier turn returned.
//
// Every call of the host and its outcome is passed to record before the program sees the outcome;
// an error of record ends the turn and is returned. An interrupted turn is run again with its
// recorded calls: call k of the program gets the outcome of recorded[k] if the name and the
// arguments are the same. Otherwise, and if the program makes fewer calls than recorded, Turn fails
// with fault.Integrity, "loop diverged". Further calls go to the host. With a nil host such a turn
// is a replay.
//
// Turn returns errors of the host and of record unchanged. A program that exceeds b is fault.Limit,
// a program that fails by itself is fault.Failed, and an ended ctx gives its error. With an error
// there is no Next, and the turn may be run again. If the error says that this process must end, a
// goroutine of the program is still busy.
func (p *Program) Turn(ctx context.Context, h Host, state json.RawMessage, recorded []Recorded, record func(Recorded) error, b Bounds) (Next, error) {
	if len(state) > MaxState {
		return Next{}, fault.New(fault.Limit, "loop %s: a state of %d bytes, at most %d are allowed", p.name, len(state), MaxState)
	}
	r := newRun(p.name, b, h, recorded)
	r.ctx, r.record = ctx, record
	var next Next
	err := r.do(func() error {
		arg, err := decode(state)
		if err != nil {
			return fault.New(fault.Malformed, "loop %s: state: %w", p.name, err)
		}
		turn, err := p.function(r.thread, "turn")
		if err != nil {
			return err
		}
		r.turning = true
		got, err := starlark.Call(r.thread, turn, starlark.Tuple{hostValue{r}, arg}, nil)
		if err != nil {
			return err
		}
		if r.asked < len(recorded) {
			return fault.New(fault.Integrity, "loop diverged: it ended after %d calls, %d were recorded", r.asked, len(recorded))
		}
		next, err = nextOf(got)
		return err
	})
	if err != nil {
		return Next{}, err
	}
	return next, nil
}

func stateOf(who string, v starlark.Value) (json.RawMessage, error) {
	if _, ok := v.(*starlark.Dict); !ok {
		return nil, fmt.Errorf("%s: want a dict as state, got %s", who, v.Type())
	}
	raw, err := encode(v, MaxState)
	if err != nil {
		return nil, fmt.Errorf("%s: state: %w", who, err)
	}
	return raw, nil
}

// nextOf reads the result of the function turn.
func nextOf(v starlark.Value) (Next, error) {
	pair, ok := v.(starlark.Tuple)
	if !ok || len(pair) != 2 {
		return Next{}, fmt.Errorf("turn: want return state, next.again() or another next, got %s", v.Type())
	}
	n, ok := pair[1].(nextValue)
	if !ok {
		return Next{}, fmt.Errorf("turn: want next.again(), next.wait(), next.done() or next.fail(), got %s", pair[1].Type())
	}
	state, err := stateOf("turn", pair[0])
	return Next{Kind: n.kind, State: state, Detail: n.detail}, err
}

// nextModule is the module next.
type nextModule struct{}

// nextFunctions make the second result of turn.
var nextFunctions = map[string]struct {
	kind   string
	params []param
}{
	"again": {Continue, nil},
	"wait":  {Wait, []param{{"question", "string", true}, {"thread", "string", true}}},
	"done":  {Done, []param{{"text", "string", true}}},
	"fail":  {Fail, []param{{"code", "string", false}, {"message", "string", false}}},
}

func (nextModule) String() string        { return "next" }
func (nextModule) Type() string          { return "next" }
func (nextModule) Freeze()               {}
func (nextModule) Truth() starlark.Bool  { return true }
func (nextModule) Hash() (uint32, error) { return 0, fmt.Errorf("next cannot be a key") }
func (nextModule) AttrNames() []string   { return []string{"again", "wait", "done", "fail"} }

func (m nextModule) Attr(name string) (starlark.Value, error) {
	f, ok := nextFunctions[name]
	if !ok {
		return nil, fmt.Errorf("next has no %s; it has %s", name, strings.Join(m.AttrNames(), ", "))
	}
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		given, err := arguments("next."+name, f.params, args, kwargs)
		if err != nil {
			return nil, err
		}
		if _, err := encode(given, MaxArgs); err != nil {
			return nil, fmt.Errorf("next.%s: %w", name, err)
		}
		detail := plain(given).(map[string]any)
		if code, ok := detail["code"].(string); ok && !validCode(code) {
			return nil, fmt.Errorf("next.fail: code: want 1 to 64 letters a-z, digits and _")
		}
		return nextValue{f.kind, detail}, nil
	}), nil
}

func validCode(code string) bool {
	return code != "" && len(code) <= 64 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// nextValue is the result of one of nextFunctions.
type nextValue struct {
	kind   string
	detail map[string]any
}

func (n nextValue) String() string      { return "next " + n.kind }
func (nextValue) Type() string          { return "next" }
func (nextValue) Freeze()               {}
func (nextValue) Truth() starlark.Bool  { return true }
func (nextValue) Hash() (uint32, error) { return 0, fmt.Errorf("a next cannot be a key") }

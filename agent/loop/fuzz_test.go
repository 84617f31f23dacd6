package loop_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
)

// FuzzCompile reads any bytes as a program: it is refused with a code, or can run.
func FuzzCompile(f *testing.F) {
	f.Add(standardSource(f))
	for _, c := range hostile {
		f.Add([]byte(hostileProgram(c.body)))
	}
	f.Add([]byte("def init(ctx): return {}\ndef turn(host, state): return state, next.again()\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 8<<10 {
			return
		}
		p, err := loop.Compile("fuzz", src)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.Malformed && code != fault.Failed && code != fault.Limit {
				t.Errorf("%v: code %v", err, code)
			}
			return
		}
		_, _ = p.Init(context.Background(), nil, small)
	})
}

// small are bounds for programs that a fuzzer writes.
var small = loop.Bounds{Steps: 20_000, Time: time.Second, Memory: 16 << 20, Calls: 100}

// FuzzTurn runs any body with any state. What it does is repeated from its record, to the same
// end; a state is canonical, and stays so.
func FuzzTurn(f *testing.F) {
	for _, c := range hostile {
		f.Add(c.body, `{}`)
	}
	f.Add(asking, `{"a":[1,2.5,"x",null]}`)
	f.Add("return state, next.again()", `{"a":{"b":[true,-1e9]}}`)
	f.Add("x = host.model(\"p\")\nreturn {\"x\": x, \"n\": [len(str(x))] * 3}, next.fail(\"a\", \"b\")", `{}`)
	f.Fuzz(func(t *testing.T, body, state string) {
		if len(body) > 2<<10 {
			return
		}
		p, err := loop.Compile("fuzz", []byte(frame(body)))
		if err != nil {
			return
		}
		ctx := context.Background()
		var rec []loop.Recorded
		next, err := p.Turn(ctx, &echo{}, json.RawMessage(state), nil, func(r loop.Recorded) error { rec = append(rec, r); return nil }, small)
		if err != nil {
			return
		}
		again, err := p.Turn(ctx, nil, json.RawMessage(state), rec, nil, small)
		if err != nil || !reflect.DeepEqual(again, next) {
			t.Fatalf("repeated: %v, %v, want %v", again, err, next)
		}
		same, err := compile(t, frame("return state, next.again()")).Turn(ctx, nil, next.State, nil, nil, loop.Bounds{Memory: 1 << 30})
		if err != nil || string(same.State) != string(next.State) {
			t.Fatalf("the state %s became %s, %v", next.State, same.State, err)
		}
	})
}

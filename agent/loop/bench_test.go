package loop_test

import (
	"context"
	"testing"

	"github.com/rye-os/rye/agent/loop"
)

// BenchmarkTurn is one turn of the library's loop: a model that asks for two calls.
func BenchmarkTurn(b *testing.B) {
	p := standard(b)
	state, err := p.Init(context.Background(), nil, loop.Bounds{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		h := &fake{answers: []object{wants("read", "grep")}, limits: object{"turns": object{"used": 1, "limit": 10}}}
		if _, err := p.Turn(context.Background(), h, state, nil, func(loop.Recorded) error { return nil }, loop.Bounds{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay is the same turn from its record.
func BenchmarkReplay(b *testing.B) {
	p := standard(b)
	state, err := p.Init(context.Background(), nil, loop.Bounds{})
	if err != nil {
		b.Fatal(err)
	}
	var rec []loop.Recorded
	h := &fake{answers: []object{wants("read", "grep")}, limits: object{"turns": object{"used": 1, "limit": 10}}}
	if _, err := p.Turn(context.Background(), h, state, nil, func(r loop.Recorded) error { rec = append(rec, r); return nil }, loop.Bounds{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Turn(context.Background(), nil, state, rec, nil, loop.Bounds{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile is what a thread pays once: reading the library's loop, and its first state.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := standard(b).Init(context.Background(), nil, loop.Bounds{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSteps is the interpreter alone, with guarded operators.
func BenchmarkSteps(b *testing.B) {
	p := compile(b, frame("x = 0\nfor i in range(10000):\n    x = x + i\nreturn {}, next.again()"))
	for b.Loop() {
		if _, err := p.Turn(context.Background(), nil, []byte(`{}`), nil, nil, loop.Bounds{}); err != nil {
			b.Fatal(err)
		}
	}
}

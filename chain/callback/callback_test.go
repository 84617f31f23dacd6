package callback

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

// vectors are lines that are read and lines that are refused.
type vectors struct {
	Format   string
	Requests []struct {
		Line, ID, Verb, Item string
		Code                 fault.Code
	}
	Answers []struct {
		Answer Answer
		Line   string
	}
}

func TestVectors(t *testing.T) {
	v := testkit.ReadJSON[vectors](t, "../../testdata/vectors/callback.json")
	for _, c := range v.Requests {
		q, err := ParseRequest([]byte(c.Line))
		if c.Code == "" && (err != nil || q.ID != c.ID || q.Verb != c.Verb || q.Item() != c.Item) {
			t.Errorf("%s: %+v, %v", c.Line, q, err)
		} else if c.Code != "" && (err == nil || fault.CodeOf(err) != c.Code || q.ID != c.ID || q.Verb != "") {
			t.Errorf("%s: %+v, %v, want %s", c.Line, q, err, c.Code)
		}
	}
	for _, c := range v.Answers {
		if got, err := c.Answer.Line(); err != nil || string(got) != c.Line {
			t.Errorf("%s, %v, want %s", got, err, c.Line)
		}
	}
	if len(v.Requests) < 20 || len(v.Answers) < 3 {
		t.Error("the vectors are not there")
	}
}

// TestReadLine: no line makes a reader hold more than it may, and half a line is none.
func TestReadLine(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("one\n\n"+strings.Repeat("x", 99)+"\n"+strings.Repeat("y", 100)+"\n"), 16)
	for _, want := range []string{"one", "", strings.Repeat("x", 99)} {
		if got, err := ReadLine(in, 100); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if got, err := ReadLine(in, 100); err != ErrLong {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ReadLine(bufio.NewReader(strings.NewReader("half")), 100); !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	if _, err := (Answer{ID: "1", Stdout: make([]byte, MaxAnswer)}).Line(); !fault.Is(err, fault.Limit) {
		t.Errorf("%v", err)
	}
}

// talk is a client whose other side says what answer returns to its line.
func talk(t *testing.T, answer func(q Request) string) *Client {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	hello := make(chan struct{})
	go func() { // a pipe of Go's holds nothing
		defer close(hello)
		io.WriteString(ours, `{"v":1,"token":"","may":[],"denied":[]}`+"\n")
	}()
	go func() {
		in := bufio.NewReader(ours)
		for {
			raw, err := ReadLine(in, MaxRequest)
			if err != nil {
				return
			}
			if len(raw) == 0 {
				continue
			}
			q, err := ParseRequest(raw)
			if err != nil {
				t.Errorf("%s: %v", raw, err)
			}
			go func() { <-hello; io.WriteString(ours, answer(q)) }()
		}
	}()
	return NewClient(theirs, func() (func(), error) { return func() {}, nil })
}

// TestClient: what a client asks is what was meant, and what it is answered is its own.
func TestClient(t *testing.T) {
	ref := rye.Ref{Kind: objects.Tool, ID: "acme/step"}
	var got Request
	c := talk(t, func(q Request) string {
		got = q
		a := `{"id":"other","result":{"status":"wrong"}}` + "\nnot json\n"
		switch q.Verb {
		case "execute":
			return a + `{"id":"` + q.ID + `","stdout":"aGkK"}` + "\n" + `{"id":"` + q.ID + `","result":{"status":"success","item_id":"acme/step"}}` + "\n"
		case "load":
			return a + `{"id":"` + q.ID + `","error":{"code":"drift","message":"changed","hint":"look"}}` + "\n"
		}
		return a + `{"id":"` + q.ID + `","result":{}}` + "\n"
	})
	ctx := context.Background()
	var out string
	res, err := c.Execute(ctx, rye.Caller{}, rye.ExecuteRequest{Ref: ref, Params: []byte(`{"x":1}`), DryRun: true, Stdout: func(b []byte) { out += string(b) }})
	if err != nil || res.Status != "success" || out != "hi\n" || got.Execute.Ref != ref || !got.Execute.DryRun || string(got.Execute.Params) != `{"x":1}` || !got.Output {
		t.Errorf("execute: %+v, %v, printed %q, asked %+v", res, err, out, got)
	}
	if _, err := c.Load(ctx, rye.Caller{}, rye.LoadRequest{Ref: ref, Space: "user"}); !fault.Is(err, fault.Drift) || err.Error() != "changed" || fault.HintOf(err).String() != "look" || got.Load.Space != "user" {
		t.Errorf("load: %v, asked %+v", err, got)
	}
	if _, err := c.Search(ctx, rye.Caller{}, rye.SearchRequest{Query: "a", Kind: "tool", Scope: "tool.acme.*", Limit: 3, Offset: 1}); err != nil ||
		got.Search != (rye.SearchRequest{Query: "a", Kind: "tool", Scope: "tool.acme.*", Limit: 3, Offset: 1}) {
		t.Errorf("search: %v, asked %+v", err, got)
	}
	if _, err := c.Sign(ctx, rye.Caller{}, rye.SignRequest{Targets: []rye.Target{"tool:acme/step"}}); err != nil || got.Item() != "tool:acme/step" {
		t.Errorf("sign: %v, asked %+v", err, got)
	}
	for name, err := range map[string]error{
		"copy":   second(c.Load(ctx, rye.Caller{}, rye.LoadRequest{Ref: ref, Destination: "user"})),
		"lock":   second(c.Execute(ctx, rye.Caller{}, rye.ExecuteRequest{Ref: ref, Locked: true})),
		"all":    second(c.Sign(ctx, rye.Caller{}, rye.SignRequest{All: true})),
		"two":    second(c.Sign(ctx, rye.Caller{}, rye.SignRequest{Targets: []rye.Target{"tool:a", "tool:b"}})),
		"a path": second(c.Sign(ctx, rye.Caller{}, rye.SignRequest{Targets: []rye.Target{"/x"}})),
		"large":  second(c.Execute(ctx, rye.Caller{}, rye.ExecuteRequest{Ref: ref, Params: []byte(`"` + strings.Repeat("x", MaxRequest) + `"`)})),
	} {
		if err == nil {
			t.Errorf("%s was sent", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestClientIsNotHeld: a call whose context ends returns without an answer. The client refuses
// further calls, since the answer may still come.
func TestClientIsNotHeld(t *testing.T) {
	c := talk(t, func(Request) string { return "" })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Search(ctx, rye.Caller{}, rye.SearchRequest{}); !fault.Is(err, fault.Interrupt) {
		t.Errorf("%v", err)
	}
	if _, err := c.Search(t.Context(), rye.Caller{}, rye.SearchRequest{}); !fault.Is(err, fault.Interrupt) {
		t.Errorf("a further call: %v", err)
	}
}

// FuzzRequest: no line makes the reader panic, and what it accepts means the same when a client
// writes it.
func FuzzRequest(f *testing.F) {
	for _, c := range testkit.ReadJSON[vectors](f, "../../testdata/vectors/callback.json").Requests {
		f.Add([]byte(c.Line))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		q, err := ParseRequest(raw)
		if err != nil {
			return
		}
		again, err := json.Marshal(line{q.ID, q.Verb, q.Params})
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseRequest(again); err != nil || back.Item() != q.Item() || back.Search != q.Search || back.Load != q.Load || back.ID != q.ID || back.Output != q.Output {
			t.Errorf("%q: %+v, %v", raw, back, err)
		}
	})
}

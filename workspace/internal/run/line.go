package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/callback"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// A tool that declares needs.rye gets a connection as a descriptor (docs/format/callback.md).
// Each call is one of the four verbs. Its caller holds at most the run's capabilities that the
// tool declares, and passes the same gates as any caller. No call outlives the run.

// called is the execution whose tool calls rye.
type called struct {
	verbs  rye.Verbs
	caller rye.Caller
	tool   rye.Ref
	needs  []string            // needs.rye
	asked  *rye.ExecuteRequest // its locks, its pins, and its callback
	now    time.Time
	self   func() (program, build string, err error) // rye; nil is unknown
	run    string                                    // the id of its note
}

// line is the connection to one running tool; nil is none.
type line struct {
	r      *called
	grant  *rye.CallbackGrant
	conn   *os.File
	theirs *os.File
	count  int // number of calls

	mu     sync.Mutex // for writing: an execution prints on two streams
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when serving ends
}

// openLine gives a call its end of a connection, if its tool declares that it calls rye, and
// starts to answer at the other end.
func openLine(ctx context.Context, r called, call *primitive.Call) (*line, error) {
	if len(r.needs) == 0 || r.verbs == nil {
		return nil, nil
	}
	grant, err := r.grant(ends(r.now, call))
	if err != nil {
		return nil, fault.Wrap(err, "execute %s: connect it to rye", r.tool)
	}
	ours, theirs, err := primitive.Pair()
	if err != nil {
		return nil, fault.Wrap(err, "execute %s: connect it to rye", r.tool)
	}
	call.Back = theirs
	r.show(call)
	l := &line{r: &r, grant: grant, conn: ours, theirs: theirs, over: make(chan struct{})}
	ctx, l.cancel = context.WithCancelCause(session.Unattended(ctx))
	go func() {
		defer close(l.over)
		defer ours.Close() // so that the tool sees the end
		l.serve(ctx)
	}()
	return l, nil
}

// errRunEnded is the cause that ends a tool's calls.
var errRunEnded = errors.New("the tool that called it has ended")

// end ends the line with its run: it cancels running calls and waits for them.
func (l *line) end() {
	if l == nil {
		return
	}
	l.cancel(errRunEnded)
	l.conn.Close()
	l.theirs.Close() // where nothing was started
	<-l.over
}

// ends is a time by which a run has ended; zero where it has no limit.
func ends(now time.Time, call *primitive.Call) time.Time {
	switch {
	case call.Timeout < 0:
		return time.Time{}
	case call.Timeout == 0:
		return now.Add(primitive.DefaultTimeout + primitive.DefaultGrace + time.Minute)
	}
	return now.Add(call.Timeout + primitive.DefaultGrace + time.Minute)
}

// grant returns the caller for a tool's calls. A person chose the tool, and not its actions: for
// a person it is Inside.
func (r *called) grant(until time.Time) (*rye.CallbackGrant, error) {
	c := r.caller
	if r.asked.Callback != nil {
		return r.asked.Callback.Grant(r.tool, r.needs, until)
	}
	if c.Thread() != "" { // a thread's token alone decides this
		return &rye.CallbackGrant{Caller: rye.Program(c.Name()), Denied: r.needs}, nil
	}
	if c.IsPerson() {
		c = rye.Inside()
	}
	held, denied := c.Denied(), []string{}
	var may []string
	for _, need := range r.needs {
		has := slices.DeleteFunc(objects.Within(c.Capabilities(), need), func(one string) bool {
			return slices.ContainsFunc(held, func(d string) bool { return objects.Overlap(d, one) })
		})
		if may = append(may, has...); !slices.Equal(has, []string{need}) {
			denied = append(denied, need)
		}
	}
	return &rye.CallbackGrant{Caller: rye.Program(c.Name(), may...).Calling(c.Itself()), Denied: denied}, nil
}

// show lets a tool start this rye by its name, as its client on the connection.
func (r *called) show(call *primitive.Call) {
	if r.self == nil {
		return
	}
	program, _, err := r.self()
	if err != nil {
		return // the tool can use the connection itself
	}
	call.Sandbox.Exec = append(slices.Clip(call.Sandbox.Exec), program)
	path, ok := call.Env["PATH"]
	if !ok {
		path = primitive.SafePath
	}
	if call.Env == nil {
		call.Env = map[string]string{}
	}
	call.Env["PATH"] = path + string(filepath.ListSeparator) + filepath.Dir(program)
}

// within is the depth of an execution inside others, and the calls that all of them have left.
type within struct {
	depth int
	left  *atomic.Int64
	runs  []string // ids of the notes of the others
}

type withinKey struct{}

func withinOf(ctx context.Context) within {
	if w, ok := ctx.Value(withinKey{}).(within); ok {
		return w
	}
	w := within{left: new(atomic.Int64)}
	w.left.Store(callback.MaxRequests)
	return w
}

// serve answers one call after the other, until the tool ends or misbehaves.
func (l *line) serve(ctx context.Context) {
	w := withinOf(ctx)
	ctx = context.WithValue(ctx, withinKey{}, within{w.depth + 1, w.left, append(slices.Clip(w.runs), l.r.run)})
	hello := callback.Hello{V: 1, Token: l.grant.Token, May: append([]string{}, l.grant.Caller.Capabilities()...), Denied: append([]string{}, l.grant.Denied...)}
	raw, err := json.Marshal(hello)
	if err != nil || !l.write(append(raw, '\n')) {
		return
	}
	in := bufio.NewReaderSize(l.conn, 32<<10)
	for blank := 0; blank <= callback.MaxRequests; {
		raw, err := callback.ReadLine(in, callback.MaxRequest)
		switch {
		case errors.Is(err, callback.ErrLong):
			l.refuse("", fault.New(fault.Limit, "request: longer than %d bytes", callback.MaxRequest))
			return
		case err != nil:
			return
		case len(bytes.TrimSpace(raw)) == 0:
			blank++
			continue
		case w.left.Add(-1) < 0:
			l.refuse("", fault.New(fault.Limit, "request: a run and its calls may ask at most %d times", callback.MaxRequests))
			return
		}
		if !l.take(ctx, raw) {
			return
		}
	}
}

// take carries out one line, and reports whether the answer was written.
func (l *line) take(ctx context.Context, raw []byte) bool {
	q, err := callback.ParseRequest(raw)
	if err != nil {
		return l.refuse(q.ID, err)
	}
	res, err := l.call(ctx, &q)
	if err != nil {
		return l.refuse(q.ID, err)
	}
	a := callback.Answer{ID: q.ID}
	if a.Result, err = json.Marshal(res); err != nil {
		return l.refuse(q.ID, err)
	}
	text, err := a.Line()
	if err != nil {
		return l.refuse(q.ID, fault.Wrap(err, "it was done, but the answer failed"))
	}
	return l.write(text)
}

func (l *line) refuse(id string, why error) bool {
	text, err := callback.Answer{ID: id, Error: callback.FailureOf(why)}.Line()
	return err == nil && l.write(text)
}

func (l *line) write(text []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.conn.Write(text)
	return err == nil
}

// call makes one call, between the callback's Begin and End.
func (l *line) call(ctx context.Context, q *callback.Request) (res any, err error) {
	l.count++
	held := l.r.asked.Callback
	if held == nil {
		return l.do(ctx, q, nil)
	}
	c := rye.CalledBack{Index: l.count, Verb: q.Verb, Item: q.Item(), Params: objects.DigestOf(q.Params).Hex()}
	next, err := held.Begin(c)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	res, err = l.do(ctx, q, next)
	result := err
	if x, ok := res.(*rye.ExecuteResult); ok && err == nil && x.Status == "error" {
		result = fault.New(fault.Failed, "the tool failed")
	}
	if lost := held.End(c, time.Since(begun), result); lost != nil {
		return nil, lost
	}
	return res, err
}

// do carries out the verb.
func (l *line) do(ctx context.Context, q *callback.Request, held rye.Callback) (any, error) {
	c := l.grant.Caller
	switch q.Verb {
	case "search":
		return l.r.verbs.Search(ctx, c, q.Search)
	case "load":
		res, err := l.r.verbs.Load(ctx, c, q.Load)
		if err != nil {
			return nil, err
		}
		return res, l.pinned(q.Load.Ref, res.SHA256)
	case "execute":
		return l.execute(ctx, q, held)
	}
	return l.r.verbs.Sign(ctx, c, q.Sign)
}

// execute runs a tool's call to execute, with the locks and pins of the tool's own run.
func (l *line) execute(ctx context.Context, q *callback.Request, held rye.Callback) (any, error) {
	if withinOf(ctx).depth > callback.MaxDepth {
		return nil, fault.New(fault.Limit, "execute %s: %d nested tool calls, at most %d allowed", q.Execute.Ref, callback.MaxDepth+2, callback.MaxDepth+1)
	}
	x, around := q.Execute, l.r.asked
	x.Locked, x.Frozen, x.Pinned, x.Pins, x.Callback = around.Locked, around.Frozen, around.Pinned, around.Pins, held
	if q.Output {
		x.Stdout = func(b []byte) { l.piece(callback.Answer{ID: q.ID, Stdout: b}) }
		x.Stderr = func(b []byte) { l.piece(callback.Answer{ID: q.ID, Stderr: b}) }
	}
	res, err := l.r.verbs.Execute(ctx, l.grant.Caller, x)
	if err != nil {
		return nil, err
	}
	if x.Ref.Kind != objects.Tool && len(res.Chain) > 0 {
		return res, l.pinned(x.Ref, res.Chain[0].Integrity)
	}
	return res, nil
}

// piece passes on an execution's output. A tool that does not read it only blocks itself.
func (l *line) piece(a callback.Answer) {
	if text, err := a.Line(); err == nil {
		l.write(text)
	}
}

// pinned refuses an item that differs from the pins of the surrounding run.
func (l *line) pinned(ref rye.Ref, sum string) error {
	switch want, ok := l.r.asked.Pins[ref.String()]; {
	case l.r.asked.Pins == nil, ok && want == sum:
		return nil
	case !ok:
		return fault.New(fault.Drift, "%s is new since this run began", ref)
	}
	return fault.New(fault.Drift, "%s has changed since this run began", ref)
}

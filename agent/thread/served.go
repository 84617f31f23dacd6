package thread

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// The items rye/agent/threads/* let a model look after threads: its own, where it is one, and
// where it is behind a client those that the client started. docs/format/thread.md says what
// they take and answer.

// servedPrefix begins the names of their functions, and itemPrefix the capabilities that name
// the items.
const (
	servedPrefix = "threads/"
	itemPrefix   = "rye.execute.tool.rye.agent.threads."
)

// A chore is one call of such an item.
type chore struct {
	s *Service
	c rye.Caller
	q choreArgs

	dir      string // of the thread; "" where the call is about none
	progress func([]byte)
}

// choreArgs are the parameters of all items together. The schema of each says which it takes.
type choreArgs struct {
	Thread  string  `json:"thread_id"`
	Seconds float64 `json:"seconds"`
	From    int64   `json:"from"`
	Limit   int     `json:"limit"`
	Bytes   int     `json:"bytes"`
	Words   string  `json:"words"`
	Message string  `json:"message"`
}

// chores are the functions: which verb each needs of a caller that is no thread, what does it,
// and what it says to a thread that wants it done to itself; "" where a thread may.
var chores = map[string]struct {
	verb   string
	do     func(*chore, context.Context) (any, error)
	itself string
}{
	"status":          {"show", (*chore).status, ""},
	"wait":            {"wait", (*chore).wait, "a thread cannot wait for itself"},
	"read_transcript": {"follow", (*chore).readTranscript, ""},
	"search":          {"follow", (*chore).searchTranscript, ""},
	"cancel":          {"cancel", (*chore).cancel, ""},
	"resume":          {"resume", (*chore).resume, "a thread cannot resume itself: it runs"},
}

// maxChore bounds the parameters in bytes; a message is what can be large.
const maxChore = 256 << 10

// Serve does what an item rye/agent/threads/* asks for, on behalf of a caller whom every gate
// has let pass: what rye.ServedCall is about.
func Serve(ctx context.Context, s *Service, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
	name := strings.TrimPrefix(q.Function, servedPrefix)
	f, ok := chores[name]
	if !ok {
		return nil, fault.New(fault.Usage, "there is no function %q of threads", q.Function)
	}
	w := &chore{s: s, c: c, progress: q.Progress}
	if err := strict.Decode(q.Params, maxChore, &w.q); err != nil {
		return nil, fault.New(fault.Usage, "parameters: %w", err)
	}
	verb := f.verb
	if name == "status" && w.q.Thread == "" && c.Thread() == "" {
		verb = "list"
	}
	if err := allowed(s, c, name, verb); err != nil {
		return nil, err
	}
	if err := w.find(ctx, name, f.itself); err != nil {
		return nil, err
	}
	v, err := f.do(w, ctx)
	if err != nil {
		return nil, err
	}
	return encodeChore(v)
}

// allowed refuses a caller that may not have it done. What a thread may its directive says: the
// capability for the item. Others need the verb of threads, besides.
func allowed(s *Service, c rye.Caller, name, verb string) error {
	if c.Thread() == "" {
		return c.May("thread."+verb, s.o.Now())
	}
	if err := c.Check("execute", s.o.Now()); err != nil {
		return err
	}
	covers := func(held string) bool { return objects.Covers(held, itemPrefix+name) }
	if !slices.ContainsFunc(c.Capabilities(), covers) || slices.ContainsFunc(c.Denied(), covers) {
		return fault.New(fault.Denied, "thread %s does not hold the capability %s", c.Thread(), itemPrefix+name)
	}
	return nil
}

// find finds the thread that a call is about: without a name the one that calls.
func (w *chore) find(ctx context.Context, name, itself string) (err error) {
	id := w.q.Thread
	if id == "" {
		id = w.c.Thread()
	}
	switch {
	case id == "" && name == "status":
		return nil
	case id == "":
		return fault.New(fault.Usage, "%s: thread_id is missing", name).Advise("rye/agent/threads/status lists your threads")
	case strings.EqualFold(id, w.c.Thread()) && itself != "":
		return fault.New(fault.Usage, "%s: %s", name, itself).Advise("name another thread")
	}
	w.dir, err = locate(ctx, w.s, w.c, id)
	return err
}

func encodeChore(v any) (json.RawMessage, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}

// Bounds of what a model is told of a thread.
const (
	maxWords   = 8000 // bytes of its last words, and of an output
	maxListed  = 100  // threads of a list
	waitMost   = 600 * time.Second
	lookWithin = 20 * time.Second // for one look into a transcript
)

// brief is a thread in a list.
type brief struct {
	ID        string     `json:"thread_id"`
	Directive string     `json:"directive"`
	Status    string     `json:"status"`
	Why       string     `json:"why,omitempty"`
	Started   string     `json:"started"`
	Ended     string     `json:"ended,omitempty"`
	Turns     int64      `json:"turns"`
	Spent     rye.Micros `json:"spent"`
	Question  string     `json:"question,omitempty"`
}

// status describes a thread, or lists those that the caller may know.
func (w *chore) status(ctx context.Context) (any, error) {
	if w.dir != "" {
		return inShort(w.s.describe(ctx, w.dir))
	}
	limit := min(max(w.q.Limit, 1), maxListed)
	all, err := listOf(ctx, w.s, w.c, rye.ThreadListRequest{All: true, Limit: limit + 1})
	if err != nil {
		return nil, err
	}
	list := struct {
		Threads []brief `json:"threads"` // the newest first
		More    bool    `json:"more,omitempty"`
	}{[]brief{}, len(all) > limit}
	for _, i := range all[:min(len(all), limit)] {
		list.Threads = append(list.Threads, brief{i.ID, i.Directive, i.Status, i.Why, i.Started, i.Ended, i.Turns, i.Spent, i.Question})
	}
	return list, nil
}

// inShort shortens what a thread said, which has no end.
func inShort(i *rye.ThreadInfo, err error) (*rye.ThreadInfo, error) {
	if err != nil {
		return nil, err
	}
	i.Text = clip(i.Text, maxWords)
	for name, v := range i.Outputs {
		i.Outputs[name] = clip(v, maxWords)
	}
	return i, nil
}

// wait waits until a thread ends, asks a person, or the time is over, and tells of each call
// meanwhile.
func (w *chore) wait(ctx context.Context) (any, error) {
	most := time.Duration(w.q.Seconds * float64(time.Second))
	if most < 0 || most > waitMost {
		return nil, fault.New(fault.Usage, "wait: seconds is %v, want 0 to %v", w.q.Seconds, waitMost.Seconds())
	}
	if most == 0 { // a look
		return inShort(w.s.describe(ctx, w.dir))
	}
	return inShort(waitAt(ctx, w.s, w.dir, most, w.tell))
}

// tell tells whoever waits what the thread does.
func (w *chore) tell(r journal.Record) {
	if w.progress == nil || r.Type != "tool_call_start" {
		return
	}
	var d struct{ Tool string }
	if json.Unmarshal(r.Data, &d) == nil {
		w.progress([]byte(words.Brief(d.Tool) + "\n"))
	}
}

// cancel ends a thread. One that ends itself is told as everybody would tell it, by its inbox.
// The answer is made before: what the thread is doing ends at once, this call included.
func (w *chore) cancel(ctx context.Context) (any, error) {
	if filepath.Base(w.dir) != w.c.Thread() {
		return inShort(stopAt(ctx, w.s, w.c, w.dir, rye.StopRequest{}))
	}
	i, err := inShort(w.s.describe(ctx, w.dir))
	if err != nil {
		return nil, err
	}
	i.Why = "it was asked to end"
	return i, w.s.put(ctx, w.c, w.dir, rye.SendRequest{Kind: journal.KindCancel})
}

// resume goes on with a thread that no process runs, within the limits that it has.
func (w *chore) resume(ctx context.Context) (any, error) {
	return inShort(resumeAt(ctx, w.s, w.c, w.dir, rye.ResumeRequest{Message: w.q.Message}))
}

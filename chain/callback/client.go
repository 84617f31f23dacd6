package callback

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Client is the tool's side: the four verbs, executed by the rye that runs the tool. It ignores
// callers, because a tool cannot choose on whose behalf it calls. It is safe for concurrent use,
// and makes one call at a time.
type Client struct {
	mu   sync.Mutex
	conn io.ReadWriter
	in   *bufio.Reader
	over bool // a call was abandoned: its goroutine still reads from in

	// alone keeps out other processes with the same descriptor until done is called.
	alone func() (done func(), err error)
}

var _ rye.Verbs = (*Client)(nil)

// NewClient returns the verbs over a connection.
func NewClient(conn io.ReadWriter, alone func() (done func(), err error)) *Client {
	return &Client{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), alone: alone}
}

// Search implements rye.Verbs.
func (c *Client) Search(ctx context.Context, _ rye.Caller, q rye.SearchRequest) (*rye.SearchResult, error) {
	res := &rye.SearchResult{}
	return res, c.call(ctx, "search", searchParams{Query: q.Query, Scope: q.Scope, ItemType: q.Kind, Space: q.Space, Limit: q.Limit, Offset: q.Offset}, res, nil)
}

// Load implements rye.Verbs. It refuses a destination, because the connection carries no files.
func (c *Client) Load(ctx context.Context, _ rye.Caller, q rye.LoadRequest) (*rye.LoadResult, error) {
	if q.Destination != "" {
		return nil, fault.New(fault.Denied, "load %s: a tool cannot copy an item into a space", q.Ref).Advise("a person does it: rye add %s --space project", q.Ref)
	}
	res := &rye.LoadResult{}
	return res, c.call(ctx, "load", itemParams{ItemType: string(q.Ref.Kind), ItemID: string(q.Ref.ID), Source: q.Space}, res, nil)
}

// Execute implements rye.Verbs. It refuses options about locks, because the lock rules of the
// surrounding run apply.
func (c *Client) Execute(ctx context.Context, _ rye.Caller, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
	if q.Locked || q.Frozen || q.Pinned {
		return nil, fault.New(fault.Usage, "execute %s: a tool's calls use the lock as the tool itself does", q.Ref).Advise("leave out --locked, --frozen and --pinned")
	}
	res := &rye.ExecuteResult{}
	p := executeParams{ItemType: string(q.Ref.Kind), ItemID: string(q.Ref.ID), Parameters: q.Params, DryRun: q.DryRun, Output: q.Stdout != nil || q.Stderr != nil}
	return res, c.call(ctx, "execute", p, res, func(a *Answer) {
		if len(a.Stdout) > 0 && q.Stdout != nil {
			q.Stdout(a.Stdout)
		}
		if len(a.Stderr) > 0 && q.Stderr != nil {
			q.Stderr(a.Stderr)
		}
	})
}

// Sign implements rye.Verbs for one item.
func (c *Client) Sign(ctx context.Context, _ rye.Caller, q rye.SignRequest) (*rye.SignReport, error) {
	var ref rye.Ref
	err := fault.New(fault.Usage, "sign: a tool can ask for one item only").Advise("rye sign <ref>")
	if len(q.Targets) == 1 && !q.All && !q.Check && !q.Upgrade && !q.DryRun {
		var bad error
		if ref, bad = objects.ParseRef(string(q.Targets[0])); bad == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	res := &rye.SignReport{}
	return res, c.call(ctx, "sign", itemParams{ItemType: string(ref.Kind), ItemID: string(ref.ID), Source: q.Space}, res, nil)
}

// call makes one call. The line begins with a newline, because another process may have died
// within a line. call skips Hello and the answers to others. After a call whose context ended, the
// client refuses further ones, and other processes wait until that answer was read.
func (c *Client) call(ctx context.Context, verb string, params, result any, piece func(*Answer)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return fault.New(fault.Interrupt, "%s: the call before was abandoned", verb)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var random [12]byte
	rand.Read(random[:])
	id := base64.RawURLEncoding.EncodeToString(random[:])
	msg, err := json.Marshal(line{ID: id, Verb: verb, Params: raw})
	if err != nil {
		return err
	}
	if len(msg) >= MaxRequest {
		return fault.New(fault.Limit, "%s: the call has %d bytes, at most %d are allowed", verb, len(msg), MaxRequest-1)
	}
	done, err := c.alone()
	if err != nil {
		return fault.New(fault.Failed, "call rye: %w", err)
	}
	if _, err := c.conn.Write(append(append([]byte{'\n'}, msg...), '\n')); err != nil {
		done()
		return gone(err)
	}
	got := make(chan error, 1)
	go func() {
		defer done()
		got <- c.answer(id, result, piece)
	}()
	select {
	case err := <-got:
		return err
	case <-ctx.Done(): // the goroutine still reads, and drops, the answer
		c.over = true
		return fault.New(fault.Interrupt, "%s: %w", verb, context.Cause(ctx))
	}
}

// answer reads lines up to the answer of a call.
func (c *Client) answer(id string, result any, piece func(*Answer)) error {
	for {
		raw, err := ReadLine(c.in, MaxAnswer)
		if err != nil {
			return gone(err)
		}
		var a Answer
		if json.Unmarshal(raw, &a) != nil || a.ID != id {
			continue
		}
		switch {
		case a.Error != nil:
			return a.Error.Err()
		case a.Result != nil:
			return json.Unmarshal(a.Result, result)
		case piece != nil:
			piece(&a)
		}
	}
}

func gone(err error) error {
	return fault.New(fault.Interrupt, "call rye: the run of this tool has ended: %w", err)
}

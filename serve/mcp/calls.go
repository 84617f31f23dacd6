package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/view"
)

// The arguments of the four tools, with the names from RYE OS. Unknown names are refused: a
// misspelled dry_run must not run.

type searchArgs struct {
	Query       string `json:"query"`
	Scope       string `json:"scope"`
	ItemType    string `json:"item_type"`
	Space       string `json:"space"`
	Limit       int    `json:"limit"`
	Offset      int    `json:"offset"`
	Detail      bool   `json:"detail"`
	ProjectPath string `json:"project_path"`
}

// itemArgs are the arguments that name an item.
type itemArgs struct {
	ItemType    string `json:"item_type"`
	ItemID      string `json:"item_id"`
	ProjectPath string `json:"project_path"`
}

type loadArgs struct {
	itemArgs
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Detail      bool   `json:"detail"`
}

type executeArgs struct {
	itemArgs
	Parameters json.RawMessage `json:"parameters"`
	DryRun     bool            `json:"dry_run"`
	Detail     bool            `json:"detail"`

	// For a directive that runs as a thread instead of being returned.
	Thread      bool     `json:"thread"`
	ThreadID    string   `json:"thread_id"`
	WaitSeconds *float64 `json:"wait_seconds"`
}

type signArgs struct {
	itemArgs
	Content   *string `json:"content"`
	Extension string  `json:"extension"`
	Source    string  `json:"source"`
}

func (a searchArgs) project() string { return a.ProjectPath }
func (a itemArgs) project() string   { return a.ProjectPath }

// task is one call of a tool.
type task struct {
	verbs    rye.Verbs
	approval *approval
	progress *progress
}

// handle does the common work of all tools: strict arguments, the project, the rounds of an
// approval, and errors that a model can read.
func handle[A interface{ project() string }](s *Server, run func(context.Context, *task, A) (view.Answer, error)) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		defer func() {
			if r := recover(); r != nil {
				s.log.Printf("panic in %s: %s\n%s", words.Quote(req.Params.Name), words.Line(fmt.Sprint(r)), debug.Stack())
				res, err = failed(fault.New(fault.Failed, "internal error in %s; the server's standard error has more", req.Params.Name)), nil
			}
		}()
		var args A
		t := &task{progress: newProgress(ctx, req)}
		if err := decodeArgs(req, &args); err != nil {
			return failed(err), nil
		}
		if t.verbs, err = s.verbs(args.project()); err != nil {
			return failed(err), nil
		}
		if t.approval, err = s.begin(ctx, req); err != nil {
			return failed(err), nil
		}
		ctx = context.WithValue(ctx, approvalKey{}, t.approval)
		answer, err := run(ctx, t, args)
		switch {
		case t.approval.asked != nil && err != nil:
			return s.ask(ctx, t.approval, req), nil
		case err != nil:
			return failed(err), nil
		}
		return s.answered(ctx, answer), nil
	}
}

// maxPath bounds project_path in bytes, as Linux bounds a path (PATH_MAX).
const maxPath = 4096

func (s *Server) verbs(projectPath string) (rye.Verbs, error) {
	if len(projectPath) > maxPath {
		return nil, fault.New(fault.Usage, "project_path: %d bytes, want a directory", len(projectPath))
	}
	return s.o.Project(projectPath)
}

// decodeArgs reads the arguments as sent: mcp-go's own decoding would round large numbers and
// accept unknown names.
func decodeArgs(req mcp.CallToolRequest, into any) error {
	raw := req.Params.RawArguments
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := strict.Decode(raw, len(raw), into); err != nil {
		return fault.New(fault.Usage, "arguments of %s: %w", req.Params.Name, err).Advise("%s takes %s", req.Params.Name, argumentsOf(req.Params.Name))
	}
	return nil
}

// target joins the two halves of a name. An item_id may be a whole ref.
func (a itemArgs) target() (rye.Target, error) {
	if a.ItemID == "" {
		return "", fault.New(fault.Usage, "item_id is missing")
	}
	if a.ItemType == "" {
		if _, err := objects.ParseName(a.ItemID); err != nil {
			return "", fault.New(fault.Usage, "item_type is missing: want directive, tool, knowledge or config")
		}
		return rye.Target(a.ItemID), nil
	}
	if _, err := objects.ParseKind(a.ItemType); err != nil {
		return "", fault.New(fault.Usage, "item_type: %w", err)
	}
	return rye.Target(a.ItemType + ":" + strings.TrimPrefix(a.ItemID, a.ItemType+":")), nil
}

// namer reads every form of a name. The workspace is one.
type namer interface {
	Name(ctx context.Context, c rye.Caller, q rye.NameRequest) (rye.Ref, error)
}

// ref returns the item that a call names. Without item_type, item_id may have any form of a name
// that means one item.
func (s *Server) ref(ctx context.Context, verbs rye.Verbs, verb string, a itemArgs) (rye.Ref, error) {
	n, ok := verbs.(namer)
	if ok && a.ItemType == "" && objects.IsShort(a.ItemID) {
		return n.Name(ctx, s.caller(ctx), rye.NameRequest{Name: a.ItemID, Verb: verb})
	}
	name, err := a.target()
	if err != nil {
		return rye.Ref{}, err
	}
	return objects.ParseName(string(name))
}

// fewHits is the number of results when a model gives no limit: it pays for each of them, and
// nearly always the first three hold the answer.
const fewHits = 5

func (s *Server) search(ctx context.Context, t *task, a searchArgs) (none view.Answer, _ error) {
	if strings.TrimSpace(a.Query) == "" {
		return none, fault.New(fault.Usage, "query is missing").With(fault.CommandOf("rye", "search", "*"))
	}
	if a.Limit < 0 || a.Offset < 0 || a.Limit > 1000 {
		return none, fault.New(fault.Usage, "limit %d, offset %d: want a limit from 1 to 1000 and no negative offset", a.Limit, a.Offset)
	}
	if a.Space == "all" {
		a.Space = ""
	}
	q := rye.SearchRequest{Query: a.Query, Kind: a.ItemType, Space: a.Space, Scope: a.Scope, Limit: cmp.Or(a.Limit, fewHits), Offset: a.Offset, Params: true}
	res, err := t.verbs.Search(ctx, s.caller(ctx), q)
	if err != nil {
		return none, err
	}
	return view.Found(res, a.Detail, ""), nil
}

func (s *Server) load(ctx context.Context, t *task, a loadArgs) (none view.Answer, _ error) {
	if strings.HasPrefix(a.ItemID, scheme) {
		return s.loadAddress(ctx, t, a)
	}
	ref, err := s.ref(ctx, t.verbs, "load", a.itemArgs)
	if err != nil {
		return none, err
	}
	res, err := t.verbs.Load(ctx, s.caller(ctx), rye.LoadRequest{Ref: ref, Space: a.Source, Destination: a.Destination})
	if err != nil {
		return none, err
	}
	return view.Loaded(res, a.Detail), nil
}

func (s *Server) execute(ctx context.Context, t *task, a executeArgs) (none view.Answer, _ error) {
	if a.Thread || a.ThreadID != "" {
		return s.thread(ctx, t, a)
	}
	ref, err := s.ref(ctx, t.verbs, "execute", a.itemArgs)
	if err != nil {
		return none, err
	}
	if string(a.Parameters) == "null" {
		a.Parameters = nil // many models write null for none
	}
	q := rye.ExecuteRequest{Ref: ref, Params: a.Parameters, DryRun: a.DryRun, Stdout: t.progress.output, Stderr: t.progress.output,
		Begin: func(*rye.ExecuteResult) error { return begins(ctx) }}
	res, err := t.verbs.Execute(ctx, s.caller(ctx), q)
	if err != nil {
		return none, err
	}
	s.sayOf(ctx, res)
	return view.Executed(res, a.Detail), nil
}

// begins notes on a request's connection that a tool is about to run.
func begins(ctx context.Context) error {
	if s, ok := server.ClientSessionFromContext(ctx).(*session); ok {
		return s.c.begins(s.turn)
	}
	return nil
}

// toSign returns what a call of sign names: an item or a pattern.
func (s *Server) toSign(ctx context.Context, verbs rye.Verbs, a itemArgs) (rye.Target, error) {
	if a.ItemType != "" || strings.ContainsAny(a.ItemID, "*?") {
		return a.target()
	}
	ref, err := s.ref(ctx, verbs, "sign", a)
	if fault.Is(err, fault.NotFound) { // the text may be a new item's
		return "", fault.New(fault.Usage, "%w; for a new item, item_type is missing", err)
	}
	return rye.Target(ref.String()), err
}

// sign needs a person: a model must not write, sign and run code unseen. The question shows exactly
// the changes to sign.
func (s *Server) sign(ctx context.Context, t *task, a signArgs) (none view.Answer, _ error) {
	name, err := s.toSign(ctx, t.verbs, a.itemArgs)
	if err != nil {
		return none, err
	}
	q := rye.SignRequest{Targets: []rye.Target{name}, Space: a.Source, Ext: a.Extension}
	if a.Content != nil {
		if q.Content = *a.Content; q.Content == "" {
			return none, fault.New(fault.Usage, "content is empty").Advise("leave it out to sign the present file")
		}
	}
	rep, err := t.verbs.Sign(ctx, s.caller(ctx), q)
	if err != nil && (rep == nil || rep.Failed == 0) {
		return none, err // otherwise the answer lists the failures, item by item
	}
	return view.Signed(name, rep, ""), nil
}

// progress reports the progress of a call to a client that asked for it, at most ten times a
// second. It is safe for concurrent use.
type progress struct {
	s     *session
	token any
	mu    sync.Mutex
	bytes int
	last  time.Time
}

func newProgress(ctx context.Context, req mcp.CallToolRequest) *progress {
	p := &progress{}
	if s, ok := server.ClientSessionFromContext(ctx).(*session); ok && req.Params.Meta != nil {
		p.s, p.token = s, req.Params.Meta.ProgressToken
	}
	return p
}

// output reports a piece of a tool's output: the number of bytes so far, and the last line of the
// piece.
func (p *progress) output(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += len(b)
	if now := time.Now(); p.token != nil && now.Sub(p.last) >= 100*time.Millisecond {
		p.last = now
		p.s.notify(string(mcp.MethodNotificationProgress), map[string]any{
			"progressToken": p.token, "progress": p.bytes, "message": words.Line(lastLine(b)),
		})
	}
}

func lastLine(b []byte) string {
	s := strings.TrimSpace(string(b))
	return words.Clip(s[strings.LastIndexByte(s, '\n')+1:], 200)
}

// Package callback carries the calls of a running tool to the rye that runs it: one line
// of JSON each way for each call. docs/format/callback.md is normative.
//
//	rye   {"v":1,"token":"","may":["rye.execute.tool.acme.*"],"denied":[]}
//	tool  {"id":"1","verb":"execute","params":{"item_type":"tool","item_id":"acme/step"}}
//	rye   {"id":"1","result":{"status":"success",…}}
//
// The package reads and writes lines, and decides nothing.
package callback

import (
	"bufio"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
)

// Bounds of a connection.
const (
	MaxRequest  = 1 << 20 // bytes of a tool's line, with its newline
	MaxAnswer   = 8 << 20 // bytes of a line from rye
	MaxRequests = 256     // lines of a run, and of all runs below it
	MaxDepth    = 4       // nested executions, without the first
	maxID       = 64
	version     = 1
)

// Hello is the first line that rye sends: the capabilities that the tool has, and those it
// declared but does not have. The token is for information, because it needs its key to be used.
type Hello struct {
	V      int      `json:"v"`
	Token  string   `json:"token"`
	May    []string `json:"may"`
	Denied []string `json:"denied"`
}

// Request is one call. Only the member for Verb is set.
type Request struct {
	ID     string // the tool's own; "" if unreadable
	Verb   string // search, load, execute or sign
	Params json.RawMessage

	Search  rye.SearchRequest
	Load    rye.LoadRequest
	Execute rye.ExecuteRequest
	Sign    rye.SignRequest
	Output  bool // of an execution: send the tool's output as it comes
}

// Item returns the ref that a request is about; "" for a search.
func (r *Request) Item() string {
	switch r.Verb {
	case "load":
		return r.Load.Ref.String()
	case "execute":
		return r.Execute.Ref.String()
	case "sign":
		return string(r.Sign.Targets[0])
	}
	return ""
}

// line is a request in its JSON form.
type line struct {
	ID     string          `json:"id"`
	Verb   string          `json:"verb"`
	Params json.RawMessage `json:"params"`
}

// Parameters of the verbs, with the names in the MCP tools.
type (
	searchParams struct {
		Query    string `json:"query"`
		Scope    string `json:"scope,omitempty"`
		ItemType string `json:"item_type,omitempty"`
		Space    string `json:"space,omitempty"`
		Limit    int    `json:"limit,omitempty"`
		Offset   int    `json:"offset,omitempty"`
	}
	itemParams struct {
		ItemType string `json:"item_type"`
		ItemID   string `json:"item_id"`
		Source   string `json:"source,omitempty"`
	}
	executeParams struct {
		ItemType   string          `json:"item_type"`
		ItemID     string          `json:"item_id"`
		Parameters json.RawMessage `json:"parameters,omitempty"`
		DryRun     bool            `json:"dry_run,omitempty"`
		Output     bool            `json:"output,omitempty"`
	}
)

// ParseRequest reads a tool's line. An unknown, repeated or missing member is an error. On an
// error the result has the id, if it could be read.
func ParseRequest(raw []byte) (r Request, err error) {
	var l line
	if err := strict.Decode(raw, MaxRequest, &l); err != nil {
		return Request{}, fault.Wrap(err, "request")
	}
	if l.ID == "" || len(l.ID) > maxID || strings.Trim(l.ID, idLetters) != "" {
		return Request{}, fault.New(fault.Malformed, "request: id: want 1 to %d letters, digits, - and _", maxID)
	}
	r = Request{ID: l.ID, Verb: l.Verb, Params: l.Params}
	if err = r.read(); err != nil {
		return Request{ID: l.ID}, err
	}
	return r, nil
}

const idLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// read reads the parameters.
func (r *Request) read() (err error) {
	switch r.Verb {
	case "search":
		var p searchParams
		if err := r.decode(&p); err != nil {
			return err
		}
		if p.Limit < 0 || p.Offset < 0 || p.Limit > 1000 {
			return fault.New(fault.Usage, "limit %d, offset %d: want a limit from 1 to 1000 and no negative offset", p.Limit, p.Offset)
		}
		r.Search = rye.SearchRequest{Query: p.Query, Scope: p.Scope, Kind: p.ItemType, Space: p.Space, Limit: p.Limit, Offset: p.Offset}
	case "execute":
		var p executeParams
		if err := r.decode(&p); err != nil {
			return err
		}
		r.Execute, r.Output = rye.ExecuteRequest{Params: p.Parameters, DryRun: p.DryRun}, p.Output
		r.Execute.Ref, err = refOf(p.ItemType, p.ItemID)
	case "load", "sign":
		var p itemParams
		if err := r.decode(&p); err != nil {
			return err
		}
		var ref rye.Ref
		ref, err = refOf(p.ItemType, p.ItemID)
		if r.Verb == "load" {
			r.Load = rye.LoadRequest{Ref: ref, Space: p.Source}
		} else {
			r.Sign = rye.SignRequest{Targets: []rye.Target{rye.Target(ref.String())}, Space: p.Source}
		}
	default:
		return fault.New(fault.Usage, "request: want one of the verbs search, load, execute and sign")
	}
	return err
}

func (r *Request) decode(into any) error {
	if len(r.Params) == 0 {
		return fault.New(fault.Usage, "params of %s are missing", r.Verb)
	}
	if err := strict.Decode(r.Params, MaxRequest, into); err != nil {
		return fault.New(fault.Usage, "params of %s: %w", r.Verb, err)
	}
	return nil
}

func refOf(kind, id string) (rye.Ref, error) {
	k, err := objects.ParseKind(kind)
	if err != nil {
		return rye.Ref{}, fault.New(fault.Usage, "item_type: %w", err)
	}
	return objects.ParseRef(string(k) + ":" + id)
}

// Answer is rye's line for one request: a result or an error, or before them a piece of an
// execution's output.
type Answer struct {
	ID     string          `json:"id"` // of the request; "" if unreadable
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Failure        `json:"error,omitempty"`
	Stdout []byte          `json:"stdout,omitempty"` // in base64
	Stderr []byte          `json:"stderr,omitempty"`
}

// Failure is an error as it is sent.
type Failure struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
}

// FailureOf converts an error for a line.
func FailureOf(err error) *Failure {
	return &Failure{Code: fault.CodeOf(err), Message: err.Error(), Hint: fault.HintOf(err).String()}
}

// Err converts back to an error.
func (f *Failure) Err() error {
	err := fault.New(f.Code, "%s", f.Message)
	if f.Hint != "" {
		return err.Advise("%s", f.Hint)
	}
	return err
}

// Line returns the answer as a line. The error is fault.Limit when it is too long.
func (a Answer) Line() ([]byte, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	if len(raw) >= MaxAnswer {
		return nil, fault.New(fault.Limit, "the answer has %d bytes, at most %d are allowed", len(raw), MaxAnswer-1)
	}
	return append(raw, '\n'), nil
}

// ErrLong is the error for a line over the limit. The next line cannot be found after it.
var ErrLong = errors.New("a line is too long")

// ReadLine returns the next line without its newline. It reads at most max bytes of a line. A
// line without an end is an error.
func ReadLine(in *bufio.Reader, max int) ([]byte, error) {
	var all []byte
	for {
		piece, err := in.ReadSlice('\n')
		if len(all)+len(piece) > max {
			return nil, ErrLong
		}
		all = append(all, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return all[:len(all)-1], nil
		}
	}
}

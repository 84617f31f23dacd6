package provider

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rye-os/rye"
)

// Roles of messages. The system text is no message: it is Request.System.
const (
	User      = "user"
	Assistant = "assistant"
)

// Message is what one side said. Messages of the same side may follow one another: they are
// put together when the request is encoded.
type Message struct {
	Role  string // User or Assistant
	Parts []Part
}

// Part is a piece of a message. Exactly one of its fields is set; an empty Text with nothing
// else is a part that says nothing, and is left out of requests.
type Part struct {
	Text   string
	Call   *Call   // of the assistant
	Result *Result // of the user
	Opaque *Opaque // of the assistant
}

// Call is a tool that the model wants to be called.
type Call struct {
	ID   string
	Name string
	// Args is an object, {} when the tool takes nothing. A model may send something else, or
	// broken JSON; then Bad says what is wrong, and Args is {}.
	Args json.RawMessage
	Bad  string
}

// Result is what a call gave.
type Result struct {
	CallID string
	Name   string // of the tool
	Text   string
	Error  bool
}

// Opaque is a part that only the provider and the model that sent it can read, such as
// thinking with its signature. It goes back to them byte for byte, and to no other.
type Opaque struct {
	Provider string          // id of the provider item
	Model    string          // Model.ID
	Raw      json.RawMessage // one JSON value
	Text     string          // what may be shown of it; "" for nothing
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema of its arguments, an object; nil is one without properties
}

// Request is a question to a model.
type Request struct {
	Model       string // for the journal; Encode goes by the Model that it is given
	System      string
	Messages    []Message
	Tools       []Tool   // in any order: they are sent sorted by name
	MaxOutput   int64    // tokens, at least 1; more than the model's is cut to that
	Temperature *float64 // nil leaves it to the provider; an error where the model forbids it
	Effort      string   // of reasoning: "" for the model's own, else a key of the item's request.reasoning.efforts
}

// What ended an answer: Response.Stop.
const (
	StopEnd     = "end"     // the model had said all
	StopCalls   = "calls"   // it wants tools to be called: Parts has at least one Call
	StopLength  = "length"  // it reached MaxOutput or the end of its context
	StopRefusal = "refusal" // it does not want to
	StopFilter  = "filter"  // the provider does not want it to
	StopPause   = "pause"   // the provider asks for the same conversation again, to go on
)

// Response is a complete answer.
type Response struct {
	Parts     []Part
	Stop      string
	Usage     rye.Usage
	Cost      rye.Micros // rounded up; 0 when not known
	CostKnown bool
	Model     string // as the provider names what answered; may be more precise than what was asked for
	RequestID string // the provider's name for this exchange; "" when it gives none
}

// Delta is a piece of an answer on its way. It is for showing, and nothing else: what counts
// is the Response.
type Delta struct {
	Text      string
	Reasoning string
	CallID    string // a call began; its arguments are not shown in pieces
	CallName  string
}

// Classes of failures: Error.Class.
const (
	RateLimited     = "rate_limited"     // too many requests or tokens in some time
	Overloaded      = "overloaded"       // the provider has no room now
	Transient       = "transient"        // a broken connection, a failure inside the provider, an answer that ends in the middle or breaks its format
	Timeout         = "timeout"          // no connection, no first byte, or silence for too long
	Auth            = "auth"             // the secret is missing, wrong, or not allowed this
	Quota           = "quota"            // the money or the allowance is used up
	Invalid         = "invalid"          // the request is wrong, and would be wrong again; also an answer beyond a bound
	ContextOverflow = "context_overflow" // the conversation is too long for the model
	ContentPolicy   = "content_policy"   // the provider refuses what it was asked
	ToolPairing     = "tool_pairing"     // the provider finds a call without result, or a result without call
	Cancelled       = "cancelled"        // the caller's context ended
)

// classes are all of them, in the order of docs/format/provider.md.
var classes = []string{RateLimited, Overloaded, Transient, Timeout, Auth, Quota, Invalid, ContextOverflow, ContentPolicy, ToolPairing, Cancelled}

// Error is a failure of the model's side. It holds no secret.
type Error struct {
	Class    string
	Status   int           // of HTTP; 0 when there was none
	Code     string        // the provider's own word for it; "" when it gave none
	Message  string        // for people; at most 1,000 bytes, printable
	After    time.Duration // how long the provider asks to wait; 0 when it does not say
	Streamed bool          // a part of the answer had come, and may be billed
	Sent     bool          // the request may have reached the provider, and may be billed
	Never    bool          // the provider says that trying again is of no use, whatever the class
	Again    bool          // the provider says that trying again is of use, whatever the class

	cause error // of Cancelled: what ended the context
}

// Unwrap returns what ended the caller's context, and nil for every other class.
func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Error() string {
	s := "model: " + e.Class
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Code != "" {
		s += " " + e.Code
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	if e.Never || e.Class == Cancelled {
		return false
	}
	switch e.Class {
	case RateLimited, Overloaded, Transient, Timeout:
		return true
	}
	return e.Again
}

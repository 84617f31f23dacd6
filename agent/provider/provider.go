package provider

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rye-os/rye"
)

// Roles of messages. The system text is in Request.System, not in a message.
const (
	User      = "user"
	Assistant = "assistant"
)

// Message is a message of one side. Consecutive messages of one side are merged when the request is
// encoded.
type Message struct {
	Role  string // User or Assistant
	Parts []Part
}

// Part is a piece of a message. Exactly one of its fields is set. A part with an empty Text and
// nothing else is left out of requests.
type Part struct {
	Text   string
	Call   *Call   // of the assistant
	Result *Result // of the user
	Opaque *Opaque // of the assistant
}

// Call is a call of a tool that the model asks for.
type Call struct {
	ID   string
	Name string
	// Args is an object, {} for a tool without arguments. If the model sends something else, or
	// broken JSON, Bad describes the fault, and Args is {}.
	Args json.RawMessage
	Bad  string
}

// Result is the result of a call.
type Result struct {
	CallID string
	Name   string // of the tool
	Text   string
	Error  bool
}

// Opaque is a part that only its provider and model can read, such as thinking with its signature.
// It is sent back to them byte for byte, and to no other.
type Opaque struct {
	Provider string          // id of the provider item
	Model    string          // Model.ID
	Raw      json.RawMessage // one JSON value
	Text     string          // the part that may be shown; "" for none
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema of its arguments, an object; nil means one without properties
}

// Request is a request to a model.
type Request struct {
	Model       string // for the journal; Encode uses the Model that it is given
	System      string
	Messages    []Message
	Tools       []Tool   // in any order: they are sent sorted by name
	MaxOutput   int64    // tokens, at least 1; reduced to the model's maximum
	Temperature *float64 // nil leaves it to the provider; an error if the model forbids it
	Effort      string   // of reasoning: "" for the model's default, or a key of the item's request.reasoning.efforts
}

// The reasons for the end of an answer: Response.Stop.
const (
	StopEnd     = "end"     // the model finished
	StopCalls   = "calls"   // the model asks for calls of tools: Parts has at least one Call
	StopLength  = "length"  // the answer reached MaxOutput or the end of the context
	StopRefusal = "refusal" // the model refused
	StopFilter  = "filter"  // the provider's filter stopped the answer
	StopPause   = "pause"   // the provider asks for the same conversation again, to continue
)

// Response is a complete answer.
type Response struct {
	Parts     []Part
	Stop      string
	Usage     rye.Usage
	Cost      rye.Micros // rounded up; 0 when unknown
	CostKnown bool
	Model     string // the provider's name of the model that answered; may be more precise than the request
	RequestID string // the provider's id of this exchange; "" for none
}

// Delta is a piece of an unfinished answer. It is only for display; the Response is authoritative.
type Delta struct {
	Text      string
	Reasoning string
	CallID    string // a call began; its arguments are not sent in pieces
	CallName  string
}

// Classes of failures: Error.Class.
const (
	RateLimited     = "rate_limited"     // too many requests or tokens in some time
	Overloaded      = "overloaded"       // the provider has no room now
	Transient       = "transient"        // a broken connection, a failure inside the provider, an answer that ends in the middle or breaks its format
	Timeout         = "timeout"          // no connection, no first byte, or silence for too long
	Auth            = "auth"             // the secret is missing or wrong, or does not permit this
	Quota           = "quota"            // the money or the allowance is used up
	Invalid         = "invalid"          // the request is wrong and would fail again; also an answer that exceeds a bound
	ContextOverflow = "context_overflow" // the conversation is too long for the model
	ContentPolicy   = "content_policy"   // the provider refuses the content of the request
	ToolPairing     = "tool_pairing"     // the provider finds a call without a result, or a result without a call
	Cancelled       = "cancelled"        // the caller's context ended
)

// classes are all classes, in the order of docs/format/provider.md.
var classes = []string{RateLimited, Overloaded, Transient, Timeout, Auth, Quota, Invalid, ContextOverflow, ContentPolicy, ToolPairing, Cancelled}

// Error is a failure of the provider or of the connection to it. It contains no secret.
type Error struct {
	Class    string
	Status   int           // of HTTP; 0 for none
	Code     string        // the provider's error code; "" for none
	Message  string        // for the user; at most 1,000 bytes, printable
	After    time.Duration // the time that the provider asks to wait; 0 for none
	Streamed bool          // a part of the answer arrived, and may be billed
	Sent     bool          // the request may have reached the provider, and may be billed
	Never    bool          // the provider says that a retry is useless, whatever the class
	Again    bool          // the provider says that a retry is useful, whatever the class

	cause error // of Cancelled: the cause of the context's end
}

// Unwrap returns the cause of the end of the caller's context, and nil for every other class.
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

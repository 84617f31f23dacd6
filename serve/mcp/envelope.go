package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rye-os/rye/internal/strict"
)

// maxDepth bounds the nesting of a message; the protocol and schemas need far less.
const maxDepth = 128

// envelope is one message as sent, parsed so strictly that no other parser can read it differently.
type envelope struct {
	raw    []byte
	id     json.RawMessage // as written; nil for none
	key    string          // canonical form of the id
	method string
	params json.RawMessage
	result json.RawMessage
	fault  json.RawMessage // the member "error"
}

// isAnswer reports whether the message is a response from the client.
func (e *envelope) isAnswer() bool { return e.method == "" }

// refusal is the reason for refusing a message, with the id of the request if known.
type refusal struct {
	id   json.RawMessage
	code int
	why  string
}

func refused(id json.RawMessage, code int, format string, args ...any) *refusal {
	return &refusal{id, code, fmt.Sprintf(format, args...)}
}

// parseEnvelope parses one message that is not a batch. mcp-go parses it again with encoding/json,
// which ignores the case of names and takes the last of duplicate members. So this refuses names
// that differ from the protocol's only by case, and duplicates anywhere.
func parseEnvelope(raw []byte) (*envelope, *refusal) {
	if !validJSON(raw) {
		return nil, refused(nil, mcp.PARSE_ERROR, "the message is not JSON")
	}
	e := &envelope{raw: raw}
	version, hasMethod := "", false
	in, _ := strict.NewReader(raw, messages)
	if in.Kind() != '{' {
		return nil, refused(nil, mcp.INVALID_REQUEST, "a message must be a JSON object")
	}
	err := in.Object(func(name string) error {
		value, err := member(in, name)
		if err != nil {
			return err
		}
		switch name {
		case "jsonrpc":
			version = jsonText(value)
		case "id":
			e.id = value
		case "method":
			e.method, hasMethod = jsonText(value), true
		case "params":
			e.params = value
		case "result":
			e.result = value
		case "error":
			e.fault = value
		default:
			return fmt.Errorf("unknown member %q", clip(name))
		}
		return nil
	})
	if err != nil {
		return nil, refused(nil, mcp.INVALID_REQUEST, "%s", whyNot(err))
	}
	return e, e.check(version, hasMethod)
}

// check refuses members that JSON-RPC does not allow together. It drops an invalid id.
func (e *envelope) check(version string, hasMethod bool) *refusal {
	sent := e.id
	e.id, e.key = nil, ""
	if key, ok := idKey(sent); ok {
		e.id, e.key = sent, key
	} else if sent != nil && hasMethod {
		return refused(nil, mcp.INVALID_REQUEST, "an id must be a string or an integer")
	}
	answers := e.result != nil || e.fault != nil
	switch {
	case version != mcp.JSONRPC_VERSION:
		return refused(e.id, mcp.INVALID_REQUEST, `a message must have "jsonrpc":"2.0"`)
	case hasMethod && (e.method == "" || answers):
		return refused(e.id, mcp.INVALID_REQUEST, "a request must have a method, and neither result nor error")
	case !hasMethod && !answers:
		return refused(e.id, mcp.INVALID_REQUEST, "a message must have a method, a result or an error")
	case e.params != nil && e.params[0] != '{':
		return refused(e.id, mcp.INVALID_REQUEST, "params must be an object")
	}
	return nil
}

// maxID bounds an id in bytes: it is kept until the answer, which repeats it.
const maxID = 1024

// idKey returns the canonical form of an id. ok is false unless it is a string or an integer.
func idKey(raw json.RawMessage) (key string, ok bool) {
	switch {
	case len(raw) == 0 || len(raw) > maxID:
		return "", false
	case raw[0] == '"':
		return "s" + jsonText(raw), true
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) == 0 || len(digits) > 18 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return "", false
	}
	return "n" + string(raw), true
}

// jsonText returns the value of a JSON string; "" for other values.
func jsonText(raw json.RawMessage) (s string) {
	if len(raw) > 0 && raw[0] == '"' {
		_ = json.Unmarshal(raw, &s) // raw is valid
	}
	return s
}

func clip(s string) string { return s[:min(len(s), 60)] }

// param returns a text in params, by the path of member names to it.
func (e *envelope) param(path ...string) string {
	at := e.params
	for _, name := range path {
		if at == nil || at[0] != '{' {
			return ""
		}
		at = memberOf(at, name)
	}
	return jsonText(at)
}

// memberOf returns a member of a checked object; nil if there is none with that name.
func memberOf(object json.RawMessage, name string) (value json.RawMessage) {
	in, err := strict.NewReader(object, messages)
	if err != nil {
		return nil
	}
	_ = in.Object(func(n string) error {
		one, err := in.Skip()
		if n == name {
			value = one
		}
		return err
	})
	return value
}

// batchOf splits a batch; ok is false for other messages. It returns the messages as sent;
// parseEnvelope checks each.
func batchOf(raw []byte) (messages []json.RawMessage, ok bool) {
	if first := bytes.TrimLeft(raw, " \t\r\n"); len(first) == 0 || first[0] != '[' || !validJSON(raw) {
		return nil, false
	}
	in, err := strict.NewReader(raw, strict.Rules{Size: math.MaxInt, Depth: math.MaxInt, Twice: true})
	if err != nil {
		return nil, false
	}
	err = in.Array(func() error {
		one, err := in.Skip()
		if len(messages) <= maxBatch {
			messages = append(messages, one)
		}
		return err
	})
	return messages, err == nil
}

// messages holds the strict rules for a message and the values in it.
var messages = strict.Rules{Size: math.MaxInt, Depth: maxDepth, Leaves: true}

// validJSON reports whether raw is one JSON value in UTF-8, with any depth and duplicate names:
// these are valid JSON, and get errors of their own.
func validJSON(raw []byte) bool { return utf8.Valid(raw) && json.Valid(raw) }

// member reads a member's value, and checks the names of members in it.
func member(in *strict.Reader, name string) (json.RawMessage, error) {
	if right := protocolNames[folded(name)]; right != "" && right != name {
		return nil, fmt.Errorf("member %q: the name is spelled %q", clip(name), right)
	}
	if freeNames[name] {
		return in.Skip()
	}
	from := in.Next()
	var err error
	switch in.Kind() {
	case '{':
		err = in.Object(func(name string) error { _, err := member(in, name); return err })
	case '[':
		err = in.Array(func() error { _, err := member(in, ""); return err })
	default:
		return in.Skip()
	}
	return in.Since(from), err
}

// whyNot returns the reason for a refusal, without the position in the line.
func whyNot(err error) string {
	if at := (*strict.Error)(nil); errors.As(err, &at) {
		return at.Msg
	}
	return err.Error()
}

// freeNames lists members whose content is not the protocol's: there, any name is allowed.
var freeNames = map[string]bool{"arguments": true, "content": true, "experimental": true, "extensions": true, "data": true}

// protocolNames lists the names that mcp-go reads in a client's messages, by folded form:
// encoding/json accepts any name that folds to the same.
var protocolNames = func() map[string]string {
	m := map[string]string{}
	for name := range strings.FieldsSeq(`jsonrpc id method params result error code message data _meta name arguments cursor uri
		ref argument context level requestId reason progressToken progress total protocolVersion clientInfo capabilities version
		title description websiteUrl icons src sizes mimeType requestState inputResponses task ttl taskId notifications
		toolsListChanged promptsListChanged resourcesListChanged resourceSubscriptions roots sampling elicitation experimental
		extensions tasks list cancel requests listChanged tools form url action content type value`) {
		m[folded(name)] = name
	}
	return m
}()

// folded returns a name as encoding/json compares it: by simple folding, which maps two letters
// outside of ASCII into it.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case 'ſ':
			return 's'
		case '\u212a': // the Kelvin sign
			return 'k'
		}
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// idSeeker finds the id of a request that is too long to keep. It scans the bytes as they pass, and
// keeps only a name and the id.
type idSeeker struct {
	depth   int
	inText  bool
	escaped bool
	isName  bool // the next string at depth 1 is a name
	taking  bool // inside the value of id
	done    bool
	name    []byte
	id      []byte
}

func (s *idSeeker) see(part []byte) {
	for _, b := range part {
		if s.done {
			return
		}
		s.byte(b)
	}
}

func (s *idSeeker) byte(b byte) {
	if s.taking && !s.inText && s.depth == 1 && (b == ',' || b == '}') {
		s.done = true
		return
	}
	if s.taking && len(s.id) <= maxID {
		s.id = append(s.id, b)
	}
	switch {
	case s.inText:
		s.text(b)
	case b == '"':
		s.inText = true
		if s.isName && s.depth == 1 {
			s.name = s.name[:0]
		}
	case b == '{' || b == '[':
		s.depth++
		s.isName = s.depth == 1
	case b == '}' || b == ']':
		s.depth--
	case b == ',' && s.depth == 1:
		s.isName = true
	case b == ':' && s.depth == 1:
		s.isName = false
		s.taking = string(s.name) == "id"
	}
}

// text handles a byte inside a string.
func (s *idSeeker) text(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.inText = false
		return
	}
	if s.isName && s.depth == 1 && len(s.name) < 8 {
		s.name = append(s.name, b)
	}
}

// found returns the id, or nil if there was no valid one.
func (s *idSeeker) found() json.RawMessage {
	id := bytes.TrimSpace(s.id)
	if _, ok := idKey(id); !s.done || !ok || !json.Valid(id) {
		return nil
	}
	return id
}

// intID returns the id of a question by the server.
func intID(n int64) json.RawMessage { return json.RawMessage(strconv.FormatInt(n, 10)) }

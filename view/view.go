package view

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// Answer answers a model's call: a few facts, and the text of an item or a tool. Nothing is in
// both.
type Answer struct {
	Head   any    // one JSON object
	Text   string // an item's text, or what a tool printed; "" for none
	Failed bool

	Patched []string // parts of a run that no owner of their namespace signed
}

// JSON encodes a value for a model: <, > and & are not escaped, but characters that hide or reorder
// text are, so that people who read along see the same as the model.
func JSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `{"status":"error","code":"failed","message":"the answer cannot be encoded as JSON"}`
	}
	return strings.TrimSuffix(string(words.JSON(b.Bytes())), "\n")
}

// String returns the whole answer as one text.
func (a Answer) String() string {
	if a.Text == "" {
		return JSON(a.Head)
	}
	return JSON(a.Head) + "\n" + a.Text
}

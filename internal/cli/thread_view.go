package cli

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
)

// threadView tells a person what a thread does, record by record: what the model says as it
// says it, each call with what came of it in a line, and how it ends.
type threadView struct {
	p      *printer
	stream bool // the model's words of this answer were shown as they came
	open   bool // a line was begun
}

// payload holds the members of the records that are shown.
type payload struct {
	Text       string          `json:"text"`
	Role       string          `json:"role"`
	Tool       string          `json:"tool"`
	Item       string          `json:"item"`
	Input      json.RawMessage `json:"input"`
	Output     string          `json:"output"`
	Error      string          `json:"error"`
	Code       string          `json:"error_code"`
	Reason     string          `json:"reason"`
	Message    string          `json:"message"`
	Suspend    string          `json:"suspend_reason"`
	Question   string          `json:"question"`
	Directive  string          `json:"directive"`
	Model      string          `json:"model"`
	DurationMS float64         `json:"duration_ms"`
	Cost       json.RawMessage `json:"cost"`
}

func (v *threadView) event(e rye.Event) error {
	var d payload
	if err := json.Unmarshal(e.Payload, &d); err != nil {
		return nil // of a newer rye, with other members: passed over
	}
	switch e.Type {
	case "thread_started":
		v.line("%s  %s with %s", bold("thread"), d.Directive, d.Model)
	case "cognition_in":
		if d.Role == "user" && e.Turn > 0 {
			v.line("%s  %s", bold("told"), words.FirstLine(d.Text))
		}
	case "cognition_out_delta":
		v.words(d.Text)
	case "cognition_out":
		if !v.stream && d.Text != "" {
			v.words(d.Text)
		}
		v.end()
		v.stream = false
	case "tool_call_start":
		v.line("%s  %s %s", faint("call"), cmp.Or(d.Item, d.Tool), words.Clip(string(d.Input), 100))
	case "tool_call_result":
		if d.Error != "" {
			v.line("      %s %s", bad("failed:"), words.Clip(words.FirstLine(d.Error), 200))
		} else {
			v.line("      %s", faint(words.Clip(words.FirstLine(strings.TrimSpace(d.Output)), 200)))
		}
	case "approval_requested":
		v.line("%s  %s", warning("asks"), "rye approve "+d.Question)
	case "warning", "loop_detected", "error_classified", "limit_escalation_requested", "thread_resumed", "journal_repaired":
		v.line("%s  %s", warning(strings.ReplaceAll(e.Type, "_", " ")), cmp.Or(d.Text, d.Reason, d.Error, d.Code))
	case "thread_completed":
		v.line("%s  %s", good("completed"), costOf(d.Cost))
	case "thread_suspended", "thread_cancelled", "thread_error":
		v.line("%s  %s", bad(strings.TrimPrefix(e.Type, "thread_")), cmp.Or(d.Message, d.Error, d.Reason, d.Suspend))
	}
	return v.p.flush()
}

// costOf is what a final record says that a thread cost.
func costOf(raw json.RawMessage) string {
	var c struct {
		Spend  rye.Micros `json:"spend"`
		Turns  int        `json:"turns"`
		Tokens int        `json:"tokens"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return ""
	}
	return c.Spend.String() + ", " + words.Plural(c.Turns, "turn") + ", " + words.Plural(c.Tokens, "token")
}

// words writes what the model says.
func (v *threadView) words(text string) {
	if text == "" {
		return
	}
	v.p.content(text)
	v.stream, v.open = true, !strings.HasSuffix(text, "\n")
}

// end ends a line that was begun.
func (v *threadView) end() {
	if v.open {
		v.p.printf("\n")
		v.open = false
	}
}

func (v *threadView) line(format string, args ...any) {
	v.end()
	v.p.printf(format+"\n", args...)
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

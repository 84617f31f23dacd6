package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
)

// threadView shows a thread to a person, record by record: the model's text while it comes, each
// call and its result on one line, and the end.
type threadView struct {
	p     *printer
	out   *speech // writes the model's text, which comes in pieces
	shown string  // the text of the current answer that was shown
}

func (p *printer) newThreadView() *threadView { return &threadView{p: p, out: p.speech()} }

// payload holds the members of the records that are shown.
type payload struct {
	Text      string          `json:"text"`
	Role      string          `json:"role"`
	Tool      string          `json:"tool"`
	Item      string          `json:"item"`
	Input     json.RawMessage `json:"input"`
	Output    string          `json:"output"`
	Error     string          `json:"error"`
	Code      string          `json:"error_code"`
	Outcome   string          `json:"code"`
	Fallback  string          `json:"fallback"`
	Event     string          `json:"event"`
	Hook      string          `json:"hook"`
	Action    string          `json:"action"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message"`
	Suspend   string          `json:"suspend_reason"`
	Detail    json.RawMessage `json:"detail"` // for a suspension, a text
	Question  string          `json:"question"`
	Directive string          `json:"directive"`
	Model     string          `json:"model"`
	Index     string          `json:"index"` // for a tool's call to rye
	Verb      string          `json:"verb"`
	Cost      json.RawMessage `json:"cost"` // money for a call; a total at the end
}

// total is the total cost of a thread.
type total struct {
	Spend  rye.Micros `json:"spend"`
	Turns  int64      `json:"turns"`
	Tokens int64      `json:"tokens"`
}

func (d payload) total() string {
	var c total
	if json.Unmarshal(d.Cost, &c) != nil {
		return "at an unknown cost"
	}
	return fmt.Sprintf("%s, %s, %s", c.Spend, words.Plural(int(c.Turns), "turn"), words.Plural(int(c.Tokens), "token"))
}

// call returns the target and the input of a call in one line.
func (d payload) call() string {
	return cmp.Or(d.Item, d.Tool) + " " + words.Clip(string(d.Input), 100)
}

// noticed maps records that a person should notice to their words.
var noticed = map[string]string{"warning": "warning", "loop_detected": "repeats itself", "error_classified": "the model's provider failed",
	"journal_repaired": "journal repaired"}

func (v *threadView) event(e rye.Event) error {
	var d payload
	if err := json.Unmarshal(e.Payload, &d); err != nil {
		return nil // from a newer rye, with other members: skipped
	}
	switch e.Type {
	case "thread_started":
		v.line("%s  %s  %s with %s", bold("thread"), e.Thread, d.Directive, d.Model)
	case "cognition_in":
		if d.Role == "user" && e.Turn > 0 {
			v.line("%s  %s", bold("message"), prose(words.Clip(strings.Join(strings.Fields(d.Text), " "), 200)))
		}
	case "cognition_out_delta":
		v.words(d.Text)
	case "cognition_out":
		v.rest(d.Text)
	case "tool_call_start":
		v.line("%s  %s", faint("call"), prose(d.call()))
	case "tool_call_result":
		if d.Error != "" {
			v.line("      %s %s", bad("failed:"), prose(words.Clip(words.LastLine(d.Error), 200)))
		} else {
			v.line("      %s", faint(prose(words.Clip(words.FirstLine(strings.TrimSpace(d.Output)), 200))))
		}
	case "callback_start":
		v.line("  %s  %s", faint("asks"), prose(strings.TrimSpace(d.Index+"  "+d.Verb+" "+words.Quote(d.Item))))
	case "callback_result":
		if d.Outcome != "ok" {
			v.line("        %s %s", bad("failed:"), prose(d.Outcome+prefixed(", rye approve ", d.Question)))
		}
	case "hook_fired":
		v.line("%s  %s at %s: %s", faint("hook"), d.Hook, d.Event, d.Action)
	case "approval_requested":
		v.line("%s  %s", warning("asks"), "rye approve "+d.Question)
	case "thread_resumed":
		v.shown = ""
		v.line("%s  by another process", warning("resumed"))
	case "warning", "loop_detected", "error_classified", "journal_repaired":
		v.shown = "" // an error makes the earlier text invalid
		what := cmp.Or(d.Text, d.Reason, d.Error, d.Code, "see rye thread log --events")
		if d.Fallback != "" {
			what += "; " + words.Quote(d.Fallback) + " is used instead"
		}
		v.line("%s  %s", warning(noticed[e.Type]), prose(what))
	case "thread_completed":
		v.line("%s  %s", good("completed"), prose(d.total()))
	case "thread_suspended", "thread_cancelled", "thread_error":
		v.line("%s  %s", bad(strings.TrimPrefix(e.Type, "thread_")), prose(why(d)))
	}
	return v.p.flush()
}

// words writes text of the model.
func (v *threadView) words(text string) {
	if text == "" {
		return
	}
	v.out.write(text)
	v.shown += text
}

// rest writes the part of an answer that was not shown yet, because live records may be missing.
func (v *threadView) rest(answer string) {
	more, ok := strings.CutPrefix(answer, v.shown)
	if !ok {
		v.out.end()
		more = answer
	}
	v.words(more)
	v.out.end()
	v.shown = ""
}

func (v *threadView) line(format string, args ...any) {
	v.out.end()
	v.p.printf(format+"\n", args...)
}

// why returns why a thread stopped.
func why(d payload) string {
	reason := cmp.Or(d.Message, d.Error, d.Reason, d.Suspend)
	var detail string
	if json.Unmarshal(d.Detail, &detail) == nil && detail != "" {
		reason += ": " + detail
	}
	return reason
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

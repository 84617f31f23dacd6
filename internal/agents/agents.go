// Package agents knows the marks that coding agents leave in the environment of their commands.
//
// A mark shows that a program started this terminal or this command. It protects against an agent
// that answers for its user without a thought. It does not stop a program that removes the mark.
package agents

import (
	"strings"

	"github.com/rye-os/rye/fault"
)

// Mark is a variable that an agent sets for the commands it starts.
type Mark struct {
	Name  string // of the variable; a final * stands for any rest
	Agent string // who sets it, for a person
}

// Known are the marks of agents that set one. A variable that people set for an agent, such as
// CODEX_HOME or GEMINI_API_KEY, is no mark. Neither is one that an editor also sets in terminals
// of people, such as CURSOR_TRACE_ID or CLAUDE_CODE_SSE_PORT.
var Known = []Mark{
	{"AI_AGENT", "an agent"}, // the name on which several agents agreed
	{"AGENT", "an agent"},    // the same, of Goose, Amp and opencode
	{"AMP_CURRENT_THREAD_ID", "Amp"},
	{"ANTIGRAVITY_AGENT", "Antigravity"},
	{"AUGMENT_AGENT", "Auggie"},
	{"CLAUDECODE", "Claude Code"},
	{"CLAUDE_CODE_CHILD_SESSION", "Claude Code"},
	{"CLAUDE_CODE_ENTRYPOINT", "Claude Code"},
	{"CLAUDE_CODE_SESSION_ID", "Claude Code"},
	{"CLINE_ACTIVE", "Cline"},
	{"CODEX_CI", "Codex"},
	{"CODEX_SANDBOX*", "Codex"},
	{"CODEX_THREAD_ID", "Codex"},
	{"COPILOT_CLI", "Copilot CLI"},
	{"CRUSH", "Crush"},
	{"CURSOR_AGENT", "Cursor"},
	{"CURSOR_SANDBOX*", "Cursor"},
	{"GEMINI_CLI", "Gemini CLI"},
	{"GOOSE_TERMINAL", "Goose"},
	{"OPENCLAW_SHELL", "OpenClaw"},
	{"OPENCODE", "opencode"},
	{"OPENCODE_CLIENT", "opencode"},
	{"PI_CODING_AGENT", "Pi"},
	{"QWEN_CODE", "Qwen Code"},
}

// MaxMarks bounds the marks that a user adds.
const MaxMarks = 256

// maxName bounds the name of a variable, in bytes.
const maxName = 128

// Own returns the marks with these names, which the user added.
func Own(names []string) ([]Mark, error) {
	if len(names) > MaxMarks {
		return nil, fault.New(fault.Limit, "%d marks, and %d are the most", len(names), MaxMarks)
	}
	var all []Mark
	for _, name := range names {
		if !valid(name) {
			return nil, fault.New(fault.Malformed, "mark %q: want the name of a variable, such as ACME_AGENT, or its beginning and *", name)
		}
		all = append(all, Mark{name, "an agent"})
	}
	return all, nil
}

// valid reports whether name is a variable's name, or the beginning of one and a star. A star
// alone would be a mark in every environment.
func valid(name string) bool {
	name = strings.TrimSuffix(name, "*")
	return name != "" && len(name) <= maxName && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0 && (name[0] < '0' || name[0] > '9')
}

// Find returns the first variable of environ (name=value) that is a mark, with its own name. The
// value does not matter. fold is set on systems that ignore the case of names.
func Find(environ []string, marks []Mark, fold bool) (found Mark, ok bool) {
	for _, m := range marks {
		for _, kv := range environ {
			if name, _, set := strings.Cut(kv, "="); set && m.is(name, fold) {
				return Mark{name, m.Agent}, true
			}
		}
	}
	return Mark{}, false
}

// is reports whether m is the variable name.
func (m Mark) is(name string, fold bool) bool {
	want := m.Name
	if start, pattern := strings.CutSuffix(want, "*"); pattern {
		if len(name) < len(start) {
			return false
		}
		want, name = start, name[:len(start)]
	}
	return name == want || fold && strings.EqualFold(name, want)
}

package agents

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		environ string
		fold    bool
		want    string
	}{
		{"CLAUDECODE=1", false, "CLAUDECODE"},
		{"HOME=/home/ann CODEX_SANDBOX=seatbelt", false, "CODEX_SANDBOX"},
		{"CODEX_SANDBOX_NETWORK_DISABLED=1", false, "CODEX_SANDBOX_NETWORK_DISABLED"},
		{"CODEX_THREAD_ID=x", false, "CODEX_THREAD_ID"},
		{"CURSOR_AGENT=1", false, "CURSOR_AGENT"},
		{"GEMINI_CLI=1", false, "GEMINI_CLI"},
		{"GEMINI_CLI=", false, "GEMINI_CLI"}, // set, though empty
		{"ACME_BOT_7=x", false, "ACME_BOT_7"},
		{"MINE=x", false, "MINE"},
		{"claudecode=1", false, ""},
		{"claudecode=1", true, "claudecode"},
		{"codex_sandbox_x=1", true, "codex_sandbox_x"},
		{"CODEX_HOME=/x CODEX_API_KEY=x CURSOR_TRACE_ID=x GEMINI_API_KEY=x CLAUDE_CODE_USE_BEDROCK=1 SSH_AGENT_PID=1 AGENT_ID=1", false, ""},
		{"CODEX=1 ACME_BO=1 CLAUDECODE", false, ""},
	} {
		own, err := Own([]string{"MINE", "ACME_BOT_*"})
		if err != nil {
			t.Fatal(err)
		}
		m, ok := Find(strings.Fields(c.environ), append(own, Known...), c.fold)
		if m.Name != c.want || ok != (c.want != "") || ok && m.Agent == "" {
			t.Errorf("Find(%q, fold %v) = %v, %v, want %q", c.environ, c.fold, m, ok, c.want)
		}
	}
}

func TestOwn(t *testing.T) {
	for _, name := range []string{"", "*", "A B", "A=B", "A*B", "**", "1A", "Ä", "A\n", strings.Repeat("A", 129)} {
		if _, err := Own([]string{name}); !fault.Is(err, fault.Malformed) {
			t.Errorf("Own(%q) = %v, want malformed", name, err)
		}
	}
	if _, err := Own(make([]string, MaxMarks+1)); !fault.Is(err, fault.Limit) {
		t.Errorf("too many: %v", err)
	}
	for _, m := range Known {
		if !valid(m.Name) || m.Agent == "" {
			t.Errorf("known mark %v", m)
		}
	}
}

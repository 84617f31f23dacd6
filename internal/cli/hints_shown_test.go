package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestHintsAreNoted: wherever a hint is shown, a program that tests built notes it.
func TestHintsAreNoted(t *testing.T) {
	type result struct {
		Next fault.Hint
		List []struct{ Mend fault.Hint }
		By   map[string]*fault.Hint
	}
	v := &result{Next: fault.Command("rye sign %s", "tool:a/b"), By: map[string]*fault.Hint{}}
	v.List = append(v.List, struct{ Mend fault.Hint }{fault.Advice("wait")})
	key := fault.Command("rye sgin")
	v.By["x"] = &key
	all := []string{"rye sgin", "rye sign tool:a/b", "wait"}
	for _, c := range []struct {
		name string
		show func(*printer)
		want []string
	}{
		{"a result", func(p *printer) { p.show(v, func() {}) }, all},
		{"JSON", func(p *printer) { p.object(v) }, all},
		{"a line", func(p *printer) { p.printf("%s\n", v.Next) }, []string{"rye sign tool:a/b"}},
		{"a message", func(p *printer) { p.infof("rye: hint: %s", v.Next) }, []string{"rye sign tool:a/b"}},
		{"an error", func(p *printer) { p.report(fault.New(fault.Failed, "x").With(key)) }, []string{"rye sgin"}},
		{"an error as JSON", func(p *printer) { p.json = true; p.report(fault.New(fault.Failed, "x").With(key)) }, []string{"rye sgin"}},
		{"an error without", func(p *printer) { p.report(fault.New(fault.Failed, "x")) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			testOnlyHints = filepath.Join(t.TempDir(), "hints")
			defer func() { testOnlyHints = "" }()
			c.show(&printer{out: bufio.NewWriter(&bytes.Buffer{}), err: &bytes.Buffer{}})
			raw, _ := os.ReadFile(testOnlyHints) // none is no hint
			var got []string
			for line := range strings.Lines(string(raw)) {
				var s shownHint
				if err := json.Unmarshal([]byte(line), &s); err != nil {
					t.Fatal(err)
				}
				if (s.Words == nil) != (s.Hint == "wait") || (s.Refused == "") != (s.Hint != "rye sgin") {
					t.Errorf("noted %+v", s)
				}
				got = append(got, s.Hint)
			}
			slices.Sort(got)
			got = slices.Compact(got) // an error is noted, and then the line that shows it
			if !slices.Equal(got, c.want) {
				t.Errorf("noted %q, want %q", got, c.want)
			}
		})
	}
}

func TestUnderstand(t *testing.T) {
	for line, want := range map[string]string{
		"":                          "",
		"sign tool:a/b":             "",
		"sign --help":               "",
		"key list":                  "",
		"frob":                      "unknown command",
		"key frob":                  "unknown command",
		"key":                       "missing subcommand",
		"sign --frob":               "unknown flag",
		"revoke --yes":              "argument",
		"version now":               "unexpected argument",
		"execute tool:a/b --params": "a value is missing",
	} {
		err := understand(strings.Fields(line))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("understand(%q) = %v, want %q", line, err, want)
		}
	}
}

// TestUsageHints: what was meant is not known, so the hint is how the command is explained.
func TestUsageHints(t *testing.T) {
	for line, want := range map[string]fault.Hint{
		"version now":  fault.Advice("rye version --help"),
		"init one two": fault.Advice("rye init --help"),
		"revoke":       fault.Advice("rye revoke --help"),
	} {
		if got := fault.HintOf(understand(strings.Fields(line))); got != want {
			t.Errorf("understand(%q) has the hint %#v, want %#v", line, got, want)
		}
	}
}

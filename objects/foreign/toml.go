package foreign

import (
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// tomlText holds the fields of Gemini's commands and of Codex's agents that rye reads.
type tomlText struct {
	Prompt       *string `toml:"prompt"` // Gemini: required
	Description  string  `toml:"description"`
	Instructions *string `toml:"developer_instructions"` // Codex
	Older        *string `toml:"instructions"`
	Model        any     `toml:"model"`
	Sandbox      any     `toml:"sandbox_mode"`
	Effort       any     `toml:"model_reasoning_effort"`
	Servers      any     `toml:"mcp_servers"`
}

// shellIn matches the commands and files that Gemini puts into a prompt.
var shellIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[!@]\{`) })

// tomlPart reads a command or an agent in TOML.
func tomlPart(p part) (m matter, lost []string, err error) {
	var t tomlText
	if len(p.Data) > objects.MaxItemSize {
		return m, nil, fault.New(fault.Limit, "more than %d bytes", objects.MaxItemSize)
	}
	if err := toml.Unmarshal(p.Data, &t); err != nil {
		return m, nil, fault.New(fault.Malformed, "%w", err)
	}
	text := t.Prompt
	want := "prompt"
	if p.what == "agent" {
		want = "developer_instructions"
		for _, s := range []*string{t.Older, t.Instructions} {
			if s != nil {
				text = s
			}
		}
	}
	if text == nil || strings.TrimSpace(*text) == "" {
		return m, nil, fault.New(fault.Malformed, "field %s is missing", want)
	}
	m = matter{fields: map[string]string{"description": t.Description}, body: strings.ReplaceAll(*text, "\r\n", "\n")}
	for _, f := range []struct {
		name  string
		value any
	}{{"model", t.Model}, {"sandbox_mode", t.Sandbox}, {"model_reasoning_effort", t.Effort}, {"mcp_servers", t.Servers}} {
		if f.value != nil {
			lost = append(lost, f.name+" is not kept")
		}
	}
	if strings.HasSuffix(p.Path, ".toml") && p.what == "command" {
		for _, mark := range shellIn().FindAllString(m.body, -1) {
			why := "commands in !{…} are not run beforehand"
			if mark == "@{" {
				why = "files in @{…} are not read in"
			}
			if len(lost) == 0 || lost[len(lost)-1] != why {
				lost = append(lost, why)
			}
		}
		m.body = strings.ReplaceAll(m.body, "{{args}}", "$ARGUMENTS")
	}
	if !strings.HasSuffix(m.body, "\n") {
		m.body += "\n"
	}
	if strings.ContainsRune(m.body, 0) {
		return m, nil, fault.New(fault.Malformed, "the text of %s holds a NUL", words.Brief(want))
	}
	return m, lost, nil
}

package thread

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

// Export returns a thread in another form: its records, what a person reads, or what is the
// same for two threads that did the same.
func (s *Service) Export(ctx context.Context, c rye.Caller, q rye.ExportRequest) ([]byte, error) {
	dir, err := s.find(ctx, c, "export", q.ID)
	if err != nil {
		return nil, err
	}
	d, err := readDescription(ctx, s.o.Record, dir)
	if err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	h := newHistory(dir)
	h.readOnly = true
	_, _, err = journal.Read(ctx, dir, func(r journal.Record) error {
		line, err := r.Line()
		if err == nil {
			raw.Write(line)
			err = h.add(r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if q.Knowledge != "" {
		return s.knowledge(ctx, c, d, h, q.Knowledge)
	}
	switch q.Form {
	case "jsonl":
		return raw.Bytes(), nil
	case "markdown", "":
		return []byte(markdown(d, h)), nil
	case "canonical":
		return canonical(d, h)
	}
	return nil, fault.New(fault.Usage, "export: %q: want jsonl, markdown or canonical", q.Form)
}

// canonical is what a thread did without when, who and how dear: what it was told, what it
// said, each call with its parameters and its result in the order of the calls, and the end.
func canonical(d *Description, h *history) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	put := func(v any) error { return e.Encode(v) }
	err := put(map[string]any{"directive": d.Directive, "sha256": d.SHA256, "params": d.Params, "capabilities": d.Capabilities})
	for _, s := range h.said {
		if err != nil {
			return nil, err
		}
		for _, p := range s.parts {
			if p.Text != "" && err == nil {
				err = put(map[string]any{s.role: p.Text})
			}
		}
		for _, c := range s.calls {
			r := h.results[c.ID]
			if r == nil {
				r = &result{}
			}
			if err == nil {
				err = put(map[string]any{"call": c.Name, "args": c.Args, "result": r.Text, "error": r.Error})
			}
		}
	}
	if err != nil {
		return nil, err
	}
	end := map[string]any{"end": "", "outputs": h.returned()}
	if h.final != nil {
		end["end"] = h.final.Type
	}
	err = put(end)
	return out.Bytes(), err
}

// markdown is a thread for people.
func markdown(d *Description, h *history) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nThread %s, begun %s, with %s (%s).\n", d.Directive, d.ID, d.Started, d.Model, d.Provider)
	for _, s := range h.said {
		for _, p := range s.parts {
			if p.Text == "" {
				continue
			}
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.role, strings.TrimSpace(p.Text))
		}
		for _, c := range s.calls {
			fmt.Fprintf(&b, "\n### call %s\n\n%s\n", c.Name, fenced("json", string(c.Args)))
			if r := h.results[c.ID]; r != nil {
				if r.Error != "" {
					fmt.Fprintf(&b, "\nFailed: %s\n", r.Error)
				}
				if r.Text != "" {
					fmt.Fprintf(&b, "\n%s\n", fenced("", r.Text))
				}
			}
		}
	}
	status, why := statusOf(h, false)
	fmt.Fprintf(&b, "\n## end\n\n%s", status)
	if why != "" {
		b.WriteString(": " + why)
	}
	fmt.Fprintf(&b, ". %d tokens, %s.\n", h.usage.Total(), h.spent)
	for name, v := range h.returned() {
		fmt.Fprintf(&b, "\n%s: %s\n", name, v)
	}
	return b.String()
}

// fenced puts a text between fences that it does not contain.
func fenced(lang, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

package rye

import (
	"bytes"
	"errors"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// unreadable describes why a working file is no item at all.
func unreadable(l *space.Layer, ref objects.Ref, err error) []Mistake {
	var syntax *objects.SyntaxError
	if !errors.As(err, &syntax) {
		return nil
	}
	m := Mistake{Path: ".ai/" + syntax.Path, Line: syntax.Line, Column: syntax.Column, Rule: syntax.Msg, Mend: fault.HintOf(err).String()}
	if rest, ok := strings.CutPrefix(m.Rule, "field "); ok {
		if name, rule, ok := strings.Cut(rest, ": "); ok {
			m.Field, m.Rule = name, rule
		}
	}
	if p, err := l.Locate(ref); err == nil && p == syntax.Path {
		if raw, err := l.Read(p); err == nil {
			m.Text = lineOf(raw, m.Line)
		}
	}
	return []Mistake{m}
}

// invalid describes what the rules of its kind have against an item.
func invalid(it *objects.Item, problems []objects.Problem) []Mistake {
	var all []Mistake
	for _, p := range problems {
		all = append(all, Mistake{
			Path: ".ai/" + it.Path, Line: p.Line, Column: p.Column, Field: p.Field, Rule: p.Rule, Mend: p.Mend,
			Text: lineOf(it.Raw, p.Line),
		})
	}
	return all
}

// lineOf returns a line of a file, clipped; "" when there is none.
func lineOf(raw []byte, n int) string {
	if n < 1 {
		return ""
	}
	for line := range bytes.Lines(raw) {
		if n--; n == 0 {
			return clipLine(strings.ToValidUTF8(string(bytes.TrimRight(line, "\r\n")), "\ufffd"))
		}
	}
	return ""
}

// blockToPaste is the metadata that a file without any could begin with, in
// comments of its language; "" where metadata has another form.
func blockToPaste(it *objects.Item) string {
	switch path.Ext(it.Path) {
	case ".py", ".yaml", ".yml", ".md":
		return ""
	}
	if it.Ref.Kind != objects.Tool || len(it.Meta.Fields) > 0 {
		return ""
	}
	text, _ := objects.CommentBlock(it.Path,
		"version: 0.1.0\nexecutor_id: "+runtimeFor(it.Path)+"\ndescription: Say in one sentence what this does.")
	return text
}

// runtimeFor is the runtime that fits a file of this name.
func runtimeFor(p string) string {
	switch path.Ext(p) {
	case ".sh", ".bash":
		return "rye/core/runtimes/bash_runtime"
	case ".js", ".mjs", ".cjs":
		return "rye/core/runtimes/node_runtime"
	case ".ts", ".mts", ".cts":
		return "rye/core/runtimes/typescript_runtime"
	}
	return "<id of a runtime>"
}

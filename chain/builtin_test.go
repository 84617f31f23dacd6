package chain

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/primitive/builtin"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
)

func TestBuiltinCall(t *testing.T) {
	w := newWorld(t)
	p := w.plan("rye/file-system/read")
	if p.Function() != "read" || p.Shell() != "" {
		t.Errorf("function %q, shell %q", p.Function(), p.Shell())
	}
	in, _ := w.inputs(p, `{"path":"<a>"}`)
	in.RunDir, in.Temp = "", ""
	in.Protect, in.Hide = []string{"/p/.ai"}, []string{"/keys"}
	c, err := p.BuiltinCall(in, "/usr/bin/rye", "build-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Argv, " "); got != "/usr/bin/rye "+builtin.Arg+" read" {
		t.Errorf("argv %q", got)
	}
	if c.Timeout.Seconds() != 60 || c.Dir != in.ProjectPath || c.Env != nil {
		t.Errorf("call %+v", c)
	}
	var got builtin.Input
	if err := strict.Decode(c.Stdin, builtin.MaxInput, &got); err != nil {
		t.Fatal(err)
	}
	if got.Build != "build-1" || string(got.Params) != `{"limit":2000,"line_ids":true,"offset":1,"path":"<a>"}` || got.Project != in.ProjectPath ||
		!slices.Equal(got.Protect, in.Protect) || !slices.Equal(got.Hide, in.Hide) {
		t.Errorf("input %s", c.Stdin)
	}
	b := c.Sandbox
	if !slices.Contains(b.Read, in.ProjectPath) || len(b.Write) > 0 || b.Net || slices.Contains(b.Exec, "") {
		t.Errorf("sandbox %+v", b)
	}
	if again, _ := p.BuiltinCall(in, "/usr/bin/rye", "build-1"); string(again.Stdin) != string(c.Stdin) {
		t.Error("not a function of its arguments")
	}
}

// An item above cannot turn a tool that reads into one that runs commands, and a
// function that does not exist is refused when the chain is resolved.
func TestFunctionIsDecidedBelow(t *testing.T) {
	for name, c := range map[string]struct{ executor, config, want string }{
		"inherits":             {"rye/file-system/read", "", "read"},
		"says the same":        {"rye/file-system/read", "config: {function: read}\n", "read"},
		"another one":          {"rye/file-system/read", "config: {function: bash}\n", ""},
		"its own":              {string(Builtin), "config: {function: glob}\n", "glob"},
		"unknown":              {string(Builtin), "config: {function: rm}\n", ""},
		"not a text":           {string(Builtin), "config: {function: 1}\n", ""},
		"none":                 {string(Builtin), "", ""},
		"a command is no line": {string(Builtin), "config: {command: /bin/sh}\n", ""},
	} {
		w := newWorld(t)
		path, text := yamlTool("acme/x", c.executor, c.config)
		w.add(objects.Project, path, text)
		p, err := Resolve(context.Background(), w, tool("acme/x"))
		switch {
		case c.want == "" && !fault.Is(err, fault.Malformed):
			t.Errorf("%s: %v, want malformed", name, err)
		case c.want != "" && (err != nil || p.Function() != c.want):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What runs a command says in which parameter it stands.
func TestShellIsKnown(t *testing.T) {
	w := newWorld(t)
	path, text := yamlTool("acme/sh", string(Builtin), "config: {function: bash}\n")
	w.add(objects.Project, path, text)
	path, text = yamlTool("acme/wrapped", "acme/sh", "")
	w.add(objects.Project, path, text)
	for _, id := range []string{"acme/sh", "acme/wrapped"} {
		if p := w.plan(id); p.Shell() != "command" {
			t.Errorf("%s: shell %q", id, p.Shell())
		}
	}
}

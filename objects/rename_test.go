package objects

import (
	"maps"
	"strings"
	"testing"
)

func TestRenamesIn(t *testing.T) {
	r := Renames{
		{ID: "acme"}:                        {ID: "example"},
		{Kind: Tool, ID: "acme/hello"}:      {Kind: Tool, ID: "example/hello"},
		{Kind: Tool, ID: "acme/runs/sh"}:    {Kind: Tool, ID: "example/runs/sh"},
		{Kind: Knowledge, ID: "acme/style"}: {Kind: Knowledge, ID: "example/style"},
	}
	for _, test := range []struct{ name, path, dest, text, want string }{
		{"a program's executor and dependencies, not its text", "tools/acme/hello.sh", "tools/example/hello.sh",
			"#!/bin/bash\n# executor_id: acme/runs/sh\n# deps: {acme/knowledge/style: \"*\"}\n# category: acme\necho acme/runs/sh\n# acme/runs/sh\n",
			"#!/bin/bash\n# executor_id: example/runs/sh\n# deps: {example/knowledge/style: \"*\"}\n# category: example\necho acme/runs/sh\n# acme/runs/sh\n"},
		{"a module's executor", "tools/acme/hello.py", "tools/example/hello.py",
			"__executor_id__ = \"acme/runs/sh\"\nprint('acme/hello')\n",
			"__executor_id__ = \"example/runs/sh\"\nprint('acme/hello')\n"},
		{"permissions, and those of the whole namespace", "directives/acme/go.md", "directives/example/go.md",
			"---\nname: go\ncategory: acme\npermissions: [rye.execute.tool.acme.hello, rye.execute.tool.acme.*, rye.load.knowledge.acmeother.x]\n---\nUse acme/hello.\n",
			"---\nname: go\ncategory: example\npermissions: [rye.execute.tool.example.hello, rye.execute.tool.example.*, rye.load.knowledge.acmeother.x]\n---\nUse acme/hello.\n"},
		{"calls in a directive", "directives/acme/go.md", "directives/example/go.md",
			"# Go\n\n```xml\n<directive name=\"go\"><metadata><actions><execute item_type=\"tool\" item_id=\"acme/hello\"/></actions></metadata></directive>\n```\nacme/hello\n",
			"# Go\n\n```xml\n<directive name=\"go\"><metadata><actions><execute item_type=\"tool\" item_id=\"example/hello\"/></actions></metadata></directive>\n```\nacme/hello\n"},
		{"names that only begin so", "tools/acme/hello.yaml", "tools/example/hello.yaml",
			"version: 1.0.0\nexecutor_id: acme/runs/sh2\nconfig: {at: https://acme/hello, of: tool:acme/hello}\n",
			"version: 1.0.0\nexecutor_id: acme/runs/sh2\nconfig: {at: https://acme/hello, of: tool:example/hello}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			it := &Item{Path: test.path, Body: []byte(test.text)}
			var err error
			if it.Ref, _, err = RefOfPath(test.path); err != nil {
				t.Fatal(err)
			}
			to, _, err := RefOfPath(test.dest)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.In(Retitled(it, to)).Body); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

func TestRenamesDeps(t *testing.T) {
	r := Renames{{Kind: Tool, ID: "acme/hello"}: {Kind: Tool, ID: "example/hello"}}
	got := r.Deps(map[string]string{"acme/tool/hello": "^1", "acme/tool/other": "*"})
	if want := map[string]string{"example/tool/hello": "^1", "acme/tool/other": "*"}; !maps.Equal(got, want) {
		t.Errorf("Deps = %v, want %v", got, want)
	}
	if _, err := r.Relocated(&Item{Ref: Ref{Kind: Tool, ID: "acme/hello"}, Path: "tools/acme/hello.sh", Body: []byte("#!/bin/bash\n")}, "tools/example/hello.py"); err == nil || !strings.Contains(err.Error(), "extension") {
		t.Errorf("Relocated with another extension: %v", err)
	}
}

package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// TestInferredExecutors holds each row of the table. Signatures bind these results: add rows, and
// change none.
func TestInferredExecutors(t *testing.T) {
	const py, sh = "rye/core/runtimes/python_script_runtime", "rye/core/runtimes/sh_runtime"
	for _, c := range []struct{ path, text, want string }{
		{"t.sh", "#!/bin/bash\n", "rye/core/runtimes/bash_runtime"},
		{"t.sh", "#!/usr/bin/env bash\n", "rye/core/runtimes/bash_runtime"},
		{"t.sh", "#! /usr/bin/env -S bash\n", "rye/core/runtimes/bash_runtime"},
		{"t.sh", "#!/bin/sh", sh},
		{"t.sh", "# needs: {}\n", "rye/core/runtimes/bash_runtime"},
		{"t.bash", "#!/bin/bash\n", "rye/core/runtimes/bash_runtime"},
		{"t.bash", "#!/bin/sh\n", ""},
		{"t.sh", "#!/bin/zsh\n", ""},
		{"t.sh", "#!/bin/bash -e\n", ""},
		{"t.sh", "#!/usr/bin/env\n", ""},
		{"t.sh", "#!\n", ""},
		{"t.sh", "#!/usr/bin/env python3\n", ""},
		{"t.py", "#!/usr/bin/env python3\n", py},
		{"t.py", "#!/usr/bin/python3.13\n", py},
		{"t.py", "#!/usr/bin/env -S uv run --script\n", ""},
		{"t.py", "#!/usr/bin/python2.7\n", ""},
		{"t.py", "#!/usr/bin/env -i python3\n", ""},
		{"t.sh", "#!/usr/bin/env -S LANG=C bash\n", ""},
		{"t.sh", "#!/usr/bin/bash5\n", "rye/core/runtimes/bash_runtime"},
		{"t.py", "__needs__ = {}\n", "rye/core/runtimes/python_function_runtime"},
		{"t.js", "#!/usr/bin/env node\n", "rye/core/runtimes/node_runtime"},
		{"t.js", "#!/usr/bin/env bun\n", ""},
		{"t.mjs", "// description: x\n", "rye/core/runtimes/node_runtime"},
		{"t.cjs", "/* needs: {} */\n", "rye/core/runtimes/node_runtime"},
		{"t.ts", "// needs: {}\n", "rye/core/runtimes/typescript_runtime"},
		{"t.mts", "#!/usr/bin/node\n", "rye/core/runtimes/typescript_runtime"},
		{"t.cts", "// tier: t2\n", "rye/core/runtimes/typescript_runtime"},
		{"t.rb", "#!/usr/bin/env ruby\n", ""},
	} {
		it, err := objects.Parse("tools/acme/"+c.path, []byte(c.text))
		if err != nil {
			t.Fatalf("%s %q: %v", c.path, c.text, err)
		}
		if string(it.Meta.Executor) != c.want || it.Meta.Inferred != (c.want != "") || it.Meta.Part {
			t.Errorf("%s %q: executor %q, inferred %v, part %v; want %q", c.path, c.text, it.Meta.Executor, it.Meta.Inferred, it.Meta.Part, c.want)
		}
		if problems := it.Validate(); (len(problems) == 0) != (c.want != "") {
			t.Errorf("%s %q: problems %v", c.path, c.text, problems)
		}
	}
}

// TestStatedExecutors: what a file says about its executor counts, null too.
func TestStatedExecutors(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{"t.sh", "#!/bin/zsh\n# executor_id: acme/zsh\n", "acme/zsh"},
		{"t.sh", "#!/bin/bash\n# executor_id: null\n# tool_type: notes\n", ""},
		{"t.py", "__executor_id__ = None\n__tool_type__ = \"notes\"\n", ""},
		{"t.py", "__tool_type__ = \"extractor\"\n", ""},
		{"t.yaml", "version: 1.0.0\n", ""},
		{"t.json", `{"version": "1.0.0"}`, ""},
	} {
		it, err := objects.Parse("tools/acme/"+c.path, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if string(it.Meta.Executor) != c.want || it.Meta.Inferred || it.Meta.Part {
			t.Errorf("%s %q: executor %q, inferred %v, part %v", c.path, c.text, it.Meta.Executor, it.Meta.Inferred, it.Meta.Part)
		}
	}
}

// TestParts: a file without #! and without a field of a tool's header is a part. It is valid, and
// the line that rye proposes makes a tool of it.
func TestParts(t *testing.T) {
	for p, text := range map[string]string{
		"lib.sh":      "# Copyright: somebody\n# author: x\n# license: MIT\ngreet() { echo hi; }\n",
		"util.py":     "\"\"\"Helpers.\"\"\"\n__version__ = \"1\"\n__all__ = []\nCONFIG = {\"a\": 1}\n",
		"fn.py":       "def execute(params, project):\n    return {}\n",
		"__init__.py": "",
		"lib.js":      "export const x = 1;\n",
		"types.ts":    "export type X = 1;\n",
		"words.yaml":  "a: 1\ntimeout: 3\n",
		"q.sql":       "select 1;\n",
	} {
		it, err := objects.Parse("tools/acme/"+p, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !it.Meta.Part || it.Meta.Executor != "" || len(it.Validate()) > 0 {
			t.Errorf("%s: part %v, executor %q, problems %v", p, it.Meta.Part, it.Meta.Executor, it.Validate())
		}
		line := strings.Replace(it.ToolLine(), "<the id of a runtime>", "acme/sql", 1)
		tool, err := objects.Parse("tools/acme/"+p, []byte(line+"\n"+text))
		if err != nil || tool.Meta.Part {
			t.Errorf("%s with %q: %v", p, it.ToolLine(), err)
		}
	}
}

// TestHeaders: one comment holds the header, and no other comment looks like it.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		name, text, want string // want: the needs, or a part of the error
	}{
		{"needs alone", "#!/bin/sh\n# needs: {read: [.]}\n", "read .; write nothing; net nothing"},
		{"the one with version, below", "#!/bin/sh\n# author: x\n\n# version: 1.0.0\n# needs: {read: [a]}\n", "read a; write nothing; net nothing"},
		{"a second one below", "#!/bin/sh\n# version: 1.0.0\n\n# needs: {read: [a]}\n", ""},
		{"two, the first without version", "#!/bin/sh\n# needs: {read: []}\n\n# version: 1.0.0\n# needs: {net: ['*']}\n", "above the one with version:"},
		{"not YAML", "#!/bin/sh\n# needs: {read: [\n", "tools/acme/t.sh"},
		{"a wrong form", "#!/bin/sh\n# needs: none\n", "want a mapping"},
		{"a sentence with the word", "#!/bin/sh\n# It needs: a file.\n", ""},
	} {
		it, err := objects.Parse("tools/acme/t.sh", []byte(c.text))
		switch {
		case err != nil:
			if !fault.Is(err, fault.Malformed) || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		case it.Meta.Needs.String() != c.want:
			t.Errorf("%s: needs %q, want %q", c.name, it.Meta.Needs, c.want)
		}
	}
}

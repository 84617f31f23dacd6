package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// TestWithNeeds: the line goes into the header of each dialect, and changes nothing else.
func TestWithNeeds(t *testing.T) {
	const line, py = "needs: {read: [.], write: [.], net: []}", `__needs__ = {"read": ["."], "write": ["."], "net": []}`
	for _, c := range []struct{ name, path, text, want string }{ // want "": nothing is written
		{"a program without a header", "t.sh", "#!/bin/sh\necho hi\n", "#!/bin/sh\n# " + line + "\n\necho hi\n"},
		{"a comment below line 1", "t.sh", "#!/bin/sh\n# Says hi: to all.\necho hi\n", "#!/bin/sh\n# " + line + "\n\n# Says hi: to all.\necho hi\n"},
		{"an empty line below line 1", "t.sh", "#!/bin/sh\n\necho hi\n", "#!/bin/sh\n# " + line + "\n\necho hi\n"},
		{"only line 1, without its end", "t.sh", "#!/bin/sh", "#!/bin/sh\n# " + line + "\n"},
		{"a header", "t.sh", "#!/bin/sh\n# About us.\n\n# version: 1.0.0\n# description: x\necho hi\n", "#!/bin/sh\n# About us.\n\n# " + line + "\n# version: 1.0.0\n# description: x\necho hi\n"},
		{"a nested header", "t.js", "// description: x\n// config_schema:\n//   type: object\nf()\n", "// " + line + "\n// description: x\n// config_schema:\n//   type: object\nf()\n"},
		{"a star comment", "t.js", "/**\n * description: x\n */\nf()\n", "/**\n * " + line + "\n * description: x\n */\nf()\n"},
		{"a comment in one line", "t.js", "/* description: x */\nf()\n", ""},
		{"Python with a header", "t.py", "\"\"\"Doc.\"\"\"\n__tool_description__ = \"x\"\n__version__ = \"1\"\n", "\"\"\"Doc.\"\"\"\n" + py + "\n__tool_description__ = \"x\"\n__version__ = \"1\"\n"},
		{"Python without one", "t.py", "#!/usr/bin/env python3\nprint(1)", "#!/usr/bin/env python3\nprint(1)\n\n" + py + "\n"},
		{"YAML", "t.yaml", "version: 1.0.0\ntool_type: bash\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: x\n", line + "\nversion: 1.0.0\ntool_type: bash\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: x\n"},
		{"HTTP", "t.yaml", "executor_id: rye/core/runtimes/http_runtime\nconfig: {url: 'https://api.example.org/{x}'}\n", "needs: {read: [], write: [], net: [api.example.org]}\nexecutor_id: rye/core/runtimes/http_runtime\nconfig: {url: 'https://api.example.org/{x}'}\n"},
		{"HTTP at a port", "t.yaml", "executor_id: rye/core/runtimes/http_runtime\nconfig: {url: 'http://127.0.0.1:8080/'}\n", "needs: {read: [], write: [], net: [127.0.0.1:8080]}\nexecutor_id: rye/core/runtimes/http_runtime\nconfig: {url: 'http://127.0.0.1:8080/'}\n"},
		{"HTTP where a parameter is in the host", "t.yaml", "executor_id: rye/core/runtimes/http_runtime\nconfig: {url: 'https://{x}.example.org/'}\n", ""},
		{"HTTP where a parameter ends the host", "t.yaml", "executor_id: rye/core/runtimes/http_runtime\nconfig: {url: 'https://example.org{x}'}\n", ""},
		{"HTTP where the environment is the host", "t.yaml", "executor_id: rye/core/runtimes/http_runtime\nconfig: {url: '${SERVICE}/x'}\n", ""},
		{"a flow mapping", "t.yaml", "{version: 1.0.0, tool_type: bash, executor_id: rye/core/runtimes/bash_runtime, description: x}\n", ""},
		{"stated needs", "t.sh", "#!/bin/sh\n# needs: {}\n", ""},
		{"a part", "t.sh", "echo\n", ""},
		{"a runtime", "t.yaml", "version: 1.0.0\ntool_type: runtime\nexecutor_id: acme/base\ndescription: x\n", ""},
		{"a primitive's tool", "t.yaml", "version: 1.0.0\ntool_type: x\nexecutor_id: rye/core/primitives/subprocess\ndescription: x\n", ""},
		{"data", "t.yaml", "version: 1.0.0\ntool_type: x\nexecutor_id: null\ndescription: x\n", ""},
	} {
		p := "tools/acme/" + c.path
		it, err := objects.Parse(p, []byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		now, err := it.WithNeeds(objects.OwnNeeds)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && now != it:
			t.Errorf("%s: wrote %q", c.name, now.Body)
		case c.want != "" && string(now.Body) != c.want:
			t.Errorf("%s:\n%q, want\n%q", c.name, now.Body, c.want)
		}
		if c.want == "" || err != nil {
			continue
		}
		if again, err := now.WithNeeds(objects.OwnNeeds); err != nil || again != now {
			t.Errorf("%s: a second line was written: %v", c.name, err)
		}
		// The same file with a signature: the line does not go above or into it.
		s := sign(t, testKey(seedPhrase), it.Ref, objects.Ext(p), "", "", it.Body, noon)
		raw, err := objects.WithSignature(p, it.Body, s)
		if err != nil {
			continue // a file without the end of its last line
		}
		if it, err = objects.Parse(p, raw); err != nil {
			t.Fatal(err)
		}
		now, err = it.WithNeeds(objects.OwnNeeds)
		if err != nil || string(now.Body) != c.want || now.Signature == nil || now.Signature.SignedAt != noon {
			t.Errorf("%s, signed before: %v\n%q, want\n%q", c.name, err, now.Body, c.want)
		}
	}
	it, _ := objects.Parse("tools/acme/t.sh", []byte("#!/bin/sh\n"))
	if now, err := it.WithNeeds(objects.NoNeeds); err != nil || !strings.Contains(string(now.Body), "# needs: {read: [], write: [], net: []}\n") {
		t.Errorf("for foreign text: %v", err)
	}
}

package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// benchItems are items of about 4 KiB, signed.
func benchItems(b *testing.B) map[string][]byte {
	pad := func(head, line string) string {
		return head + strings.Repeat(line, max(0, 4096-len(head))/len(line))
	}
	items := map[string]string{
		"tools/acme/x.py": pad("__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"rye/core/runtimes/python_script_runtime\"\n"+
			"__category__ = \"acme\"\n__tool_description__ = \"Does x.\"\nCONFIG_SCHEMA = {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}\n",
			"def f(x):  # a line of code\n    return {\"a\": [x, 'b'], \"c\": f\"{x}\"}\n"),
		"tools/acme/x.sh": pad("#!/bin/sh\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: Does x.\n",
			"echo \"$1\" | sed 's/a/b/' # a line of code\n"),
		"directives/acme/x.md": pad("# X\n\n```xml\n<directive name=\"x\" version=\"1.0.0\">\n<metadata><description>Does x.</description><category>acme</category><author>a</author>"+
			"<model tier=\"fast\"/><limits turns=\"3\" tokens=\"1000\"/><permissions><execute><tool>acme.*</tool></execute></permissions></metadata>\n"+
			"<inputs><input name=\"a\" type=\"string\" required=\"true\">A.</input></inputs>\n</directive>\n```\n", "Do this and then that, and say why.\n"),
		"knowledge/acme/x.md": pad("---\ntitle: X\nversion: 1.0.0\nentry_type: reference\ntags: [a, b]\n---\n", "Pumps move water, mostly upwards.\n"),
		"tools/acme/y.yaml": pad("version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ndescription: Runs.\nconfig:\n  command: bash\n  list:\n",
			"    - {a: 1, b: \"two\"}\n"),
	}
	out := map[string][]byte{}
	for path, body := range items {
		raw, err := objects.WithSignature(path, []byte(body), objects.Signature{SignedAt: noon})
		if err != nil {
			b.Fatal(err)
		}
		out[path] = raw
	}
	return out
}

func BenchmarkParse(b *testing.B) {
	for path, raw := range benchItems(b) {
		b.Run(strings.ReplaceAll(path, "/", "_"), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := objects.Parse(path, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	for path, raw := range benchItems(b) {
		b.Run(strings.ReplaceAll(path, "/", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := objects.Split(path, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseManifest(b *testing.B) {
	m := &objects.Manifest{ID: "acme/bundle/x", Version: "1.0.0"}
	for i := range 43 {
		m.Files = append(m.Files, objects.File{Path: "lib/file_" + string(rune('A'+i/26)) + string(rune('a'+i%26)) + ".py", Size: 1})
	}
	raw, err := m.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("rye", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := objects.ParseManifest(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("yaml", func(b *testing.B) { // what the one form saves
		for b.Loop() {
			if err := objects.DecodeYAML(raw, 1<<20, new(any)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

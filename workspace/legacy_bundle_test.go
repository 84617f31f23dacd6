package workspace_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

// TestLegacyUpgradeOfTheBundle takes over what RYE OS ships, by one command. The 210 paths
// are those of its bundle, and so are the shapes: packages whose __init__.py has no
// description, tools with and without #!, extractors that judge the rest and were not
// upgraded themselves, schemas, runtimes and settings that nothing runs, knowledge in three
// dialects, and examples of signature lines in fences. The texts are our own.
func TestLegacyUpgradeOfTheBundle(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", "original-signatures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bundle struct{ Vectors []struct{ Path string } }
	if err := json.Unmarshal(raw, &bundle); err != nil || len(bundle.Vectors) != 210 {
		t.Fatalf("%d paths, %v", len(bundle.Vectors), err)
	}
	p, a := project(t), newRyeOS(t, "leo")
	var files []legacyFile
	for i, v := range bundle.Vectors {
		dir, rest, _ := strings.Cut(v.Path, "/")
		kind := strings.TrimSuffix(dir, "s")
		ext := path.Ext(rest)
		it := shippedItem{i: i, kind: kind, id: strings.TrimSuffix(rest, ext), ext: ext}
		files = append(files, legacyFile{path: v.Path, kind: kind, ref: kind + ":" + it.id, text: it.text()})
	}
	a.sign(p, files...)
	if got := strings.Count(p.read("knowledge/rye/core/signing-and-integrity.md"), "rye:signed:"); got < 2 {
		t.Fatalf("%d lines: there is no example", got)
	}

	rep, err := p.Sign(t.Context(), rye.Terminal(), rye.SignRequest{All: true, Upgrade: true})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Signed != len(files) {
		t.Errorf("signed %d of %d", rep.Signed, len(files))
	}
	for _, r := range rep.Results {
		if r.Replaces == nil || !strings.HasPrefix(r.Replaces.Covers, "the whole file") && len(r.Replaces.Uncovered) == 0 {
			t.Errorf("%s: %s %+v, want what the old line did not cover", r.Ref, r.Status, r.Replaces)
		}
	}
	for _, f := range files {
		if _, err := p.verifyOne(f.ref); err != nil {
			t.Errorf("%s: %v", f.ref, err)
		}
	}
}

// shippedItem is one of the bundle, by its place.
type shippedItem struct {
	i             int
	kind, id, ext string
}

func (s shippedItem) text() string {
	name, category := path.Base(s.id), path.Dir(s.id)
	if category == "." {
		category = ""
	}
	example := ""
	if s.i%6 == 0 || strings.Contains(s.id, "sign") {
		example = "\n```\n# rye:signed:2026-02-14T00:27:54Z:" + strings.Repeat("ab", 32) + ":SIG:FP|registry@username\n```\n"
	}
	switch {
	case s.kind == "directive":
		return fmt.Sprintf("# %[1]s\n\n```xml\n<directive name=\"%[1]s\" version=\"1.0.0\">\n  <metadata>\n    <description>Does %[1]s</description>\n    <category>%[2]s</category>\n    <author>rye-os</author>\n    <model tier=\"fast\"/>\n    <limits turns=\"6\" tokens=\"4096\" spend=\"0.10\"/>\n    <permissions>\n      <execute><tool>rye.core.*</tool></execute>\n      <search>*</search>\n    </permissions>\n  </metadata>\n  <inputs><input name=\"what\" type=\"string\" required=\"true\">What to do</input></inputs>\n  <outputs><output name=\"result\">What came of it</output></outputs>\n</directive>\n```\n\n<process>\n  <step name=\"one\">\n    Do {input:what}.\n  </step>\n</process>\n%[3]s", name, category, example)
	case s.kind == "knowledge":
		fields := fmt.Sprintf("id: %s\ntitle: About %s\nentry_type: reference\ncategory: %s\nversion: \"1.0.0\"\nauthor: rye-os\ncreated_at: 2026-02-18T00:00:00Z\ntags:\n  - one\n  - two\n", name, name, category)
		if s.i%4 == 1 {
			return "---\n" + fields + "---\n\n# About\n\nText.\n" + example
		}
		return "```yaml\n" + fields + "```\n\n# About\n\nText.\n" + example
	case s.ext == ".yaml":
		return s.yaml(name, category)
	}
	return s.python(name, category)
}

func (s shippedItem) python(name, category string) string {
	meta := fmt.Sprintf("__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"rye/core/runtimes/python_script_runtime\"\n__category__ = %q\n", category)
	switch {
	case name == "__init__":
		return "\"\"\"A package.\"\"\"\n\n" + meta + "__tool_description__ = \"A package\"\n"
	case s.i%5 == 0:
		return "#!/usr/bin/env python3\n" + meta + fmt.Sprintf("__tool_description__ = \"Does %s\"\n\nLINE = \"# rye:signed:\"\n", name)
	}
	return fmt.Sprintf("\"\"\"%s.\"\"\"\n\n%s__tool_description__ = (\n    \"Does \"\n    \"%s\"\n)\n\nCONFIG_SCHEMA = {\n    \"type\": \"object\",\n    \"properties\": {\"what\": {\"type\": \"string\", \"description\": \"What to do\"}},\n    \"required\": [\"what\"],\n}\n\n\ndef execute(params, project_path):\n    return {\"success\": True}\n", name, meta, name)
}

func (s shippedItem) yaml(name, category string) string {
	head := fmt.Sprintf("version: \"1.0.0\"\ncategory: %s\ndescription: \"Says %s\"\n", category, name)
	switch {
	case strings.HasSuffix(name, "_extractor"):
		kind := strings.TrimSuffix(name, "_extractor")
		line, parser, required, exts := "prefix: \"<!--\"\n  suffix: \"-->\"", "markdown_frontmatter", "id: {required: true, type: string, match_filename: true}\n    title: {required: true, type: string}", "[.md, .yaml, .yml]"
		switch kind {
		case "directive":
			parser, required, exts = "markdown_xml", "name: {required: true, type: string, format: snake_case, match_filename: true}", "[.md]"
		case "tool":
			line, parser, required, exts = "prefix: \"#\"\n  after_shebang: true", "python_ast", "name: {required: true, type: string, match_filename: true}", "[.py, .yaml, .yml, .json, .js, .sh, .toml]"
		}
		return head + fmt.Sprintf("tool_type: extractor\nexecutor_id: null\nextensions: %s\nparser: %s\nsignature_format:\n  %s\nextraction_rules:\n  name: {type: path, key: name}\nsearch_fields:\n  title: 3.0\n  description: 2.0\nvalidation_schema:\n  fields:\n    %s\n    version: {required: true, type: semver}\n", exts, parser, line, required)
	case strings.Contains(s.id, "/runtimes/"):
		return head + "tool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\nenv_config:\n  interpreter:\n    type: local_binary\n    binary: python3\n    var: RYE_PYTHON\n    fallback: python3\n  env:\n    PYTHONUNBUFFERED: \"1\"\nanchor:\n  enabled: true\n  mode: auto\n  markers_any: [\"__init__.py\"]\nverify_deps:\n  enabled: true\n  recursive: true\n  extensions: [\".py\", \".yaml\"]\nconfig:\n  command: \"${RYE_PYTHON}\"\n  args: [\"{tool_path}\", \"--params\", \"{params_json}\"]\n  timeout: 300\nconfig_schema:\n  type: object\n  properties:\n    params: {type: object}\n"
	case strings.Contains(s.id, "/primitives/"):
		return head + "tool_type: primitive\nexecutor_id: null\nconfig_schema:\n  type: object\n  properties:\n    command: {type: string}\n"
	case strings.Contains(s.id, "/providers/"):
		return head + "tool_type: http\nexecutor_id: rye/core/primitives/http_client\ntool_id: " + s.id + "\ntier_mapping:\n  fast: model-a\npricing:\n  model-a: {input: 0.25, output: 1.25}\ncontext_window: {model-a: 200000}\nconfig:\n  method: POST\n  url: https://models.example.com/v1/messages\n  auth: {type: api_key, header: x-api-key, key: \"${MODEL_API_KEY}\"}\n"
	case strings.Contains(s.id, "/capabilities/"):
		return head + "tool_type: config\nexecutor_id: null\ncapabilities:\n  - name: one\n    description: Something\n"
	}
	return head + "tool_type: config\nexecutor_id: null\nschema_version: \"1.0.0\"\nretry:\n  max_attempts: 3\n  backoff: [1, 2, 4]\n"
}

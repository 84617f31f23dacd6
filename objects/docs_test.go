package objects_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// indented returns the blocks of a page that are indented by four spaces.
func indented(t *testing.T, page string) []string {
	t.Helper()
	raw, err := os.ReadFile("../docs/format/" + page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	var b strings.Builder
	for _, line := range strings.SplitAfter(string(raw), "\n") {
		if text, ok := strings.CutPrefix(line, "    "); ok {
			b.WriteString(text)
		} else if strings.TrimSpace(line) == "" && b.Len() > 0 {
			b.WriteString(line)
		} else if b.Len() > 0 {
			blocks = append(blocks, strings.TrimRight(b.String(), "\n")+"\n")
			b.Reset()
		}
	}
	return append(blocks, strings.TrimRight(b.String(), "\n")+"\n")
}

// The examples of the format pages are the vectors, and read as the pages say.
func TestDocsExamples(t *testing.T) {
	raw, err := os.ReadFile("../testdata/vectors/signature-v2.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectorFile
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	has := func(page, want string) {
		for _, b := range indented(t, page) {
			if b == want {
				return
			}
		}
		t.Errorf("docs/format/%s lacks the example\n%s", page, want)
	}
	has("signature.md", v.Vectors[0].Message+"\n")
	has("signature.md", v.Vectors[0].File)
	manifest, err := os.ReadFile("../testdata/vectors/bundle.yaml")
	if err != nil {
		t.Fatal(err)
	}
	has("bundle.md", string(manifest))

	example := func(prefix, path string) *objects.Item {
		for _, b := range indented(t, "item.md") {
			if strings.HasPrefix(b, prefix) {
				it, err := objects.Parse(path, []byte(b))
				if err != nil || len(it.Validate()) > 0 {
					t.Fatalf("the example %s of item.md: %v", path, err)
				}
				return it
			}
		}
		t.Fatalf("item.md lacks an example that begins with %q", prefix)
		return nil
	}
	example("#!/bin/bash", "tools/acme/disk.sh")
	m := example("# Greet", "directives/acme/greet.md").Meta
	if m.Permissions[0] != "rye.execute.tool.acme.hello" || m.Prose != "Greet {input:who} in one sentence." || !m.Inputs[0].Required {
		t.Errorf("the example of item.md gives %+v", m)
	}
}

package chain

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Parameters and executors have the names that RYE OS gave them, too.
func TestOtherNamesOfParameters(t *testing.T) {
	w := newWorld(t)
	const schema = "config_schema:\n  type: object\n  properties:\n    path: {type: string, x-aliases: [file_path, file]}\n    file: {type: string}\n" +
		"  required: [path]\n  additionalProperties: false\nconfig: {command: /bin/true}\n"
	path, text := yamlTool("acme/x", string(Subprocess), schema)
	w.add(objects.Project, path, text)
	p := w.plan("acme/x")
	for raw, want := range map[string]string{
		`{"path":"a"}`:                 `{"path":"a"}`,
		`{"file_path":"a"}`:            `{"path":"a"}`,
		`{"file_path":"a","file":"b"}`: `{"file":"b","path":"a"}`, // a parameter of its own is no other name
	} {
		if got, err := p.Check([]byte(raw)); err != nil || string(got.JSON) != want {
			t.Errorf("Check(%s) = %s, %v, want %s", raw, got.JSON, err, want)
		}
	}
	for _, raw := range []string{`{"file_path":"a","path":"b"}`, `{"file":"a"}`, `{"file_path":1}`, `{"FILE_PATH":"a"}`, `{"other":"a"}`} {
		if got, err := p.Check([]byte(raw)); !fault.Is(err, fault.Usage) {
			t.Errorf("Check(%s) = %s, %v", raw, got.JSON, err)
		}
	}
}

func TestShortNamesOfRuntimes(t *testing.T) {
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/old.py", "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"python\"\n__tool_description__ = \"X.\"\n"+
		"def execute(params, project_path):\n    return {}\n")
	if got := w.plan("acme/old").Links[1].Ref().ID; got != "rye/core/runtimes/python_function_runtime" {
		t.Errorf("python is %s", got)
	}
	// An item of that name goes first, and a short name is none to execute.
	path, text := yamlTool("python", string(Subprocess), "config: {command: /bin/true}\n")
	w.add(objects.Project, path, text)
	if got := w.plan("acme/old").Links[1].Ref().ID; got != "python" {
		t.Errorf("python is %s, although there is an item of that name", got)
	}
	if _, err := Resolve(t.Context(), w, tool("bash")); !fault.Is(err, fault.NotFound) {
		t.Errorf("bash, executed: %v", err)
	}
	path, text = yamlTool("acme/lost", "perl", "")
	w.add(objects.Project, path, text)
	if _, err := Resolve(t.Context(), w, tool("acme/lost")); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "perl") {
		t.Errorf("no such runtime: %v", err)
	}
}

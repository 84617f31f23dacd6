package objects

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// executors says which runtime runs a program that names none: by its extension, and by the
// program in its #! line ("" without such a line). Signatures bind the result, so rows may be
// added for new extensions and programs, and none may change.
var executors = []struct {
	exts, programs string
	runtime        ID
}{
	{".sh .bash", "", BashRuntime},
	{".sh .bash", "bash", BashRuntime},
	{".sh", "sh", "rye/core/runtimes/sh_runtime"},
	{".py", "", PythonRuntime},
	{".py", "python", "rye/core/runtimes/python_script_runtime"},
	{".js .mjs .cjs", "", NodeRuntime},
	{".js .mjs .cjs", "node nodejs", NodeRuntime},
	{".ts .mts .cts", "", TypeScriptRuntime},
	{".ts .mts .cts", "node nodejs", TypeScriptRuntime},
}

// The runtimes of the programs without a #! line.
const (
	BashRuntime       ID = "rye/core/runtimes/bash_runtime"
	PythonRuntime     ID = "rye/core/runtimes/python_function_runtime"
	NodeRuntime       ID = "rye/core/runtimes/node_runtime"
	TypeScriptRuntime ID = "rye/core/runtimes/typescript_runtime"
)

// ExecutorOf returns the runtime of a program that names none, by its extension and the #! line of
// its text. Otherwise why is the reason, and mend says what to write.
func ExecutorOf(ext string, text []byte) (runtime ID, why, mend string) {
	program, options := interpreter(text)
	known := false
	for _, e := range executors {
		if !slices.Contains(strings.Fields(e.exts), ext) {
			continue
		}
		known = true
		if program == e.programs || program != "" && slices.Contains(strings.Fields(e.programs), program) {
			runtime = e.runtime
		}
	}
	switch {
	case !known:
		return "", "required field is missing: executor_id", "executor_id: the id of a runtime, such as " + string(BashRuntime)
	case runtime == "":
		return "", "line 1 names " + strconv.Quote(words.Brief(program)) + ", which runs no " + ext + " file here", "executor_id: the id of a runtime, or change the extension or line 1"
	case options:
		return "", "line 1 gives options to " + program + ", and no runtime passes them", "set the options in the program, and leave them out of line 1"
	}
	return runtime, "", ""
}

// interpreter returns the program that the #! line of a body names, without its directory and
// version, and whether options follow it.
func interpreter(body []byte) (program string, options bool) {
	line, ok := bytes.CutPrefix(body[:lineEnd(body, 0)], []byte("#!"))
	if !ok {
		return "", false
	}
	fields := strings.Fields(string(line))
	if len(fields) > 1 && path.Base(fields[0]) == "env" {
		fields = fields[1:]
		if fields[0] == "-S" && len(fields) > 1 {
			fields = fields[1:]
		}
	}
	if len(fields) == 0 {
		return "nothing", false
	}
	program = path.Base(fields[0])
	if v, ok := strings.CutPrefix(program, "python"); ok && strings.Trim(v, "0123456789.") == "" {
		program = "python"
	}
	return program, len(fields) > 1
}

// infer fills in the executor of a program that states none. An executor that is stated as null
// says that nothing runs the file.
func (p *parser) infer(m *Meta) {
	_, stated := p.fields["executor_id"]
	switch {
	case stated, m.Part, p.ryeOS, m.ToolType == "extractor", m.ToolType == "parser", m.ToolType == "primitive":
		return
	}
	m.Executor, _, _ = ExecutorOf(p.ext, p.body)
	m.Inferred = m.Executor != ""
}

// ToolLine returns the line that makes a tool of a part.
func (it *Item) ToolLine() string {
	ext := path.Ext(it.Path)
	switch runtime, why, _ := ExecutorOf(ext, it.Body); {
	case it.dialect == dialectData || it.dialect == dialectFence:
		return it.Example("executor_id", string(BashRuntime))
	case why != "":
		return comments[ext].line("executor_id: <the id of a runtime>")
	case runtime == BashRuntime:
		return "#!/usr/bin/env bash"
	case runtime == PythonRuntime && !bytes.Contains(it.Body, []byte("def execute(")):
		return "#!/usr/bin/env python3"
	case runtime == PythonRuntime:
		return it.Example("description", "Say in one sentence what this does.")
	}
	return comments[ext].line("description: Say in one sentence what this does.")
}

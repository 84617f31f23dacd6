package objects

import (
	"bytes"
	"cmp"
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
	{".sh", "sh", ShRuntime},
	{".py", "", PythonRuntime},
	{".py", "python", "rye/core/runtimes/python_script_runtime"},
	{".js .mjs .cjs", "", NodeRuntime},
	{".js .mjs .cjs", "node nodejs", NodeRuntime},
	{".ts .mts .cts", "", TypeScriptRuntime},
	{".ts .mts .cts", "node nodejs", TypeScriptRuntime},
}

// Runtimes of programs by their extensions.
const (
	ShRuntime         ID = "rye/core/runtimes/sh_runtime"
	BashRuntime       ID = "rye/core/runtimes/bash_runtime"
	PythonRuntime     ID = "rye/core/runtimes/python_function_runtime"
	NodeRuntime       ID = "rye/core/runtimes/node_runtime"
	TypeScriptRuntime ID = "rye/core/runtimes/typescript_runtime"
)

// ExecutorOf returns the runtime of a program that names none, by its extension and the #! line of
// its text. Otherwise why is the reason, and mend says what to write.
func ExecutorOf(ext string, text []byte) (runtime ID, why, mend string) {
	program, options := Interpreter(text)
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

// Interpreter returns the program that the #! line of a text names, without its directory: "" without
// such a line, and "?" if the line names none. A version behind the name is left out, but python2 is
// another program. options reports whether the line gives options or variables.
func Interpreter(text []byte) (program string, options bool) {
	line, ok := bytes.CutPrefix(text[:lineEnd(text, 0)], []byte("#!"))
	if !ok {
		return "", false
	}
	fields := strings.Fields(string(line[:min(len(line), maxInterpreter)]))
	if len(fields) > 0 && path.Base(fields[0]) == "env" {
		for fields = fields[1:]; len(fields) > 0 && (fields[0][0] == '-' || strings.Contains(fields[0], "=")); fields = fields[1:] {
			options = options || fields[0] != "-S"
		}
	}
	if len(fields) == 0 {
		return "?", options
	}
	if program = path.Base(fields[0]); !strings.HasPrefix(program, "python2") {
		program = cmp.Or(strings.TrimRight(program, "0123456789."), "?")
	}
	return program, options || len(fields) > 1
}

// maxInterpreter bounds a #! line, in bytes; Linux reads 256.
const maxInterpreter = 256

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

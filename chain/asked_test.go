package chain

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/objects"
)

// Any parameters are any program, where a parameter or a file of the project is one.
func TestUnsigned(t *testing.T) {
	const sub, shell = string(Subprocess), "env_config: {interpreter: {type: system_binary, binary: bash, var: RYE_BASH}}\n"
	for name, c := range map[string]struct{ executor, config, want string }{
		"its own file":                 {sub, shell + `config: {command: "${RYE_BASH}", args: ["{tool_path}", "{params_json}", "{name}", "{project_path}"]}`, ""},
		"its own text":                 {"rye/core/runtimes/bash_runtime", `config: {command: "echo hi"}`, ""},
		"a program with values":        {sub, `config: {command: /bin/echo, args: ["{name}"]}`, ""},
		"a parameter as program":       {sub, `config: {command: "/usr/bin/{name}"}`, "its program is a parameter: name"},
		"a parameter as script":        {sub, shell + `config: {command: "${RYE_BASH}", args: ["{name}", "{tool_path}"]}`, "its interpreter is given a parameter as program: name"},
		"a parameter as text":          {sub, `config: {command: /bin/sh, args: ["-c", "{name}"]}`, "its interpreter is given a parameter as program: name"},
		"a value a parameter replaces": {sub, `config: {command: /usr/bin/python3.12, args: ["{script}"], script: x}`, "its interpreter is given a parameter as program: script"},
		"a file of the project":        {sub, shell + `config: {command: "${RYE_BASH}", args: ["{project_path}/build.sh"]}`, "it is given a file of the project: {project_path}/build.sh"},
		"a program of the project":     {sub, `config: {command: "{project_path}/bin/x"}`, "it is given a file of the project: {project_path}/bin/x"},
		"any command":                  {string(Builtin), "config: {function: bash}", "the parameter command is a program"},
	} {
		w := newWorld(t)
		path, text := yamlTool("acme/x", c.executor, c.config+"\n")
		w.add(objects.Project, path, text)
		p := w.plan("acme/x")
		if got := strings.Join(p.Unsigned(Interpreter{}), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := p.Unsigned(Interpreter{Path: "/p/.venv/bin/python", Sum: objects.DigestOf(nil)}); len(got) == 0 {
			t.Errorf("%s, with an interpreter of the project: nothing is said", name)
		}
	}
}

// A plan's digest names its interpreter, and what that is where it lies in the project.
func TestDigestOfNamesTheInterpreter(t *testing.T) {
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+"echo hi\n")
	p := w.plan("acme/hello")
	seen := map[objects.Digest]bool{}
	for _, with := range []Interpreter{{}, {Path: "/a"}, {Path: "/b"}, {Path: "/a", Sum: objects.DigestOf(nil)}, {Path: "/a", Sum: objects.DigestOf([]byte("x"))}} {
		seen[DigestOf(p, with)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d digests of five plans", len(seen))
	}
}

// A subject names each of its parts.
func TestSubjectCoversItsParts(t *testing.T) {
	one, two := objects.DigestOf([]byte("1")), objects.DigestOf([]byte("2"))
	was := Subject{one, one, consent.Place{Key: "k", Inode: 1, Born: 1}}
	seen := map[objects.Digest]bool{was.Digest(): true}
	for _, s := range []Subject{
		{two, one, was.In}, {one, two, was.In}, {one, one, consent.Place{}},
		{one, one, consent.Place{Key: "l", Inode: 1, Born: 1}}, {one, one, consent.Place{Key: "k", Inode: 2, Born: 1}}, {one, one, consent.Place{Key: "k", Inode: 1, Born: 2}},
	} {
		if seen[s.Digest()] {
			t.Errorf("%+v has a digest of another", s)
		}
		seen[s.Digest()] = true
	}
	if !(Subject{}).Digest().IsZero() {
		t.Error("nothing has a digest")
	}
}

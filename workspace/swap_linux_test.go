package workspace_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/workspace"
)

// racer is a process that swaps a file for another and back as fast as it can, by
// renaming and by writing into it, until the test ends.
func racer(t *testing.T, file string, evil []byte) {
	t.Helper()
	dir := t.TempDir()
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(file)
	for name, data := range map[string][]byte{"good": good, "evil": evil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	// Beside the file, so that the renaming is one; with a name that is no item's.
	next := filepath.Join(filepath.Dir(file), ".next")
	cmd := exec.Command("bash", "-c", `while :; do
		cp -p "$1/evil" "$3"; mv -f "$3" "$2"
		cat "$1/good" > "$2"
		cat "$1/evil" > "$2"
		cp -p "$1/good" "$3"; mv -f "$3" "$2"
	done`, "racer", dir, file, next)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Skip("bash does not start: ", err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		os.Remove(next)
	})
}

// A file that somebody swaps between its check and its run is never run unverified:
// the answer is that of the signed bytes, or a refusal. RYE_SOAK=1 races 2,000 times.
func TestSwappedFilesAreNeverRun(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	for name, tc := range map[string]struct {
		make func(p *person) (ref, file string, evil []byte)
	}{
		"script": {func(p *person) (string, string, []byte) {
			p.write("tools/acme/x.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: x\necho verified\n")
			p.sign("tool:acme/x")
			return "tool:acme/x", p.path("tools/acme/x.sh"), []byte(strings.Replace(p.read("tools/acme/x.sh"), "echo verified", "echo EVIL", 1))
		}},
		"runtime": {func(p *person) (string, string, []byte) {
			p.write("tools/acme/shell.yaml", "version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ncategory: acme\ndescription: A shell\n"+
				"env_config: {interpreter: {type: system_binary, binary: bash, var: RYE_BASH}}\nconfig: {command: \"${RYE_BASH}\", args: [-c, echo verified]}\n")
			p.write("tools/acme/x.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: acme/shell\n# category: acme\n# description: x\ntrue\n")
			p.sign("tool:acme/shell", "tool:acme/x")
			return "tool:acme/x", p.path("tools/acme/shell.yaml"), []byte(strings.Replace(p.read("tools/acme/shell.yaml"), "echo verified", "echo EVIL", 1))
		}},
		"module of a package": {func(p *person) (string, string, []byte) {
			needPython(p.t, p)
			p.write("tools/acme/pack/__init__.py", strings.Replace(python(""), `"acme"`, `"acme/pack"`, 1))
			p.write("tools/acme/pack/word.py", strings.Replace(python("WORD = 'verified'\n"), `"acme"`, `"acme/pack"`, 1))
			p.write("tools/acme/pack/main.py", strings.Replace(python("import word\nprint(word.WORD)\n"), `"acme"`, `"acme/pack"`, 1))
			p.sign("tool:acme/pack/__init__", "tool:acme/pack/word", "tool:acme/pack/main")
			return "tool:acme/pack/main", p.path("tools/acme/pack/word.py"), []byte(strings.Replace(p.read("tools/acme/pack/word.py"), "'verified'", "'EVIL'", 1))
		}},
		"program in a bundle": {func(p *person) (string, string, []byte) {
			p.write("tools/acme/say/say.yaml", "version: \"1.0.0\"\ntool_type: native\nexecutor_id: rye/core/runtimes/native_runtime\ncategory: acme/say\ndescription: x\nconfig: {program: say}\n")
			p.write("tools/acme/say/say", "#!/bin/sh\necho verified\n")
			if _, err := p.Sign(p.t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{rye.Target(p.path("tools/acme/say"))}}); err != nil {
				p.t.Fatal(err)
			}
			return "tool:acme/say/say", p.path("tools/acme/say/say"), []byte("#!/bin/sh\necho EVIL\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			ref, file, evil := tc.make(p)
			p.t = t
			if res, err := p.run(ref, nil); err != nil || !strings.Contains(string(res.Data), "verified") {
				t.Fatalf("before the race: %+v, %v", res, err)
			}
			racer(t, file, evil)
			n := 12
			if soaking() {
				n = 500
			}
			ran, codes := 0, map[fault.Code]int{}
			for range n {
				res, err := p.run(ref, nil)
				if err != nil {
					codes[fault.CodeOf(err)]++
					continue
				}
				ran++
				if text := fmt.Sprint(string(res.Data), res.Error); strings.Contains(text, "EVIL") || !strings.Contains(text, "verified") {
					t.Fatalf("ran %s", text)
				}
			}
			t.Logf("%d ran what was signed, refused: %v", ran, codes)
			for c := range codes {
				switch c {
				case fault.Integrity, fault.Untrusted, fault.Malformed, fault.NotFound, fault.Conflict:
				default:
					t.Errorf("refused with %s", c)
				}
			}
		})
	}
}

// While a question is open, a tool is swapped for another that is signed as well, and back,
// as fast as can be. What runs is what the question showed, or nothing. RYE_SOAK=1 races 900
// times.
func TestSwappedBehindAQuestionIsNeverRun(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	text := func(word string) string {
		return strings.Replace(greet, "echo \"hello, ${RYE_PARAM_NAME:-world}\"", "rm -rf none/x\necho "+word, 1)
	}
	p.write("tools/acme/x.sh", text("other"))
	p.sign("tool:acme/x")
	other := p.read("tools/acme/x.sh")
	p.write("tools/acme/x.sh", text("agreed"))
	p.sign("tool:acme/x")
	shown := ""
	p.o.Consent = func(_ context.Context, q rye.Question) (bool, error) {
		shown = strings.Join(q.Lines, "\n")
		time.Sleep(time.Millisecond) // a person who reads
		return true, nil
	}
	p.Workspace = workspace.Open(p.o)
	racer(t, p.path("tools/acme/x.sh"), []byte(other))
	n := 30
	if soaking() {
		n = 900
	}
	ran, codes := 0, map[fault.Code]int{}
	for range n {
		shown = ""
		res, err := p.run("tool:acme/x", nil)
		if err != nil {
			codes[fault.CodeOf(err)]++
			continue
		}
		ran++
		item := strings.TrimPrefix(res.Chain[0].Integrity, "sha256:")
		if !strings.Contains(shown, "item         tool:acme/x 1.0.0  sha256:"+item[:16]) {
			t.Fatalf("ran %s (%s), and asked about\n%s", item, res.Data, shown)
		}
	}
	t.Logf("%d ran what was shown, refused: %v", ran, codes)
	if codes[fault.Denied] == 0 && soaking() {
		t.Error("nothing was ever swapped behind a question")
	}
}

package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A job is what somebody does in the project while a tool runs there.
type job struct {
	name   string
	before string // a script of the user's, before the run
	does   string // beside the run
	inTime bool   // the run ends later
	plants string // what the tool does then
	gone   []string
	kept   map[string]string // files, afterwards
	back   map[string]string // files that are there, or that come back byte for byte
	after  string            // what must work afterwards
	undo   string
}

// jobs makes the jobs of one run. Each has files of its own, so that they can happen at once.
func jobs(r *rand.Rand, i uint64) (all []job) {
	text := func(of string) string { return fmt.Sprintf("%s %d\n", of, i) }
	some := func(most int) int { return 1 + r.IntN(most) }
	pause := func() string { return fmt.Sprintf("sleep 0.%02d; ", r.IntN(6)) }
	repeat := func(script string) (out string) {
		for range some(3) {
			out += pause() + script + "; "
		}
		return out
	}
	save := func(path string) string {
		return fmt.Sprintf("echo x >.%s.swp; printf '%s' >%s~; mv %s~ %s; rm .%s.swp", path, strings.TrimSuffix(text("saved"), "\n")+`\n`, path, path, path, path)
	}
	all = append(all, job{name: "an editor that renames", does: pause() + save("CLAUDE.md") + "; " + repeat(save("notes.txt")),
		kept: map[string]string{"CLAUDE.md": text("saved"), "notes.txt": text("saved")}})
	all = append(all, job{name: "an editor that writes in place", does: repeat(fmt.Sprintf("echo place %d >QWEN.md; echo place %d >main.go", i, i)),
		kept: map[string]string{"QWEN.md": text("place"), "main.go": text("place")}})
	// The second save meets a name that nothing holds any more, so the tool could have written it.
	all = append(all, job{name: "an editor that saves again", does: save("WARP.md") + "; " + pause() + save("WARP.md"),
		back: map[string]string{"WARP.md": text("saved")}})
	if _, err := exec.LookPath("vim"); err == nil {
		vim := func(more, path string) string {
			return fmt.Sprintf("vim -es -N -u NONE -i NONE %s -c '%%s/.*/vim %d/' -c wq %s </dev/null", more, i, path)
		}
		all = append(all, job{name: "vim", does: pause() + vim("", "vim.txt") + "; " + vim("--cmd 'set backupcopy=yes'", "GEMINI.md") + "; " + vim("", "CRUSH.md"),
			kept: map[string]string{"vim.txt": text("vim"), "GEMINI.md": text("vim")}, back: map[string]string{"CRUSH.md": text("vim")}})
	}
	branches := []string{"one", "two", "three"}
	checkout := func() (b, script string) {
		b = branches[r.IntN(3)]
		return b, "git checkout -q " + b + "; "
	}
	_, first := checkout()
	var last, moves string
	for range some(4) {
		b, script := checkout()
		last, moves = b, moves+pause()+script
	}
	files := map[string]string{"AGENTS.md": last + "\n"}
	switch last {
	case "two":
		files[".envrc"], files[".claude/settings.json"] = "use nix\n", "{}\n"
	case "three":
		files[".cursor/rules/a.mdc"], files["sub/AGENTS.md"] = "three\n", "three\n"
	}
	all = append(all, job{name: "git checkout", before: first, does: moves, kept: files, undo: "git checkout -q -f one"})
	clone := fmt.Sprint("clone", i)
	all = append(all, job{name: "git clone", does: pause() + "git clone -q ../source " + clone, inTime: true,
		plants: fmt.Sprintf("echo evil >%[1]s/.git/hooks/post-checkout; git -C %[1]s config core.fsmonitor evil; echo evil >%[1]s/.envrc", clone),
		gone:   []string{clone + "/.git/hooks/post-checkout", clone + "/.envrc"},
		kept:   map[string]string{clone + "/.git/HEAD": "ref: refs/heads/main\n", clone + "/readme": "hello\n"},
		after:  fmt.Sprintf("test -z \"$(git -C %[1]s config core.fsmonitor)\" && git -C %[1]s status && git -C %[1]s pull -q && git -C %[1]s fsck", clone)})
	tree := fmt.Sprint("tree", i)
	all = append(all, job{name: "git worktree add", does: fmt.Sprintf("%sgit worktree add -q -b w%d %s two", pause(), i, tree), inTime: true,
		plants: fmt.Sprintf("echo evil >%[1]s/GEMINI.md.x; echo evil >%[1]s/CRUSH.md.x; mkdir %[1]s/.zed; echo evil >%[1]s/.zed/tasks.json; mkdir other; cp %[1]s/.git other/.git", tree),
		gone:   []string{tree + "/.zed", "other/.git"},
		kept:   map[string]string{tree + "/AGENTS.md": "two\n", tree + "/.envrc": "use nix\n"},
		after:  fmt.Sprintf("git -C %s status", tree), undo: fmt.Sprintf("git worktree remove --force %s; git branch -q -D w%d", tree, i)})
	all = append(all, job{name: "a formatter", does: repeat("sed -i s/six/formatted/ six.go; printf 'package x\\nfunc  f( ) {}\\n' >lib.go; gofmt -w lib.go") + "sed -i s/one/formatted/ AGENTS.local.md",
		kept: map[string]string{"six.go": "package formatted\n", "lib.go": "package x\n\nfunc f() {}\n", "AGENTS.local.md": "formatted\n"}})
	// git removes a directory .claude that its branch does not have, also while rye export writes there.
	export := job{name: "rye export", does: pause() + "rye export --to claude-code --yes", inTime: true,
		plants: "echo evil >.claude/skills/tide/evil.md; mkdir -p .claude/commands; echo evil >.claude/commands/x.md",
		gone:   []string{".claude/skills/tide/evil.md", ".claude/commands"},
		kept:   map[string]string{".claude/skills/tide/SKILL.md": tide}, undo: "rye export --to claude-code --remove --yes"}
	all = append(all, export)
	all = append(all, job{name: "another tool", does: repeat("rye run tool:acme/mine --yes"), gone: []string{"mine/.envrc"},
		kept: map[string]string{".tool-versions": "mine\n", "mine/made": "mine\n"}, undo: "rm -f .tool-versions"})
	r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	all = all[:some(4)]
	if slices.ContainsFunc(all, func(j job) bool { return j.name == "git checkout" }) {
		all = slices.DeleteFunc(all, func(j job) bool { return j.name == export.name })
	}
	return all
}

// A wardName is one name of the ward's table.
type wardName struct {
	name       string
	top, exact bool
}

// wardNames reads the table of files that programs run by themselves.
func wardNames(t *testing.T) (all []wardName) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../chain/primitive/ward/names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var words func(e ast.Expr) string
	words = func(e ast.Expr) (s string) {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, _ = strconv.Unquote(e.Value)
		case *ast.BinaryExpr:
			s = words(e.X) + words(e.Y)
		case *ast.Ident:
			s = "pyvenv.cfg"
		}
		return s
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "ruled" {
			return true
		}
		for _, row := range spec.Values[0].(*ast.CompositeLit).Elts {
			var names string
			var one wardName
			for _, e := range row.(*ast.CompositeLit).Elts {
				switch kv := e.(*ast.KeyValueExpr); kv.Key.(*ast.Ident).Name {
				case "names":
					names = words(kv.Value)
				case "top":
					one.top = true
				case "exact":
					one.exact = true
				}
			}
			for name := range strings.FieldsSeq(names) {
				one.name = strings.ReplaceAll(name, "*", "x")
				all = append(all, one)
			}
		}
		return false
	})
	if len(all) < 250 {
		t.Fatalf("the table has %d names", len(all))
	}
	return all
}

// theirs are names at the project's top that somebody else has, and below which the tool plants nothing.
var theirNames = []string{".ai", ".git", ".envrc", ".claude", ".cursor", ".tool-versions", ".vscode", "AGENTS.md", "AGENTS.local.md", "CLAUDE.md", "QWEN.md", "GEMINI.md", "CRUSH.md", "WARP.md"}

// plants makes what the tool plants: a script, and the paths that have to be gone.
func plants(r *rand.Rand, names []wardName) (script string, gone []string) {
	dirs := []string{"", "", "lib/", "deep/er/est/", "fresh/", "node.d/a b/"}
	for k := range 3 + r.IntN(8) {
		n := names[r.IntN(len(names))]
		dir := dirs[r.IntN(len(dirs))]
		if n.top {
			dir = ""
		}
		p := dir + n.name
		top, _, _ := strings.Cut(p, "/")
		if slices.ContainsFunc(theirNames, func(s string) bool { return strings.EqualFold(s, top) }) {
			p = "lib/" + p
		}
		how := r.IntN(8)
		switch {
		case strings.HasSuffix(p, ".git") && how < 4:
			script += fmt.Sprintf("mkdir -p '%[1]s/hooks'; echo evil >'%[1]s/hooks/post-checkout'; ", p)
		case strings.HasSuffix(p, ".git"):
			script += fmt.Sprintf("mkdir -p \"$(dirname '%[1]s')\"; echo 'gitdir: ../x' >'%[1]s'; ", p)
		default:
			if !n.exact && how == 0 {
				p = filepath.Join(filepath.Dir(p), strings.ToUpper(filepath.Base(p)))
			}
			script += fmt.Sprintf("mkdir -p \"$(dirname '%s')\"; ", p)
			script += strings.NewReplacer("PATH", p, "TEMP", fmt.Sprint("t", k)).Replace([]string{
				"echo evil >'PATH'; ", "echo evil >'PATH'; ",
				"mkdir 'PATH'; echo evil >'PATH/x'; ",
				"echo evil >TEMP; mv TEMP 'PATH'; ",
				"ln -s /etc/hostname 'PATH'; ",
				"echo evil >TEMP; ln TEMP 'PATH'; ",
				"mkfifo 'PATH'; ",
				"mkdir TEMP; echo evil >TEMP/x; mv TEMP 'PATH'; ",
			}[how])
		}
		script += fmt.Sprintf("sleep 0.0%d; ", r.IntN(4))
		gone = append(gone, p)
	}
	if r.IntN(3) == 0 { // a git directory under another name
		script += "mkdir -p bare/objects bare/refs bare/hooks; echo evil >bare/hooks/post-checkout; echo 'ref: refs/heads/x' >bare/HEAD; "
		gone = append(gone, "bare/hooks/post-checkout")
	}
	if r.IntN(3) == 0 { // what is protected stays so
		script += "echo evil >.vscode/settings.json; rm -rf .vscode; mv .vscode vs; echo evil >>.git/config; echo evil >.git/hooks/pre-commit; "
	}
	return script, gone
}

// TestTheirsAtRandom: while a tool plants files of every class, others work in the same project at random: an
// editor, vim, git, a formatter, rye export, another tool. Nothing of theirs is taken, and everything planted
// is.
//
//	RYE_SOAK=1               1,000 runs, and 1,000 of a user without root's rights
//	RYE_THEIRS_SEEDS=7-9     these runs
func TestTheirsAtRandom(t *testing.T) {
	t.Parallel()
	needBash(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	first, last := seeds(t, "RYE_THEIRS_SEEDS", 4, 1000)
	names := wardNames(t)
	users := []string{"user"}
	if os.Geteuid() == 0 {
		users = []string{"root", "user"}
	}
	workers := uint64(1)
	if soak {
		workers = 2
	}
	for _, user := range users {
		for n := range workers {
			t.Run(fmt.Sprint(user, " ", n), func(t *testing.T) {
				t.Parallel()
				w := newTheirs(t, user)
				for seed := first + n; seed <= last; seed += workers {
					if !soak && len(users) > 1 && (seed%2 == 0) != (user == "root") {
						continue // half of the few for each
					}
					if w.run(seed, names); t.Failed() {
						t.Fatalf("RYE_THEIRS_SEEDS=%d (%s)", seed, user)
					}
					if w.runs%100 == 0 {
						t.Log(w.figures())
					}
				}
				t.Log(w.figures())
			})
		}
	}
}

type theirs struct {
	*home
	t                                    *testing.T
	runs, jobs, planted, second, brought int
}

func (w *theirs) figures() string {
	return fmt.Sprintf("%d runs, %d jobs of others, %d files planted, %d saved a second time or by vim, of which %d had to be brought back", w.runs, w.jobs, w.planted, w.second, w.brought)
}

// sh runs a script as the user.
func (w *theirs) sh(script string) (string, error) {
	cmd := exec.Command("bash", "-c", "set -e\n"+script)
	cmd.Dir, cmd.SysProcAttr = w.dir, w.as
	cmd.Env = append(slices.Clone(w.env), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=u", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=u@e",
		"GIT_CONFIG_KEY_2=protocol.file.allow", "GIT_CONFIG_VALUE_2=always", "LC_ALL=C", "PATH="+bin+":"+w.variable("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *theirs) must(script string) {
	w.t.Helper()
	if out, err := w.sh(script); err != nil {
		w.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func newTheirs(t *testing.T, user string) *theirs {
	t.Helper()
	w := &theirs{home: newHome(t), t: t}
	w.bash("plant", "{read: [.], write: [.]}", "touch started\neval \"$RYE_PARAM_X\"\nexit 0\n")
	w.bash("mine", "{read: [.], write: [., .tool-versions]}", "echo mine >.tool-versions; mkdir -p mine; echo mine >mine/made; echo evil >mine/.envrc\n")
	w.write(".ai/bundles/acme/tide/SKILL.md", tide)
	for path, text := range map[string]string{"AGENTS.md": "one\n", "AGENTS.local.md": "one\n", "CLAUDE.md": "one\n", "QWEN.md": "one\n", "GEMINI.md": "one\n", "CRUSH.md": "one\n", "WARP.md": "one\n",
		"notes.txt": "one\n", "vim.txt": "one\n", "main.go": "package one\n", "six.go": "package six\n", "lib.go": "package lib\n", "sub/x": "x\n", "lib/x": "x\n",
		".vscode/settings.json": "{}\n", ".gitignore": "started\ngo\n"} {
		w.write(path, text)
	}
	if user != "root" {
		w.ordinary()
		w.rye("trust", "--yes")
	}
	w.rye("sign", "--all")
	w.must(`mkdir -p ../source; git init -q -b main ../source; cd ../source; echo hello >readme; git add .; git commit -qm one`)
	w.must(`git init -q -b one; git add .; git commit -qm one
git checkout -qb two; echo two >AGENTS.md; echo 'use nix' >.envrc; mkdir .claude; echo '{}' >.claude/settings.json; git add .; git commit -qm two
git checkout -q one; git checkout -qb three; echo three >AGENTS.md; mkdir -p .cursor/rules; echo three >.cursor/rules/a.mdc; echo three >sub/AGENTS.md; git add .; git commit -qm three
git checkout -q one`)
	return w
}

// run is one run of the tool, with others beside it.
func (w *theirs) run(seed uint64, names []wardName) {
	w.t.Helper()
	r := rand.New(rand.NewPCG(seed, 34))
	all := jobs(r, seed)
	script, gone := plants(r, names)
	waits := r.IntN(3) > 0
	done := []string{"nobody"}
	for _, a := range all {
		w.must(a.before)
		waits, done = waits || a.inTime, append(done, a.name)
	}
	if waits {
		script += "until [ -e go ]; do sleep 0.01; done; "
		for _, a := range all {
			script += a.plants + "\n"
			gone = append(gone, a.gone...)
		}
	}
	cmd := w.command("run", "tool:acme/plant", "-p", "x="+script, "--yes")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
		if w.t.Failed() {
			w.t.Logf("beside: %q, in time: %v\nthe tool: %s\nit said: %s", done, waits, script, said.String())
		}
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(w.dir, "started")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			w.t.Error("the tool did not begin: ", said.String())
			return
		}
	}
	atOnce(len(all), len(all), func(i int) {
		if out, err := w.sh(all[i].does); err != nil {
			w.t.Errorf("%s: %v\n%s", all[i].name, err, out)
		}
	})
	w.must("touch go")
	if err := cmd.Wait(); err != nil {
		w.t.Error(err)
	}
	for _, p := range gone {
		if _, err := os.Lstat(filepath.Join(w.dir, p)); err == nil {
			w.t.Errorf("%s was planted, and is still there", p)
		}
	}
	if err := w.has(".vscode/settings.json", "{}\n"); err != nil {
		w.t.Error(err)
	}
	for _, a := range all {
		for p, text := range a.kept {
			if err := w.has(p, text); err != nil {
				w.t.Errorf("%s: %v", a.name, err)
			}
		}
		for p, text := range a.back {
			if w.second++; w.has(p, text) != nil {
				w.brought++
				w.must("rye restore --taken " + p + " --yes")
			}
			if err := w.has(p, text); err != nil {
				w.t.Errorf("%s: %v", a.name, err)
			}
		}
		if w.t.Failed() {
			return
		}
		w.must(a.after)
	}
	for _, a := range all {
		w.must(a.undo)
	}
	w.must("rye restore --taken --dismiss >/dev/null 2>&1; git checkout -q -f one; git clean -ffdxq; test -z \"$(git status --porcelain)\"")
	notes, err := filepath.Glob(filepath.Join(strings.TrimSpace(w.rye("where", "cache")), "ward", "*.run-*"))
	if err != nil || len(notes) > 0 {
		w.t.Errorf("notes are left: %q, %v", notes, err)
	}
	w.runs, w.jobs, w.planted = w.runs+1, w.jobs+len(all), w.planted+len(gone)
}

package ward

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// project makes a directory; a name that ends in a slash is a directory, one with " -> " a
// link, and the rest are files.
func project(t testing.TB, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, names...)
	return dir
}

func put(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		n, target, link := strings.Cut(n, " -> ")
		p := filepath.Join(dir, filepath.FromSlash(n))
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, p)
		case strings.HasSuffix(n, "/"):
			err = os.MkdirAll(p, 0o755)
		default:
			err = os.WriteFile(p, []byte(n+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// gitDir lists what makes a directory git's.
func gitDir(at string) []string {
	return []string{at + "/HEAD", at + "/config", at + "/objects/", at + "/refs/"}
}

func look(t testing.TB, o Options) *Ward {
	t.Helper()
	w, err := Look(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// mounts lists what is protected, relative, directories with a slash.
func mounts(t testing.TB, w *Ward) []string {
	t.Helper()
	out := []string{}
	for _, m := range w.Protected() {
		st, err := os.Lstat(m.Path)
		if err != nil || st.IsDir() != m.Dir {
			t.Errorf("%s is to be mounted over as Dir %v, and is %v, %v", m.Path, m.Dir, st, err)
		}
		rel, _ := filepath.Rel(w.o.Project, m.Path)
		if m.Dir {
			rel += "/"
		}
		out = append(out, filepath.ToSlash(rel))
	}
	slices.Sort(out)
	return out
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

func TestLookFinds(t *testing.T) {
	for _, c := range []struct {
		name  string
		there []string
		write []string
		want  []string
	}{
		{"nothing in an empty project", nil, nil, nil},
		{"ordinary source is no autostart", []string{"Makefile", "package.json", "conftest.py", ".env", "build.rs", "docs/agents.md", ".nvmrc", ".gitignore"}, nil, nil},
		{"the list", []string{".ai/", ".git/", ".envrc", ".mcp.json", ".vscode/tasks.json", ".claude/", ".codex/", ".cursor/", "v/pyvenv.cfg", ".github/workflows/", ".husky/"},
			nil, []string{".ai/", ".git/", ".envrc", ".mcp.json", ".vscode/", ".claude/", ".codex/", ".cursor/", "v/pyvenv.cfg", ".github/workflows/", ".husky/"}},
		{"in any directory", []string{"a/b/.envrc", "a/.vscode/x", "a/CLAUDE.md"}, nil, []string{"a/b/.envrc", "a/.vscode/", "a/CLAUDE.md"}},
		{"machines read the top of a repository only", []string{"a/.travis.yml", "a/.github/workflows/x", "b/.git/", "b/.travis.yml", "b/.github/workflows/x", "Jenkinsfile"},
			nil, []string{"b/.git/", "b/.travis.yml", "b/.github/workflows/", "Jenkinsfile"}},
		{"other spellings", []string{".GIT/", ".VSCode/x", ".Envrc", "a/.g\u200cit/", "b/.vſcode/x"}, nil, []string{".GIT/", ".VSCode/", ".Envrc", "a/.g\u200cit/", "b/.vſcode/"}},
		{"stars", []string{".envrc.local", "my.code-workspace", "lefthook-local.yml", ".code-workspace"}, nil, []string{".envrc.local", "my.code-workspace", "lefthook-local.yml"}},
		{"git directories by content", append(gitDir("data/repo"), append(gitDir("x/y/z.git"), "w/HEAD", "w/commondir", "no/HEAD", "no/refs/")...), nil, []string{"data/repo/", "x/y/z.git/", "w/"}},
		{"in installed packages, git directories only", append(gitDir("node_modules/a/r"), "node_modules/b/.vscode/x", "node_modules/b/.npmrc", "node_modules/c/.git/"), nil, []string{"node_modules/a/r/", "node_modules/c/.git/"}},
		{"what every start of Python in an environment runs", []string{".venv/pyvenv.cfg", ".venv/bin/activate", ".venv/bin/activate.fish", ".venv/bin/pip", ".venv/lib/python3.12/site-packages/a.pth", ".venv/lib/python3.12/site-packages/b/c.py", "model.pth"},
			nil, []string{".venv/pyvenv.cfg", ".venv/bin/activate", ".venv/bin/activate.fish", ".venv/lib/python3.12/site-packages/a.pth"}},
		{"of an environment that the tool makes, nothing", []string{".venv/pyvenv.cfg", ".venv/bin/activate", ".venv/lib/python3.12/site-packages/a.pth", "v/bin/activate"}, []string{".venv/pyvenv.cfg"}, []string{"v/bin/activate"}},
		{"a shell's files, where a home begins", []string{".bashrc", "docker/.bashrc"}, nil, []string{".bashrc"}},
		{"a .git file that is named: what it leads to may be written, and not where it leads", []string{"s/.git"}, []string{"s/.git"}, []string{"s/.git"}},
		{"where a .git file leads", []string{"s/.git"}, nil, []string{"s/.git"}},
		{"what a link leads to", []string{"cfg/tasks.json", ".vscode -> cfg", "CLAUDE.md -> README.md", "README.md", ".idea -> /etc"}, nil, []string{"cfg/", "README.md"}},
		{"a link to the project itself", []string{".vscode -> ."}, nil, nil},
		{"a project that is a bare repository", append(gitDir("."), "hooks/x", "sub/.git/"), nil, []string{"config", "hooks/", "sub/.git/"}},
		{"the parts of one that may be written", []string{".git/HEAD", ".git/config", ".git/hooks/x", ".git/objects/info/alternates", ".git/refs/", ".git/modules/a/b/HEAD", ".git/modules/a/b/config", ".git/modules/a/b/objects/", ".git/modules/a/b/refs/", ".git/worktrees/w/HEAD", ".git/worktrees/w/commondir"},
			[]string{".git"}, []string{".git/config", ".git/hooks/", ".git/objects/info/alternates", ".git/modules/a/b/config", ".git/worktrees/w/commondir"}},
		{"the parts, whatever is named", append(gitDir("x.git"), "x.git/hooks/a", "x.git/info/x"), []string{"x.git/hooks", "x.git/refs", "x.git/config"}, []string{"x.git/HEAD", "x.git/config", "x.git/hooks/", "x.git/objects/", "x.git/info/"}},
		{"what lies beside that", []string{".vscode/settings.json", ".vscode/tasks.json", ".vscode/sub/x"}, []string{".vscode/settings.json"}, []string{".vscode/tasks.json", ".vscode/sub/"}},
		{"a directory above is no name", []string{"a/.envrc", ".github/workflows/x"}, []string{"a", ".github", "."}, []string{"a/.envrc", ".github/workflows/"}},
		{"by its name", []string{"a/.envrc", ".vscode/x"}, []string{"a/.envrc", ".vscode"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t, c.there...)
			o := Options{Project: dir}
			for _, p := range c.write {
				o.Write = append(o.Write, filepath.Join(dir, p))
			}
			w := look(t, o)
			equal(t, "protected", mounts(t, w), c.want)
			equal(t, "unbound", w.Unbound(), nil)
		})
	}
}

// TestGitFiles: where .git files, worktrees and hooksPath lead is protected, in the project.
func TestGitFiles(t *testing.T) {
	dir := project(t, "s/", "store/x", "w/", "main/wt/x", "hooks-of-mine/pre-commit", ".git/hooks -> ../other", "other/x", "o/")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("s/.git", "gitdir: ../store\n")
	write("w/.git", "gitdir: "+filepath.Join(dir, "main/wt")+"\n")
	write("main/wt/commondir", "..\n")
	write("o/.git", "gitdir: ../../elsewhere\n")
	write(".git/config", "[core]\n\tbare = false\n\thooksPath = hooks-of-mine\n")
	equal(t, "protected", mounts(t, look(t, Options{Project: dir})),
		[]string{".git/", "s/.git", "store/", "w/.git", "main/", "o/.git", "hooks-of-mine/", "other/"})
}

func TestPartsAreNeverWritten(t *testing.T) {
	dir := project(t)
	for _, p := range []string{".git/hooks", ".git/hooks/pre-commit", "a/.git/config", ".GIT/Config", ".git/commondir", ".git/objects/info/alternates", ".git/modules/a/b/config", ".git/modules/a/hooks/x"} {
		_, err := Look(context.Background(), Options{Project: dir, Write: []string{filepath.Join(dir, p)}})
		if !fault.Is(err, fault.Denied) {
			t.Errorf("Look with %s in Write: %v, want denied", p, err)
		}
	}
	if _, err := Look(context.Background(), Options{Project: dir, Write: []string{filepath.Join(dir, ".git/modules/config")}}); err != nil {
		t.Errorf("a module called config: %v", err)
	}
}

// many makes n directories, each with two files and a git directory in the last.
func many(t testing.TB, n int) string {
	dir := project(t)
	for i := range n - 1 {
		put(t, dir, fmt.Sprintf("d%02d/s%03d/main.go", i%20, i), fmt.Sprintf("d%02d/s%03d/doc.md", i%20, i))
	}
	return dir
}

func TestBeyondTheFirst(t *testing.T) {
	dir := many(t, 60) // and 20 above them
	put(t, dir, "zz/zz/zz/zz/.envrc", "aa/.envrc", "node_modules/a/b/c/x")
	w := look(t, Options{Project: dir, Max: 20})
	if got := w.Unbound(); len(got) != 1 || !strings.Contains(got[0], "beyond the first 20 were not checked") {
		t.Errorf("unbound: %q", got)
	}
	equal(t, "protected", mounts(t, w), []string{"aa/.envrc"})

	// What was not looked at before is not taken for new.
	taken, err := w.After(context.Background(), nil, filepath.Join(t.TempDir(), "to"))
	if err != nil || len(taken) > 0 {
		t.Errorf("After took %v, %v", taken, err)
	}

	w = look(t, Options{Project: dir})
	equal(t, "unbound", w.Unbound(), nil)
	equal(t, "protected", mounts(t, w), []string{"aa/.envrc", "zz/zz/zz/zz/.envrc"})
}

// TestLast: what programs made is looked at when all else was.
func TestLast(t *testing.T) {
	dir := project(t, "a/b/c/d/.envrc", "node_modules/e/.git/")
	for i := range 20 {
		put(t, dir, fmt.Sprintf("node_modules/%d/x", i))
	}
	equal(t, "protected", mounts(t, look(t, Options{Project: dir, Max: 6})), []string{"a/b/c/d/.envrc"})
	equal(t, "protected", mounts(t, look(t, Options{Project: dir})), []string{"a/b/c/d/.envrc", "node_modules/e/.git/"})
}

// TestLedThere: where a .git file leads is looked at again, however deep it lies.
func TestLedThere(t *testing.T) {
	dir := project(t, gitDir("z/z/z/store")...)
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: z/z/z/store\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := look(t, Options{Project: dir, Max: 2})
	equal(t, "protected", mounts(t, w), []string{".git", "z/z/z/store/"})
	if err := os.Rename(filepath.Join(dir, "z/z/z"), filepath.Join(dir, "z/z/y")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, gitDir("z/z/z/store")...)
	taken, err := w.After(context.Background(), nil, t.TempDir())
	if err != nil || len(taken) != 1 || taken[0].Path != "z/z/z/store/config" || taken[0].How != "changed" {
		t.Errorf("taken: %v, %v", taken, err)
	}
}

// TestFoundBefore: a git directory and a submodule stay protected when there are too many
// directories to find them again.
func TestFoundBefore(t *testing.T) {
	dir := project(t, append(gitDir("z/z/z/store"), "z/z/z/z/sub/.git")...)
	if err := os.WriteFile(filepath.Join(dir, ".gitmodules"), []byte("[submodule \"s\"]\n\tpath = z/z/z/z/sub\n\turl = x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Project: dir, Cache: filepath.Join(t.TempDir(), "c"), Max: 10}
	want := []string{"z/z/z/store/", "z/z/z/z/sub/.git"}
	equal(t, "protected", mounts(t, look(t, o)), want)
	for i := range 20 {
		put(t, dir, fmt.Sprintf("a%d/x", i))
	}
	for range 2 {
		w := look(t, o)
		equal(t, "protected", mounts(t, w), want)
		if len(w.Unbound()) == 0 {
			t.Error("nothing was left out")
		}
	}
	if err := os.Remove(filepath.Join(dir, "z/z/z/store/HEAD")); err != nil { // now it is a directory like others
		t.Fatal(err)
	}
	equal(t, "protected", mounts(t, look(t, o)), want[1:])

	// What is reached by a link now is not where it was.
	put(t, dir, "z/z/z/store/HEAD")
	look(t, o)
	if err := os.Rename(filepath.Join(dir, "z"), filepath.Join(dir, "y")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "z -> y")
	equal(t, "protected", mounts(t, look(t, o)), nil)
}

// TestSubmodule: the .git of a submodule is looked for again, however deep it would lie.
func TestSubmodule(t *testing.T) {
	dir := project(t, "z/z/z/z/sub/x")
	if err := os.WriteFile(filepath.Join(dir, ".gitmodules"), []byte("[submodule \"s\"]\n\tpath = z/z/z/z/sub\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := look(t, Options{Project: dir, Max: 2})
	put(t, dir, "z/z/z/z/sub/.git")
	taken, err := w.After(context.Background(), nil, t.TempDir())
	if err != nil || len(taken) != 1 || taken[0].Path != "z/z/z/z/sub/.git" {
		t.Errorf("taken: %v, %v", taken, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := project(t, "a/b")
	if _, err := Look(ctx, Options{Project: dir}); !fault.Is(err, fault.Interrupt) {
		t.Errorf("Look: %v", err)
	}
	w := look(t, Options{Project: dir})
	put(t, dir, "c/.envrc")
	if _, err := w.After(ctx, nil, filepath.Join(dir, "to")); !fault.Is(err, fault.Interrupt) {
		t.Errorf("After: %v", err)
	}
}

func TestNoProject(t *testing.T) {
	if _, err := Look(context.Background(), Options{Project: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a project that is not there was looked at")
	}
	dir := filepath.Join(project(t), "p")
	put(t, dir, "a")
	w := look(t, Options{Project: dir})
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	put(t, dir, ".envrc")
	if _, err := w.After(context.Background(), nil, t.TempDir()); err == nil {
		t.Error("another directory was taken for the project")
	}
}

func TestFold(t *testing.T) {
	for a, b := range map[string]string{".GIT": ".git", ".vſcode": ".vscode", ".g\u200cit": ".git", "\u212Aiwi": "kiwi", "straße": "straße", "ÄÖ": "äö"} {
		if fold(a) != fold(b) {
			t.Errorf("%q and %q are told apart: %q, %q", a, b, fold(a), fold(b))
		}
	}
}

// TestTable: each name is found again as a file and as a directory, in lower and in upper
// case where that does not matter.
func TestTable(t *testing.T) {
	n := 0
	for _, row := range ruled {
		for name := range strings.FieldsSeq(row.names) {
			n++
			name := strings.ReplaceAll(name, "*", "some")
			dir, base := split(name)
			dir = fold(dir)
			if r := ruleFor(dir, base); r == nil || r.kind != row.kind || r.always != row.always {
				t.Errorf("%s (%s) is found as %v", name, row.kind, r)
			}
			if up := strings.ToUpper(base); !row.exact && ruleFor(dir, up) == nil {
				t.Errorf("%s is not found", up)
			}
		}
	}
	if n < 250 {
		t.Errorf("the table has %d names", n)
	}
	for _, plain := range []string{"Makefile", "package.json", ".env", "conftest.py", "setup.py", ".gitignore", ".gitattributes", "agents.md", "workflows", "config.toml", "git", ".gitx",
		"model.pth", "activate", "prefs", "agent.md", "warp.md", "releases", ".python-version", ".gitmodules"} {
		if r := ruleFor("", plain); r != nil {
			t.Errorf("%s is found as %s", plain, r.kind)
		}
	}
	for _, named := range []string{".kilocode", ".pi", ".openhands", ".bsp", ".vim", ".tekton", "AGENT.md", "WARP.md", "CRUSH.md", ".amp", ".devin", ".rules", ".replit", ".idx", ".nova",
		"x.sublime-project", ".lsp", "rust-analyzer.toml", ".sl", ".bzr", ".readthedocs.yaml", "zuul.d", ".huskyrc", ".pdbrc", "sitecustomize.py", "jupyter_server_config.py", ".rvmrc", ".lintstagedrc.json"} {
		if ruleFor("", named) == nil {
			t.Errorf("%s is not in the table", named)
		}
	}
}

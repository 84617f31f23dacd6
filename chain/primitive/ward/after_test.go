//go:build unix

package ward

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// run is what a tool does: a shell script in the project. Mounts are the cage's, and tested
// there; here nothing that is protected is written through its own path, unless it is said
// that the mount went away.
func run(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func says(taken []Taken) []string {
	out := []string{}
	for _, k := range taken {
		out = append(out, k.How+" "+k.Path)
	}
	return out
}

func TestAfterTakes(t *testing.T) {
	git := append([]string{"sub/src/x"}, gitDir("sub/.git")...)
	for _, c := range []struct {
		name   string
		there  []string
		write  []string
		unheld []string
		does   string
		want   []string // how and path of what is taken
		gone   []string // from the project
		stays  []string
	}{
		{name: "nothing, where nothing of the kind was done", there: git,
			does: "mkdir build; echo x >build/out; rm sub/src/x; mv sub s2; mv s2 sub; echo y >Makefile", stays: []string{"sub/.git/HEAD", "build/out", "Makefile"}},
		{name: "E12: everything that others execute",
			does: `mkdir -p .vscode .github/workflows .claude .husky sub/.git/hooks
				for f in Makefile .vscode/tasks.json .mcp.json .envrc .github/workflows/ci.yml .claude/settings.json .husky/pre-commit sub/.git/hooks/post-checkout; do echo x >$f; done`,
			want:  []string{"new .vscode", "new .mcp.json", "new .envrc", "new .github/workflows", "new .claude", "new .husky", "new sub/.git"},
			gone:  []string{".vscode", ".mcp.json", ".envrc", ".github/workflows", ".claude", ".husky", "sub/.git"},
			stays: []string{"Makefile", ".github", "sub"}},
		{name: "mv around a mount", there: git, does: "mv sub s2; mkdir -p sub/.git/hooks; echo x >sub/.git/hooks/pre-commit",
			want: []string{"changed sub/.git"}, gone: []string{"sub/.git"}, stays: []string{"s2/src/x", "s2/.git/HEAD"}},
		{name: "mv of a directory high above", there: gitDir("a/b/c/.git"), does: "mv a z; mkdir -p a/b; mv z/b/c a/b/c2",
			stays: []string{"a/b/c2/.git/HEAD"}},
		{name: "mv of a protected thing without its directory", there: []string{"a/.envrc", "b/.vscode/x"}, does: "mv a/.envrc .envrc; mv b/.vscode .vscode", want: []string{"moved .envrc", "moved .vscode"}},
		{name: "mv of a directory to where its names mean more", there: []string{"examples/.github/workflows/x"}, does: "mv examples/.github .github", want: []string{"new .github/workflows"}, stays: []string{".github"}},
		{name: "mv of a directory over the place of another", there: []string{"a/.vscode/x", "b/.vscode/y"}, does: "mv a c; mv b a", want: []string{"moved a/.vscode"}, stays: []string{"c/.vscode/x"}},
		{name: "the least that git takes for its own", does: "mkdir -p d/e/objects d/e/refs; echo ref: refs/heads/x >d/e/HEAD; printf '[core]\n\tfsmonitor = x\n' >d/e/config",
			want: []string{"new d/e/config"}, gone: []string{"d/e/config"}, stays: []string{"d/e/HEAD"}},
		{name: "a repository without objects", does: "mkdir -p d/.git/refs d/.git/hooks; echo ref: refs/heads/x >d/.git/HEAD", want: []string{"new d/.git"}, gone: []string{"d/.git"}, stays: []string{"d"}},
		{name: "with links in the place of directories", does: "mkdir d; ln -s /tmp d/objects; ln -s /tmp d/refs; ln -s refs/heads/x d/HEAD", want: []string{"new d"}},
		{name: "by way of commondir", does: "mkdir d; echo ref: x >d/HEAD; echo .. >d/commondir", want: []string{"new d"}},
		{name: "one bare repository inside of another directory that becomes one", there: []string{"src/main.c", "src/hooks/use.ts"},
			does: "cd src; mkdir objects refs sub; echo x >HEAD; echo x >config; mkdir -p sub/.git", want: []string{"new src/HEAD", "new src/config", "new src/objects", "new src/refs", "new src/sub/.git"},
			stays: []string{"src/main.c", "src/hooks/use.ts"}},
		{name: "the project itself made a git directory", there: []string{"hooks/mine", "a/b"}, does: "mkdir objects refs; echo x >HEAD; echo x >config; mkdir -p a/.git",
			want: []string{"new HEAD", "new config", "new objects", "new refs", "new a/.git"}, stays: []string{"hooks/mine"}},
		{name: "a directory moved, and then made one", there: []string{"src/main.c"}, does: "mv src s2; cd s2; mkdir objects refs; echo x >HEAD", want: []string{"new s2/HEAD", "new s2/objects", "new s2/refs"}, stays: []string{"s2/main.c"}},
		{name: "a directory moved, another put in its place, and both made one", there: []string{"src/main.c"}, does: "mv src s2; mkdir src; for d in src s2; do mkdir $d/objects $d/refs; echo x >$d/HEAD; done", want: []string{"new s2/HEAD", "new s2/objects", "new s2/refs"}, stays: []string{"s2/main.c"}},
		{name: "links under protected names", there: []string{"evil/tasks.json"}, does: "ln -s evil .vscode; ln -s /etc/passwd .envrc; ln -s nowhere .git; ln -s . .claude",
			want: []string{"new .vscode", "new .envrc", "new .git", "new .claude"}, stays: []string{"evil/tasks.json"}},
		{name: "where a link led before", there: []string{"cfg/x", ".vscode -> cfg"}, does: "mv cfg c2; mkdir cfg; echo x >cfg/tasks.json", want: []string{"changed cfg"}, gone: []string{"cfg"}, stays: []string{".vscode", "c2/x"}},
		{name: "a link between, led elsewhere", there: []string{"one/x", "two/x", ".vscode -> mid", "mid -> one"}, does: "rm mid; ln -s two mid", want: []string{"new two"}, stays: []string{"one/x"}},
		{name: "where a dangling link leads", there: []string{".vscode -> cfg"}, does: "mkdir cfg; echo x >cfg/tasks.json", want: []string{"new cfg"}},
		{name: "a .git file", does: "mkdir s; echo gitdir: ../x >s/.git", want: []string{"new s/.git"}},
		{name: "the .git of a submodule", there: []string{"s/.git", ".gitmodules"}, does: "mv s s2; mkdir s; echo gitdir: ../x >s/.git", want: []string{"changed s/.git"}, stays: []string{"s2/.git"}},
		{name: "another spelling", does: "mkdir .GIT .VSCode .VsCode; echo x >.ENVRC", want: []string{"new .GIT", "new .VSCode", "new .VsCode", "new .ENVRC"}},
		{name: "a pipe", does: "mkfifo .envrc; mkdir .vscode; mkfifo .vscode/p", want: []string{"new .envrc", "new .vscode"}, gone: []string{".envrc", ".vscode"}},
		{name: "behind directories that cannot be listed", does: "mkdir -p a/b/.git c/.vscode d/e/.git; echo x >a/b/.git/x; chmod 111 a/b; chmod 0 a; chmod 0 c/.vscode; chmod 555 c; chmod 444 d/e",
			want: []string{"new a/b/.git", "new c/.vscode", "new d/e/.git"}, gone: []string{"a/b/.git", "c/.vscode", "d/e/.git"}},
		{name: "a file replaced by somebody outside", there: []string{".envrc", ".mcp.json"}, unheld: []string{".envrc"},
			does: "echo x >new; mv new .envrc", want: []string{"changed .envrc"}, gone: []string{".envrc"}, stays: []string{".mcp.json"}},
		{name: "a file whose mount went away, as it was", there: []string{".envrc"}, unheld: []string{".envrc"}, does: "true", stays: []string{".envrc"}},
		{name: "a file whose mount went away, written in place", there: []string{".envrc"}, unheld: []string{".envrc"}, does: "echo x >>.envrc; touch -d 2001-01-01 .envrc", want: []string{"changed .envrc"}},
		{name: "a directory whose mount went away, as it was", there: []string{".vscode/a/b"}, unheld: []string{".vscode"}, does: "true", stays: []string{".vscode/a/b"}},
		{name: "a directory whose mount went away, changed deep inside", there: []string{".vscode/a/b"}, unheld: []string{".vscode"}, does: "echo x >>.vscode/a/b; touch -d 2001-01-01 .vscode/a/b", want: []string{"changed .vscode"}},
		{name: "through another name of a file in a git directory", there: append(gitDir(".git"), ".git/hooks/pre-commit", "x -> y"), does: "echo x >>linked-hook", want: []string{"changed .git/hooks/pre-commit"}, stays: []string{"linked-hook", ".git/HEAD"}},
		{name: "what is removed", there: []string{".envrc", ".vscode/x"}, does: "rm -r .envrc .vscode"},
		{name: "what was beside a .git that is new", there: []string{"sub/.travis.yml", "sub/.github/workflows/x"}, does: "mkdir sub/.git", want: []string{"new sub/.git"}, stays: []string{"sub/.travis.yml", "sub/.github/workflows/x"}},
		{name: "in installed packages, git directories only", does: "mkdir -p node_modules/a/.vscode node_modules/a/.git; echo x >node_modules/a/.npmrc", want: []string{"new node_modules/a/.git"}, stays: []string{"node_modules/a/.vscode", "node_modules/a/.npmrc"}},
		{name: "a virtual environment", does: "mkdir -p .venv/bin; echo x >.venv/pyvenv.cfg", want: []string{"new .venv/pyvenv.cfg"}, stays: []string{".venv/bin"}},
		{name: "a virtual environment that was asked for", write: []string{".venv/pyvenv.cfg"}, does: "mkdir -p .venv/bin; echo x >.venv/pyvenv.cfg", stays: []string{".venv/pyvenv.cfg"}},
		{name: "beside the file that was asked for", write: []string{".vscode/settings.json"}, does: "mkdir .vscode; echo x >.vscode/settings.json; echo x >.vscode/tasks.json", want: []string{"new .vscode/tasks.json"}, stays: []string{".vscode/settings.json"}},
		{name: "beside the file that was asked for, in what was there", there: []string{".vscode/a"}, write: []string{".vscode/settings.json"}, does: "echo x >.vscode/settings.json; mkdir .vscode/d", want: []string{"new .vscode/d"}, stays: []string{".vscode/settings.json", ".vscode/a"}},
		{name: "parts of a repository that may be written", there: append(gitDir(".git"), ".git/hooks/x.sample"), write: []string{".git"},
			does:  "cd .git; mv hooks h2; mkdir -p hooks objects/info; echo x >hooks/pre-commit; echo x >hooks/a.sample; echo x >commondir; echo /x >objects/info/alternates; echo x >config.worktree; mkdir -p remotes modules/m/objects modules/m/refs modules/m/hooks; echo x >remotes/origin; echo x >modules/m/HEAD; printf '[core]\\n\\tfsmonitor = x\\n' >modules/m/config; ln -s ../../hooks modules/m/hooks/q",
			want:  []string{"changed .git/hooks/pre-commit", "new .git/commondir", "new .git/objects/info/alternates", "new .git/config.worktree", "new .git/remotes/origin", "new .git/modules/m/config", "new .git/modules/m/hooks/q"},
			stays: []string{".git/HEAD", ".git/config", ".git/hooks/a.sample"}},
		{name: "a repository that may be written, replaced as a whole", there: append(gitDir(".git"), ".git/hooks/x.sample"), write: []string{".git"},
			does: "mv .git g2; mkdir -p .git/objects .git/refs; echo x >.git/HEAD; printf '[core]\\n\\thooksPath = /tmp\\n\\tbare = false\\n' >.git/config", want: []string{"new g2/config", "changed .git/config"}, gone: []string{"g2/config"}, stays: []string{".git/HEAD", ".git/config"}},
		{name: "links on the way to the parts", there: gitDir(".git"), write: []string{".git"}, does: "mkdir -p evil/info; echo x >evil/info/alternates; rm -r .git/objects; ln -s ../evil .git/objects; ln -s ../evil .git/hooks",
			want: []string{"new .git/objects", "new .git/hooks"}, gone: []string{".git/objects", ".git/hooks"}, stays: []string{"evil/info/alternates"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, c.there...)
			if strings.HasPrefix(c.name, "through another name") {
				run(t, dir, "ln .git/hooks/pre-commit linked-hook; ln .git/HEAD linked-head; touch -d 2001-01-01 linked-hook")
			}
			settle(t)
			to := filepath.Join(t.TempDir(), "taken", "run")
			o := Options{Project: dir}
			for _, p := range c.write {
				o.Write = append(o.Write, filepath.Join(dir, p))
			}
			w := look(t, o)
			t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", dir, to).Run() }) // some close directories
			run(t, dir, c.does)
			var unheld []string
			for _, p := range c.unheld {
				unheld = append(unheld, filepath.Join(dir, p))
			}
			taken, err := w.After(context.Background(), unheld, to)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "taken", says(taken), c.want)
			for _, k := range taken {
				checkTaken(t, dir, to, k)
			}
			for _, p := range c.gone {
				if _, err := os.Lstat(filepath.Join(dir, p)); err == nil {
					t.Errorf("%s is still there", p)
				}
			}
			for _, p := range c.stays {
				if _, err := os.Lstat(filepath.Join(dir, p)); err != nil {
					t.Errorf("%s is gone", p)
				}
			}
			if _, err := os.Lstat(to); err == nil && len(taken) == 0 {
				t.Error("a directory was made for nothing")
			}
			again, err := look(t, o).After(context.Background(), nil, to)
			if err != nil || len(again) > 0 {
				t.Errorf("a second run that does nothing: %v, %v", again, err)
			}
		})
	}
}

// settle waits until what was just made is not of the same moment as what comes now.
func settle(t testing.TB) {
	t.Helper()
	time.Sleep(25 * time.Millisecond)
}

func checkTaken(t *testing.T, dir, to string, k Taken) {
	t.Helper()
	if k.Kind == "" {
		t.Errorf("%s was taken for no reason", k.Path)
	}
	if k.Where != "" {
		if st, err := os.Lstat(k.Where); err != nil {
			t.Errorf("%s is not at %s", k.Path, k.Where)
		} else if st.Mode()&os.ModeNamedPipe != 0 {
			t.Errorf("%s was kept, for somebody to open and wait at", k.Path)
		}
		if want := filepath.Join(to, k.Path); k.Where != want {
			t.Errorf("%s is at %s, want %s", k.Path, k.Where, want)
		}
	}
	if k.Need != "" && !filepath.IsLocal(k.Need) {
		t.Errorf("%s would need %q", k.Path, k.Need)
	}
}

// TestNeedAllows: what the result says would have allowed a thing does.
func TestNeedAllows(t *testing.T) {
	const does = "mkdir -p a/.vscode s/.git .github/workflows; echo x >a/.vscode/x; echo x >.envrc; echo x >s/.git/HEAD; echo x >.github/workflows/ci.yml; echo x >AGENTS.md"
	dir := project(t)
	w := look(t, Options{Project: dir})
	run(t, dir, does)
	taken, err := w.After(context.Background(), nil, t.TempDir())
	if err != nil || len(taken) != 5 {
		t.Fatal(taken, err)
	}
	dir = project(t)
	o := Options{Project: dir}
	for _, k := range taken {
		o.Write = append(o.Write, filepath.Join(dir, k.Need))
	}
	w = look(t, o)
	run(t, dir, does)
	if taken, err := w.After(context.Background(), nil, t.TempDir()); err != nil || len(taken) > 0 {
		t.Errorf("taken although it may be written: %v, %v", taken, err)
	}
}

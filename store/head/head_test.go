package head

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

const item = ".ai/tools/acme/hello.sh"

// tempDir is a directory without links in its path, as Open wants it.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// repository makes one with two versions of the item, of which HEAD has the second.
func repository(t *testing.T, init ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir := filepath.Join(tempDir(t), "main")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Git(t, dir, append([]string{"init", "-q", "-b", "main"}, init...)...)
	for _, v := range []string{"one\n", "two\n"} {
		testkit.WriteFile(t, filepath.Join(dir, item), v, 0o644)
		testkit.Git(t, dir, "add", "-A")
		testkit.Git(t, dir, "commit", "-q", "-m", v)
	}
	return dir
}

// look asks whether HEAD above dir has the item with this text.
func look(dir, text string) (bool, error) {
	now := time.Now()
	h, err := Open(dir, "", now)
	if err != nil {
		return false, err
	}
	defer h.Close()
	return h.Is(item, []byte(text), now)
}

// wantTwo checks that HEAD has the second version, not the first, and lacks another.
func wantTwo(t *testing.T, dir string) {
	t.Helper()
	for text, want := range map[string]bool{"one\n": false, "two\n": true} {
		if got, err := look(dir, text); got != want || err != nil {
			t.Errorf("HEAD has %q: %t, %v, want %t", text, got, err, want)
		}
	}
	now := time.Now()
	h, err := Open(dir, "", now)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for p, want := range map[string]bool{item: true, ".ai": true, ".ai/tools/acme/other.sh": false, item + "/below": false} {
		if got, err := h.Holds(p, now); got != want || err != nil {
			t.Errorf("HEAD holds %s: %t, %v, want %t", p, got, err, want)
		}
	}
}

func TestLayouts(t *testing.T) {
	layouts := map[string]func(t *testing.T) string{
		"loose": func(t *testing.T) string { return repository(t) },
		"packed": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "gc", "-q")
			testkit.Git(t, dir, "pack-refs", "--all")
			return dir
		},
		"sha256": func(t *testing.T) string { return repository(t, "--object-format=sha256") },
		"detached": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "checkout", "-q", "--detach")
			return dir
		},
		"symbolic": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
			testkit.Git(t, dir, "symbolic-ref", "HEAD", "refs/heads/alias")
			return dir
		},
		"branch in another script": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "checkout", "-q", "-b", "größe/日本")
			return dir
		},
		"worktree": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "worktree", "add", "-q", "../wt")
			return filepath.Join(dir, "../wt")
		},
		"worktree inside": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "worktree", "add", "-q", "wt", "-b", "wt")
			return filepath.Join(dir, "wt")
		},
		"detached worktree": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "worktree", "add", "-q", "--detach", "../wt")
			return filepath.Join(dir, "../wt")
		},
		"separate git directory": func(t *testing.T) string {
			return repository(t, "--separate-git-dir="+filepath.Join(tempDir(t), "elsewhere.git"))
		},
		"submodule": func(t *testing.T) string {
			inner, outer := repository(t), filepath.Join(tempDir(t), "outer")
			testkit.Git(t, filepath.Dir(outer), "init", "-q", "outer")
			testkit.Git(t, outer, "submodule", "--quiet", "add", inner, "sub")
			return filepath.Join(outer, "sub")
		},
		"alternates": func(t *testing.T) string {
			dir, to := repository(t), filepath.Join(tempDir(t), "shared")
			testkit.Git(t, dir, "clone", "-q", "--shared", dir, to)
			return to
		},
		"alternates of alternates": func(t *testing.T) string {
			dir, one, two := repository(t), filepath.Join(tempDir(t), "one"), filepath.Join(tempDir(t), "two")
			testkit.Git(t, dir, "gc", "-q")
			testkit.Git(t, dir, "clone", "-q", "--shared", dir, one)
			testkit.Git(t, one, "clone", "-q", "--shared", one, two)
			return two
		},
		"shallow": func(t *testing.T) string {
			dir, to := repository(t), filepath.Join(tempDir(t), "shallow")
			testkit.Git(t, dir, "clone", "-q", "--depth=1", "file://"+dir, to)
			return to
		},
		"replaced": func(t *testing.T) string { // replace refs do not count
			dir := repository(t)
			testkit.Git(t, dir, "replace", testkit.Git(t, dir, "rev-parse", "HEAD:"+item), testkit.Git(t, dir, "rev-parse", "HEAD~:"+item))
			return dir
		},
		"environment": func(t *testing.T) string { // neither does what GIT_DIR says
			other := repository(t)
			testkit.WriteFile(t, filepath.Join(other, item), "one\n", 0o644)
			testkit.Git(t, other, "commit", "-qam", "back")
			t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
			t.Setenv("GIT_WORK_TREE", other)
			t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other, ".git/objects"))
			dir := filepath.Join(tempDir(t), "main")
			os.Unsetenv("GIT_DIR")
			os.Unsetenv("GIT_WORK_TREE")
			os.Unsetenv("GIT_OBJECT_DIRECTORY")
			if err := os.Rename(repository(t), dir); err != nil {
				t.Fatal(err)
			}
			t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
			t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other, ".git/objects"))
			return dir
		},
		"merge commit with an encoding": func(t *testing.T) string {
			dir := repository(t)
			testkit.Git(t, dir, "checkout", "-q", "-b", "side", "HEAD~")
			testkit.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "side")
			testkit.Git(t, dir, "-c", "i18n.commitEncoding=ISO-8859-1", "merge", "-q", "-m", "merge", "main")
			return dir
		},
	}
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			if name != "environment" {
				t.Parallel()
			}
			wantTwo(t, layout(t))
		})
	}
}

// TestBelowTheTop: the project need not be the top of the repository.
func TestBelowTheTop(t *testing.T) {
	dir := repository(t)
	testkit.WriteFile(t, filepath.Join(dir, "deep/project/"+item), "two\n", 0o644)
	testkit.Git(t, dir, "add", "-A")
	testkit.Git(t, dir, "commit", "-q", "-m", "deep")
	wantTwo(t, filepath.Join(dir, "deep/project"))
}

// TestUnknown: whatever cannot be read for sure is an error, with the reason, and none of
// it takes long.
func TestUnknown(t *testing.T) {
	cases := map[string]struct {
		change func(t *testing.T, dir string) string // returns where to look; "" is dir
		says   string
	}{
		"unborn": {func(t *testing.T, dir string) string {
			testkit.Git(t, dir, "symbolic-ref", "HEAD", "refs/heads/none")
			return ""
		}, "no commit yet"},
		"partial clone": {func(t *testing.T, dir string) string {
			to := filepath.Join(tempDir(t), "partial")
			testkit.Git(t, dir, "config", "uploadpack.allowFilter", "true")
			testkit.Git(t, dir, "clone", "-q", "--no-checkout", "--filter=tree:0", "file://"+dir, to)
			return to
		}, "looked up"},
		"reftable": {func(t *testing.T, dir string) string {
			to := filepath.Join(tempDir(t), "reftable")
			if exec.Command("git", "init", "-q", "--ref-format=reftable", to).Run() != nil {
				t.Skip("this git has no reftable")
			}
			testkit.WriteFile(t, filepath.Join(to, item), "two\n", 0o644)
			testkit.Git(t, to, "add", "-A")
			testkit.Git(t, to, "commit", "-q", "-m", "two")
			return to
		}, "refstorage"},
		"gitdir in the tree": {func(t *testing.T, dir string) string {
			to := filepath.Join(tempDir(t), "x")
			if err := os.Rename(dir, to); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(to, ".git"), filepath.Join(to, "store.git")); err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, filepath.Join(to, ".git"), "gitdir: store.git\n", 0o644)
			return to
		}, "lies in the tree"},
		"alternates in the tree": {func(t *testing.T, dir string) string {
			if err := os.Rename(filepath.Join(dir, ".git/objects"), filepath.Join(dir, "objects")); err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, filepath.Join(dir, ".git/objects/info/alternates"), filepath.Join(dir, "objects")+"\n", 0o644)
			return ""
		}, "lies in the tree"},
		"commondir in the tree": {func(t *testing.T, dir string) string {
			if err := os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "store.git")); err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/main\n", 0o644)
			testkit.WriteFile(t, filepath.Join(dir, ".git/commondir"), "../store.git\n", 0o644)
			testkit.WriteFile(t, filepath.Join(dir, ".git/gitdir"), filepath.Join(dir, ".git")+"\n", 0o644)
			return ""
		}, "lies in the tree"},
		"worktree of another": {func(t *testing.T, dir string) string {
			testkit.Git(t, dir, "worktree", "add", "-q", "../wt")
			to := filepath.Join(tempDir(t), "stolen")
			raw, err := os.ReadFile(filepath.Join(dir, "../wt/.git"))
			if err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, filepath.Join(to, ".git"), string(raw), 0o644)
			return to
		}, "another worktree"},
		"worktree that is named nowhere": {func(t *testing.T, dir string) string {
			testkit.Git(t, dir, "worktree", "add", "-q", "../wt")
			testkit.WriteFile(t, filepath.Join(dir, ".git/worktrees/wt/gitdir"), filepath.Join(dir, "../gone/.git")+"\n", 0o644)
			return filepath.Join(dir, "../wt")
		}, "another worktree"},
		"commondir without a way back": {func(t *testing.T, dir string) string {
			other := repository(t)
			testkit.WriteFile(t, filepath.Join(dir, ".git/commondir"), filepath.Join(other, ".git")+"\n", 0o644)
			return ""
		}, "does not name its worktree"},
		"another core.worktree": {func(t *testing.T, dir string) string {
			testkit.Git(t, dir, "config", "core.worktree", tempDir(t))
			return ""
		}, "core.worktree"},
		"symbolic circle": {func(t *testing.T, dir string) string {
			testkit.WriteFile(t, filepath.Join(dir, ".git/refs/heads/a"), "ref: refs/heads/b\n", 0o644)
			testkit.WriteFile(t, filepath.Join(dir, ".git/refs/heads/b"), "ref: refs/heads/a\n", 0o644)
			testkit.WriteFile(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/a\n", 0o644)
			return ""
		}, "more than 5 times"},
		"HEAD leads out": {func(t *testing.T, dir string) string {
			testkit.WriteFile(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/../../secret\n", 0o644)
			return ""
		}, "HEAD is"},
		"id of another format": {func(t *testing.T, dir string) string {
			testkit.WriteFile(t, filepath.Join(dir, ".git/HEAD"), strings.Repeat("ab", 32)+"\n", 0o644)
			return ""
		}, "another object format"},
		"HEAD names a blob": {func(t *testing.T, dir string) string {
			testkit.WriteFile(t, filepath.Join(dir, ".git/HEAD"), testkit.Git(t, dir, "rev-parse", "HEAD:"+item)+"\n", 0o644)
			return ""
		}, "not a commit"},
		"flipped byte": {func(t *testing.T, dir string) string {
			testkit.Git(t, dir, "gc", "-q")
			packs, _ := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
			os.Chmod(packs[0], 0o644)
			raw, err := os.ReadFile(packs[0])
			if err != nil {
				t.Fatal(err)
			}
			for i := 14; i < len(raw)-20; i++ {
				raw[i] ^= 0x10
			}
			if err := os.WriteFile(packs[0], raw, 0o644); err != nil {
				t.Fatal(err)
			}
			return ""
		}, "cannot be read"},
		"alternates without end": {func(t *testing.T, dir string) string {
			testkit.WriteFile(t, filepath.Join(dir, ".git/objects/info/alternates"), strings.Repeat(filepath.Join(repository(t), ".git/objects")+"\n", 40), 0o644)
			return ""
		}, "more than 15"},
		"project in a submodule without a repository": {func(t *testing.T, dir string) string {
			testkit.Git(t, dir, "rm", "-rq", "--cached", ".ai")
			testkit.Git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+testkit.Git(t, dir, "rev-parse", "HEAD")+",.ai")
			testkit.Git(t, dir, "commit", "-q", "-m", "a submodule")
			return ""
		}, "submodule"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			if to := c.change(t, dir); to != "" {
				dir = to
			}
			began := time.Now()
			got, err := look(dir, "two\n")
			if got || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("HEAD has it: %t, %v, want an error that says %q", got, err, c.says)
			}
			if d := time.Since(began); d > patience+time.Second {
				t.Errorf("it took %s", d)
			}
		})
	}
}

// TestNone: without a repository, beyond home and in another's there is nothing to ask.
func TestNone(t *testing.T) {
	if _, err := Open(tempDir(t), "", time.Now()); !fault.Is(err, fault.NotFound) {
		t.Errorf("no repository: %v, want not found", err)
	}
	dir := repository(t)
	if _, err := Open(filepath.Join(dir, ".ai"), dir, time.Now()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a repository at home: %v, want not found", err)
	}
	if os.Geteuid() != 0 || runtime.GOOS == "windows" {
		return
	}
	if err := os.Lchown(filepath.Join(dir, ".git/HEAD"), 4711, 4711); err != nil {
		t.Skip(err)
	}
	if _, err := look(dir, "two\n"); err == nil || !strings.Contains(err.Error(), "belongs to user 4711") {
		t.Errorf("HEAD of another user: %v", err)
	}
}

// TestPointersToOthers: a pointer of the user's that leads to a directory of another user's
// is not followed, whoever owns the files in that directory.
func TestPointersToOthers(t *testing.T) {
	if os.Geteuid() != 0 || runtime.GOOS == "windows" {
		return
	}
	for name, lead := range map[string]func(t *testing.T) (dir, to string){
		".git of a file": func(t *testing.T) (string, string) {
			dir := repository(t)
			to := filepath.Join(filepath.Dir(dir), "apart")
			testkit.Git(t, dir, "init", "-q", "--separate-git-dir", to)
			return dir, to
		},
		"the main repository of a worktree": func(t *testing.T) (string, string) {
			dir := repository(t)
			testkit.Git(t, dir, "worktree", "add", "-q", "../wt")
			return filepath.Join(filepath.Dir(dir), "wt"), filepath.Join(dir, ".git")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, to := lead(t)
			if got, err := look(dir, "two\n"); err != nil || !got {
				t.Fatalf("HEAD has it: %t, %v", got, err)
			}
			if err := os.Lchown(to, 4711, 4711); err != nil {
				t.Fatal(err)
			}
			if _, err := look(dir, "two\n"); err == nil || !strings.Contains(err.Error(), "belongs to user 4711") {
				t.Errorf("it belongs to another user: %v", err)
			}
		})
	}
}

// TestTimeEnds: what takes too long is unknown.
func TestTimeEnds(t *testing.T) {
	dir := repository(t)
	now := time.Now()
	h, err := Open(dir, "", now)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Is(item, []byte("two\n"), now.Add(patience+time.Second)); err == nil {
		t.Error("an answer after the time was over")
	}
}

// TestNothingWritten: looking changes no file, and no time of one.
func TestNothingWritten(t *testing.T) {
	dir := repository(t)
	list := func() string {
		var b bytes.Buffer
		err := filepath.Walk(dir, func(p string, fi os.FileInfo, err error) error {
			if err == nil {
				b.WriteString(p + " " + fi.ModTime().String() + " " + fi.Mode().String() + "\n")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before := list()
	wantTwo(t, dir)
	if after := list(); after != before {
		t.Errorf("looking changed files:\n%s\n%s", before, after)
	}
}

func FuzzRefs(f *testing.F) {
	for _, s := range []string{"ref: refs/heads/main\n", strings.Repeat("a", 40) + "\n", "# pack-refs with: peeled\n" +
		strings.Repeat("a", 40) + " refs/heads/main\n^" + strings.Repeat("b", 40) + "\n", "gitdir: ../x\n", "ref: refs/../x", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if line, ok := oneLine(raw); ok {
			next, id, ok := parseRef(line)
			if ok && next == "" && id.IsZero() {
				t.Errorf("parseRef(%q) is nothing", line)
			}
			if ok && next != "" && (!filepath.IsLocal(next) || !strings.HasPrefix(filepath.Clean(next), "refs"+string(filepath.Separator))) {
				t.Errorf("parseRef(%q) leads to %q", line, next)
			}
		}
		if id, ok := findPacked(raw, "refs/heads/main"); ok && !bytes.Contains(raw, []byte(id.String()+" refs/heads/main")) {
			t.Errorf("findPacked: %s", id)
		}
	})
}

// FuzzRepository: whatever the files of a repository hold, there is an answer or an error.
func FuzzRepository(f *testing.F) {
	f.Add("ref: refs/heads/main\n", "[core]\n\trepositoryformatversion = 0\n", strings.Repeat("a", 40)+" refs/heads/main\n", "/nowhere\n")
	f.Add(strings.Repeat("a", 64), "[extensions]\nobjectformat=sha256\n[core]\nrepositoryformatversion=1\n", "", "")
	f.Fuzz(func(t *testing.T, headText, config, packed, alternates string) {
		dir := tempDir(t)
		for name, text := range map[string]string{"HEAD": headText, "config": config, "packed-refs": packed, "objects/info/alternates": alternates} {
			testkit.WriteFile(t, filepath.Join(dir, ".git/"+name), text, 0o644)
		}
		if got, err := look(dir, "two\n"); got || err == nil {
			t.Errorf("an empty repository has it: %t, %v", got, err)
		}
	})
}

// FuzzUnmerged: an index from outside ends in a list or an error.
func FuzzUnmerged(f *testing.F) {
	entry := func(path string, stage uint16) []byte {
		e := make([]byte, 62)
		e[26], e[27], e[40] = 0x81, 0xa4, 1
		e[60] = byte(stage << 4)
		e = append(e, path...)
		return append(e, make([]byte, 8-len(e)%8)...)
	}
	index := func(version byte, entries ...[]byte) []byte {
		raw := append([]byte("DIRC"), 0, 0, 0, version, 0, 0, 0, byte(len(entries)))
		for _, e := range entries {
			raw = append(raw, e...)
		}
		return append(raw, make([]byte, 20)...)
	}
	good := index(2, entry(".ai/a", 0), entry(".ai/b", 1), entry(".ai/b", 2), entry(".ai/b", 3))
	if list, err := unmerged(good, 20, ""); err != nil || len(list) != 1 || list[0].Path != ".ai/b" || list[0].Stages[2].Mode != 0o100644 {
		f.Fatalf("%+v, %v", list, err)
	}
	f.Add(good, 20, "")
	f.Add(index(4, entry("a", 1)), 20, "x")
	f.Add(index(3), 32, "")
	f.Fuzz(func(t *testing.T, raw []byte, size int, below string) {
		for _, size := range []int{20, 32} {
			cachedTree(raw, size)
		}
		if size != 20 {
			size = 32
		}
		list, err := unmerged(raw, size, below)
		if err == nil && len(list) > len(raw) {
			t.Fatalf("%d files in %d bytes", len(list), len(raw))
		}
	})
}

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// planted are the names in a repository where somebody else may have put a link, a pipe, a
// socket or a device, with what stands there otherwise. A name of no use is one that rye
// can do without.
var planted = []struct {
	name  string
	dir   bool
	noUse bool
}{
	{name: "rye.tmp", dir: true}, {name: "rye.lock"},
	{name: "logs", dir: true}, {name: "logs/refs", dir: true}, {name: "logs/HEAD", noUse: true},
	{name: "objects", dir: true}, {name: "objects/pack", dir: true}, {name: "objects/info", dir: true, noUse: true},
	{name: "refs", dir: true}, {name: "refs/heads", dir: true}, {name: "packed-refs"},
	{name: "HEAD", noUse: true}, {name: "config"}, {name: "info", dir: true, noUse: true},
}

// plant is a repository in which something may be put in the place of something else.
type plant struct {
	t       *testing.T
	dir     string
	outside string // a directory beside it
}

// put puts something in the place of name and returns what takes it back.
func (p plant) put(name, kind string, dir bool) (back func()) {
	p.t.Helper()
	must := func(err error) {
		p.t.Helper()
		if err != nil {
			p.t.Fatalf("%s as a %s: %v", name, kind, err)
		}
	}
	at, aside := filepath.Join(p.dir, filepath.FromSlash(name)), filepath.Join(p.dir, "aside")
	target := filepath.Join(p.outside, strings.ReplaceAll(name, "/", "-"))
	must(os.RemoveAll(target))
	_, err := os.Lstat(at)
	was := err == nil
	if was {
		must(os.Rename(at, aside))
	}
	must(os.MkdirAll(filepath.Dir(at), 0o755))
	switch st, _ := os.Stat(aside); {
	case was && st.IsDir():
		must(os.CopyFS(target, os.DirFS(aside)))
	case was:
		raw, err := os.ReadFile(aside)
		must(err)
		must(os.WriteFile(target, raw, 0o644))
	case dir:
		must(os.MkdirAll(target, 0o755))
	default:
		must(os.WriteFile(target, []byte("precious\n"), 0o644))
	}
	if dir {
		must(os.MkdirAll(filepath.Join(target, "dead", "more"), 0o755))
		must(os.WriteFile(filepath.Join(target, "precious"), []byte("precious\n"), 0o644))
		must(os.WriteFile(filepath.Join(target, "dead", "more", "precious"), []byte("precious\n"), 0o644))
	}
	switch kind {
	case "link":
		err = os.Symlink(target, at)
	case "pipe":
		err = syscall.Mkfifo(at, 0o644)
	case "socket":
		err = syscall.Mknod(at, syscall.S_IFSOCK|0o644, 0)
	case "device":
		err = syscall.Mknod(at, syscall.S_IFCHR|0o644, 1<<8|5) // /dev/zero
	}
	if err == syscall.EPERM || err == syscall.EINVAL {
		p.t.Logf("no %s can be made here: %v", kind, err)
		must(os.Symlink(target, at))
	} else {
		must(err)
	}
	return func() {
		must(os.Remove(at))
		if was {
			must(os.Rename(aside, at))
		}
	}
}

// bounded runs rye, which has to end by itself.
func (h *home) bounded(args ...string) (exit int, said string) {
	h.t.Helper()
	ctx, stop := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer stop()
	c := h.command(args...)
	cmd := exec.CommandContext(ctx, c.Path, c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.Dir, c.Env, c.SysProcAttr
	out, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		h.t.Errorf("rye %v did not end:\n%s", args, out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// everyName is everyFile with directories, links, and what else has a name.
func everyName(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var raw []byte
		if d.Type().IsRegular() {
			raw, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %x\n", path, d.Type(), raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// attack puts each kind of thing in each place, lets act happen, and compares everything
// outside. after has to work when the place is as it was. act does not need spare.
func (p plant) attack(h *home, act []string, after func(), spare ...string) {
	t := p.t
	for _, kind := range []string{"link", "pipe", "socket", "device"} {
		for _, at := range planted {
			if (kind == "socket" || kind == "device") && at.name != "rye.lock" && at.name != "packed-refs" && at.name != "objects/pack" {
				continue // opened like a pipe
			}
			what := fmt.Sprintf("rye %s with %s as a %s", act[0], at.name, kind)
			back := p.put(at.name, kind, at.dir)
			before := everyName(t, p.outside)
			exit, said := h.bounded(act...)
			if exit == 0 && !at.noUse && !slices.Contains(spare, at.name) {
				t.Errorf("%s: exit 0\n%s", what, said)
			}
			if strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") {
				t.Errorf("%s:\n%s", what, said)
			}
			if kind == "link" && exit != 0 && !strings.Contains(said, "link") && !strings.Contains(said, "regular file") {
				t.Errorf("%s is refused without saying why:\n%s", what, said)
			}
			if now := everyName(t, p.outside); now != before {
				t.Errorf("%s changed what lies outside:\n%s\nwas\n%s", what, now, before)
			}
			if kind == "pipe" {
				h.bounded("fsck")
				h.bounded("gc", "--dry-run")
			}
			if now := everyName(t, p.outside); now != before {
				t.Errorf("%s, and looking: changed what lies outside", what)
			}
			back()
			after()
		}
	}
}

// TestRegistryOfLinks: whatever stands in a registry at a path in the place of a file or
// a directory, nothing is read or written through it, and nothing is waited for.
func TestRegistryOfLinks(t *testing.T) {
	t.Parallel()
	alice, bob := shared(t)
	url := strings.TrimSpace(registryPath(t, alice))
	p := plant{t, url, t.TempDir()}
	n := 1
	alice.publishable("a", n)
	p.attack(alice, []string{"push", "--all"}, func() {
		alice.rye("push", "--all")
		n++
		alice.publishable("a", n)
	})
	bob.rye("update", "--yes")
	if got := bob.rye("registry", "list"); !strings.Contains(got, url) {
		t.Errorf("the reader: %s", got)
	}
}

// registryPath is where the registry of a home lies.
func registryPath(t *testing.T, h *home) string {
	t.Helper()
	for _, word := range strings.Fields(h.rye("registry", "list")) {
		if strings.HasSuffix(word, "registry.git") {
			return word
		}
	}
	t.Fatal("no registry")
	return ""
}

// TestRecordOfLinks: the same for the user's own record.
func TestRecordOfLinks(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	n := 0
	next := func() {
		n++
		h.write(noteFile, strings.Replace(attackNote, "version: 1.0.0", fmt.Sprintf("version: 1.0.%d", n), 1)+fmt.Sprintf("\nround %d\n", n))
	}
	next()
	h.rye("sign", noteRef)
	p := plant{t, h.store(), t.TempDir()}
	next()
	p.attack(h, []string{"sign", noteRef}, func() {
		h.rye("sign", noteRef)
		next()
	}, "packed-refs")

	// The directories of loose objects: all of them are links out of the repository.
	before := everyName(t, p.outside)
	fan := filepath.Join(p.outside, "fan")
	for i := range 256 {
		name := fmt.Sprintf("%02x", i)
		at := filepath.Join(p.dir, "objects", name)
		if err := os.MkdirAll(filepath.Join(fan, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(at); err == nil {
			if err := os.RemoveAll(filepath.Join(fan, name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(at, filepath.Join(fan, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(fan, name), at); err != nil {
			t.Fatal(err)
		}
	}
	before = everyName(t, p.outside)
	for _, args := range [][]string{{"sign", noteRef}, {"log"}, {"fsck"}, {"gc"}, {"fsck", "--repair"}} {
		if exit, said := h.bounded(args...); exit == 0 && args[0] != "log" && args[0] != "gc" {
			t.Errorf("rye %v with links for objects/xx: exit 0\n%s", args, said)
		}
	}
	if everyName(t, p.outside) != before {
		t.Error("objects were written or removed through links")
	}
}

// TestWorktreeIsNoRegistry: a linked worktree, whose .git is a file, is refused with what
// to name instead.
func TestWorktreeIsNoRegistry(t *testing.T) {
	t.Parallel()
	alice, _ := shared(t)
	url := registryPath(t, alice)
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+url+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := everyName(t, url)
	h := newHome(t)
	if exit, said := h.exit("registry", "add", tree, "--yes"); exit == 0 || !strings.Contains(said, "git-common-dir") {
		t.Errorf("exit %d: %s", exit, said)
	}
	if everyName(t, url) != before {
		t.Error("refusing changed files")
	}
}

// TestRegistryOfAnotherUser: a repository that belongs to another user is neither written
// nor read, as with git, until the user's git is told that it is safe.
func TestRegistryOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make files of another user")
	}
	const other = 12345
	alice, bob := shared(t)
	url := registryPath(t, alice)
	give(t, url, other)
	before := everyName(t, url)
	alice.publishable("a", 1)
	refused := func(h *home, args ...string) {
		t.Helper()
		exit, said := h.exit(args...)
		if exit != 16 || !strings.Contains(said, "belongs to user") || !strings.Contains(said, "safe.directory") {
			t.Errorf("rye %v: exit %d: %s", args, exit, said)
		}
		if now := everyName(t, url); now != before {
			t.Errorf("rye %v changed the repository of another user", args)
		}
	}
	refused(alice, "push", "--all")
	refused(bob, "fetch")
	refused(newHome(t), "registry", "add", url, "--yes")

	// What its own config says about it counts for nothing.
	config := filepath.Join(url, "config")
	raw, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(bytes.Clone(raw), "[safe]\n\tdirectory = *\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	before = everyName(t, url)
	refused(alice, "push", "--all")
	if err := os.WriteFile(config, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	before = everyName(t, url)

	// Who sudo runs this for is no other user, and only that one.
	if exit, said := alice.with(fmt.Sprintf("SUDO_UID=%d", other)).exit("push", "--all"); exit != 0 {
		t.Errorf("with SUDO_UID: exit %d: %s", exit, said)
	}
	before = everyName(t, url)
	refused(bob.with(fmt.Sprintf("SUDO_UID=%d", other+1)), "fetch")

	if _, err := exec.LookPath("git"); err == nil {
		settings := filepath.Join(t.TempDir(), "gitconfig")
		told := bob.with("GIT_CONFIG_GLOBAL=" + settings)
		for text, want := range map[string]int{
			"directory = " + url:                                   0,
			"directory = *":                                        0,
			"directory = " + filepath.Dir(url) + "/*":              0,
			"directory = *\n\tdirectory =":                         16,
			"directory = " + filepath.Dir(url):                     16,
			"directory = " + url + "x\n\tdirectory = registry.git": 16,
		} {
			if err := os.WriteFile(settings, []byte("[safe]\n\t"+text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if exit, said := told.exit("fetch"); exit != want {
				t.Errorf("safe.directory %q: exit %d, want %d: %s", text, exit, want, said)
			}
		}
	}

	// To an ordinary user root is another user, too.
	give(t, url, 0)
	for _, dir := range []string{url, filepath.Dir(url), filepath.Dir(filepath.Dir(url))} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before = everyName(t, url)
	carol := newHome(t)
	carol.ordinary()
	refused(carol, "registry", "add", url, "--yes")
	give(t, url, nobody)
	if exit, said := carol.exit("registry", "add", url, "--yes"); exit != 0 {
		t.Errorf("one's own: exit %d: %s", exit, said)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(url, "config"), &st); err != nil || st.Uid != nobody {
		t.Errorf("owner %d, %v", st.Uid, err)
	}
}

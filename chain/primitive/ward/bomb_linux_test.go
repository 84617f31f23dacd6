package ward

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

	"golang.org/x/sys/unix"
)

// TestAsNobody carries the attacks out for an ordinary user, whom permissions bind.
func TestAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	dir, err := os.MkdirTemp("/tmp", "rye-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "ward.test")
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "-test.run", "^(TestAfterTakes|TestAcross|TestNotTaken)$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// elsewhere returns a directory on another file system than dir.
func elsewhere(t *testing.T, dir string) string {
	t.Helper()
	var a, b unix.Stat_t
	if unix.Stat(dir, &a) != nil || unix.Stat("/dev/shm", &b) != nil || a.Dev == b.Dev {
		t.Skip("there is no second file system")
	}
	other, err := os.MkdirTemp("/dev/shm", "rye-ward-")
	if err != nil {
		t.Skip("there is no second file system to write to:", err)
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	return other
}

// TestAcross: what is taken to another file system is copied, no link followed, no pipe
// opened, and then removed.
func TestAcross(t *testing.T) {
	dir := project(t, "a", "secret/x")
	to := filepath.Join(elsewhere(t, dir), "to")
	w := look(t, Options{Project: dir})
	run(t, dir, `mkdir -p .vscode/d/e; echo tasks >.vscode/tasks.json; chmod 400 .vscode/tasks.json; ln -s ../secret .vscode/l; mkfifo .vscode/d/p
		echo deep >.vscode/d/e/f; chmod 111 .vscode/d/e; chmod 555 .vscode/d; ln -s secret .idea; mkfifo .envrc; truncate -s 1073741825 .RData`)
	taken, err := w.After(context.Background(), nil, to)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "taken", says(taken), []string{"new .vscode", "new .idea", "new .envrc", "new .RData"})
	for _, k := range taken {
		if _, err := os.Lstat(filepath.Join(dir, k.Path)); err == nil {
			t.Errorf("%s is still there", k.Path)
		}
		if k.Path == ".RData" { // more than is copied
			if st, err := os.Lstat(k.Where); err != nil || st.Mode().Perm() != 0 || st.Size() != maxCopied+1 || filepath.Dir(k.Where) != dir {
				t.Errorf("%s is at %s: %v, %v", k.Path, k.Where, st, err)
			}
		}
	}
	for name, want := range map[string]string{"tasks.json": "tasks\n", "d/e/f": "deep\n"} {
		if got, err := os.ReadFile(filepath.Join(to, ".vscode", name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if l, err := os.Readlink(filepath.Join(to, ".idea")); l != "secret" {
		t.Errorf(".idea leads to %q, %v", l, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "secret/x")); err != nil {
		t.Error("what a link led to was taken")
	}
}

// TestNotTaken: what cannot be taken is an error that names it, and the rest is taken.
func TestNotTaken(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing keeps root from moving a file; TestAsNobody runs this")
	}
	dir := project(t, "a/x")
	w := look(t, Options{Project: dir})
	put(t, dir, "a/.envrc", ".mcp.json")
	to := filepath.Join(t.TempDir(), "closed")
	put(t, to, "a/")
	if err := os.Chmod(filepath.Join(to, "a"), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(to, "a"), 0o700)
	taken, err := w.After(context.Background(), nil, to)
	equal(t, "taken", says(taken), []string{"new .mcp.json"})
	if err == nil || !strings.Contains(err.Error(), "a/.envrc (direnv) is new and could not be removed") {
		t.Errorf("After: %v", err)
	}
}

// TestDecoys: directories that a run makes do not keep others from being looked at, and
// what is too much is said.
func TestDecoys(t *testing.T) {
	dir := project(t, "src/deep/er/x")
	w := look(t, Options{Project: dir, Max: 50})
	for i := range 500 {
		put(t, dir, fmt.Sprintf("a%d/", i))
	}
	put(t, dir, "src/deep/er/more/.envrc", "zzz/y/x/.git/")
	taken, err := w.After(context.Background(), nil, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "taken", says(taken), []string{"new src/deep/er/more/.envrc", "new zzz/y/x/.git"})
	equal(t, "unbound", w.Unbound(), nil)

	dir = project(t, "src/x")
	w = look(t, Options{Project: dir, Max: 20})
	for i := range 500 {
		put(t, dir, fmt.Sprintf("src/b%d/", i))
	}
	put(t, dir, "src/c/.envrc")
	if _, err := w.After(context.Background(), nil, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.Unbound(), "\n"); !strings.Contains(got, "new directories beyond the first 400 of the run") {
		t.Errorf("unbound: %s", got)
	}
}

// TestManyEntries: a directory with more names than are read costs no more, is said, and
// hides none of the names of the table.
func TestManyEntries(t *testing.T) {
	dir := elsewhere(t, t.TempDir()) // in memory: on a disk it takes half a minute to make so many
	put(t, dir, "src/kept/x", "src/.git/")
	w := look(t, Options{Project: dir})
	// A file system in memory lists the newest first: these are not among what is read.
	put(t, dir, "src/.envrc", "src/kept/.envrc", "src/HEAD", "src/objects/", "src/refs/")
	fd, err := unix.Open(filepath.Join(dir, "src"), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for i := range maxWide + 20_000 {
		if err := unix.Mknodat(fd, fmt.Sprintf("%07d", i), unix.S_IFREG|0o600, 0); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	taken, err := w.After(context.Background(), nil, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began))
	got := strings.Join(says(taken), "\n")
	for _, want := range []string{"new src/.envrc", "new src/kept/.envrc"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing among %s", want, got)
		}
	}
	if st, err := os.Lstat(filepath.Join(dir, "src/HEAD")); err == nil {
		t.Errorf("it is a git directory now: %v", st)
	}
	if _, err := os.Lstat(filepath.Join(dir, "src/.git")); err != nil {
		t.Error("what was there before was taken")
	}
	if got := strings.Join(w.Unbound(), "\n"); !strings.Contains(got, "src has more entries than are checked") {
		t.Errorf("unbound: %s", got)
	}
}

// TestSwapped: somebody who swaps directories for links while it is looked and taken gets
// nothing outside of the project taken, read or closed.
func TestSwapped(t *testing.T) {
	dir, outside := project(t, "a/sub/x"), project(t)
	private := append(gitDir("sub/.git"), ".envrc", "sub/.envrc", "sub/closed/")
	put(t, outside, private...)
	put(t, dir, "l -> "+outside)
	if err := os.Chmod(filepath.Join(outside, "sub/closed"), 0o100); err != nil {
		t.Fatal(err)
	}
	real, err := os.Open(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, dir+"/a", unix.AT_FDCWD, dir+"/l", unix.RENAME_EXCHANGE)
			}
		}
	}()
	rounds, took := 1000, 0
	if testing.Short() {
		rounds = 200
	}
	for range rounds {
		w := look(t, Options{Project: dir})
		put(t, procPath(int(real.Fd())), ".envrc", "sub/.envrc", "sub/.git/", "sub/closed/")
		taken, _ := w.After(context.Background(), nil, t.TempDir()) // an error is the swapper's, here
		took += len(taken)
	}
	close(stop)
	<-stopped
	if took == 0 {
		t.Error("nothing was taken at all")
	}
	for _, p := range private {
		if _, err := os.Lstat(filepath.Join(outside, p)); err != nil {
			t.Errorf("outside of the project: %v", err)
		}
	}
	if st, err := os.Stat(filepath.Join(outside, "sub/closed")); err != nil || st.Mode().Perm() != 0o100 {
		t.Errorf("outside of the project: %v, %v", st.Mode(), err)
	}
}

// TestOtherFileSystem: a mount in the project is not entered, and that is said.
func TestOtherFileSystem(t *testing.T) {
	dir := project(t, "a/x", "m/")
	if err := unix.Mount("tmpfs", filepath.Join(dir, "m"), "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("nothing may be mounted here:", err)
	}
	defer unix.Unmount(filepath.Join(dir, "m"), unix.MNT_DETACH)
	put(t, dir, "m/.envrc", "m/sub/.git/")
	w := look(t, Options{Project: dir})
	equal(t, "protected", mounts(t, w), nil)
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.openSteps("m/sub", unix.O_RDONLY|unix.O_DIRECTORY); !crossed(err) {
		t.Errorf("step by step it is entered: %v", err)
	}
	equal(t, "unbound", w.Unbound(), []string{"m is another file system, and was not checked for git directories and files that programs run by themselves"})
}

// TestSteps: where the kernel lacks openat2 a directory is opened name by name, by the same
// rules.
func TestSteps(t *testing.T) {
	dir := project(t, "a/b/c/x", "l -> a", "a/l -> b", "f")
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for rel, want := range map[string]bool{".": true, "a/b/c": true, "l": false, "l/b": false, "a/l": false, "a/l/c": false, "f": false, "none": false} {
		fd, err := d.openSteps(rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
		if (err == nil) != want {
			t.Errorf("openSteps(%s): %v", rel, err)
		}
		if err == nil {
			unix.Close(fd)
		}
		if fd, err := d.openDir(rel, unix.O_RDONLY); (err == nil) != want {
			t.Errorf("openDir(%s): %v", rel, err)
		} else if err == nil {
			unix.Close(fd)
		}
	}
}

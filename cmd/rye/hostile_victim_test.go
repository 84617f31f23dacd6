//go:build unix

package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// victim is an ordinary user with a home full of canaries, who enters hostile clones.
type victim struct {
	t       testing.TB
	top     string // holds home, own, beyond, shims, log and the clones
	env     []string
	as      *syscall.SysProcAttr
	uid     int
	project string // the id of the victim's own project
	record  string // and its record
	reached atomic.Int64
	where   string // host:port that counts who comes
	ask     *json.Encoder
	answer  *json.Decoder
}

// stranger is the user that a victim is when the tests run as root, and who has nothing
// else on this machine; otherwise a victim is who runs the tests.
const stranger = 61_237

// programsWatched are the programs that a command might start; each notes that it was. What looks
// for an interpreter, git or curl finds these and no other.
var programsWatched = []string{"git", "ssh", "curl", "wget", "python3", "python", "node", "bash", "sh", "env", "uv", "git-credential-canary", "gpg", "ssh-keygen", "xdg-open", "code"}

func newVictim(t testing.TB) *victim {
	t.Helper()
	top, err := os.MkdirTemp("", "rye-victim") // short, for sockets; world-readable on the way
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeTree(top) })
	v := &victim{t: t, top: top, uid: os.Geteuid()}
	must(t, os.Chmod(top, 0o755))
	must(t, os.Chmod(bin, 0o755))
	v.listen()
	for name, text := range map[string]string{
		"home/.bashrc": "echo mine\n", "home/.gitconfig": "[user]\n\tname = Victim\n", "home/.ssh/id_ed25519": "not a key\n", "home/.netrc": "machine x\n",
		"home/letters/one.txt": "dear\n", "beyond/victim.txt": "precious\n", "beyond/dir/one.md": "precious\n", "beyond/dir/deep/two.sh": "#!/bin/sh\ntouch ran\n",
		"beyond/ai/rye.yaml": projectText(strings.Repeat("5", 32), ""), "beyond/ai/tools/acme/hello.sh": attackTool, "log/README": "what was called\n",
		"beyond/secret.md": strings.Replace(attackNote, "Hello", "Secret", 1),
	} {
		v.write(filepath.Join(top, name), text)
	}
	for _, name := range programsWatched {
		v.program(filepath.Join(top, "shims", name), name)
	}
	v.environment()
	v.begin()
	v.employ()
	return v
}

var must = testkit.Must // for short

func (v *victim) write(path, text string) {
	v.t.Helper()
	testkit.WriteFile(v.t, path, text, 0o644)
}

// program writes a program that notes its name and arguments, and fails.
func (v *victim) program(path, name string) {
	v.t.Helper()
	v.write(path, "#!/bin/sh\necho \""+name+" $*\" >> "+filepath.Join(v.top, "log", "called")+"\nexit 1\n")
	must(v.t, os.Chmod(path, 0o755))
}

// listen counts connections, of every protocol that begins with one.
func (v *victim) listen() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(v.t, err)
	v.t.Cleanup(func() { l.Close() })
	v.where = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			v.reached.Add(1)
			c.Close()
		}
	}()
}

func (v *victim) environment() {
	home, proxy := filepath.Join(v.top, "home"), "http://"+v.where
	v.env = []string{"HOME=" + home, "PATH=.:" + filepath.Join(v.top, "shims") + "::relative:" + bin, "LANG=C.UTF-8", "TMPDIR=" + filepath.Join(v.top, "tmp"),
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "http_proxy=" + proxy, "https_proxy=" + proxy, "ALL_PROXY=" + proxy, "GIT_SSH=" + filepath.Join(v.top, "shims", "ssh"),
		"RYE_TOKEN_127_0_0_1=secret"}
	must(v.t, os.MkdirAll(filepath.Join(v.top, "tmp"), 0o755))
}

// begin gives everything to the user, who makes a project of their own.
func (v *victim) begin() {
	if v.uid == 0 {
		v.uid = stranger
		v.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		v.give(v.top)
	}
	own := filepath.Join(v.top, "own")
	must(v.t, os.Mkdir(own, 0o755))
	v.write(filepath.Join(own, ".ai", "tools", "acme", "hello.sh"), attackTool)
	v.give(own)
	for _, args := range [][]string{{"init", "--namespace", "acme"}, {"sign", "tool:acme/hello"}} {
		if out, err := v.commandIn(own, args).CombinedOutput(); err != nil {
			v.t.Fatalf("rye %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	out, err := v.commandIn(own, []string{"where", "record"}).Output()
	must(v.t, err)
	v.record = strings.TrimSpace(string(out))
	text, err := os.ReadFile(filepath.Join(own, ".ai", "rye.yaml"))
	must(v.t, err)
	_, id, _ := strings.Cut(string(text), "project: ")
	v.project = id[:32]
}

// give makes a tree the user's.
func (v *victim) give(dir string) {
	if v.as == nil {
		return
	}
	must(v.t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.Lchown(path, stranger, stranger))
	}))
}

func (v *victim) commandIn(dir string, args []string) *exec.Cmd {
	cmd := exec.Command(program("rye"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, v.env, v.as
	return cmd
}

func (v *victim) command(c *clone, args []string) *exec.Cmd { return v.commandIn(c.cwd(), args) }

// small is a copy of this test program that everybody may run.
var small = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	from, err := os.Open(self)
	if err != nil {
		return "", err
	}
	defer from.Close()
	path := filepath.Join(bin, "servant")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return path, errors.Join(err, to.Close())
})

// employ starts the servant.
func (v *victim) employ() {
	path, err := small()
	must(v.t, err)
	cmd := exec.Command(path)
	cmd.Env, cmd.Dir, cmd.SysProcAttr, cmd.Stderr = append(v.env, servantEnv+"=1", "GOMAXPROCS=1"), v.top, v.as, os.Stderr
	in, err := cmd.StdinPipe()
	must(v.t, err)
	out, err := cmd.StdoutPipe()
	must(v.t, err)
	must(v.t, cmd.Start())
	v.t.Cleanup(func() { in.Close(); cmd.Wait() })
	v.ask, v.answer = json.NewEncoder(in), json.NewDecoder(out)
}

// serve runs one command, in the servant.
func serve(q attemptRequest) attemptResult {
	cmd := exec.Command(q.Args[0], q.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = q.Dir, q.Env, strings.NewReader(q.Stdin)
	out := &head{room: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return attemptResult{Exit: -1, Out: err.Error()}
	}
	var late atomic.Bool
	timer := time.AfterFunc(20*time.Second, func() { late.Store(true); syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	cmd.Wait()
	timer.Stop()
	p := cmd.ProcessState
	rss := p.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS != "darwin" {
		rss <<= 10
	}
	return attemptResult{Exit: p.ExitCode(), CPU: p.UserTime() + p.SystemTime(), RSS: rss, Out: string(out.text), Late: late.Load()}
}

// head keeps the beginning of what is written to it.
type head struct {
	text []byte
	room int
}

func (h *head) Write(b []byte) (int, error) {
	n := min(len(b), h.room-len(h.text))
	h.text = append(h.text, b[:n]...)
	return len(b), nil
}

// called returns what was run or reached since the last time; "" for nothing.
func (v *victim) called() string {
	text, _ := os.ReadFile(filepath.Join(v.top, "log", "called"))
	os.Remove(filepath.Join(v.top, "log", "called"))
	if n := v.reached.Swap(0); n > 0 {
		text = fmt.Appendf(text, "%d connections\n", n)
	}
	return string(text)
}

// ryesOwn are the directories of rye's, below home, with what may be made in them.
var ryesOwn = map[string]bool{".cache/rye": true, ".local/share/rye": true, ".local/state/rye": true}

// outside lists everything around the clones: names, modes, times, links and bytes, but for
// the inside of rye's own directories, where only what has a name of rye's may lie.
func (v *victim) outside() string {
	var b strings.Builder
	err := filepath.WalkDir(v.top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(v.top, path)
		switch inHome, _ := filepath.Rel(filepath.Join(v.top, "home"), path); {
		case rel == "clones":
			return fs.SkipDir
		case ryesOwn[inHome]:
			fmt.Fprint(&b, v.strange(path))
			return fs.SkipDir
		case rel == ".", inHome == ".cache", inHome == ".local", strings.HasPrefix(inHome, ".local/") && d.IsDir(), rel == "home", rel == "tmp", rel == "log":
			return nil // rye may make its own directories there, and its temporary files
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(raw))
		} else if info.Mode()&fs.ModeSymlink != 0 {
			sum, _ = os.Readlink(path)
		}
		fmt.Fprintf(&b, "%s %v %v %s\n", rel, info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	})
	must(v.t, err)
	return b.String()
}

// ryesNames begin the names of what rye makes right in its directories.
var ryesNames = []string{"records", "catalogue", "projects", "run", "registries", "verdicts", "stdlib", "engine", "seen", "identity", ".rye-tmp-", "rye-", "fulltext", "search", "words", "machine", "namespaces", "ledger", "serving"}

// strange lists what has no name of rye's in one of its directories.
func (v *victim) strange(dir string) string {
	list, _ := os.ReadDir(dir)
	text := ""
	for _, e := range list {
		known := false
		for _, name := range ryesNames {
			known = known || strings.HasPrefix(e.Name(), name)
		}
		if !known {
			text += "strange: " + filepath.Join(dir, e.Name()) + "\n"
		}
	}
	return text
}

// clone makes a hostile tree; nil when that cannot be done here.
func (v *victim) clone(tree hostileClone) *clone {
	c := &clone{v: v, dir: filepath.Join(v.top, "clones", strings.NewReplacer(" ", "-", "/", "-", ",", "").Replace(tree.name))}
	must(v.t, os.MkdirAll(c.dir, 0o755))
	tree.make(c)
	if c.no != "" {
		v.t.Logf("%s: %s", tree.name, c.no)
		c.remove()
		return nil
	}
	if !tree.foreign {
		v.give(filepath.Join(v.top, "clones"))
	}
	v.called()
	return c
}

func (c *clone) remove() { removeTree(filepath.Join(c.v.top, "clones")) }

// removeTree removes what may be closed to its owner.
func removeTree(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}

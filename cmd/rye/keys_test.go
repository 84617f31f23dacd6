package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// key returns what rye key show says of a key.
func (h *home) key(name string) (k struct{ Fingerprint, Path, SSH string }) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.rye("key", "show", name, "--json")), &k); err != nil {
		h.t.Fatal(err)
	}
	return k
}

// fails runs a command that must end with a status, and returns what it said.
func (h *home) fails(status int, args ...string) string {
	h.t.Helper()
	out, err := h.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != status {
		h.t.Fatalf("rye %s: %v, want status %d\n%s", strings.Join(args, " "), err, status, out)
	}
	return string(out)
}

func (h *home) read(path string) string {
	h.t.Helper()
	return testkit.ReadFile(h.t, filepath.Join(h.dir, filepath.FromSlash(path)))
}

func (h *home) with(kv ...string) *home {
	g := *h
	g.env = append(append([]string(nil), h.env...), kv...)
	return &g
}

// installed is a project where an item of somebody else's registry is locked.
func installed(t *testing.T) (alice, bob *home, url string) {
	needBash(t)
	alice, bob = newHome(t), newHome(t)
	bob.write(".ai/rye.yaml", strings.Replace(bob.read(".ai/rye.yaml"), "namespace: acme", "namespace: local", 1))
	alice.rye("new", "tool", "acme/hello", "--lang", "bash")
	alice.rye("sign", "--all")
	url = filepath.Join(t.TempDir(), "registry.git")
	alice.rye("registry", "init", url, "--yes")
	alice.rye("push", "--all")
	bob.rye("registry", "add", url, "--yes")
	bob.rye("add", "acme/tool/hello", "--yes")
	return alice, bob, url
}

// TestDeniedKeyStopsEverything: attack 68 with a denial of one's own. It holds for
// what is locked, offline, and for one's own items, until it is taken back.
func TestDeniedKeyStopsEverything(t *testing.T) {
	t.Parallel()
	alice, bob, _ := installed(t)
	theirs, mine := alice.key("").Fingerprint, bob.key("").Fingerprint
	bob.rye("execute", "tool:acme/hello", "--frozen", "--offline")
	bob.rye("trust", "deny", theirs, "--reason", "stolen")
	for _, args := range [][]string{
		{"execute", "tool:acme/hello"}, {"execute", "tool:acme/hello", "--frozen", "--offline"},
		{"load", "tool:acme/hello"}, {"verify", "tool:acme/hello"}, {"trust", "explain", "tool:acme/hello"},
	} {
		if said := bob.fails(12, args...); !strings.Contains(said, "stolen") {
			t.Errorf("rye %s does not say why: %s", strings.Join(args, " "), said)
		}
	}
	bob.rye("trust", "allow", theirs)
	bob.rye("execute", "tool:acme/hello", "--frozen", "--offline")

	bob.rye("new", "knowledge", "local/note")
	bob.rye("sign", "knowledge:local/note")
	bob.rye("trust", "deny", mine)
	bob.fails(12, "load", "knowledge:local/note")
	bob.rye("new", "knowledge", "local/other")
	bob.fails(12, "sign", "knowledge:local/other")
	if list := bob.rye("key", "list"); !strings.Contains(list, "denied") {
		t.Errorf("key list does not say that the key is denied:\n%s", list)
	}
}

// pinned is an item of alice's in bob's project, where her key counts for the
// namespace friends only.
func pinned(t *testing.T) (bob *home, fingerprint, text string) {
	alice, bob := newHome(t), newHome(t)
	alice.rye("new", "knowledge", "acme/style")
	alice.rye("sign", "--all")
	k := alice.key("")
	bob.rye("trust", "pin", k.SSH, "--namespace", "friends", "--fingerprint", k.Fingerprint, "--yes")
	text = alice.read(".ai/knowledge/acme/style.md")
	bob.write(".ai/knowledge/acme/style.md", text)
	return bob, k.Fingerprint, text
}

// TestAttack10OtherNamespace: a known key counts for its namespace only.
func TestAttack10OtherNamespace(t *testing.T) {
	t.Parallel()
	bob, fp, _ := pinned(t)
	if said := bob.fails(11, "load", "knowledge:acme/style"); !strings.Contains(said, "that you do not trust for acme/") {
		t.Error(said)
	}
	bob.rye("trust", "pin", fp, "--namespace", "acme", "--yes")
	bob.rye("load", "knowledge:acme/style")
}

// TestAttack11ShortFingerprint: a fingerprint that begins like a known one is
// another fingerprint.
func TestAttack11ShortFingerprint(t *testing.T) {
	t.Parallel()
	bob, known, text := pinned(t)
	bob.rye("trust", "pin", known, "--namespace", "acme", "--yes")
	bob.rye("load", "knowledge:acme/style")
	line := regexp.MustCompile(`rye:signed:v2:\S+:([A-Za-z0-9_-]{43})`).FindStringSubmatch(text)
	if line == nil {
		t.Fatalf("no signature line in\n%s", text)
	}
	fp := line[1]
	forged := fp[:12] + flip(fp[12]) + fp[13:] // 72 bits the same
	bob.write(".ai/knowledge/acme/style.md", strings.Replace(text, fp, forged, 1))
	if said := bob.fails(11, "load", "knowledge:acme/style"); !strings.Contains(said, "not known here") {
		t.Error(said)
	}
}

func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// TestRotationGoesOn: a rotation that a dead host stopped leaves the old key in
// place and goes on where it was.
func TestRotationGoesOn(t *testing.T) {
	t.Parallel()
	alice, bob, url := installed(t)
	before := alice.key("")
	if err := os.Rename(url, url+".gone"); err != nil {
		t.Fatal(err)
	}
	if out, err := alice.command("key", "rotate", "--yes").CombinedOutput(); err == nil || !strings.Contains(string(out), "the rotation stopped") {
		t.Fatalf("rotated without the registry: %s", out)
	}
	if now := alice.key(""); now != before {
		t.Errorf("the key is %v and was %v", now, before)
	}
	next := alice.key("default.next").Fingerprint
	if err := os.Rename(url+".gone", url); err != nil {
		t.Fatal(err)
	}
	alice.rye("key", "rotate", "--yes")
	if now := alice.key("").Fingerprint; now != next || now == before.Fingerprint {
		t.Errorf("the key is %s, want %s, which the first try made", now, next)
	}
	retired := ""
	for _, line := range strings.Split(alice.rye("key", "list"), "\n") {
		if strings.Contains(line, before.Fingerprint) {
			retired, _, _ = strings.Cut(line, " ")
		}
	}
	if !strings.HasPrefix(retired, "default.retired-") {
		t.Fatalf("the old key is called %q", retired)
	}
	alice.fails(2, "key", "rotate", retired, "--local", "--yes")
	// The retired key publishes nothing any more.
	alice.rye("new", "knowledge", "acme/late")
	alice.with("RYE_KEY="+retired).fails(12, "sign", "knowledge:acme/late")
	alice.rye("sign", "knowledge:acme/late")
	alice.with("RYE_KEY="+retired).fails(12, "push", "knowledge:acme/late")
	alice.rye("push", "knowledge:acme/late")
	bob.rye("add", "acme/knowledge/late", "--yes")
	bob.rye("execute", "tool:acme/hello", "--frozen")
}

// TestRotationEnds: a rotation that died after the old key was retired, and before the new
// one took its place, ends when it is called again.
func TestRotationEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("key", "new", "work", "--namespace", "acme")
	before := h.key("work")
	h.rye("key", "rotate", "work", "--yes")
	rotated, trust := h.key("work"), h.rye("trust", "list")
	retired, err := filepath.Glob(before.Path + ".retired-*")
	if err != nil || len(retired) != 1 {
		t.Fatalf("retired keys: %v, %v", retired, err)
	}
	if err := os.Rename(before.Path, before.Path+".next"); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(retired[0])
	if err == nil {
		err = os.WriteFile(before.Path, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said := h.rye("key", "rotate", "work", "--yes"); !strings.Contains(said, "kept as "+retired[0]+"\n") {
		t.Errorf("it does not say where the old key is:\n%s", said)
	}
	if now := h.key("work"); now != rotated {
		t.Errorf("the key is %v, want %v", now, rotated)
	}
	if now := h.rye("trust", "list"); now != trust {
		t.Errorf("the trust store says\n%s\nand said\n%s", now, trust)
	}
	if files, _ := filepath.Glob(before.Path + "*"); len(files) != 2 {
		t.Errorf("files of the key: %v", files)
	}
	h.fails(2, "key", "rotate", filepath.Base(retired[0]), "--yes")
	if err := os.WriteFile(retired[0]+".next", old, 0o600); err != nil {
		t.Fatal(err)
	}
	h.fails(2, "key", "rotate", filepath.Base(retired[0]), "--yes") // nothing replaces what is kept
}

// startAgent runs a real ssh-agent for the time of a test and returns its socket.
func startAgent(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("its ssh-agent is a service")
	}
	for _, name := range []string{"ssh-agent", "ssh-add", "ssh-keygen"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	dir, err := os.MkdirTemp("", "rye") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", sock)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // it prints its variables once it listens
		t.Fatal(err)
	}
	return sock
}

func ssh(t *testing.T, sock, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+sock)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// TestAgentSigns: the agent's key signs items and commits; it has to be the only
// one, or be named.
func TestAgentSigns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	none := h.with("RYE_KEY=agent", "SSH_AUTH_SOCK=")
	if said := none.fails(6, "sign", "--all"); !strings.Contains(said, "SSH_AUTH_SOCK") {
		t.Error(said)
	}
	sock := startAgent(t)
	a := h.with("RYE_KEY=agent", "SSH_AUTH_SOCK="+sock)
	a.fails(3, "sign", "--all")
	dir := t.TempDir()
	for _, k := range []string{"one", "two"} {
		ssh(t, sock, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, k))
	}
	ssh(t, sock, "ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", filepath.Join(dir, "rsa"))
	ssh(t, sock, "ssh-add", "-q", filepath.Join(dir, "rsa"))
	a.fails(3, "sign", "--all") // an RSA key is none
	ssh(t, sock, "ssh-add", "-q", filepath.Join(dir, "one"))
	if said := a.fails(11, "sign", "--all"); !strings.Contains(said, "rye key import agent") {
		t.Errorf("a key that is not the user's yet: %s", said)
	}
	a.rye("key", "import", "agent")
	a.rye("sign", "--all")
	a.rye("verify")
	one := a.key("").Fingerprint
	if !strings.Contains(a.rye("show", "knowledge:acme/style", "--json"), one) {
		t.Error("the item is not signed by the agent's key")
	}
	ssh(t, sock, "ssh-add", "-q", filepath.Join(dir, "two"))
	if said := a.fails(2, "key", "show"); !strings.Contains(said, "choose one") {
		t.Error(said)
	}
	named := h.with("RYE_KEY=agent:"+one, "SSH_AUTH_SOCK="+sock)
	if got := named.key("").Fingerprint; got != one {
		t.Errorf("named %s, got %s", one, got)
	}
	h.with("RYE_KEY=agent:SHA256:x", "SSH_AUTH_SOCK="+sock).fails(2, "key", "show")
	named.fails(2, "key", "rotate", "--yes")
	named.fails(3, "key", "export", "--yes")
	named.rye("key", "export", "--public")
	fresh := h.with("RYE_KEY=agent:"+one, "SSH_AUTH_SOCK="+sock, "XDG_CONFIG_HOME="+t.TempDir())
	fresh.rye("init", filepath.Join(t.TempDir(), "other")) // begins with the agent's key, and believes it
	// It fails for whatever is not right on this machine, such as another rye on PATH.
	if said, _ := named.command("doctor").Output(); !strings.Contains(string(said), one) {
		t.Errorf("doctor does not see the agent's key: %s", said)
	}
}

// TestKeyServiceSigns: a plug-in of sigstore's signs, through the engine.
func TestKeyServiceSigns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "sigstore-kms-test")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	build := exec.Command("go", "build", "-o", name, "../../objects/trust/kms/testdata/plugin")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plug-in: %v\n%s", err, out)
	}
	path := "PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")
	k := h.with(path, "RYE_KEY=kms:test://alice")
	k.rye("new", "knowledge", "acme/style")
	k.fails(11, "sign", "--all")
	k.rye("key", "import", "kms:test://alice")
	k.rye("sign", "--all")
	k.rye("verify")
	if git, err := exec.LookPath("git"); err == nil {
		signers := filepath.Join(t.TempDir(), "signers")
		if err := os.WriteFile(signers, []byte(k.rye("trust", "allowed-signers")), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "-C", h.store(), "-c", "gpg.ssh.allowedSignersFile="+signers, "verify-commit", "HEAD")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("git verify-commit: %v\n%s", err, out)
		}
	}
	for uri, status := range map[string]int{
		"test://refuses": 6, "test://lies": 10, "test://ecdsa": 11, "test://silent": 6, "absent://x": 3, "nothing": 2,
	} {
		h.with(path, "RYE_KEY=kms:"+uri).fails(status, "key", "import", "kms:"+uri)
	}
	if list := h.rye("trust", "list"); strings.Contains(list, "test://") {
		t.Errorf("the address of the key service is kept:\n%s", list)
	}
}

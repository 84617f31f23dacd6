package trust

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

func TestKeySavedAndLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "default")
	k := newKey(t)
	if err := k.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	got, err := LoadKey(path, nil)
	if err != nil || got.Public() != k.Public() || !got.priv.Equal(k.priv) {
		t.Fatalf("LoadKey = %v, %v; want %v", got, err, k)
	}
	if pub, err := ReadPublic(path); err != nil || pub != k.Public() {
		t.Errorf("ReadPublic = %v, %v", pub, err)
	}
	if runtime.GOOS != "windows" {
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if st, err := os.Stat(p); err != nil || st.Mode().Perm() != want {
				t.Errorf("mode of %s = %v, %v; want %o", p, st.Mode(), err, want)
			}
		}
	}
	before, _ := os.ReadFile(path)
	if err := newKey(t).Save(path, nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("second Save = %v, want conflict", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the key was overwritten")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := LoadKey(path+"x", nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("missing file: %v, want not_found", err)
	}
}

// TestKeySavedOnce: of many writers of one name exactly one wins, and the file is its key.
func TestKeySavedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var wg sync.WaitGroup
	won := make(chan *FileKey, 16)
	for range 16 {
		k := newKey(t)
		wg.Go(func() {
			if k.Save(path, nil) == nil {
				won <- k
			}
		})
	}
	wg.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d writers won", len(won))
	}
	if got, err := LoadKey(path, nil); err != nil || got.Public() != (<-won).Public() {
		t.Errorf("LoadKey = %v, %v", got, err)
	}
}

func TestKeyWithPassphrase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	k := newKey(t)
	if err := k.Save(path, []byte("open sesame")); err != nil {
		t.Fatal(err)
	}
	say := func(s string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(s), nil } }
	if got, err := LoadKey(path, say("open sesame")); err != nil || got.Public() != k.Public() {
		t.Errorf("right passphrase: %v, %v", got, err)
	}
	for name, ask := range map[string]func() ([]byte, error){
		"wrong": say("open barley"), "empty": say(""), "nobody to ask": nil,
		"asking fails": func() ([]byte, error) { return nil, os.ErrClosed },
	} {
		if _, err := LoadKey(path, ask); !fault.Is(err, fault.Auth) {
			t.Errorf("%s: %v, want authentication", name, err)
		}
	}
	if pub, err := ReadPublic(path); err != nil || pub != k.Public() {
		t.Errorf("ReadPublic without a passphrase = %v, %v", pub, err)
	}
}

func TestKeyFileOthersMayRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing on Windows")
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := newKey(t).Save(path, nil); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o610, 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKey(path, nil)
		if want := "chmod 600 " + path; !fault.Is(err, fault.Auth) || fault.HintOf(err).String() != want {
			t.Errorf("mode %o: %v (mend %q), want authentication (mend %q)", mode, err, fault.HintOf(err).String(), want)
		}
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Chmod(open, 0o777)
	if err := newKey(t).Save(filepath.Join(open, "key"), nil); !fault.Is(err, fault.Auth) {
		t.Errorf("directory where others may write: %v, want authentication", err)
	}
}

// badKeyFiles are private key files that must not load, by what is wrong.
func badKeyFiles(t testing.TB) map[string][]byte {
	k, other := newKey(t), newKey(t)
	encode := func(b *pem.Block, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(b)
	}
	good := encode(ssh.MarshalPrivateKey(k.priv, ""))
	replaced := func(old, new []byte, n int) []byte {
		b, _ := pem.Decode(good)
		return pem.EncodeToMemory(&pem.Block{Type: b.Type, Bytes: bytes.Replace(b.Bytes, old, new, n)})
	}
	mixed := slices.Concat(k.priv[:32], other.priv[32:]) // signing with this gives the private half away
	return map[string][]byte{
		"empty":                nil,
		"no pem":               []byte("hello\n"),
		"pkcs8":                pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}),
		"text before":          append([]byte("hello\n"), good...),
		"text after":           append(slices.Clone(good), "hello\n"...),
		"two keys":             append(slices.Clone(good), good...),
		"truncated":            good[:len(good)/2],
		"foreign public half":  encode(ssh.MarshalPrivateKey(ed25519.PrivateKey(mixed), "")),
		"foreign outer public": replaced(k.pub.b[:], other.pub.b[:], 1),
		"identity outer":       replaced(k.pub.b[:], append([]byte{1}, make([]byte, 31)...), 1),
		"identity everywhere":  replaced(k.pub.b[:], append([]byte{1}, make([]byte, 31)...), -1),
		"other type":           replaced([]byte("ssh-ed25519"), []byte("ssh-ed25518"), -1),
	}
}

func TestKeyFileRefused(t *testing.T) {
	dir := t.TempDir()
	for name, raw := range badKeyFiles(t) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKey(path, nil)
		if c := fault.CodeOf(err); c != fault.Malformed && c != fault.Untrusted {
			t.Errorf("%s: %v (%s)", name, err, c)
		}
	}
	if _, err := LoadKey(dir, nil); !fault.Is(err, fault.Malformed) {
		t.Errorf("a directory: %v", err)
	}
	big := filepath.Join(dir, "big")
	os.WriteFile(big, make([]byte, keyFileMax+1), 0o600)
	if _, err := LoadKey(big, nil); !fault.Is(err, fault.Limit) {
		t.Errorf("a large file: %v", err)
	}
}

// TestAttack17RSAKeyFile: a key of ssh-keygen's other types is refused by name.
func TestAttack17RSAKeyFile(t *testing.T) {
	keygen := testkit.NeedProgram(t, "ssh-keygen")
	for _, kind := range []string{"ecdsa", "rsa"} {
		path := filepath.Join(t.TempDir(), "key")
		if out, err := exec.Command(keygen, "-q", "-t", kind, "-N", "", "-f", path).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if _, err := LoadKey(path, nil); !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s: %v, want untrusted", kind, err)
		}
	}
}

// TestKeyOfSSHKeygen: keys go both ways between ssh-keygen and rye, encrypted too.
func TestKeyOfSSHKeygen(t *testing.T) {
	keygen := testkit.NeedProgram(t, "ssh-keygen")
	dir := t.TempDir()
	for _, phrase := range []string{"", "open sesame"} {
		path := filepath.Join(dir, "theirs"+phrase)
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", phrase, "-f", path).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		k, err := LoadKey(path, func() ([]byte, error) { return []byte(phrase), nil })
		if err != nil {
			t.Fatal(err)
		}
		line, _ := os.ReadFile(path + ".pub")
		if pub, err := ParsePublicKey(strings.TrimSpace(string(line))); err != nil || pub != k.Public() {
			t.Errorf("public half %v, %v; want %v", pub, err, k.Public())
		}
		ours := filepath.Join(dir, "ours"+phrase)
		if err := k.Save(ours, []byte(phrase)); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(keygen, "-y", "-P", phrase, "-f", ours).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), k.Public().Authorized()) {
			t.Errorf("ssh-keygen -y: %s, %v", out, err)
		}
	}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	k := newKey(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		if got := fmt.Sprintf(verb, k); got != k.Public().String() {
			t.Errorf("%s prints %q", verb, got)
		}
	}
}

// TestAgent signs with a real agent protocol: a keyring served on a socket.
func TestAgent(t *testing.T) {
	k, stranger := newKey(t), newKey(t)
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: &k.priv}); err != nil {
		t.Fatal(err)
	}
	testAgent(t, serveAgent(t, ring), k, stranger)

	liar := serveAgent(t, lyingAgent{ring, stranger})
	s, err := AgentSigner(t.Context(), liar, k.Public().Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sign(t.Context(), []byte("message")); !fault.Is(err, fault.Integrity) {
		t.Errorf("an agent that signs with another key: %v, want integrity", err)
	}
}

func testAgent(t *testing.T, sock string, k, stranger *FileKey) {
	t.Helper()
	s, err := AgentSigner(t.Context(), sock, k.Public().Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	msg := []byte("message")
	sig, err := s.Sign(t.Context(), msg)
	if err != nil || s.Public() != k.Public() || !k.Public().Verify(msg, sig) {
		t.Errorf("Sign: %v", err)
	}
	if _, err := AgentSigner(t.Context(), sock, stranger.Public().Fingerprint()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a key that the agent lacks: %v, want not_found", err)
	}
	if _, err := AgentSigner(t.Context(), sock+"-", k.Public().Fingerprint()); !fault.Is(err, fault.Auth) {
		t.Errorf("no agent: %v, want authentication", err)
	}
}

// lyingAgent signs with a key that was not asked for.
type lyingAgent struct {
	agent.Agent
	k *FileKey
}

func (l lyingAgent) Sign(_ ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return &ssh.Signature{Format: keyType, Blob: ed25519.Sign(l.k.priv, data)}, nil
}

func serveAgent(t *testing.T, a agent.Agent) (sock string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "rye") // short: a socket's path is bounded at about 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock = filepath.Join(dir, "agent")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Skipf("no unix sockets here: %v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { agent.ServeAgent(a, c); c.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return sock
}

// TestAgentThatHangs: an agent that never answers does not hold rye.
func TestAgentThatHangs(t *testing.T) {
	dir, err := os.MkdirTemp("", "rye")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "a"))
	if err != nil {
		t.Skipf("no unix sockets here: %v", err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := AgentSigner(ctx, l.Addr().String(), objects.Fingerprint{1}); !fault.Is(err, fault.Auth) || ctx.Err() == nil {
		t.Errorf("AgentSigner = %v", err)
	}
}

// TestRealAgent signs with the ssh-agent of OpenSSH.
func TestRealAgent(t *testing.T) {
	prog, add := testkit.NeedProgram(t, "ssh-agent"), testkit.NeedProgram(t, "ssh-add")
	dir, err := os.MkdirTemp("", "rye")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sock := filepath.Join(dir, "agent")
	cmd := exec.Command(prog, "-D", "-a", sock)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil { // it speaks once it listens
		t.Fatal(err)
	}
	k := newKey(t)
	path := filepath.Join(dir, "key")
	if err := k.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(add, path)
	c.Env = append(os.Environ(), "SSH_AUTH_SOCK="+sock)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %s, %v", out, err)
	}
	testAgent(t, sock, k, newKey(t))
}

// FuzzKeyFile: no file makes the reader panic, and what it accepts is one key
// whose halves belong together.
func FuzzKeyFile(f *testing.F) {
	k := newKey(f)
	for _, phrase := range []string{"", "x"} {
		b, err := ssh.MarshalPrivateKey(k.priv, "comment")
		if phrase != "" {
			b, err = ssh.MarshalPrivateKeyWithPassphrase(k.priv, "comment", []byte(phrase))
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pem.EncodeToMemory(b))
	}
	for _, raw := range badKeyFiles(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > keyFileMax {
			return
		}
		k, err := parseKey(raw, nil)
		if err != nil {
			return
		}
		sig := ed25519.Sign(k.priv, raw)
		if !k.Public().Verify(raw, sig) {
			t.Fatal("accepted a key that cannot sign")
		}
	})
}

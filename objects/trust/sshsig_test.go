package trust

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

func TestSSHSIGThereAndBack(t *testing.T) {
	k := newKey(t)
	msg := []byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n")
	armor, err := SignCommit(t.Context(), k, msg)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(armor, "\n") {
		t.Error("the armor ends in a newline")
	}
	for _, a := range []string{armor, armor + "\n"} {
		if got, err := VerifySSHSIG(a, "git", msg); err != nil || got != k.Public() {
			t.Errorf("VerifySSHSIG = %v, %v; want %v", got, err, k.Public())
		}
	}
	if _, err := VerifySSHSIG(armor, "git", append(msg, ' ')); !fault.Is(err, fault.Integrity) {
		t.Errorf("another message: %v, want integrity", err)
	}
	if got, err := CommitSigner(k).SignCommit(t.Context(), msg); err != nil || got != armor {
		t.Errorf("CommitSigner gives %q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := SignCommit(ctx, k, msg); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestAttack18OtherNamespace: a signature made for something else is no commit's.
func TestAttack18OtherNamespace(t *testing.T) {
	k, msg := newKey(t), []byte("message")
	for _, ns := range []string{"file", "rye-approve", "Git", "git ", "git\x00"} {
		armor, err := SignSSHSIG(t.Context(), k, ns, msg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := VerifySSHSIG(armor, "git", msg); !fault.Is(err, fault.Integrity) {
			t.Errorf("namespace %q: %v, want integrity", ns, err)
		}
	}
	if _, err := SignSSHSIG(t.Context(), k, "", msg); !fault.Is(err, fault.Usage) {
		t.Errorf("no namespace: %v, want usage", err)
	}
}

// blob builds an SSHSIG blob from fields that may be wrong.
type blobFields struct {
	magic                    string
	version                  uint32
	key                      []byte
	ns, reserved, hash, algo string
	sig, tail                []byte
}

func (f blobFields) armor() string {
	b := binary.BigEndian.AppendUint32([]byte(f.magic), f.version)
	for _, s := range [][]byte{f.key, []byte(f.ns), []byte(f.reserved), []byte(f.hash),
		appendStr(appendStr(nil, []byte(f.algo)), f.sig)} {
		b = appendStr(b, s)
	}
	return enarmor(append(b, f.tail...), sshsigColumn)
}

func goodBlob(t testing.TB, k *FileKey, msg []byte) blobFields {
	sig, err := k.Sign(context.Background(), sshsigMessage("git", msg))
	if err != nil {
		t.Fatal(err)
	}
	return blobFields{"SSHSIG", 1, k.Public().wire(), "git", "", "sha512", "ssh-ed25519", sig, nil}
}

// TestAttack19Fields: every field has one value that is read.
func TestAttack19Fields(t *testing.T) {
	k, msg := newKey(t), []byte("message")
	good := goodBlob(t, k, msg)
	if _, err := VerifySSHSIG(good.armor(), "git", msg); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*blobFields){
		"magic":              func(f *blobFields) { f.magic = "SSHSIH" },
		"version 0":          func(f *blobFields) { f.version = 0 },
		"version 2":          func(f *blobFields) { f.version = 2 },
		"no namespace":       func(f *blobFields) { f.ns = "" },
		"reserved":           func(f *blobFields) { f.reserved = "x" },
		"sha256":             func(f *blobFields) { f.hash = "sha256" },
		"no hash":            func(f *blobFields) { f.hash = "" },
		"unknown hash":       func(f *blobFields) { f.hash = "SHA512" },
		"other algorithm":    func(f *blobFields) { f.algo = "ssh-rsa" },
		"short signature":    func(f *blobFields) { f.sig = f.sig[:63] },
		"long signature":     func(f *blobFields) { f.sig = append(slices.Clone(f.sig), 0) },
		"trailing bytes":     func(f *blobFields) { f.tail = []byte{0} },
		"bytes after key":    func(f *blobFields) { f.key = append(slices.Clone(f.key), 0) },
		"small-order key":    func(f *blobFields) { f.key = PublicKey{[32]byte{1}}.wire() },
		"no key":             func(f *blobFields) { f.key = nil },
		"second blob behind": func(f *blobFields) { f.tail = []byte("SSHSIG") },
	} {
		f := good
		change(&f)
		if _, err := VerifySSHSIG(f.armor(), "git", msg); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

// TestAttack17OtherKeysSign: keys of other types are refused as what they are.
func TestAttack17OtherKeysSign(t *testing.T) {
	k, msg := newKey(t), []byte("message")
	for _, kind := range []string{"ssh-rsa", "sk-ssh-ed25519@openssh.com", "ecdsa-sha2-nistp256"} {
		f := goodBlob(t, k, msg)
		f.key = appendStr(appendStr(nil, []byte(kind)), make([]byte, 32))
		if _, err := VerifySSHSIG(f.armor(), "git", msg); !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s: %v, want untrusted", kind, err)
		}
	}
}

// TestAttack23Certificate: a certificate is no key, whoever issued it.
func TestAttack23Certificate(t *testing.T) {
	k, msg := newKey(t), []byte("message")
	signer, err := ssh.NewSignerFromKey(&k.priv)
	if err != nil {
		t.Fatal(err)
	}
	cert := &ssh.Certificate{Key: signer.PublicKey(), CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(zeroReader{}, signer); err != nil {
		t.Fatal(err)
	}
	f := goodBlob(t, k, msg)
	f.key = cert.Marshal()
	if _, err := VerifySSHSIG(f.armor(), "git", msg); !fault.Is(err, fault.Untrusted) {
		t.Errorf("certificate: %v, want untrusted", err)
	}
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestAttack20Armor: one block and nothing else, in one spelling.
func TestAttack20Armor(t *testing.T) {
	k, msg := newKey(t), []byte("message")
	armor, err := SignCommit(t.Context(), k, msg)
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Replace(armor, "\n", "", 3)
	lines := strings.Split(armor, "\n")
	for name, a := range map[string]string{
		"empty":          "",
		"text before":    "hello\n" + armor,
		"newline before": "\n" + armor,
		"text after":     armor + "\nhello\n",
		"two newlines":   armor + "\n\n",
		"space after":    armor + " ",
		"twice":          armor + "\n" + armor + "\n",
		"crlf":           strings.ReplaceAll(armor, "\n", "\r\n"),
		"one line":       flat,
		"header":         strings.Replace(armor, "\n", "\nComment: x\n\n", 1),
		"blank line":     strings.Replace(armor, lines[1]+"\n", lines[1]+"\n\n", 1),
		"space in line":  strings.Replace(armor, lines[1], lines[1][:10]+" "+lines[1][10:], 1),
		"padding":        strings.Replace(armor, lines[1], lines[1][:10]+"="+lines[1][11:], 1),
		"pgp":            strings.ReplaceAll(armor, "SSH SIGNATURE", "PGP SIGNATURE"),
		"no end":         strings.TrimSuffix(armor, sshsigEnd),
		"nothing in it":  sshsigBegin + sshsigEnd,
		"rewrapped":      strings.Replace(armor, lines[1]+"\n"+lines[2], lines[1][:60]+"\n"+lines[1][60:]+lines[2], 1),
		"endless":        sshsigBegin + strings.Repeat("A", sshsigMax) + "\n" + sshsigEnd,
	} {
		if _, err := VerifySSHSIG(a, "git", msg); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

// TestSSHSIGEveryByte flips each byte of the blob: nothing may verify as anybody.
func TestSSHSIGEveryByte(t *testing.T) {
	k, msg := newKey(t), []byte("message")
	armor, _ := SignCommit(t.Context(), k, msg)
	blob, _, err := dearmor(armor)
	if err != nil {
		t.Fatal(err)
	}
	for i := range blob {
		for _, bit := range []byte{1, 0x80} {
			b := slices.Clone(blob)
			b[i] ^= bit
			if got, err := VerifySSHSIG(enarmor(b, sshsigColumn), "git", msg); err == nil {
				t.Errorf("byte %d ^ %x verifies as %v", i, bit, got)
			}
		}
	}
}

// TestSSHKeygenVerifies: ssh-keygen -Y takes ours, and we take its.
func TestSSHKeygenVerifies(t *testing.T) {
	keygen := testkit.NeedProgram(t, "ssh-keygen")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	k, msg := newKey(t), []byte("what is signed\n")
	if err := k.Save(at("key"), nil); err != nil {
		t.Fatal(err)
	}
	armor, err := SignCommit(t.Context(), k, msg)
	if err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, at("msg"), string(msg), 0o600)
	testkit.WriteFile(t, at("msg.sig"), armor+"\n", 0o600)
	testkit.WriteFile(t, at("allowed"), AllowedSigners(map[string]PublicKey{"me@example.com": k.Public()}), 0o600)

	cmd := exec.Command(keygen, "-Y", "verify", "-f", at("allowed"), "-I", "me@example.com", "-n", "git", "-s", at("msg.sig"))
	cmd.Stdin = strings.NewReader(string(msg))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), `Good "git" signature`) {
		t.Errorf("ssh-keygen -Y verify: %s, %v", out, err)
	}
	if out, err := exec.Command(keygen, "-Y", "sign", "-q", "-f", at("key"), "-n", "git", at("msg2")).CombinedOutput(); err == nil {
		t.Errorf("signing a missing file: %s", out)
	}
	os.Remove(at("msg.sig"))
	if out, err := exec.Command(keygen, "-Y", "sign", "-f", at("key"), "-n", "git", at("msg")).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen -Y sign: %s, %v", out, err)
	}
	theirs, err := os.ReadFile(at("msg.sig"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := VerifySSHSIG(string(theirs), "git", msg); err != nil || got != k.Public() {
		t.Errorf("VerifySSHSIG of ssh-keygen's = %v, %v", got, err)
	}
	if string(theirs) != armor+"\n" {
		t.Error("ssh-keygen and rye sign the same bytes differently")
	}
}

// TestGitVerifiesCommit: git verify-commit calls a commit of ours good, and a
// changed one bad.
func TestGitVerifiesCommit(t *testing.T) {
	git := testkit.NeedProgram(t, "git")
	testkit.NeedProgram(t, "ssh-keygen")
	dir := t.TempDir()
	run := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command(git, append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := run("", "init", "-q"); err != nil {
		t.Fatal(out)
	}
	k := newKey(t)
	testkit.WriteFile(t, filepath.Join(dir, "allowed"), AllowedSigners(map[string]PublicKey{"me@example.com": k.Public()}), 0o600)
	if out, err := run("", "config", "gpg.ssh.allowedSignersFile", filepath.Join(dir, "allowed")); err != nil {
		t.Fatal(out)
	}
	tree, err := run("", "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		t.Fatal(tree)
	}
	head := "tree " + tree + "\nauthor Me <me@example.com> 1700000000 +0000\ncommitter Me <me@example.com> 1700000000 +0000\n"
	unsigned := head + "\nsubject\n\nRye-Op: test\n"
	armor, err := SignCommit(t.Context(), k, []byte(unsigned))
	if err != nil {
		t.Fatal(err)
	}
	header := "gpgsig " + strings.ReplaceAll(armor, "\n", "\n ") + "\n"
	for subject, want := range map[string]bool{"subject": true, "another": false} {
		id, err := run(head+header+"\n"+subject+"\n\nRye-Op: test\n", "hash-object", "-t", "commit", "-w", "--stdin")
		if err != nil {
			t.Fatal(id)
		}
		out, err := run("", "verify-commit", id)
		if good := err == nil && strings.HasPrefix(out, `Good "git" signature for me@example.com`); good != want {
			t.Errorf("git verify-commit of %q: %s, %v", subject, out, err)
		}
	}
}

func TestAllowedSigners(t *testing.T) {
	k := newKey(t).Public()
	got := AllowedSigners(map[string]PublicKey{"b@x": k, "a,*\nroot": k, "": k, "none": {}})
	line := ` namespaces="git" ` + k.Authorized() + "\n"
	if want := "_" + line + "a___root" + line + "b@x" + line; got != want {
		t.Errorf("AllowedSigners = %q, want %q", got, want)
	}
}

// FuzzSSHSIG: no armor makes the reader panic, and what it reads has one spelling.
func FuzzSSHSIG(f *testing.F) {
	k, msg := newKey(f), []byte("message")
	good := goodBlob(f, k, msg)
	f.Add(good.armor())
	f.Add(good.armor() + "\n")
	good.key = appendStr(nil, []byte("ssh-rsa"))
	f.Add(good.armor())
	f.Add(sshsigBegin + sshsigEnd)
	f.Fuzz(func(t *testing.T, armor string) {
		blob, column, err := dearmor(armor)
		if err != nil {
			return
		}
		if again := enarmor(blob, column); again != strings.TrimSuffix(armor, "\n") {
			t.Fatalf("%q was read, and is written %q", armor, again)
		}
		s, err := parseSSHSIG(blob)
		if err != nil {
			return
		}
		b := blobFields{"SSHSIG", 1, s.key.wire(), s.namespace, "", "sha512", keyType, s.sig, nil}
		if again := enarmor(blob, sshsigColumn); b.armor() != again {
			t.Fatal("a blob was read that is written differently")
		}
		VerifySSHSIG(armor, s.namespace, msg)
	})
}

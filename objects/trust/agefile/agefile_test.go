package agefile_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust/agefile"
)

// sshKey makes a key with ssh-keygen, and returns its private and its public file.
func sshKey(t *testing.T, passphrase string, args ...string) (private, public []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "id")
	out, err := exec.Command("ssh-keygen", append([]string{"-q", "-N", passphrase, "-f", path}, args...)...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("ssh-keygen is not on this machine")
	}
	if err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	private, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if public, err = os.ReadFile(path + ".pub"); err != nil {
		t.Fatal(err)
	}
	return private, public
}

var secret = []byte("a private key\n")

func TestForSSHKeys(t *testing.T) {
	for name, args := range map[string][]string{"Ed25519": {"-t", "ed25519"}, "RSA": {"-t", "rsa", "-b", "2048"}} {
		private, public := sshKey(t, "", args...)
		file, err := agefile.Seal(secret, public)
		if err != nil || bytes.Contains(file, secret) {
			t.Fatalf("%s: %v\n%s", name, err, file)
		}
		if got, err := agefile.Open(file, private, nil); err != nil || !bytes.Equal(got, secret) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		other, _ := sshKey(t, "", args...)
		if _, err := agefile.Open(file, other, nil); !fault.Is(err, fault.Auth) {
			t.Errorf("%s, opened by another key: %v", name, err)
		}
		for i := range file {
			bad := bytes.Clone(file)
			bad[i] ^= 1
			if got, err := agefile.Open(bad, private, nil); err == nil && !bytes.Equal(got, secret) {
				t.Fatalf("%s, byte %d changed: %q", name, i, got)
			}
			if i > 400 { // the header and the beginning of the text
				break
			}
		}
	}
}

func TestProtectedIdentity(t *testing.T) {
	private, public := sshKey(t, "open sesame", "-t", "ed25519", "-a", "1")
	file, err := agefile.Seal(secret, public)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(s), nil } }
	if got, err := agefile.Open(file, private, ask("open sesame")); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := agefile.Open(file, private, ask("wrong")); err == nil {
		t.Error("a wrong passphrase opened it")
	}
	if _, err := agefile.Open(file, private, nil); !fault.Is(err, fault.Auth) {
		t.Errorf("nobody to ask: %v", err)
	}
}

func TestForAge(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file, err := agefile.Seal(secret, []byte("# mine\n"+id.Recipient().String()+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := agefile.Open(file, []byte(id.String()+"\n"), nil); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q, %v", got, err)
	}
	var plain bytes.Buffer // as the program age writes it without -a
	w, err := age.Encrypt(&plain, id.Recipient())
	if err == nil {
		_, err = w.Write(secret)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := agefile.Open(plain.Bytes(), []byte(id.String()), nil); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("binary: %q, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	private, public := sshKey(t, "", "-t", "ed25519")
	_, ecdsa := sshKey(t, "", "-t", "ecdsa")
	for name, c := range map[string]struct {
		recipient []byte
		want      fault.Code
	}{
		"nothing":            {nil, fault.Malformed},
		"a sentence":         {[]byte("my key"), fault.Malformed},
		"a private key":      {private, fault.Usage},
		"two keys":           {slicesJoin(public, public), fault.Usage},
		"ECDSA":              {ecdsa, fault.Malformed},
		"a broken recipient": {[]byte("age1qqqq"), fault.Malformed},
	} {
		if out, err := agefile.Seal(secret, c.recipient); !fault.Is(err, c.want) || out != nil {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agefile.Seal(secret, []byte(id.String())); !fault.Is(err, fault.Malformed) || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("a private key of age: %v", err)
	}
	file, err := agefile.Seal(secret, public)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, identity []byte
		want           fault.Code
	}{
		"a public key as identity": {file, public, fault.Malformed},
		"an empty identity":        {file, nil, fault.Malformed},
		"half of the file":         {file[:len(file)/2], private, fault.Malformed},
		"a huge file":              {bytes.Repeat([]byte("x"), agefile.MaxFile+1), private, fault.Limit},
		"a huge text":              {sealed(t, strings.Repeat("x", agefile.MaxFile*3/4), public), private, fault.Limit},
	} {
		if out, err := agefile.Open(c.file, c.identity, nil); !fault.Is(err, c.want) || out != nil {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func slicesJoin(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func sealed(t *testing.T, text string, public []byte) []byte {
	file, err := agefile.Seal([]byte(text), public)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// FuzzOpen: bytes from outside never panic, and never give a text that was not sealed.
func FuzzOpen(f *testing.F) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	good, err := agefile.Seal(secret, []byte(id.Recipient().String()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("age-encryption.org/v1\n-> X25519 x\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if got, err := agefile.Open(file, []byte(id.String()), nil); err == nil && !bytes.Equal(got, secret) {
			t.Errorf("%q gives %q", file, got)
		}
	})
}

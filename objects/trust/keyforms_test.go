package trust_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
)

func newFileKey(t testing.TB) *trust.FileKey {
	t.Helper()
	k, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func secretFile(t testing.TB, text []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(p, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func answer(s string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(s), nil } }

// TestForeignKeys: both forms give the same key back, and a file of OpenSSH stays
// the same bytes, passphrase and all.
func TestForeignKeys(t *testing.T) {
	k := newFileKey(t)
	plain, err := k.OpenSSH("me", nil)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := k.OpenSSH("me", []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := k.PKCS8()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		text      []byte
		ask       func() ([]byte, error)
		protected bool
		same      bool
	}{
		{"openssh", plain, nil, false, true},
		{"openssh, encrypted", locked, answer("hunter2"), true, true},
		{"pkcs8", pkcs8, nil, false, false},
	} {
		f, err := trust.ReadForeign(secretFile(t, c.text), c.ask)
		if err != nil || f.Key.Public() != k.Public() || f.Protected != c.protected {
			t.Errorf("%s: %+v, %v", c.name, f, err)
			continue
		}
		to := filepath.Join(t.TempDir(), "deep", "key")
		if err := f.Save(to); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got, err := os.ReadFile(to)
		if err != nil || bytes.Equal(got, c.text) != c.same {
			t.Errorf("%s: saved as %q, %v", c.name, got, err)
		}
		if back, err := trust.LoadKey(to, c.ask); err != nil || back.Public() != k.Public() {
			t.Errorf("%s: read again: %v", c.name, err)
		}
		if err := f.Save(to); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: saved over a key: %v", c.name, err)
		}
	}
	for _, ask := range []func() ([]byte, error){nil, answer("wrong"), answer("")} {
		if _, err := trust.ReadForeign(secretFile(t, locked), ask); !fault.Is(err, fault.Auth) {
			t.Errorf("an encrypted key was taken over unopened: %v", err)
		}
	}
}

func TestForeignKeysRefused(t *testing.T) {
	der := func(key any) []byte {
		b, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	xk, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := newFileKey(t).PKCS8()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(ours)
	file := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	for name, c := range map[string]struct {
		text []byte
		code fault.Code
	}{
		"ecdsa":          {file("PRIVATE KEY", der(ec)), fault.Untrusted},
		"x25519":         {file("PRIVATE KEY", der(xk)), fault.Untrusted},
		"ec form":        {file("EC PRIVATE KEY", []byte{1}), fault.Untrusted},
		"encrypted":      {file("ENCRYPTED PRIVATE KEY", []byte{1}), fault.Malformed},
		"public":         {newFileKey(t).Public().PEM(), fault.Untrusted},
		"text before":    {append([]byte("x\n"), ours...), fault.Malformed},
		"text after":     {append(bytes.Clone(ours), 'x'), fault.Malformed},
		"bytes after":    {file("PRIVATE KEY", append(bytes.Clone(block.Bytes), 0)), fault.Malformed},
		"cut":            {file("PRIVATE KEY", block.Bytes[:40]), fault.Malformed},
		"not PEM":        {[]byte("hello\n"), fault.Malformed},
		"headers":        {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"a": "b"}, Bytes: block.Bytes}), fault.Malformed},
		"much too large": {bytes.Repeat([]byte("x"), 1<<20), fault.Limit},
	} {
		if _, err := trust.ReadForeign(secretFile(t, c.text), nil); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if runtime.GOOS != "windows" {
		p := secretFile(t, ours)
		if err := os.Chmod(p, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := trust.ReadForeign(p, nil); !fault.Is(err, fault.Auth) {
			t.Errorf("readable by others: %v", err)
		}
	}
}

// TestRewrite: the passphrase changes, the key does not; another key's file and a
// symbolic link are left alone.
func TestRewrite(t *testing.T) {
	k, other := newFileKey(t), newFileKey(t)
	p := filepath.Join(t.TempDir(), "key")
	if err := k.Save(p, nil); err != nil {
		t.Fatal(err)
	}
	if err := other.Rewrite(p, nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("another key: %v", err)
	}
	if err := k.Rewrite(p, []byte("hunter2")); err != nil {
		t.Fatal(err)
	}
	if pub, protected, err := trust.Peek(p); err != nil || pub != k.Public() || !protected {
		t.Errorf("Peek = %v, %v, %v", pub, protected, err)
	}
	if back, err := trust.LoadKey(p, answer("hunter2")); err != nil || back.Public() != k.Public() {
		t.Errorf("read again: %v", err)
	}
	link := p + ".link"
	if err := os.Symlink(p, link); err == nil {
		if err := k.Rewrite(link, nil); !fault.Is(err, fault.Usage) {
			t.Errorf("a symbolic link: %v", err)
		}
	}
	if err := k.Rewrite(p+".none", nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("nothing there: %v", err)
	}
	if err := trust.CopyKey(p, p+".old"); err != nil {
		t.Fatal(err)
	}
	if err := trust.CopyKey(p, p+".old"); !fault.Is(err, fault.Conflict) {
		t.Errorf("copied over a key: %v", err)
	}
}

// TestUnpin: a pin shrinks and goes.
func TestUnpin(t *testing.T) {
	st, me, both := &trust.Store{}, newFileKey(t).Public(), newFileKey(t).Public()
	for _, err := range []error{st.AddOwn(me, "me"), st.Pin(trust.Pin{Key: both, Namespaces: []string{"a", "b"}})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Unpin(me.Fingerprint()); !fault.Is(err, fault.Usage) {
		t.Errorf("the user's own: %v", err)
	}
	if err := st.Unpin(both.Fingerprint(), "c"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a namespace that is not there: %v", err)
	}
	if err := st.Unpin(both.Fingerprint(), "a"); err != nil {
		t.Fatal(err)
	}
	if pins := st.Pins(); len(pins) != 1 || pins[0].Key != both || len(pins[0].Namespaces) != 1 {
		t.Errorf("left: %+v", pins)
	}
	if err := st.Unpin(both.Fingerprint(), "b"); err != nil || len(st.Pins()) != 0 {
		t.Errorf("the last namespace: %v, %v", err, st.Pins())
	}
	if err := st.Unpin(both.Fingerprint()); !fault.Is(err, fault.NotFound) {
		t.Errorf("not pinned: %v", err)
	}
	text, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.ParseStore(text); err != nil {
		t.Errorf("what is left cannot be read: %v\n%s", err, text)
	}
}

// A file from outside must not make rye compute for hours: the rounds of its passphrase are bounded.
func TestRoundsOfAPassphraseAreBounded(t *testing.T) {
	text, err := newFileKey(t).OpenSSH("x", []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	at := bytes.Index(block.Bytes, []byte("bcrypt")) + len("bcrypt") + 4 + 4 + 16
	copy(block.Bytes[at:], "\x00\x00\xff\xff")
	asked := func() ([]byte, error) { t.Error("asked for the passphrase"); return nil, errors.New("no") }
	if _, err := trust.LoadKey(secretFile(t, pem.EncodeToMemory(block)), asked); !fault.Is(err, fault.Limit) {
		t.Errorf("65535 rounds: %v, want a limit", err)
	}
}

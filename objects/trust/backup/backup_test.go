package backup_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/objects/trust/backup"
)

func seal(t testing.TB, c backup.Content) (*trust.FileKey, []byte) {
	t.Helper()
	k, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := backup.Seal(t.Context(), k, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), c)
	if err != nil {
		t.Fatal(err)
	}
	return k, raw
}

func TestSealedContentIsRead(t *testing.T) {
	c := backup.Content{Trust: "format: 1\n", Kept: []backup.Kept{{Key: "SHA256:x", List: "sha256:<&>\n"}}}
	k, raw := seal(t, c)
	s, err := backup.Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	if s.Key != k.Public() {
		t.Errorf("signed by %v, want %v", s.Key, k.Public())
	}
	got, err := s.Content()
	if err != nil || got.Trust != c.Trust || got.Kept[0] != c.Kept[0] || got.Made != "2026-11-22T12:00:00Z" {
		t.Errorf("content %+v, %v", got, err)
	}
}

// Attack 33: without the signature anybody could make a backup, or change one.
func TestChangedBackupIsRefused(t *testing.T) {
	k, raw := seal(t, backup.Content{Trust: "format: 1\n"})
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		if _, err := backup.Open(changed); err == nil {
			t.Errorf("byte %d of %q was changed, and nobody noticed", i, raw)
		}
	}
	for i := range raw {
		if _, err := backup.Open(raw[:i]); err == nil {
			t.Errorf("the first %d bytes are accepted as a whole backup", i)
		}
	}
	// Another key's line, over the same content.
	other, _ := seal(t, backup.Content{})
	swapped := strings.Replace(string(raw), k.Public().Authorized(), other.Public().Authorized(), 1)
	if _, err := backup.Open([]byte(swapped)); !fault.Is(err, fault.Integrity) {
		t.Errorf("another key's name over the signature: %v, want an integrity error", err)
	}
}

// A signature for another purpose must not make a backup.
func TestSignatureForAnotherTypeIsRefused(t *testing.T) {
	k, raw := seal(t, backup.Content{Trust: "format: 1\n"})
	lines := strings.SplitN(string(raw), "\n", 4)
	sig, err := k.Sign(t.Context(), objects.PAE(objects.PayloadType, []byte(strings.TrimSuffix(lines[3], "\n"))))
	if err != nil {
		t.Fatal(err)
	}
	lines[2] = encode(sig)
	if _, err := backup.Open([]byte(strings.Join(lines, "\n"))); !fault.Is(err, fault.Integrity) {
		t.Errorf("a signature of another type: %v, want an integrity error", err)
	}
}

// The content has one spelling, and unknown members are refused even when they are signed.
func TestOtherSpellingsAreRefused(t *testing.T) {
	k, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"format":1,"made":"2026-11-22T12:00:00Z","trust":"","own":["x"]}`,
		`{"format":1, "made":"2026-11-22T12:00:00Z","trust":""}`,
		`{"format":1,"made":"2026-11-22T12:00:00Z","trust":"","trust":""}`,
		`{"format":2,"made":"2026-11-22T12:00:00Z","trust":""}`,
		`{"format":1,"made":"yesterday","trust":""}`,
		`[]`, ``,
	} {
		sig, err := k.Sign(t.Context(), objects.PAE(backup.Type, []byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := backup.Open([]byte("rye-trust-backup 1\n" + k.Public().Authorized() + "\n" + encode(sig) + "\n" + body + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Content(); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", body, err)
		}
	}
	if _, err := backup.Open([]byte("rye-trust-backup 2\n")); fault.HintOf(err).IsZero() {
		t.Errorf("version 2: %v, want a hint to install a newer rye", err)
	}
}

// The example of docs/format/trust-backup.md is a real one.
func TestVector(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/format/trust-backup.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```text\n")
	text, _, ok := strings.Cut(rest, "```")
	s, err := backup.Open([]byte(text))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	c, err := s.Content()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.ParseStore([]byte(c.Trust)); err != nil {
		t.Error(err)
	}
}

func FuzzOpen(f *testing.F) {
	_, raw := seal(f, backup.Content{Trust: "format: 1\n", Projects: []backup.Project{{ID: "x", Denied: "y"}}})
	f.Add(raw)
	f.Add([]byte("rye-trust-backup 1\nssh-ed25519 AAAA\n\n{}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := backup.Open(raw)
		if err == nil {
			s.Content()
		}
	})
}

func encode(sig []byte) string { return base64.RawURLEncoding.EncodeToString(sig) }

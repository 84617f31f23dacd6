package kms_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust/kms"
)

// plugin builds the plug-in program and puts it, alone, on PATH.
func plugin(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "sigstore-kms-test")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	build := exec.Command("go", "build", "-o", name, "./testdata/plugin")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plug-in: %v\n%s", err, out)
	}
	t.Setenv("PATH", dir)
}

func TestOpenPlugin(t *testing.T) {
	plugin(t)
	ctx, msg := context.Background(), []byte("message")
	s, err := kms.Open(ctx, "test://alice")
	if err != nil {
		t.Fatal(err)
	}
	sig, err := s.Sign(ctx, msg)
	if err != nil || !s.Public().Verify(msg, sig) {
		t.Fatalf("signature by the plug-in: %v", err)
	}
	other, err := kms.Open(ctx, "test://bob")
	if err != nil || other.Public() == s.Public() {
		t.Fatalf("another key: %v", err)
	}
}

// TestPluginsThatMisbehave: what a plug-in says is checked, and its failures are errors.
func TestPluginsThatMisbehave(t *testing.T) {
	plugin(t)
	for _, c := range []struct {
		uri  string
		open fault.Code // "" when it opens and Sign fails
		sign fault.Code
	}{
		{"test://silent", fault.Auth, ""},
		{"test://empty", fault.Auth, ""},
		{"test://ecdsa", fault.Untrusted, ""},
		{"test://refuses", "", fault.Auth},
		{"test://lies", "", fault.Integrity},
		{"missing://key", fault.NotFound, ""},
		{"no-scheme", fault.Usage, ""},
		{"../../bin/sh://key", fault.Usage, ""},
		{"://key", fault.Usage, ""},
		{"test://" + strings.Repeat("x", 3000), fault.Usage, ""},
	} {
		s, err := kms.Open(context.Background(), c.uri)
		if c.open != "" {
			if !fault.Is(err, c.open) {
				t.Errorf("Open(%.40q) = %v, want %s", c.uri, err, c.open)
			}
			continue
		}
		if err != nil {
			t.Errorf("Open(%q): %v", c.uri, err)
			continue
		}
		if _, err := s.Sign(context.Background(), []byte("m")); !fault.Is(err, c.sign) {
			t.Errorf("Sign with %q: %v, want %s", c.uri, err, c.sign)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := kms.Open(ctx, "test://alice"); err == nil {
		t.Error("a cancelled call opened a key")
	}
}

package trust

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestUpstreamSignatures verifies commits and tags that git signed with ssh-keygen, by every type
// of key that needs no hardware.
func TestUpstreamSignatures(t *testing.T) {
	for _, kind := range []struct {
		name string
		args []string
		want fault.Code
	}{
		{"ed25519", []string{"-t", "ed25519"}, ""},
		{"rsa", []string{"-t", "rsa", "-b", "2048"}, ""},
		{"ecdsa", []string{"-t", "ecdsa", "-b", "384"}, ""},
		{"short rsa", []string{"-t", "rsa", "-b", "1024"}, fault.Untrusted},
	} {
		t.Run(kind.name, func(t *testing.T) {
			dir := t.TempDir()
			run := func(name string, args ...string) string {
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s %v: %v\n%s", name, args, err, out)
				}
				return string(out)
			}
			run("ssh-keygen", append(kind.args, "-q", "-N", "", "-C", "ada@example.org", "-f", filepath.Join(dir, "key"))...)
			message := filepath.Join(dir, "message")
			text := []byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nhello\n")
			if err := os.WriteFile(message, text, 0o600); err != nil {
				t.Fatal(err)
			}
			sign := func(namespace string) string {
				os.Remove(message + ".sig")
				run("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", filepath.Join(dir, "key"), message)
				raw, err := os.ReadFile(message + ".sig")
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			}
			armor := sign("git")
			got, err := VerifyUpstream(armor, text)
			if kind.want != "" {
				if !fault.Is(err, kind.want) {
					t.Fatalf("VerifyUpstream = %v, %v; want %s", got, err, kind.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Fields(run("ssh-keygen", "-l", "-f", "key.pub"))[1]; got.Fingerprint() != want {
				t.Errorf("the key is %s, ssh-keygen says %s", got.Fingerprint(), want)
			}
			if again, err := ParseUpstreamKey(string(got)); err != nil || again != got {
				t.Errorf("ParseUpstreamKey(%q) = %q, %v", got, again, err)
			}
			for i := range text {
				if other := bytes.Clone(text); true {
					other[i] ^= 1
					if _, err := VerifyUpstream(armor, other); !fault.Is(err, fault.Integrity) {
						t.Fatalf("byte %d changed: %v", i, err)
					}
				}
			}
			if _, err := VerifyUpstream(sign("file"), text); !fault.Is(err, fault.Integrity) {
				t.Errorf("a signature of a file: %v", err)
			}
			if _, err := VerifyUpstream(armor+armor, text); !fault.Is(err, fault.Malformed) {
				t.Errorf("two signatures: %v", err)
			}
		})
	}
	for _, text := range []string{"", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519  AAAAC3NzaC1lZDI1NTE5AAAAIO0M7Vt1b0sZ1Z2kxmHKc2FnJ1u8mZ4fYH0Yw9p4w1Yk", "no-pty ssh-rsa AAAA"} {
		if k, err := ParseUpstreamKey(text); err == nil {
			t.Errorf("ParseUpstreamKey(%q) = %q", text, k)
		}
	}
}

func FuzzVerifyUpstream(f *testing.F) {
	f.Add("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----", []byte("x"))
	f.Add("", []byte(nil))
	f.Fuzz(func(t *testing.T, armor string, message []byte) {
		if k, err := VerifyUpstream(armor, message); err == nil {
			if _, err := ParseUpstreamKey(string(k)); err != nil {
				t.Errorf("its key %q cannot be kept: %v", k, err)
			}
		}
	})
}

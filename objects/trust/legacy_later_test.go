package trust

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// laterLine signs a text like RyeOS 0.5.
func laterLine(key ed25519.PrivateKey, text string) string {
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	name := sha256.Sum256(key.Public().(ed25519.PublicKey))
	return "# ryeos:signed:2026-08-20T10:00:00Z:" + digest + ":" +
		base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(digest))) + ":" + hex.EncodeToString(name[:]) + "\n"
}

// TestLaterLine tries lines of RyeOS 0.5 whose signer is trusted for the namespace, with the
// option that accepts older lines. Nothing of it makes an item usable.
func TestLaterLine(t *testing.T) {
	const text = "version: \"1.0.0\"\ntool_type: data\nexecutor_id: null\ncategory: acme\ndescription: x\n"
	seed := sha256.Sum256([]byte("later"))
	key := ed25519.NewKeyFromSeed(seed[:])
	other := sha256.Sum256([]byte("other"))
	pub, err := PublicKeyFromBytes(key.Public().(ed25519.PublicKey))
	must(t, err)
	line := laterLine(key, text)
	forged := laterLine(ed25519.NewKeyFromSeed(other[:]), text)
	forged = forged[:len(forged)-65] + pub.LaterFingerprint() + "\n"
	for _, c := range []struct {
		name, raw string
		known     bool
		want      Standing
		code      fault.Code
	}{
		{"genuine", line + text, true, Holds, fault.Untrusted},
		{"key not known", line + text, false, Unchecked, fault.Untrusted},
		{"text changed", line + text + "# more\n", true, Changed, fault.Integrity},
		{"line break changed", line + "\n" + text, true, Changed, fault.Integrity},
		{"by another key", forged + text, true, Forged, fault.Integrity},
		{"line cut short", strings.Replace(line, "==:", ":", 1) + text, true, NotSigned, fault.Untrusted},
		{"url-safe base64 of an earlier form", strings.Replace(line, "==:", "-=:", 1) + text, true, NotSigned, fault.Untrusted},
	} {
		t.Run(c.name, func(t *testing.T) {
			it, err := objects.Parse("tools/acme/caps.yaml", []byte(c.raw))
			must(t, err)
			st := storeOf(t, newKey(t))
			st.SetAllowLegacy(true)
			if c.known {
				must(t, st.Pin(Pin{Key: pub, Name: "leo", Namespaces: []string{"acme"}}))
			}
			in := Scope{Space: objects.User}
			if got := st.Standing(it, in); got != c.want {
				t.Errorf("standing %q, want %q", got, c.want)
			}
			_, err = Verify(it, in, st)
			if fault.CodeOf(err) != c.code || c.want == Holds && !strings.Contains(err.Error(), "signed by RyeOS 0.5") {
				t.Errorf("verify: %v, want %v", err, c.code)
			}
		})
	}
}

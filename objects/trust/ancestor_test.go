package trust_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
)

const leoPEM = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAY24FNlBttfGlH91xaEe4Ms0Meu5kvHL8L8W6w9lVyLU=\n-----END PUBLIC KEY-----\n"

func trustedTOML(fp, owner string) string {
	return fmt.Sprintf("fingerprint = \"%s\"\nowner = \"%s\"\nattestation = \"\"\n\n[public_key]\npem = \"\"\"\n%s\"\"\"\n", fp, owner, leoPEM)
}

func TestParseTrustedTOML(t *testing.T) {
	good := trustedTOML("9fbfabe975fa5a7f", "leo")
	for name, text := range map[string]string{
		"plain":            good,
		"signature line":   "# rye:signed:2026-02-14T00:27:54Z:a:b:c\n" + good,
		"later fields":     "version = \"1.0.0\"\ncategory = \"keys/trusted\"\n" + good,
		"no attestation":   strings.Replace(good, "attestation = \"\"\n", "", 1),
		"no last newline":  strings.TrimSuffix(good, "\n"),
		"comment at end":   good + "# end\n",
		"blank before PEM": strings.Replace(good, "\"\"\"\n-----BEGIN", "\"\"\"\n\n-----BEGIN", 1),
	} {
		k, err := trust.ParseTrustedTOML([]byte(text))
		if err != nil || k.Owner != "leo" || k.Fingerprint != "9fbfabe975fa5a7f" || k.Key.LegacyFingerprint() != k.Fingerprint {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
	for name, c := range map[string]struct {
		text string
		code fault.Code
	}{
		"empty":              {"", fault.Malformed},
		"another key's":      {trustedTOML("0123456789abcdef", "leo"), fault.Integrity},
		"upper case":         {trustedTOML("9FBFABE975FA5A7F", "leo"), fault.Integrity},
		"no owner":           {strings.Replace(good, "owner = \"leo\"\n", "", 1), fault.Malformed},
		"owner twice":        {"owner = \"eve\"\n" + good, fault.Malformed},
		"unknown field":      {"admin = \"yes\"\n" + good, fault.Malformed},
		"field below table":  {good + "owner = \"eve\"\n", fault.Malformed},
		"second table":       {good + "[public_key]\n", fault.Malformed},
		"second key":         {good + "pem = \"\"\"\n" + leoPEM + "\"\"\"\n", fault.Malformed},
		"two blocks":         {strings.Replace(good, leoPEM, leoPEM+leoPEM, 1), fault.Malformed},
		"escape":             {trustedTOML("9fbfabe975fa5a7f", `le\u006f`), fault.Malformed},
		"quote":              {trustedTOML("9fbfabe975fa5a7f", `le"o`), fault.Malformed},
		"literal string":     {strings.Replace(good, `"leo"`, `'leo'`, 1), fault.Malformed},
		"inline comment":     {strings.Replace(good, `"leo"`, `"leo" # me`, 1), fault.Malformed},
		"other spacing":      {strings.Replace(good, `owner = `, `owner=`, 1), fault.Malformed},
		"carriage returns":   {strings.ReplaceAll(good, "\n", "\r\n"), fault.Malformed},
		"terminal escape":    {trustedTOML("9fbfabe975fa5a7f", "\x1b[2J"), fault.Malformed},
		"direction mark":     {trustedTOML("9fbfabe975fa5a7f", "\u202eoel"), fault.Malformed},
		"open string":        {strings.TrimSuffix(good, "\"\"\"\n"), fault.Malformed},
		"no key":             {"fingerprint = \"9fbfabe975fa5a7f\"\nowner = \"leo\"\n", fault.Malformed},
		"private key within": {strings.ReplaceAll(good, "PUBLIC", "PRIVATE"), fault.Malformed},
		"another algorithm":  {strings.Replace(good, "MCowBQYDK2VwAyEA", "MCowBQYDK2VuAyEA", 1), fault.Untrusted},
		"too long":           {good + strings.Repeat("#\n", 10_000), fault.Limit},
	} {
		if k, err := trust.ParseTrustedTOML([]byte(c.text)); !fault.Is(err, c.code) {
			t.Errorf("%s: %+v, %v, want %s", name, k, err, c.code)
		}
	}
}

func TestParseTrustedPEM(t *testing.T) {
	for stem, code := range map[string]fault.Code{
		"9fbfabe975fa5a7f": "", "registry": "", "0123456789abcdef": fault.Integrity,
	} {
		if _, err := trust.ParseTrustedPEM(stem, []byte(leoPEM)); code == "" && err != nil || code != "" && !fault.Is(err, code) {
			t.Errorf("%s: %v, want %q", stem, err, code)
		}
	}
}

// FuzzTrustedTOML: what is read has the fingerprint that it claims, and written in
// the plain form it is the same key of the same owner.
func FuzzTrustedTOML(f *testing.F) {
	f.Add(trustedTOML("9fbfabe975fa5a7f", "leo"))
	f.Add("# x\n\nversion = \"1\"\n[public_key]\npem = \"\"\"\n\"\"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := trust.ParseTrustedTOML([]byte(text))
		if err != nil {
			return
		}
		if k.Key.LegacyFingerprint() != k.Fingerprint {
			t.Fatalf("%q was read with fingerprint %s", text, k.Fingerprint)
		}
		plain := fmt.Sprintf("fingerprint = \"%s\"\nowner = \"%s\"\n[public_key]\npem = \"\"\"\n%s\"\"\"\n", k.Fingerprint, k.Owner, k.Key.PEM())
		if again, err := trust.ParseTrustedTOML([]byte(plain)); err != nil || again != k {
			t.Fatalf("%q is %+v, written plainly %+v, %v", text, k, again, err)
		}
	})
}

package trust

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// TrustedKey is an entry of RYE OS's trust store: a key and the name of its owner.
// rye cannot verify either. Reading an entry does not make the key trusted.
type TrustedKey struct {
	Key         PublicKey
	Owner       string
	Fingerprint string // RYE OS's fingerprint of Key, 16 hexadecimal digits
}

// trustedMax bounds a file of RYE OS's trust store, in bytes; real ones have about 250.
const trustedMax = 16 << 10

// ParseTrustedPEM reads a public key in PEM. stem is the file's name without its
// extension. If it is a fingerprint, it must be the key's (Integrity); otherwise it
// is the owner.
func ParseTrustedPEM(stem string, raw []byte) (TrustedKey, error) {
	if err := trustedSize(raw); err != nil {
		return TrustedKey{}, err
	}
	k, err := ParsePEM(raw)
	if err != nil {
		return TrustedKey{}, err
	}
	t := TrustedKey{Key: k, Fingerprint: k.LegacyFingerprint()}
	if isLegacyFingerprint(stem) && stem != t.Fingerprint {
		return TrustedKey{}, otherFingerprint(stem, t.Fingerprint)
	}
	if !isLegacyFingerprint(stem) && checkText("name", stem, maxText) == nil {
		t.Owner = stem
	}
	return t, nil
}

// ParseTrustedTOML reads TOML only in the form that RYE OS writes:
//
//	fingerprint = "9fbfabe975fa5a7f"
//	owner = "leo"
//	attestation = ""
//
//	[public_key]
//	pem = """
//	-----BEGIN PUBLIC KEY-----
//	...
//	-----END PUBLIC KEY-----
//	"""
//
// Empty lines and lines that begin with # may occur anywhere outside the key.
// attestation is optional, and so are version and category, which later versions
// write. Strings have no escapes. The fingerprint must be the key's (Integrity).
func ParseTrustedTOML(raw []byte) (TrustedKey, error) {
	if err := trustedSize(raw); err != nil {
		return TrustedKey{}, err
	}
	d := trustedDoc{fields: map[string]string{}}
	for n, line := range strings.Split(string(raw), "\n") {
		if why := d.line(line); why != "" {
			return TrustedKey{}, fault.New(fault.Malformed, "trusted key: line %d: %s", n+1, why)
		}
	}
	return d.key()
}

// trustedDoc is the state of reading such a file.
type trustedDoc struct {
	fields map[string]string
	table  bool // [public_key] was read
	inPEM  bool
	pem    strings.Builder
	done   bool // the key's closing quotes were read
}

// line reads one line and returns the reason for a refusal, or "".
func (d *trustedDoc) line(line string) string {
	switch {
	case strings.IndexFunc(line, unprintable) >= 0:
		return "a character that is not printable"
	case d.inPEM && line == `"""`:
		d.inPEM, d.done = false, true
	case d.inPEM:
		if strings.ContainsAny(line, `"\`) {
			return "a quote or an escape within the key"
		}
		d.pem.WriteString(line + "\n")
	case line == "" || strings.HasPrefix(line, "#"):
	case line == "[public_key]" && !d.table:
		d.table = true
	case line == `pem = """` && d.table && !d.done:
		d.inPEM = true
	case d.table:
		return "after [public_key] want one field, pem, in three quotes"
	default:
		return d.field(line)
	}
	return ""
}

func (d *trustedDoc) field(line string) string {
	name, value, _ := strings.Cut(line, " = ")
	switch name {
	case "fingerprint", "owner", "attestation", "version", "category":
	default:
		return "want fingerprint, owner, attestation, version or category, then [public_key]"
	}
	if _, twice := d.fields[name]; twice {
		return name + " is given twice"
	}
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' || strings.ContainsAny(value[1:len(value)-1], `"\`) {
		return name + `: want = "text" without escapes`
	}
	d.fields[name] = value[1 : len(value)-1]
	return ""
}

func (d *trustedDoc) key() (TrustedKey, error) {
	for _, name := range []string{"fingerprint", "owner"} {
		if _, ok := d.fields[name]; !ok {
			return TrustedKey{}, fault.New(fault.Malformed, "trusted key: no %s", name)
		}
	}
	if !d.done {
		return TrustedKey{}, fault.New(fault.Malformed, "trusted key: no public_key.pem, or it does not end")
	}
	k, err := ParsePEM([]byte(strings.TrimSpace(d.pem.String()) + "\n"))
	if err != nil {
		return TrustedKey{}, err
	}
	t := TrustedKey{Key: k, Owner: d.fields["owner"], Fingerprint: d.fields["fingerprint"]}
	if got := k.LegacyFingerprint(); got != t.Fingerprint {
		return TrustedKey{}, otherFingerprint(t.Fingerprint, got)
	}
	return t, checkText("owner", t.Owner, maxText)
}

func trustedSize(raw []byte) error {
	if len(raw) > trustedMax {
		return fault.New(fault.Limit, "trusted key: more than %d bytes", trustedMax)
	}
	return nil
}

func otherFingerprint(says, got string) error {
	return fault.New(fault.Integrity, "trusted key: the file says fingerprint %q, and its key has %s", words.Brief(says), got)
}

func isLegacyFingerprint(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

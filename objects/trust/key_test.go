package trust

import (
	"crypto/ed25519"
	"encoding/hex"
	"math/big"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

func newKey(t testing.TB) *FileKey {
	t.Helper()
	k, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// point is a point of edwards25519 in affine coordinates: slow, and written
// after RFC 8032 only, to check the table in key.go.
type point struct{ x, y *big.Int }

// The field of Curve25519 and the constant d of edwards25519 (RFC 8032 §5.1).
var (
	fieldP, _ = new(big.Int).SetString("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed", 16)
	curveD, _ = new(big.Int).SetString("52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3", 16)
)

func mod(n *big.Int) *big.Int { return n.Mod(n, fieldP) }

func (a point) add(b point) point {
	mul := func(p, q *big.Int) *big.Int { return mod(new(big.Int).Mul(p, q)) }
	xx, yy, xy, yx := mul(a.x, b.x), mul(a.y, b.y), mul(a.x, b.y), mul(a.y, b.x)
	d := mul(curveD, mul(xx, yy))
	one := big.NewInt(1)
	x := mul(mod(new(big.Int).Add(xy, yx)), new(big.Int).ModInverse(mod(new(big.Int).Add(one, d)), fieldP))
	y := mul(mod(new(big.Int).Add(yy, xx)), new(big.Int).ModInverse(mod(new(big.Int).Sub(one, d)), fieldP))
	return point{x, y}
}

// pointAt returns the point with a y coordinate, and whether there is one.
func pointAt(y *big.Int) (point, bool) {
	y2 := mod(new(big.Int).Mul(y, y))
	num := mod(new(big.Int).Sub(y2, big.NewInt(1)))
	den := mod(new(big.Int).Add(mod(new(big.Int).Mul(curveD, y2)), big.NewInt(1)))
	x := new(big.Int).ModSqrt(mod(num.Mul(num, new(big.Int).ModInverse(den, fieldP))), fieldP)
	return point{x, y}, x != nil
}

// times returns the point k times.
func (a point) times(k *big.Int) point {
	sum := point{new(big.Int), big.NewInt(1)}
	for i := k.BitLen() - 1; i >= 0; i-- {
		sum = sum.add(sum)
		if k.Bit(i) == 1 {
			sum = sum.add(a)
		}
	}
	return sum
}

// encode returns the 32 bytes of RFC 8032 §5.1.2.
func (a point) encode() [32]byte {
	b := littleEndian(a.y)
	b[31] |= byte(a.x.Bit(0)) << 7
	return b
}

func fromLittleEndian(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

func littleEndian(y *big.Int) (b [32]byte) {
	y.FillBytes(b[:])
	slices.Reverse(b[:])
	return b
}

// TestSmallOrder computes the points of order 8 and their multiples, and finds
// the table complete: take any point, multiply it by the group order, and what is
// left has an order that divides 8.
func TestSmallOrder(t *testing.T) {
	found := make(map[[32]byte]bool)
	for n := int64(2); n < 60; n++ {
		p, ok := pointAt(big.NewInt(n))
		if !ok {
			continue
		}
		found[littleEndian(p.times(groupOrder).y)] = true
	}
	if len(found) != len(smallOrder) {
		t.Errorf("found %d y coordinates of small order, the table has %d", len(found), len(smallOrder))
	}
	for _, y := range smallOrder {
		if !found[y] {
			t.Errorf("%x is in the table and not of small order", y)
		}
	}
}

// TestPublicKeyOnCurve compares with the arithmetic above what is taken for a point.
func TestPublicKeyOnCurve(t *testing.T) {
	on := 0
	for n := range int64(400) {
		y := big.NewInt(n + 2)
		if n >= 200 {
			y.Sub(fieldP, y)
		}
		b := littleEndian(y)
		_, want := pointAt(y)
		if want {
			on++
		}
		for _, sign := range []byte{0, 0x80} {
			b[31] = b[31]&0x7f | sign
			if _, err := PublicKeyFromBytes(b[:]); (err == nil) != want {
				t.Errorf("y = %d, sign %#x: %v, on the curve %v", y, sign, err, want)
			}
		}
	}
	if on < 100 || on > 300 {
		t.Errorf("%d of 400 are on the curve, want about half", on)
	}
}

// TestAttack15IdentityKey: the standard library accepts a key whose signature
// holds for every message. No way in accepts it.
func TestAttack15IdentityKey(t *testing.T) {
	identity := append([]byte{1}, make([]byte, 31)...)
	universal := append(slices.Clone(identity), make([]byte, 32)...) // R = identity, S = 0
	if !ed25519.Verify(identity, []byte("any message"), universal) {
		t.Fatal("the attack does not work any more; then why does this package fear it?")
	}
	for _, y := range smallOrder {
		for _, sign := range []byte{0, 0x80} {
			b := slices.Clone(y[:])
			b[31] |= sign
			if _, err := PublicKeyFromBytes(b); !fault.Is(err, fault.Malformed) {
				t.Errorf("PublicKeyFromBytes(%x) = %v, want malformed", b, err)
			}
			line := PublicKey{[32]byte(b)}.Authorized()
			if _, err := ParsePublicKey(line); !fault.Is(err, fault.Malformed) {
				t.Errorf("ParsePublicKey(%q) = %v, want malformed", line, err)
			}
			text := "format: 1\nown:\n  - key: " + line + "\n"
			if _, err := ParseStore([]byte(text)); !fault.Is(err, fault.Malformed) {
				t.Errorf("ParseStore(%q) = %v, want malformed", text, err)
			}
		}
	}
	if (PublicKey{}).Verify([]byte("m"), make([]byte, 64)) {
		t.Error("the zero key verified something")
	}
}

// TestAttack16NonCanonical: y and y+p name one point, S and S+L one signature.
func TestAttack16NonCanonical(t *testing.T) {
	for n := int64(0); n < 19; n++ {
		b := littleEndian(new(big.Int).Add(fieldP, big.NewInt(n)))
		for _, sign := range []byte{0, 0x80} {
			b[31] = b[31]&0x7f | sign
			if _, err := PublicKeyFromBytes(b[:]); !fault.Is(err, fault.Malformed) {
				t.Errorf("PublicKeyFromBytes(p+%d) = %v, want malformed", n, err)
			}
		}
	}
	k, msg := newKey(t), []byte("message")
	sig, _ := k.Sign(t.Context(), msg)
	moved := littleEndian(new(big.Int).Add(fromLittleEndian(sig[32:]), groupOrder))
	if !k.Public().Verify(msg, sig) || k.Public().Verify(msg, append(slices.Clone(sig[:32]), moved[:]...)) {
		t.Error("S+L must not verify where S does")
	}
}

func TestPublicKeyMustBeOnTheCurve(t *testing.T) {
	refused := 0
	for n := int64(2); n < 40; n++ {
		b := littleEndian(big.NewInt(n))
		_, on := pointAt(big.NewInt(n))
		_, err := PublicKeyFromBytes(b[:])
		if on != (err == nil) {
			t.Errorf("y = %d: on the curve %v, error %v", n, on, err)
		}
		if !on {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no example was off the curve")
	}
}

// TestAttack17OtherAlgorithms: what is not plain Ed25519 is refused by name.
func TestAttack17OtherAlgorithms(t *testing.T) {
	for kind, why := range map[string]string{
		"ssh-rsa": "nothing to downgrade to", "ssh-dss": "nothing to downgrade to", "ecdsa-sha2-nistp256": "nothing to downgrade to",
		"sk-ssh-ed25519@openssh.com": "a counter and flags", "webauthn-sk-ecdsa-sha2-nistp256@openssh.com": "a counter and flags",
		"ssh-ed25519-cert-v01@openssh.com": "its authority",
	} {
		if _, err := ParsePublicKey(kind + " AAAA"); !fault.Is(err, fault.Untrusted) || !strings.Contains(err.Error(), why) {
			t.Errorf("ParsePublicKey(%s) = %v, want untrusted and %q", kind, err, why)
		}
		wire := appendStr(appendStr(nil, []byte(kind)), make([]byte, 32))
		if _, err := parseWire(wire); !fault.Is(err, fault.Untrusted) {
			t.Errorf("parseWire(%s) = %v, want untrusted", kind, err)
		}
	}
}

func TestPublicKeyForms(t *testing.T) {
	k := newKey(t).Public()
	for _, line := range []string{k.Authorized(), k.Authorized() + " me@example.com", k.Authorized() + " two words"} {
		if got, err := ParsePublicKey(line); err != nil || got != k {
			t.Errorf("ParsePublicKey(%q) = %v, %v", line, got, err)
		}
	}
	if got, err := ParsePEM(k.PEM()); err != nil || got != k {
		t.Errorf("ParsePEM(PEM()) = %v, %v", got, err)
	}
	wire := k.wire()
	for name, b := range map[string][]byte{"empty": nil, "short": wire[:40], "long": append(slices.Clone(wire), 0)} {
		if _, err := parseWire(b); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
	for _, line := range []string{"", "ssh-ed25519", "ssh-ed25519 ", "ssh-ed25519 !!!", k.Authorized() + "\n" + k.Authorized(),
		" " + k.Authorized(), `command="x" ` + k.Authorized(), "ssh-ed25519  " + k.Authorized()[12:]} {
		if _, err := ParsePublicKey(line); err == nil {
			t.Errorf("ParsePublicKey(%q) was accepted", line)
		}
	}
}

// TestFingerprints compares with ssh-keygen, and with a key of RYE OS.
func TestFingerprints(t *testing.T) {
	raw, _ := hex.DecodeString("636e0536506db5f1a51fdd716847b832cd0c7aee64bc72fc2fc5bac3d955c8b5")
	leo, err := PublicKeyFromBytes(raw)
	if err != nil || leo.LegacyFingerprint() != "9fbfabe975fa5a7f" {
		t.Errorf("legacy fingerprint %q, %v", leo.LegacyFingerprint(), err)
	}
	if (PublicKey{}).Fingerprint() != (objects.Fingerprint{}) {
		t.Error("the zero key has a fingerprint")
	}
	keygen := testkit.NeedProgram(t, "ssh-keygen")
	path := filepath.Join(t.TempDir(), "key")
	k := newKey(t)
	if err := k.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(keygen, "-l", "-f", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), k.Public().Fingerprint().String()) {
		t.Errorf("ssh-keygen -l says %s (%v), want %s", out, err, k.Public())
	}
	out, err = exec.Command(keygen, "-y", "-f", path).Output()
	if err != nil || !strings.HasPrefix(string(out), k.Public().Authorized()) {
		t.Errorf("ssh-keygen -y says %s (%v), want %s", out, err, k.Public().Authorized())
	}
}

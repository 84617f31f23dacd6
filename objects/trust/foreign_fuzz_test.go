package trust

import "testing"

// FuzzForeignKey: whatever the file holds, it is refused, or a key that signs.
func FuzzForeignKey(f *testing.F) {
	k := newKey(f)
	for _, seed := range []func() ([]byte, error){k.PKCS8, func() ([]byte, error) { return k.OpenSSH("me", nil) }} {
		text, err := seed()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseForeign(text, nil)
		if err != nil {
			return
		}
		sig, err := got.Key.Sign(t.Context(), text)
		if err != nil || !got.Key.Public().Verify(text, sig) {
			t.Fatalf("%q was taken over and does not sign", text)
		}
	})
}

package secret

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/rye-os/rye/fault"
)

const plain = "ANTHROPIC_API_KEY: sk-ant-1\nOTHER: \"x y\"\n"

func seal(t testing.TB, text string, armored bool, to age.Recipient) []byte {
	t.Helper()
	var out bytes.Buffer
	var inner interface {
		Write([]byte) (int, error)
		Close() error
	}
	if armored {
		inner = armor.NewWriter(&out)
	}
	dst := any(&out)
	if armored {
		dst = inner
	}
	w, err := age.Encrypt(dst.(interface{ Write([]byte) (int, error) }), to)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if armored {
		inner.Close()
	}
	return out.Bytes()
}

func TestOpen(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, _ := age.GenerateX25519Identity()
	pass, err := age.NewScryptRecipient("open sesame")
	if err != nil {
		t.Fatal(err)
	}
	pass.SetWorkFactor(10)
	says := func(s string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(s), nil } }
	mine := Keys{Identity: []byte(id.String() + "\n")}
	for _, tc := range []struct {
		name string
		file []byte
		keys Keys
		want fault.Code // "" opens
	}{
		{"an identity", seal(t, plain, false, id.Recipient()), mine, ""},
		{"armored", seal(t, plain, true, id.Recipient()), mine, ""},
		{"a passphrase", seal(t, plain, false, pass), Keys{Passphrase: says("open sesame")}, ""},
		{"another identity", seal(t, plain, false, other.Recipient()), mine, fault.Auth},
		{"another passphrase", seal(t, plain, false, pass), Keys{Passphrase: says("open")}, fault.Auth},
		{"nobody to ask", seal(t, plain, false, pass), Keys{}, fault.Auth},
		{"no identity", seal(t, plain, false, id.Recipient()), Keys{Passphrase: says("x")}, fault.Auth},
		{"no list", seal(t, "[a, b]\n", false, id.Recipient()), mine, fault.Malformed},
		{"values that are no texts", seal(t, "A: {b: c}\n", false, id.Recipient()), mine, fault.Malformed},
		{"not encrypted", []byte(plain), mine, fault.Malformed},
		{"a bad identity", seal(t, plain, false, id.Recipient()), Keys{Identity: []byte("AGE-SECRET-KEY-1X\n")}, fault.Malformed},
		{"cut", seal(t, plain, false, id.Recipient())[:180], mine, fault.Malformed},
		{"too large", make([]byte, MaxFile+1), mine, fault.Limit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Open(tc.file, tc.keys)
			if tc.want == "" {
				if err != nil || !maps.Equal(got, map[string]string{"ANTHROPIC_API_KEY": "sk-ant-1", "OTHER": "x y"}) {
					t.Errorf("Open = %v, %v", got, err)
				}
				return
			}
			if !fault.Is(err, tc.want) || strings.Contains(err.Error(), "sk-ant") {
				t.Errorf("Open = %v, want %s", err, tc.want)
			}
		})
	}
}

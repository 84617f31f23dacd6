package objects_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

func dismissal(kind objects.DismissalKind) objects.Dismissal {
	d := objects.Dismissal{Kind: kind, Namespace: "acme", At: noon}
	d.Sig[0], d.Key[31], d.Signer[0] = 1, 2, 3
	return d
}

func TestDismissalLines(t *testing.T) {
	for _, kind := range []objects.DismissalKind{objects.SignerRemoved, objects.KeyDenied} {
		good := dismissal(kind).Line()
		all, bad := objects.ParseDismissals(kind, []byte(good+"\n\n"+good+"\r\n"))
		if len(all) != 1 || all[0] != dismissal(kind) || len(bad) != 0 {
			t.Fatalf("%s: %v, %v", kind, all, bad)
		}
		for name, text := range map[string]string{
			"another version":     strings.Replace(good, ":v1:", ":v2:", 1),
			"no namespace":        strings.Replace(good, ":acme:", "::", 1),
			"two segments":        strings.Replace(good, ":acme:", ":acme/x:", 1),
			"a capital":           strings.Replace(good, ":acme:", ":Acme:", 1),
			"a time with a zone":  strings.Replace(good, "00Z:", "00+:", 1),
			"a bit too much":      good + "A",
			"a bit too little":    good[:len(good)-1],
			"a signature of dots": strings.Replace(good, "AQAA", "....", 1),
		} {
			if text == good {
				t.Fatalf("%s: nothing was changed", name)
			}
			all, bad := objects.ParseDismissals(kind, []byte(text+"\n"+good+"\n"))
			if len(all) != 1 || len(bad) != 1 || bad[0].N != 1 || bad[0].Why == "" {
				t.Errorf("%s, %s: %v, %v, want the good line, and the bad one by its number", kind, name, all, bad)
			}
		}
	}
	if all, bad := objects.ParseDismissals(objects.SignerRemoved, []byte("# a note\nacme namespaces=\"git\" x\n")); len(all)+len(bad) != 0 {
		t.Errorf("other lines of allowed_signers: %v, %v", all, bad)
	}
	if _, bad := objects.ParseDismissals(objects.KeyDenied, []byte("# a note\n")); len(bad) != 1 {
		t.Errorf("another line of .ai/denied-keys: %v", bad)
	}
}

// TestDismissalVectors: the bytes that are signed, and the lines, follow from what they say.
func TestDismissalVectors(t *testing.T) {
	const file = "../testdata/vectors/denied-keys-v1.json"
	type vector struct {
		Kind      objects.DismissalKind `json:"kind"`
		Namespace string                `json:"namespace"`
		Signer    string                `json:"signer"`
		At        string                `json:"at"`
		Project   string                `json:"project"`
		Key       string                `json:"key"`
		Message   string                `json:"message"`
		Line      string                `json:"line"`
	}
	k := testKey(seedPhrase)
	const genesis = "0123456789abcdef0123456789abcdef"
	var all []vector
	for _, kind := range []objects.DismissalKind{objects.SignerRemoved, objects.KeyDenied} {
		for _, ns := range []string{"acme", "local"} {
			d := dismissal(kind)
			d.Namespace, d.Key = ns, fingerprint(k)
			msg := d.Message(genesis)
			copy(d.Sig[:], ed25519.Sign(k, msg))
			all = append(all, vector{kind, ns, d.Signer.String(), d.At.Format("2006-01-02T15:04:05Z"), genesis, d.Key.String(), string(msg), d.Line()})
			if bytes.Equal(msg, d.Message("")) {
				t.Errorf("%s in %s/ does not bind its project", kind, ns)
			}
			if got, why := objects.ParseDismissal(kind, d.Line()); why != "" || got != d {
				t.Errorf("ParseDismissal(%q) = %v, %s", d.Line(), got, why)
			}
		}
	}
	if all[0].Message == all[2].Message {
		t.Error("a removal and a denial are signed alike")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("vectors differ from %s", file)
	}
	for page, v := range map[string]vector{"statement": all[0], "denied-keys": all[2]} {
		raw, err := os.ReadFile("../docs/format/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{v.Message, v.Line} {
			if !strings.Contains(string(raw), "    "+text+"\n") {
				t.Errorf("docs/format/%s.md lacks the example\n%s", page, text)
			}
		}
	}
}

func FuzzDismissal(f *testing.F) {
	f.Add([]byte(dismissal(objects.KeyDenied).Line() + "\n"))
	f.Add([]byte(dismissal(objects.SignerRemoved).Line() + "\nacme x\n"))
	f.Add([]byte("rye:key-denied:v2:\n# rye:removed:\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, kind := range []objects.DismissalKind{objects.SignerRemoved, objects.KeyDenied} {
			all, _ := objects.ParseDismissals(kind, raw)
			for _, d := range all {
				if !bytes.Contains(raw, []byte(d.Line())) {
					t.Errorf("%q gives %q", raw, d.Line())
				}
			}
			again, bad := objects.ParseDismissals(kind, objects.EncodeDismissals(all))
			if len(again) != len(all) || len(bad) != 0 {
				t.Errorf("encoded and read again: %d of %d, %v", len(again), len(all), bad)
			}
		}
	})
}

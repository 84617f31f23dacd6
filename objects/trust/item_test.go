package trust

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

const (
	projectA = "00112233445566778899aabbccddeeff"
	projectB = "ffeeddccbbaa99887766554433221100"
	placeA   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	placeB   = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

var (
	inA    = Scope{Space: objects.Project, Project: projectA, Place: placeA}
	inB    = Scope{Space: objects.Project, Project: projectB, Place: placeB}
	inUser = Scope{Space: objects.User, Place: strings.Repeat("h", 52)}
	noon   = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	regOne = "sha256:" + strings.Repeat("11", 32)
	regTwo = "sha256:" + strings.Repeat("22", 32)
)

// samples are valid items of every type that carries a line of its own kind, by
// path. Their namespace is acme.
var samples = map[string]string{
	"tools/acme/hello.py": "\"\"\"Says hello.\"\"\"\n__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n" +
		"__executor_id__ = \"rye/core/runtimes/python\"\n__category__ = \"acme\"\n__tool_description__ = \"Says hello.\"\n\n\ndef execute(params, project_path):\n    return {\"hello\": params[\"name\"]}\n",
	"tools/acme/hello_sh.sh": "#!/bin/sh\n# version: 1.0.0\n# description: Says hello.\n# executor_id: rye/core/runtimes/bash_runtime\n\necho hello\n",
	"tools/acme/hello_js.js": "// version: 1.0.0\n// description: Says hello.\n// executor_id: rye/core/runtimes/node_runtime\n\nconsole.log('hello')\n",
	"tools/acme/hello_yaml.yaml": "version: 1.0.0\ntool_type: http\nexecutor_id: rye/core/primitives/http\ncategory: acme\n" +
		"description: Says hello.\nconfig:\n  url: https://example.com\n",
	"directives/acme/greet.md": "# Greet\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\">\n  <metadata>\n" +
		"    <description>Greets.</description>\n    <category>acme</category>\n    <author>me</author>\n" +
		"    <permissions><execute><tool>acme/hello</tool></execute></permissions>\n  </metadata>\n</directive>\n```\n\nSay hello to the user.\n",
	"directives/acme/front.md":   "---\nversion: 1.0.0\ndescription: Greets.\n---\n\nSay hello to the user.\n",
	"knowledge/acme/notes.md":    "---\nversion: 1.0.0\ntitle: Notes\nentry_type: reference\n---\n\nHello is a greeting.\n",
	"knowledge/acme/data.yaml":   "id: data\nversion: 1.0.0\ntitle: Data\nentry_type: reference\ncategory: acme\n",
	"config/acme/settings.yaml":  "answer: 42\n",
	"tools/local/scratch_own.py": "__version__ = \"0.1.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"rye/core/runtimes/python\"\n__category__ = \"local\"\n__tool_description__ = \"Scratch.\"\n",
}

func parse(t testing.TB, path string, raw []byte) *objects.Item {
	t.Helper()
	it, err := objects.Parse(path, raw)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// sign returns a sample as s signs it.
func sign(t testing.TB, s Signer, path string, in Scope) *objects.Item {
	t.Helper()
	text, ok := samples[path]
	if !ok {
		t.Fatalf("no sample %s", path)
	}
	raw, err := SignItem(t.Context(), s, parse(t, path, []byte(text)), in, noon)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, path, raw)
}

// storeOf returns a store that accepted project A, with these own keys.
func storeOf(t testing.TB, own ...*FileKey) *Store {
	t.Helper()
	s, err := ParseStore([]byte("format: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, s.Grant(noon, inA.Site().OwnKeys()))
	for i, k := range own {
		must(t, s.AddOwn(k.Public(), fmt.Sprintf("key%d", i)))
	}
	return s
}

var must = testkit.Must // for short

// refused checks the code of an error, and that Explain tells the same.
func refused(t *testing.T, what string, it *objects.Item, in Scope, st *Store, want fault.Code) error {
	t.Helper()
	v, err := Verify(it, in, st)
	if !fault.Is(err, want) || !v.IsZero() {
		t.Errorf("%s: Verify = %v (%s), want %s", what, err, fault.CodeOf(err), want)
	}
	var told error
	for _, c := range st.Explain(it, in) {
		if c.Err != nil {
			told = c.Err
		}
		if c.Ran && c.Words == "" {
			t.Errorf("%s: Explain has no words for %q", what, c.Name)
		}
	}
	if err != nil && (told == nil || told.Error() != err.Error()) {
		t.Errorf("%s: Explain says %v, Verify %v", what, told, err)
	}
	return err
}

func TestSignAndVerify(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	for path := range samples {
		it := sign(t, k, path, inA)
		for range 2 { // computed, then remembered
			v, err := Verify(it, inA, st)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				break
			}
			if v.Item() != it || v.Key() != k.Public() || v.Scope() != inA || !v.SignedAt().Equal(noon) || v.Level() != Signed {
				t.Errorf("%s: Verified holds %v %v %v %v", path, v.Key(), v.Scope(), v.SignedAt(), v.Level())
			}
		}
		checks := st.Explain(it, inA)
		for _, c := range checks {
			if !c.Pass || !c.Ran || c.Words == "" || c.Err != nil {
				t.Errorf("%s: Explain: %+v", path, c)
			}
		}
		if len(checks) != len(gates) || string(it.Body) != samples[path] {
			t.Errorf("%s: %d checks; the body changed: %v", path, len(checks), string(it.Body) != samples[path])
		}
	}
}

func TestZeroVerifiedPanics(t *testing.T) {
	for name, use := range map[string]func(Verified){
		"Item": func(v Verified) { v.Item() }, "Key": func(v Verified) { v.Key() }, "Scope": func(v Verified) { v.Scope() },
		"SignedAt": func(v Verified) { v.SignedAt() }, "Level": func(v Verified) { v.Level() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of the zero Verified does not panic", name)
				}
			}()
			use(Verified{})
		}()
	}
	if _, err := Verify(nil, inA, storeOf(t)); !fault.Is(err, fault.Usage) {
		t.Errorf("Verify(nil) = %v", err)
	}
	if !(Verified{}).IsZero() {
		t.Error("the zero Verified is not zero")
	}
}

// TestTimesOfSignatures: whole seconds in UTC, never before the last, never far ahead.
func TestTimesOfSignatures(t *testing.T) {
	k := newKey(t)
	path := "tools/acme/hello.py"
	it := parse(t, path, []byte(samples[path]))
	zone := time.FixedZone("east", 7200)
	at := func(it *objects.Item, now time.Time) (*objects.Item, error) {
		raw, err := SignItem(t.Context(), k, it, inA, now)
		if err != nil {
			return nil, err
		}
		return parse(t, path, raw), nil
	}
	first, err := at(it, time.Date(2026, 11, 20, 14, 0, 0, 999, zone))
	must(t, err)
	if !first.Signature.SignedAt.Equal(noon) {
		t.Errorf("signed at %v, want %v", first.Signature.SignedAt, noon)
	}
	again, err := at(first, noon.Add(-time.Hour))
	must(t, err)
	if !again.Signature.SignedAt.Equal(noon) {
		t.Errorf("signed again at %v, before %v", again.Signature.SignedAt, noon)
	}
	if !bytes.Equal(first.Raw, again.Raw) {
		t.Error("signing the same again gave another line")
	}
	if _, err := at(first, noon.Add(-48*time.Hour)); !fault.Is(err, fault.Rollback) {
		t.Errorf("a line two days ahead of the clock: %v, want rollback", err)
	}
}

func TestSignRefuses(t *testing.T) {
	k := newKey(t)
	path := "tools/acme/hello.py"
	good := parse(t, path, []byte(samples[path]))
	for name, c := range map[string]struct {
		it   *objects.Item
		in   Scope
		want fault.Code
	}{
		"system space": {good, Scope{Space: objects.System}, fault.Usage},
		"no space":     {good, Scope{}, fault.Usage},
		"local without project": {parse(t, "tools/local/scratch_own.py", []byte(samples["tools/local/scratch_own.py"])),
			Scope{Space: objects.Project}, fault.Usage},
		"with problems": {parse(t, path, []byte("__category__ = \"other\"\n")), inA, fault.Malformed},
		"other body":    {func() *objects.Item { c := *good; c.Body = []byte("x"); return &c }(), inA, fault.Malformed},
		"other ref":     {func() *objects.Item { c := *good; c.Ref.ID = "acme/other"; return &c }(), inA, fault.Malformed},
	} {
		if _, err := SignItem(t.Context(), k, c.it, c.in, noon); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := SignItem(t.Context(), brokenSigner{k}, good, inA, noon); !fault.Is(err, fault.Integrity) {
		t.Errorf("a signer that errs: %v, want integrity", err)
	}
}

// brokenSigner returns signatures of something else.
type brokenSigner struct{ *FileKey }

func (b brokenSigner) Sign(ctx context.Context, m []byte) ([]byte, error) {
	return b.FileKey.Sign(ctx, append([]byte("x"), m...))
}

// TestOriginalSignatures verifies 210 genuine pairs of RYE OS.
func TestOriginalSignatures(t *testing.T) {
	var file struct {
		PEM     string `json:"public_key_pem"`
		Vectors []struct{ Path, SHA256, Sig, FP string }
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "original-signatures.json"))
	must(t, err)
	must(t, json.Unmarshal(raw, &file))
	k, err := ParsePEM([]byte(file.PEM))
	must(t, err)
	if string(k.PEM()) != file.PEM || len(file.Vectors) != 210 {
		t.Errorf("PEM differs or %d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		sig, err := base64.URLEncoding.DecodeString(v.Sig)
		must(t, err)
		d, err := objects.ParseDigest("sha256:" + v.SHA256)
		must(t, err)
		l := objects.LegacySignature{Digest: d}
		if v.FP != k.LegacyFingerprint() || !k.Verify(l.Message(), sig) {
			t.Errorf("%s does not verify", v.Path)
		}
		d[0] ^= 1
		if l.Digest = d; k.Verify(l.Message(), sig) {
			t.Errorf("%s verifies with another digest", v.Path)
		}
	}
}

// legacy returns a sample with a line of RYE OS by k.
func legacy(t testing.TB, k *FileKey, path, text string) *objects.Item {
	t.Helper()
	line := func(sum string, sig []byte) string {
		s := "rye:signed:2026-02-21T06:11:17Z:" + sum + ":" + base64.URLEncoding.EncodeToString(sig) + ":" + k.Public().LegacyFingerprint()
		if strings.HasPrefix(path, "tools/") {
			return "# " + s + "\n"
		}
		return "<!-- " + s + " -->\n"
	}
	blank := parse(t, path, []byte(line(strings.Repeat("0", 64), make([]byte, 64))+text))
	sum := objects.DigestOf(blank.Legacy.Payload).Hex()
	sig, err := k.Sign(t.Context(), []byte(sum))
	must(t, err)
	return parse(t, path, []byte(line(sum, sig)+text))
}

// TestAttack7Legacy: lines of RYE OS verify, are refused by default, and
// never count where they do not cover what a model is told.
func TestAttack7Legacy(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	tool := legacy(t, k, "tools/acme/hello.py", samples["tools/acme/hello.py"])
	greet := samples["directives/acme/greet.md"]
	inXML := greet[:strings.Index(greet, "\n\nSay")] + "\n"
	covered := legacy(t, k, "directives/acme/greet.md", inXML)
	open := legacy(t, k, "directives/acme/greet.md", greet)

	for name, it := range map[string]*objects.Item{"tool": tool, "directive": covered, "open directive": open} {
		err := refused(t, name, it, inA, st, fault.Untrusted)
		if err == nil || !strings.Contains(err.Error(), "legacy, covers") || fault.HintOf(err).String() != "rye sign --upgrade "+it.Ref.String() {
			t.Errorf("%s: %v (mend %q)", name, err, fault.HintOf(err).String())
		}
	}
	st.SetAllowLegacy(true)
	for name, it := range map[string]*objects.Item{"tool": tool, "directive": covered} {
		if v, err := Verify(it, inA, st); err != nil || v.Level() != Legacy || v.Key() != k.Public() {
			t.Errorf("%s with allow_legacy: %v", name, err)
		}
		for _, c := range st.Explain(it, inA) {
			if !c.Pass || c.Words == "" {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
	refused(t, "open directive with allow_legacy", open, inA, st, fault.Untrusted)

	payload := string(covered.Legacy.Payload)
	front := legacy(t, k, "directives/acme/greet.md", "---\nversion: 1.0.0\ndescription: x\npermissions: [rye.*]\n---\n"+payload+"\n")
	refused(t, "front matter that speaks instead", front, inA, st, fault.Untrusted)
	below := legacy(t, k, "directives/acme/greet.md", inXML+"\nSay what </directive>\n```\n")
	refused(t, "words below that end as an element in a fence does", below, inA, st, fault.Untrusted)

	changed := parse(t, tool.Path, bytes.Replace(tool.Raw, []byte("hello"), []byte("hallo"), 1))
	refused(t, "changed", changed, inA, st, fault.Integrity)
	refused(t, "stranger's", legacy(t, newKey(t), tool.Path, samples[tool.Path]), inA, st, fault.Untrusted)
	forged := parse(t, tool.Path, bytes.Replace(tool.Raw, []byte(base64.URLEncoding.EncodeToString(tool.Legacy.Sig[:])[:8]), []byte("AAAAAAAA"), 1))
	refused(t, "forged", forged, inA, st, fault.Integrity)
	refused(t, "elsewhere", tool, inB, st, fault.Untrusted)
	must(t, st.DenyKey(k.Public().Fingerprint(), ""))
	refused(t, "denied key", tool, inA, st, fault.Revoked)

	raw, err := SignItem(t.Context(), k, open, inA, noon)
	must(t, err)
	up := parse(t, open.Path, raw)
	if up.Legacy != nil || up.Signature == nil || string(up.Body) != greet {
		t.Error("sign --upgrade did not replace the line")
	}
}

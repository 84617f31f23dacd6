package objects_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var update = flag.Bool("update", false, "rewrite golden files and vectors")

// testKey is the documented key of the vectors: its seed is the SHA-256 of a phrase.
func testKey(phrase string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(phrase))
	return ed25519.NewKeyFromSeed(seed[:])
}

// fingerprint is the SHA-256 of the key's SSH wire form.
func fingerprint(k ed25519.PrivateKey) objects.Fingerprint {
	var wire []byte
	for _, s := range [][]byte{[]byte("ssh-ed25519"), k.Public().(ed25519.PublicKey)} {
		wire = binary.BigEndian.AppendUint32(wire, uint32(len(s)))
		wire = append(wire, s...)
	}
	return sha256.Sum256(wire)
}

func sign(t testing.TB, k ed25519.PrivateKey, ref objects.Ref, ext, version, project string, body []byte, at time.Time) objects.Signature {
	t.Helper()
	s := objects.Signature{SignedAt: at, Digest: objects.DigestOf(body), Key: fingerprint(k)}
	copy(s.Sig[:], ed25519.Sign(k, objects.SignedMessage(ref, objects.Bound{Ext: ext, Version: version, Project: project}, s)))
	return s
}

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// place wants the code malformed at a line (and column, unless 0).
func place(t *testing.T, err error, line, column int) {
	t.Helper()
	var se *objects.SyntaxError
	if !errors.As(err, &se) || !fault.Is(err, fault.Malformed) {
		t.Fatalf("error %v (%s), want malformed with a place", err, fault.CodeOf(err))
	}
	if se.Line != line || column != 0 && se.Column != column {
		t.Errorf("place %d:%d, want %d:%d: %v", se.Line, se.Column, line, column, err)
	}
}

// A vector is one signed file with every step of the way to it.
type vector struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Body        string `json:"body"`
	Kind        string `json:"kind"`
	ID          string `json:"id"`
	Version     string `json:"version"`
	Project     string `json:"project"`
	Executor    string `json:"executor,omitempty"`
	SignedAt    string `json:"signed_at"`
	Digest      string `json:"digest"`
	Message     string `json:"message"`
	Line        string `json:"line"`
	File        string `json:"file"`
	Fingerprint string `json:"fingerprint"`
}

type vectorFile struct {
	About     string   `json:"about"`
	Phrase    string   `json:"seed_phrase"`
	Seed      string   `json:"seed"`
	PublicKey string   `json:"public_key"`
	Vectors   []vector `json:"vectors"`
}

const seedPhrase = "rye test vectors, key 1"

var vectorInputs = []vector{
	{Name: "python", Path: "tools/acme/hello.py", Version: "1.0.0", Body: "__version__ = \"1.0.0\"\n"},
	{Name: "python with shebang", Path: "tools/acme/run.py", Version: "2.1.0-rc.1", Executor: "rye/core/runtimes/python_script_runtime", Body: "#!/usr/bin/env python3\n__version__ = \"2.1.0-rc.1\"\nprint(1)\n"},
	{Name: "shell, carriage returns in the body", Path: "tools/acme/crlf.sh", Version: "1.0.0", Executor: "rye/core/runtimes/bash_runtime", Body: "# version: 1.0.0\r\necho hi\r\n"},
	{Name: "javascript", Path: "tools/acme/hello.mjs", Version: "1.0.0", Executor: "rye/core/runtimes/node_runtime", Body: "// version: 1.0.0\nconsole.log(1)\n"},
	{Name: "lua", Path: "tools/acme/hello.lua", Version: "1.0.0", Body: "-- version: 1.0.0\nprint(1)\n"},
	{Name: "yaml, no final newline", Path: "tools/acme/echo.yaml", Version: "0.3.0", Body: "version: 0.3.0\nexecutor_id: rye/core/runtimes/bash_runtime"},
	{Name: "directive", Path: "directives/acme/greet.md", Version: "1.0.0", Body: "# Greet\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\"/>\n```\n\nSay hello.\n"},
	{Name: "front matter: last line", Path: "knowledge/acme/pumps.md", Version: "1.2.0", Body: "---\ntitle: Pumps\nversion: 1.2.0\n---\n\nPumps move water.\n"},
	{Name: "no version", Path: "knowledge/acme/draft.md", Body: "# Draft\n"},
	{Name: "empty body", Path: "config/acme/empty.yaml"},
	{Name: "local, in a project", Path: "tools/local/build.sh", Version: "1.0.0", Project: "0123456789abcdef0123456789abcdef", Executor: "rye/core/runtimes/bash_runtime", Body: "# version: 1.0.0\nmake\n"},
	{Name: "local, in user space", Path: "tools/local/build.sh", Version: "1.0.0", Executor: "rye/core/runtimes/bash_runtime", Body: "# version: 1.0.0\nmake\n"},
	{Name: "a program without a header", Path: "tools/acme/tiny.sh", Executor: "rye/core/runtimes/sh_runtime", Body: "#!/bin/sh\necho hi\n"},
	{Name: "a part", Path: "tools/acme/lib.sh", Body: "greet() { echo hi; }\n"},
	{Name: "version that needs escaping", Path: "tools/acme/odd.yaml", Version: "1.0 \"β\" \\ \t\u0001/", Body: "x: 1\n"},
}

func TestSignatureVectors(t *testing.T) {
	const file = "../testdata/vectors/signature-v2.json"
	k := testKey(seedPhrase)
	got := vectorFile{
		About:  "rye:signed:v2 lines. seed = SHA-256 of seed_phrase; Ed25519 is deterministic, so every byte follows. See docs/format/signature.md.",
		Phrase: seedPhrase, Seed: hex.EncodeToString(k.Seed()), PublicKey: hex.EncodeToString(k.Public().(ed25519.PublicKey)),
	}
	for i, v := range vectorInputs {
		ref, dotted, err := objects.RefOfPath(v.Path)
		if err != nil {
			t.Fatal(err)
		}
		ext := objects.Ext(v.Path)
		if dotted != "."+ext {
			t.Fatalf("%s: extensions %q and %q", v.Path, dotted, ext)
		}
		bound := objects.Bound{Ext: ext, Executor: objects.ID(v.Executor), Version: v.Version, Project: v.Project}
		if it, err := objects.Parse(v.Path, []byte(v.Body)); err == nil && it.Bound(v.Project).Executor != bound.Executor {
			t.Errorf("%s: executor %q, the item says %q", v.Name, v.Executor, it.Meta.Executor)
		}
		s := objects.Signature{SignedAt: noon.Add(time.Duration(i) * time.Minute), Digest: objects.DigestOf([]byte(v.Body)), Key: fingerprint(k)}
		copy(s.Sig[:], ed25519.Sign(k, objects.SignedMessage(ref, bound, s)))
		signed, err := objects.WithSignature(v.Path, []byte(v.Body), s)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		v.Kind, v.ID = string(ref.Kind), string(ref.ID)
		v.SignedAt, v.Digest = s.SignedAt.Format(time.RFC3339), s.Digest.String()
		v.Message = string(objects.SignedMessage(ref, bound, s))
		v.Line, v.File, v.Fingerprint = s.Line(), string(signed), s.Key.String()
		got.Vectors = append(got.Vectors, v)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(got); err != nil {
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
		t.Errorf("vectors differ from %s; a change of the format needs a new version", file)
	}
	for _, v := range got.Vectors {
		body, s, legacy, err := objects.Split(v.Path, []byte(v.File))
		if err != nil || legacy != nil || s == nil || string(body) != v.Body || s.Line() != v.Line {
			t.Errorf("Split of %q: body %q, signature %v, legacy %v, error %v", v.Name, body, s, legacy, err)
			continue
		}
		if !ed25519.Verify(k.Public().(ed25519.PublicKey), []byte(v.Message), s.Sig[:]) {
			t.Errorf("%s: the signature does not verify", v.Name)
		}
	}
}

// Examples of signature lines in Markdown are none: the line of the file is the one that
// stands first, or last.
func TestSplitPassesOverExamplesInFences(t *testing.T) {
	line := sign(t, testKey("fences"), objects.Ref{Kind: objects.Knowledge, ID: "a/x"}, "md", "", "", []byte("x\n"), noon).Line()
	for name, text := range map[string]string{
		"backticks":        "```\n# rye:signed:v2:example\n```\n",
		"tildes, indented": "x\n  ~~~~ python\n# rye:signed:2026-02-14T00:27:54Z:aa:bb:cc\n<!-- " + line + " -->\n  ~~~~~\n",
		"many":             strings.Repeat("```yaml\n# rye:signed:x\n```\n", 50),
	} {
		body, sig, legacy, err := objects.Split("knowledge/a/x.md", []byte("<!-- "+line+" -->\n"+text))
		if err != nil || sig == nil || sig.Line() != line || legacy != nil || string(body) != text {
			t.Errorf("%s: body %q, signature %v, %v", name, body, sig, err)
		}
		body, sig, _, err = objects.Split("knowledge/a/x.md", []byte("---\na: b\n---\n"+text+"<!-- "+line+" -->\n"))
		if err != nil || sig == nil || string(body) != "---\na: b\n---\n"+text {
			t.Errorf("%s, last: body %q, signature %v, %v", name, body, sig, err)
		}
		if _, sig, _, err := objects.Split("knowledge/a/x.md", []byte(text)); err != nil || sig != nil {
			t.Errorf("%s, unsigned: signature %v, %v", name, sig, err)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	k := testKey(seedPhrase)
	ref := objects.Ref{Kind: objects.Tool, ID: "acme/hello"}
	line := sign(t, k, ref, "sh", "1.0.0", "", []byte("x\n"), noon).Line()
	flip := func(from, to string) string { return strings.Replace(line, from, to, 1) }
	tests := []struct {
		name, path, raw string
		line            int
	}{
		{"byte order mark", "tools/a/x.py", "\ufeff# " + line + "\nx\n", 1},
		{"byte order mark, unsigned", "tools/a/x.py", "\ufeffx\n", 1},
		{"carriage return after", "tools/a/x.py", "# " + line + "\r\nx\n", 1},
		{"carriage return before", "tools/a/x.py", "#!/bin/sh\r# " + line + "\nx\n", 1},
		{"two lines", "tools/a/x.py", "# " + line + "\n# " + line + "\nx\n", 2},
		{"two lines, far apart", "tools/a/x.py", "# " + line + "\nx\n\n# rye:signed:\n", 4},
		{"two lines, in a fence that never ends", "knowledge/a/x.md", "<!-- " + line + " -->\n```\nrye:signed:v2:example\n", 3},
		{"two lines, behind a fence", "knowledge/a/x.md", "<!-- " + line + " -->\n```\nx\n```\nrye:signed:v2:example\n", 5},
		{"two lines, behind a shorter end", "knowledge/a/x.md", "<!-- " + line + " -->\n````\n```\nrye:signed:v2:example\n", 4},
		{"two lines, in a fence of no Markdown", "tools/a/x.py", "# " + line + "\n# ```\n```\n# rye:signed:v2:example\n```\n", 4},
		{"two lines, other comment", "tools/a/x.py", "# " + line + "\n  //  rye:signed:v1\n", 2},
		{"two lines, after a lone carriage return", "tools/a/x.py", "# " + line + "\nx\r# rye:signed:", 2},
		{"not first", "tools/a/x.py", "x\n# " + line + "\n", 2},
		{"above the shebang", "tools/a/x.py", "# " + line + "\n#!/bin/sh\n", 1},
		{"first though front matter", "knowledge/a/x.md", "<!-- " + line + " -->\n---\ntitle: x\n---\n", 1},
		{"last without front matter", "knowledge/a/x.md", "text\n<!-- " + line + " -->\n", 2},
		{"no line feed", "tools/a/x.py", "# " + line, 1},
		{"no line feed, last", "knowledge/a/x.md", "---\n---\n<!-- " + line + " -->", 3},
		{"other comment", "tools/a/x.py", "// " + line + "\nx\n", 1},
		{"comment not closed", "knowledge/a/x.md", "<!-- " + line + "\nx\n", 1},
		{"indented", "tools/a/x.py", " # " + line + "\nx\n", 1},
		{"no space", "tools/a/x.py", "#" + line + "\nx\n", 1},
		{"two spaces", "tools/a/x.py", "#  " + line + "\nx\n", 1},
		{"trailing space", "tools/a/x.py", "# " + line + " \nx\n", 1},
		{"bare", "tools/a/x.py", line + "\nx\n", 1},
		{"version 3", "tools/a/x.py", "# " + flip("v2", "v3") + "\nx\n", 1},
		{"upper-case digest", "tools/a/x.py", "# " + strings.Replace(line, line[35:99], strings.ToUpper(line[35:99]), 1) + "\nx\n", 1},
		{"short", "tools/a/x.py", "# " + line[:200] + "\nx\n", 1},
		{"long", "tools/a/x.py", "# " + line + "A\nx\n", 1},
		{"impossible time", "tools/a/x.py", "# " + flip("2026-01-31", "2026-02-31") + "\nx\n", 1},
		{"not UTC", "tools/a/x.py", "# " + flip("Z:", "z:") + "\nx\n", 1},
		{"standard base64", "tools/a/x.py", "# " + line[:100] + "+" + line[101:] + "\nx\n", 1},
		{"key with loose bits", "tools/a/x.py", "# " + line[:229] + "B\nx\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, sig, legacy, err := objects.Split(tt.path, []byte(tt.raw))
			if err == nil {
				t.Fatalf("accepted: body %q, signature %v, legacy %+v", body, sig, legacy)
			}
			place(t, err, tt.line, 0)
			if fault.HintOf(err).IsZero() {
				t.Errorf("no mend: %v", err)
			}
		})
	}
}

func TestWithSignatureRefuses(t *testing.T) {
	s := sign(t, testKey(seedPhrase), objects.Ref{Kind: objects.Tool, ID: "a/x"}, "py", "", "", nil, noon)
	tests := []struct {
		name, path, body string
		s                objects.Signature
		code             fault.Code
	}{
		{"type without comments", "tools/a/x.json", "{}", s, fault.Malformed},
		{"no extension", "tools/a/x", "x", s, fault.Malformed},
		{"byte order mark", "tools/a/x.py", "\ufeffx", s, fault.Malformed},
		{"signed already", "tools/a/x.py", "# " + s.Line() + "\nx\n", s, fault.Malformed},
		{"shebang without line feed", "tools/a/x.py", "#!/bin/sh", s, fault.Malformed},
		{"front matter without line feed", "knowledge/a/x.md", "---\n---", s, fault.Malformed},
		{"too large", "tools/a/x.py", strings.Repeat("x", objects.MaxItemSize), s, fault.Limit},
		{"year 10000", "tools/a/x.py", "x", objects.Signature{SignedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, fault.Malformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if out, err := objects.WithSignature(tt.path, []byte(tt.body), tt.s); !fault.Is(err, tt.code) {
				t.Errorf("WithSignature gave %d bytes and %v, want %s", len(out), err, tt.code)
			}
		})
	}
}

// Every flipped bit of a signed file changes the body, the signature, or both, or
// is refused: no bit lies outside of what is checked.
func TestEveryBitCounts(t *testing.T) {
	k := testKey(seedPhrase)
	body := []byte("#!/bin/sh\n# version: 1.0.0\necho hi\n")
	ref := objects.Ref{Kind: objects.Tool, ID: "acme/hello"}
	raw, err := objects.WithSignature("tools/acme/hello.sh", body, sign(t, k, ref, "sh", "1.0.0", "", body, noon))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			bad := bytes.Clone(raw)
			bad[i] ^= 1 << bit
			b, s, _, err := objects.Split("tools/acme/hello.sh", bad)
			if err != nil || s == nil {
				continue
			}
			if s.Digest == objects.DigestOf(b) && s.Key == fingerprint(k) &&
				ed25519.Verify(k.Public().(ed25519.PublicKey), objects.SignedMessage(ref, objects.Bound{Ext: "sh", Version: "1.0.0"}, *s), s.Sig[:]) {
				t.Fatalf("byte %d bit %d: still verifies", i, bit)
			}
		}
	}
}

func TestSignedMessageBinds(t *testing.T) {
	s := objects.Signature{SignedAt: noon, Digest: objects.DigestOf([]byte("x"))}
	base := string(objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Bound{Ext: "py", Version: "1.0.0"}, s))
	later, other := s, s
	later.SignedAt = noon.Add(time.Second)
	other.Key[0] = 1
	for name, m := range map[string][]byte{
		"kind":    objects.SignedMessage(objects.Ref{Kind: objects.Knowledge, ID: "acme/hello"}, objects.Bound{Ext: "py", Version: "1.0.0"}, s),
		"ext":     objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Bound{Ext: "sh", Version: "1.0.0"}, s),
		"runtime": objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Bound{Ext: "py", Executor: objects.PythonRuntime, Version: "1.0.0"}, s),
		"former":  objects.FormerMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, "1.0.0", "", s),
		"id":      objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hell"}, objects.Bound{Ext: "py", Version: "1.0.0"}, s),
		"version": objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Bound{Ext: "py", Version: "1.0.1"}, s),
		"time":    objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Bound{Ext: "py", Version: "1.0.0"}, later),
		"key":     objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Bound{Ext: "py", Version: "1.0.0"}, other),
	} {
		if string(m) == base {
			t.Errorf("the message does not depend on the %s", name)
		}
	}
	local := objects.Ref{Kind: objects.Tool, ID: "local/hello"}
	if bytes.Equal(objects.SignedMessage(local, objects.Bound{Ext: "py", Project: "a"}, s), objects.SignedMessage(local, objects.Bound{Ext: "py", Project: "b"}, s)) {
		t.Error("local items are not bound to their project")
	}
	if string(objects.SignedMessage(objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Bound{Ext: "py", Version: "1.0.0", Project: "a"}, s)) != base {
		t.Error("an item with an owner is bound to a project")
	}
	var payload map[string]any
	_, text, _ := strings.Cut(base, "{")
	if err := json.Unmarshal([]byte("{"+text), &payload); err != nil || len(payload) != 8 {
		t.Errorf("payload %q: %v", text, err)
	}
}

// The 210 genuine pairs of RYE OS verify with its published key.
func TestOriginalSignatures(t *testing.T) {
	raw, err := os.ReadFile("../testdata/vectors/original-signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		PEM     string `json:"public_key_pem"`
		Vectors []struct {
			Path, Sha256, Sig, Fp string
			At                    string `json:"signed_at"`
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(file.PEM))
	pub, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 210 {
		t.Errorf("%d vectors, want 210", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		text := "rye:signed:" + v.At + ":" + v.Sha256 + ":" + v.Sig + ":" + v.Fp
		line := "# " + text + "\n"
		if !strings.HasPrefix(v.Path, "tools/") {
			line = "<!-- " + text + " -->\n"
		}
		for _, l := range []string{line, strings.Replace(line, "==:", ":", 1)} {
			_, sig, legacy, err := objects.Split(v.Path, []byte(l))
			if err != nil || sig != nil || legacy == nil || legacy.Unsigned != "" {
				t.Fatalf("%s: %v %v %+v", v.Path, err, sig, legacy)
			}
			if legacy.Key != v.Fp || legacy.SignedAt.Format(time.RFC3339) != v.At {
				t.Errorf("%s: key %s at %s", v.Path, legacy.Key, legacy.SignedAt)
			}
			if !ed25519.Verify(pub.(ed25519.PublicKey), legacy.Message(), legacy.Sig[:]) {
				t.Errorf("%s: does not verify", v.Path)
			}
		}
	}
}

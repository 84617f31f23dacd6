package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

const (
	legacyFields = "rye:signed:2026-02-21T05:56:40Z:4b59b87de5bcef04a06e87844bea10f11fb022adb88542ed4de81a916455c60e:MABOAW6Bglh00oltA86t1kRSDoYFmY1crmOBFRHQLt0z5e4M7w7l_9u85iy3Aaef_9nj9EK4cMfe250FUZsUDg==:9fbfabe975fa5a7f"
	angled       = "<!-- " + legacyFields + " -->\n"
	hashed       = "# " + legacyFields + "\n"
)

// What RYE OS hashed, by kind; the rows follow reference behaviour, quirks
// included.
func TestLegacyPayload(t *testing.T) {
	tests := []struct {
		name, path, raw string
		body, payload   string
		complete        bool
	}{
		{"directive", "directives/x.md", angled + "# T\n\n```xml\n<directive a=\"b\">\n</directive>\n```\n\nPrompt.\n",
			"# T\n\n```xml\n<directive a=\"b\">\n</directive>\n```\n\nPrompt.\n", "<directive a=\"b\">\n</directive>", false},
		{"directive without prompt", "directives/x.md", angled + "```xml\n<directive>\n</directive>\n```\n",
			"```xml\n<directive>\n</directive>\n```\n", "<directive>\n</directive>", true},
		{"directive named twice: first to last", "directives/x.md", angled + "<directive>a</directive> b <directive>c</directive>",
			"<directive>a</directive> b <directive>c</directive>", "<directive>a</directive> b <directive>c</directive>", true},
		{"directive without element", "directives/x.md", angled + "x\n", "x\n", "", false},
		{"knowledge", "knowledge/x.md", angled + "# K\n", "# K\n", "# K\n", true},
		{"knowledge, front matter", "knowledge/x.md", angled + "---\ntitle: x\n---\n\n  Text. \x1c\n", "---\ntitle: x\n---\n\n  Text. \x1c\n", "Text.", true},
		{"knowledge, front matter that a value ends", "knowledge/x.md", angled + "---\ntitle: a---b\n---\nText\n",
			"---\ntitle: a---b\n---\nText\n", "b\n---\nText", true},
		{"knowledge, open front matter", "knowledge/x.md", angled + "---\ntitle\n", "---\ntitle\n", "---\ntitle\n", true},
		{"knowledge in YAML", "knowledge/x.yaml", angled + "id: x\n", "id: x\n", "id: x\n", true},
		{"tool", "tools/x.py", hashed + "x = 1\n", "x = 1\n", "x = 1\n", true},
		{"tool with shebang", "tools/x.py", "#!/usr/bin/env python3\n" + hashed + "x = 1\n", "#!/usr/bin/env python3\nx = 1\n", "x = 1\n", false},
		{"tool, shebang below the line", "tools/x.py", hashed + "#!/bin/sh\nx\n", "#!/bin/sh\nx\n", "x\n", false},
		{"tool in JavaScript", "tools/x.js", hashed + "x\n", "x\n", "x\n", true},
		{"tool in JavaScript, later form", "tools/x.js", "/" + strings.Replace(hashed, "#", "/", 1) + "x\n", "x\n", "x\n", true},
		{"carriage returns stay", "tools/x.py", hashed + "x = 1\r\n", "x = 1\r\n", "x = 1\r\n", true},
		{"examples below", "knowledge/x.md", angled + "```\n" + hashed + "```\n", "```\n" + hashed + "```\n", "```\n" + hashed + "```\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, sig, l, err := objects.Split(tt.path, []byte(tt.raw))
			if err != nil || sig != nil || l == nil {
				t.Fatalf("Split: %v, %v, %v", sig, l, err)
			}
			if string(body) != tt.body || string(l.Payload) != tt.payload || l.Complete != tt.complete || l.Covers == "" {
				t.Errorf("body %q\npayload %q\ncomplete %v, covers %q", body, l.Payload, l.Complete, l.Covers)
			}
			if l.Key != "9fbfabe975fa5a7f" || l.Unsigned != "" || l.Provenance != "" {
				t.Errorf("%+v", l)
			}
		})
	}
}

func TestLegacyLines(t *testing.T) {
	provenance := strings.Replace(hashed, "7f\n", "7f|rye-registry@leo_1\n", 1)
	tests := []struct {
		name, path, raw string
		provenance      string
		unsigned        bool
	}{
		{"provenance", "tools/x.py", provenance, "rye-registry@leo_1", false},
		{"placeholder", "tools/x.yaml", "# rye:signed:placeholder:unsigned:unsigned\n", "", true},
		{"validated", "tools/x.yaml", "# rye:validated:2026-02-09T12:00:00Z:placeholder\n", "", true},
		{"kiwi", "directives/x.md", "<!-- kiwi-mcp:validated:2026-02-02T00:00:00Z:abcdefabcdef -->\n", "", true},
		{"one = of padding", "tools/x.py", strings.Replace(hashed, "==:", "=:", 1), "", true},
		{"short signature", "tools/x.py", strings.Replace(hashed, "MABOAW6B", "", 1), "", true},
		{"impossible date", "tools/x.py", strings.Replace(hashed, "02-21", "02-31", 1), "", true},
		{"something behind", "tools/x.py", strings.Replace(hashed, "\n", " x\n", 1), "", true},
		{"provenance with a blank", "tools/x.py", strings.Replace(provenance, "leo", "l o", 1), "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, sig, l, err := objects.Split(tt.path, []byte(tt.raw+"x\n"))
			if err != nil || sig != nil || l == nil {
				t.Fatalf("Split: %v, %v, %v", sig, l, err)
			}
			if (l.Unsigned != "") != tt.unsigned || l.Provenance != tt.provenance || tt.unsigned && (l.Payload != nil || !l.Digest.IsZero()) {
				t.Errorf("%+v", l)
			}
		})
	}
}

// Beside RYE OS's line no native one may stand, wherever it is.
func TestLegacyAndNative(t *testing.T) {
	native := sign(t, testKey(seedPhrase), objects.Ref{Kind: objects.Tool, ID: "x"}, "js", "", "", []byte("x\n"), noon).Line()
	for _, raw := range []string{
		hashed + "# " + native + "\nx\n",
		"# " + native + "\n" + hashed + "x\n",
		hashed + "x\n\n  // rye:signed:v3:later\n",
	} {
		if _, s, l, err := objects.Split("tools/x.py", []byte(raw)); err == nil {
			t.Errorf("accepted %q as %v, %v", raw, s, l)
		}
	}
	// Upgrading takes the old line out and puts the new one in.
	body, _, _, err := objects.Split("knowledge/x.md", []byte(angled+"---\ntitle: x\n---\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := sign(t, testKey(seedPhrase), objects.Ref{Kind: objects.Knowledge, ID: "x"}, "md", "", "", body, noon)
	out, err := objects.WithSignature("knowledge/x.md", body, s)
	if err != nil || !strings.HasPrefix(string(out), "---\n") || !strings.HasSuffix(string(out), s.Line()+" -->\n") {
		t.Errorf("%q, %v", out, err)
	}
}

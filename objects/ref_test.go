package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func TestParseRef(t *testing.T) {
	for text, want := range map[string]objects.Ref{
		"tool:acme/hello":                        {Kind: objects.Tool, ID: "acme/hello"},
		"tool acme/hello":                        {Kind: objects.Tool, ID: "acme/hello"},
		"acme/tool/hello":                        {Kind: objects.Tool, ID: "acme/hello"},
		"acme/knowledge/a/b":                     {Kind: objects.Knowledge, ID: "acme/a/b"},
		"directive:x":                            {Kind: objects.Directive, ID: "x"},
		"config:acme/bundle/x":                   {Kind: objects.Config, ID: "acme/bundle/x"},
		"tool:_a-b/9_":                           {Kind: objects.Tool, ID: "_a-b/9_"},
		"rye/tool/core/runtimes/":                {},
		"":                                       {},
		"tool":                                   {},
		"tool:":                                  {},
		"tool:/x":                                {},
		"tool:x/":                                {},
		"tool:../x":                              {},
		"tool:a/../b":                            {},
		"tool:A":                                 {},
		"tool:a.b":                               {},
		"tool:-a":                                {},
		"tool:a\n":                               {},
		"tool:nul":                               {},
		"tool:a/com1":                            {},
		"Tool:a":                                 {},
		"agent:a":                                {},
		"acme/agent/x":                           {},
		"tool:" + strings.Repeat("a", 101):       {},
		"tool:" + strings.Repeat("a/", 12) + "a": {},
		"tool:" + strings.Repeat("ab/", 90) + "a": {},
	} {
		got, err := objects.ParseRef(text)
		if want.Kind == "" {
			if !fault.Is(err, fault.Usage) {
				t.Errorf("ParseRef(%q) = %v, %v, want usage", text, got, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("ParseRef(%q) = %v, %v", text, got, err)
		}
		if again, err := objects.ParseRef(got.String()); err != nil || again != got {
			t.Errorf("%v does not survive its text", got)
		}
		if p := got.Published(); p != "" {
			if again, err := objects.ParseRef(p); err != nil || again != got {
				t.Errorf("%v does not survive %q: %v, %v", got, p, again, err)
			}
		}
	}
}

func TestRefOfPath(t *testing.T) {
	for _, path := range []string{"tools/acme/hello.py", "directives/x.md", "knowledge/a/b/c.yaml", "config/agent.yaml"} {
		ref, ext, err := objects.RefOfPath(path)
		if err != nil || ref.Path(ext) != path {
			t.Errorf("RefOfPath(%q) = %v, %q, %v", path, ref, ext, err)
		}
	}
}

func TestDigests(t *testing.T) {
	d := objects.DigestOf([]byte("x"))
	if got, err := objects.ParseDigest(d.String()); err != nil || got != d {
		t.Errorf("%v, %v", got, err)
	}
	f := objects.Fingerprint(d)
	for name, parse := range map[string]func(string) (objects.Fingerprint, error){
		f.String(): objects.ParseFingerprint, f.URL(): objects.ParseFingerprintURL,
	} {
		if got, err := parse(name); err != nil || got != f {
			t.Errorf("%q: %v, %v", name, got, err)
		}
		for _, bad := range []string{"", name + "A", name[:len(name)-1], name + "=", " " + name, name[:len(name)-1] + "\n", name[:len(name)-1] + "_"} {
			if got, err := parse(bad); err == nil && bad != name {
				t.Errorf("%q: %v", bad, got)
			}
		}
	}
	for _, bad := range []string{"", d.Hex(), "sha256:", strings.ToUpper(d.String()), d.String() + "0", "sha1:" + d.Hex(), "sha256:" + strings.Repeat("g", 64)} {
		if got, err := objects.ParseDigest(bad); err == nil {
			t.Errorf("ParseDigest(%q) = %v", bad, got)
		}
	}
}

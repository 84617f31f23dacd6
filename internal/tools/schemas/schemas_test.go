package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

const root = "../../.."

// TestDocsSchemas compares docs/schema with what the code describes now.
func TestDocsSchemas(t *testing.T) {
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join(root, "docs", "schema", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/schema/%s is not up to date (%v): make docs", name, err)
		}
	}
	there, err := filepath.Glob(filepath.Join(root, "docs", "schema", "*"))
	if err != nil || len(there) != len(all) {
		t.Errorf("docs/schema has %d files, want %d: %v", len(there), len(all), err)
	}
}

// resolved reads the published schemas.
func resolved(t testing.TB) map[string]*jsonschema.Resolved {
	t.Helper()
	all := map[string]*jsonschema.Resolved{}
	for _, f := range forms {
		text, err := os.ReadFile(filepath.Join(root, "docs", "schema", f.name+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if all[f.name], err = s.Resolve(nil); err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
	}
	return all
}

// value is a file as a reader of JSON Schema sees it.
func value(t testing.TB, name string, raw []byte) any {
	t.Helper()
	if first, rest, ok := bytes.Cut(raw, []byte("\n")); ok && bytes.Contains(first, []byte("rye:signed:")) {
		raw = rest
	}
	v, err := objects.YAMLValues(raw, 16<<20)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// examples are the files in the pages of docs/format and in testdata, by the name of their form.
func examples(t testing.TB) map[string]map[string][]byte {
	t.Helper()
	all := map[string]map[string][]byte{}
	for _, f := range forms {
		all[f.name] = map[string][]byte{}
	}
	first := map[string]string{"rye.yaml": "format: 1\nproject:", "rye.lock": "lock: 1\n", "policy.yaml": "policy: 1\n", "rye.bundle.yaml": "format: "}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "format", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```yaml\n")[1:] {
			body, _, _ := strings.Cut(part, "```")
			for name, begin := range first {
				if name != "rye.bundle.yaml" && strings.HasPrefix(body, begin) {
					all[name][filepath.Base(page)+" "+string(rune('1'+i))] = []byte(body)
				}
			}
		}
	}
	for _, vector := range []string{"bundle.yaml", "bundle-2.yaml"} {
		raw, err := os.ReadFile(filepath.Join(root, "testdata", "vectors", vector))
		if err != nil {
			t.Fatal(err)
		}
		all["rye.bundle.yaml"][vector] = raw
	}
	scripts, err := filepath.Glob(filepath.Join(root, "cmd", "rye", "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "\n-- ")[1:] {
			_, body, _ := strings.Cut(part, " --\n")
			if _, err := policy.ParseRules([]byte(body)); err == nil && strings.HasPrefix(body, "policy: 1\n") {
				all["policy.yaml"][filepath.Base(script)+" "+string(rune('a'+i))] = []byte(body)
			}
		}
	}
	return all
}

func TestExamplesValidate(t *testing.T) {
	schemas := resolved(t)
	for form, all := range examples(t) {
		if len(all) == 0 {
			t.Errorf("%s: no example", form)
		}
		for name, raw := range all {
			if err := schemas[form].Validate(value(t, name, raw)); err != nil {
				t.Errorf("%s in %s: %v", form, name, err)
			}
			if err := accepts(form, raw); err != nil {
				t.Errorf("%s in %s: rye refuses it: %v", form, name, err)
			}
		}
	}
}

// accepts is rye's own reader of a form.
func accepts(form string, raw []byte) (err error) {
	switch form {
	case "rye.yaml":
		_, err = workspace.CheckProjectFile(raw)
	case "rye.lock":
		_, err = chain.ParseLock(raw)
	case "policy.yaml":
		_, err = policy.ParseRules(raw)
	case "rye.bundle.yaml":
		_, err = objects.ParseManifest(raw)
	}
	return err
}

// broken has, for each form, a change of an example that no reader may accept.
var broken = []struct{ form, from, to string }{
	{"rye.yaml", "format: 1", "format: 2"},
	{"rye.yaml", "format: 1\n", ""},
	{"rye.yaml", "project: 1b6e", "project: 1B6E"},
	{"rye.yaml", "namespace: acme\n", ""},
	{"rye.yaml", "namespace: acme\n", "namespace: Acme Inc\n"},
	{"rye.yaml", "namespace: acme\n", "namespace: acme\nregistry: main\n"},
	{"rye.yaml", "id: sha256:9f86", "id: 9f86"},
	{"rye.yaml", "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8", "nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"},
	{"rye.yaml", "deps:\n  acme/tool/hello: ^1.0", "deps: [acme/tool/hello]"},
	{"rye.lock", "lock: 1", "lock: 2"},
	{"rye.lock", "  version: 0.1.0\n", ""},
	{"rye.lock", "manifest: sha256:62c6", "manifest: sha256:62C6"},
	{"rye.lock", "    space: project\n", "    space: user\n"},
	{"rye.lock", "    seq: 41\n", "    seq: -1\n"},
	{"rye.lock", "  tool:acme/hello:\n", "  hello:\n"},
	{"rye.lock", "    sha256: 440f", "    sha256: 440F"},
	{"rye.lock", "    blob: abab", "    blob: xbab"},
	{"rye.lock", "lock: 1\n", "lock: 1\nmine: true\n"},
	{"policy.yaml", "policy: 1", "policy: 2"},
	{"policy.yaml", "policy: 1\n", ""},
	{"policy.yaml", "auto_approve_up_to: t1 ", "auto_approve_up_to: t5 "},
	{"policy.yaml", "approval_timeout_secs: 60", "approval_timeout_secs: 0"},
	{"policy.yaml", "older: refuse", "older: allow"},
	{"policy.yaml", "min_age: 7d", "min_age: 7 days"},
	{"policy.yaml", "sandbox: S2", "sandbox: S9"},
	{"policy.yaml", "deny_from: t4 ", "deny_from: t4\ndeny_above: t3 "},
	{"policy.yaml", "locked_only: true", "locked_only: perhaps"},
	{"policy.yaml", "locked_only: true", "locked: true"},
	{"policy.yaml", `"https://github.com/acme"`, `"github.com/acme"`},
	{"policy.yaml", "proxy: false", "proxies: false"},
	{"rye.bundle.yaml", "format: 1", "format: 3"},
	{"rye.bundle.yaml", "/bundle/", "/bundles/"},
	{"rye.bundle.yaml", "version: ", "version: v"},
	{"rye.bundle.yaml", `mode: "0644"`, `mode: "0777"`},
	{"rye.bundle.yaml", "size: ", "size: -1"},
	{"rye.bundle.yaml", "files:\n", "files:\n  - README.md\n"},
	{"rye.bundle.yaml", "files:\n", "extra: 1\nfiles:\n"},
}

// TestBrokenFilesDoNotValidate breaks an example of each form; the schema and rye refuse it.
func TestBrokenFilesDoNotValidate(t *testing.T) {
	schemas, all := resolved(t), examples(t)
	example := map[string][]byte{"rye.yaml": all["rye.yaml"]["project.md 1"], "rye.lock": all["rye.lock"]["lock.md 1"],
		"policy.yaml": all["policy.yaml"]["policy.md 1"], "rye.bundle.yaml": all["rye.bundle.yaml"]["bundle.yaml"]}
	for _, b := range broken {
		raw := string(example[b.form])
		if !strings.Contains(raw, b.from) {
			t.Errorf("%s: the example has no %q", b.form, b.from)
			continue
		}
		raw = strings.Replace(raw, b.from, b.to, 1)
		if err := accepts(b.form, []byte(raw)); err == nil {
			t.Errorf("%s: rye accepts %q in place of %q", b.form, b.to, b.from)
		}
		if err := schemas[b.form].Validate(value(t, b.form, []byte(raw))); err == nil {
			t.Errorf("%s: the schema accepts %q in place of %q", b.form, b.to, b.from)
		}
	}
}

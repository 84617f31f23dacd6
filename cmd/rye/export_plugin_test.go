package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// exported is a project with a skill that has a program, and a plugin with commands, an agent and a
// rule, all signed.
func exported(t *testing.T) *home {
	t.Helper()
	h := newHome(t)
	h.write(".ai/bundles/acme/tide/SKILL.md", "---\nname: tide\ndescription: Works out tides. Use when asked about water levels.\nlicense: MIT\n---\nRun scripts/tide.sh.\n")
	h.write(".ai/bundles/acme/tide/references/résumé.md", "é\n")
	testkit.WriteFile(t, filepath.Join(h.dir, ".ai/bundles/acme/tide/scripts/tide.sh"), "#!/bin/sh\necho high water\n", 0o755)
	h.write(".ai/bundles/acme/ops/commands/deploy.md", "---\ndescription: Deploys the service\n---\nDeploy to $ARGUMENTS.\n")
	h.write(".ai/bundles/acme/ops/commands/db/migrate.md", "---\ndescription: Migrates \"the\" database\n---\nMigrate $ARGUMENTS.\n")
	h.write(".ai/bundles/acme/ops/agents/reviewer.md", "---\nname: reviewer\ndescription: Reviews changes\n---\nYou review.\n")
	h.write(".ai/bundles/acme/ops/rules/style.mdc", "---\ndescription: Style of Go\nglobs: '*.go'\nalwaysApply: false\n---\nShort names.\n")
	h.rye("sign", ".ai/bundles/acme/tide", "--yes")
	h.rye("sign", ".ai/bundles/acme/ops")
	return h
}

// plugin exports the project as a plugin and returns its folder.
func (h *home) plugin(name string) string {
	h.t.Helper()
	dir := filepath.Join(h.t.TempDir(), name)
	h.rye("export", "--plugin", dir, "--as", name)
	return dir
}

// sameBytes compares an installed copy with the files of the exported skill.
func sameBytes(t *testing.T, h *home, dir string) {
	t.Helper()
	for _, p := range []string{"SKILL.md", "references/résumé.md", "scripts/tide.sh"} {
		if got, want := testkit.ReadFile(t, filepath.Join(dir, p)), h.read(".ai/bundles/acme/tide/"+p); got != want {
			t.Errorf("%s came as %q, want %q", p, got, want)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "scripts/tide.sh")); err != nil || st.Mode()&0o111 == 0 {
		t.Errorf("scripts/tide.sh: %v, %v; it is a program", st.Mode(), err)
	}
}

// pluginName is a name by section 5.5 of Agent Plugins 1.0.0; length and repetition come beside.
var pluginName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// pluginManifest checks a manifest by sections 5.2 to 5.6 of Agent Plugins 1.0.0.
func pluginManifest(raw string) error {
	var m struct {
		Schema                                              string `json:"$schema"`
		Name                                                string
		Version, Description, Homepage, Repository, License *string
		Author                                              *struct{ Name, Email, URL *string }
		Keywords                                            []string
		Extensions                                          map[string]map[string]any
	}
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return err
	}
	switch {
	case m.Schema != "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json":
		return errors.New("$schema")
	case len(m.Name) > 64, !pluginName.MatchString(m.Name), strings.Contains(m.Name, "--"), strings.Contains(m.Name, ".."):
		return errors.New("name")
	}
	return nil
}

// pluginManifests returns the manifests of exported plugins, and others that the specification
// refuses.
func pluginManifests(t *testing.T, h *home) (good, bad []string) {
	t.Helper()
	for _, name := range []string{"a", "acme", "acme-tools-2", strings.Repeat("a", 64)} {
		dir := h.plugin(name)
		good = append(good, testkit.ReadFile(t, filepath.Join(dir, "plugin.json")))
		sameBytes(t, h, filepath.Join(dir, "skills/tide"))
	}
	last := good[len(good)-1]
	change := func(old, new string) string {
		changed := strings.Replace(last, old, new, 1)
		if changed == last {
			t.Fatalf("%q is not in the manifest\n%s", old, last)
		}
		return changed
	}
	for _, c := range []struct{ old, new string }{
		{"1.0.0/plugin", "1.1.0/plugin"}, {`"name": "aa`, `"name": "Aa`}, {`"name": "aa`, `"name": "-aa`}, {`"name": "aa`, `"name": "a--a`},
		{`"name": "aa`, `"name": "a..a`}, {`"name": "aa`, `"name": "aaa`}, {`"version": "`, `"hooks": "`}, {`"author": {`, `"author": {"phone": "1", `},
		{`"license": "MIT"`, `"license": 1`}, {`"license": "MIT"`, `"extensions": {"com.acme.x": 1}`}, {`"license": "MIT"`, `"keywords": "tide"`},
	} {
		bad = append(bad, change(c.old, c.new))
	}
	return append(good, change(`"license": "MIT"`, `"extensions": {"com.acme.x": {"a": 1}}, "keywords": ["tide"]`)), bad
}

// TestPluginManifest: the manifest of an exported plugin is one by Agent Plugins 1.0.0, whatever its
// name. make peers asks the same of the schema.
func TestPluginManifest(t *testing.T) {
	t.Parallel()
	good, bad := pluginManifests(t, exported(t))
	for _, m := range good {
		if err := pluginManifest(m); err != nil {
			t.Errorf("%v\n%s", err, m)
		}
	}
	for _, m := range bad {
		if pluginManifest(m) == nil {
			t.Errorf("it is valid:\n%s", m)
		}
	}
}

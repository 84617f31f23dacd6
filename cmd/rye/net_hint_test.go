package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNetHintFollowed: the hint of a refused address, typed into policy.yaml as it stands there,
// lets the tool reach it, where there was no such file and where there was one.
func TestNetHintFollowed(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile(`(?m)^rye: hint: .*: (net: \{.*\}), in your policy\.yaml, whose first line is (policy: 1); (rye where config) shows`)
	for name, before := range map[string]string{"no file": "", "a file": "policy: 1\nauto_approve_up_to: t1\n"} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "reached") }))
			defer s.Close()
			h := newHome(t)
			h.write(".ai/tools/acme/open.yaml", "version: 1.0.0\ntool_type: http\nexecutor_id: rye/core/primitives/http_client\ncategory: acme\ndescription: Ask anybody.\nneeds: {net: true}\n"+
				"config_schema: {type: object, properties: {url: {type: string}}, required: [url]}\nconfig: {url: \"{url}\"}\n")
			h.rye("sign", "tool:acme/open")
			run := []string{"execute", "tool:acme/open", "-p", "url=" + s.URL}
			file := filepath.Join(strings.TrimSpace(h.rye("where", "config")), "policy.yaml")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if before != "" {
				if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := h.command(run...).CombinedOutput()
			hint := said.FindStringSubmatch(string(out))
			if err == nil || hint == nil {
				t.Fatalf("rye %q: %v\n%s", run, err, out)
			}
			text := before + hint[1] + "\n"
			if before == "" {
				text = hint[2] + "\n" + text
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := h.command(run...).CombinedOutput(); err != nil || !strings.Contains(string(out), "reached") {
				t.Errorf("with %q: %v\n%s", text, err, out)
			}
		})
	}
}

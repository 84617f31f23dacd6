package objects

import (
	"strings"
	"testing"
)

// TestNeedsListen: ports are numbers or texts, at most 16, from 1024 on, and none that net names on this
// machine.
func TestNeedsListen(t *testing.T) {
	for needs, want := range map[string]string{
		"{listen: [5173]}":                                  "read nothing; write nothing; net nothing; listen 5173",
		"{listen: 5173, rye: [rye.load.*]}":                 "read nothing; write nothing; net nothing; listen 5173; rye rye.load.*",
		"{net: ['localhost:5432'], listen: ['5173', 8080]}": "read nothing; write nothing; net localhost:5432; listen 5173 8080",
		"{listen: []}":                                      "read nothing; write nothing; net nothing",
		"{listen: [80]}":                                    `error "80": want a port from 1024 to 65535`,
		"{listen: [65536]}":                                 "error want a port",
		"{listen: [0]}":                                     "error want a port",
		"{listen: ['08080']}":                               "error want a port",
		"{listen: ['5173-5180']}":                           "error want a port",
		"{listen: ['*']}":                                   "error want a port",
		"{listen: true}":                                    "error want a port",
		"{listen: [{a: 1}]}":                                "error want a port",
		"{listen: [" + strings.Repeat("5173, ", 17) + "]}":  "error 17 ports, at most 16",
		"{net: ['localhost:5173'], listen: [5173]}":         "error the same port of this machine",
		"{net: ['LOCALHOST.:5173'], listen: [5173]}":        "error the same port of this machine",
		"{net: ['127.0.0.1:5173'], listen: [5173]}":         "error the same port of this machine",
		"{net: ['[::1]:5173'], listen: [5173]}":             "error the same port of this machine",
		"{net: ['example.org:5173'], listen: [5173]}":       "read nothing; write nothing; net example.org:5173; listen 5173",
	} {
		it, err := Parse("tools/acme/x.sh", []byte("#!/bin/bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: x\n# needs: "+needs+"\ntrue\n"))
		got := ""
		if err != nil {
			got = "error " + err.Error()
		} else if problems := it.Validate(); len(problems) > 0 {
			got = "error " + problems[0].String()
		} else {
			got = it.Meta.Needs.String()
		}
		text, isError := strings.CutPrefix(want, "error ")
		if isError != strings.HasPrefix(got, "error ") || isError && !strings.Contains(got, text) || !isError && got != want {
			t.Errorf("%s: %q, want %q", needs, got, want)
		}
	}
}

// TestManifestListen: the needs of a bundle keep their ports in a line of their own, which is left out
// where it is empty.
func TestManifestListen(t *testing.T) {
	n := Needs{Declared: true, Listen: []string{"5173"}, Rye: []string{"rye.load.*"}}
	text := string(n.append(nil))
	if want := "needs:\n  read: []\n  write: []\n  net: []\n  listen: [\"5173\"]\n  rye: [\"rye.load.*\"]\n"; text != want {
		t.Errorf("wrote %q, want %q", text, want)
	}
	for _, bad := range []string{"80", "08080", "x", ""} {
		if err := (&Needs{Declared: true, Listen: []string{bad}}).check(); err == nil {
			t.Errorf("listen %q is accepted", bad)
		}
	}
}

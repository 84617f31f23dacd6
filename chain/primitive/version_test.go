package primitive

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"v22.18.0\n":                             "22.18.0",
		"Python 3.11.2\n":                        "3.11.2",
		"Python 3.13.0rc1":                       "3.13.0",
		"GNU bash, version 5.2.15(1)-release ()": "5.2.15",
		"v23.0.0-nightly20240901":                "23.0.0",
		"ruby 3.1.2p20 (2022-04-12) [x86_64]":    "3.1.2",
		"go version 7":                           "",
		"node":                                   "",
		"":                                       "",
		"v.1.2 1. .2":                            "",
		"999999999.1":                            "",
	} {
		if got, ok := ParseVersion(text); got != want || ok != (want != "") {
			t.Errorf("ParseVersion(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for _, tc := range []struct {
		have, want string
		ok         bool
	}{
		{"20.20.2", "22.6", false}, {"22.5.1", "22.6", false}, {"22.6.0", "22.6", true}, {"22.18.0", "22.6", true},
		{"23.0.0", "22.6", true}, {"24.1.0", "22.18.5", true}, {"9.0", "22", false}, {"22", "22.0.0", true}, {"22", "22.0.1", false},
	} {
		if got := AtLeast(tc.have, tc.want); got != tc.ok {
			t.Errorf("AtLeast(%q, %q) = %v", tc.have, tc.want, got)
		}
	}
	for s, ok := range map[string]bool{"22.6": true, "22": true, "": false, "v22": false, "22.": false, "22.x": false, ">=22": false, "1.2.3.4.5.6.7.8.9": false} {
		if IsVersion(s) != ok {
			t.Errorf("IsVersion(%q) = %v", s, !ok)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("v22.18.0\n")
	f.Add("GNU bash, version 5.2.15(1)-release")
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := ParseVersion(text); ok && (!IsVersion(v) || !strings.Contains(text, v) || !AtLeast(v, v)) {
			t.Errorf("ParseVersion(%q) = %q", text, v)
		}
	})
}

// Real interpreters are asked, in the sandbox that their tools get.
func TestCheckVersion(t *testing.T) {
	for _, name := range []string{"bash", "python3", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		spec := Spec{Type: "system_binary", Binary: name, Var: "RYE_" + strings.ToUpper(name)}
		p, err := Interpreter(spec, Search{Path: "/usr/local/bin:/usr/bin:/bin"})
		if err != nil {
			continue
		}
		for want, code := range map[string]fault.Code{"": "", "1.0": "", "99": fault.NotFound} {
			spec.MinVersion = want
			err := CheckVersion(t.Context(), spec, p)
			if fault.CodeOf(err) != code {
				t.Errorf("%s, want %q: %v", name, want, err)
			}
			if err != nil && (!strings.Contains(err.Error(), "is version ") || !strings.Contains(fault.HintOf(err).String(), spec.Var)) {
				t.Errorf("%s: %v (%s)", name, err, fault.HintOf(err).String())
			}
		}
	}
	if err := CheckVersion(t.Context(), Spec{Binary: "true", MinVersion: "1"}, Program{Path: "/nowhere/x"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a missing program: %v", err)
	}
}

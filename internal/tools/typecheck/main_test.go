package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// good is a module that is right for every system.
var good = map[string]string{
	"go.mod":            "module example.com/m\n\ngo 1.26\n",
	"main.go":           "package main\n\nimport \"example.com/m/part\"\n\nfunc main() { println(part.Name()) }\n",
	"part/part.go":      "package part\n\nimport \"os\"\n\nfunc Name() string { return name(os.Args) }\n",
	"part/a_unix.go":    "//go:build unix\n\npackage part\n\nimport \"syscall\"\n\nfunc name([]string) string { return syscall.SIGCONT.String() }\n",
	"part/a_windows.go": "package part\n\nfunc name(args []string) string { return args[0] }\n",
	"part/in_test.go":   "package part\n\nimport \"testing\"\n\nvar shared = 1\n\nfunc TestName(t *testing.T) { name(nil) }\n",
	"part/out_test.go":  "package part_test\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/part\"\n)\n\nfunc TestOut(t *testing.T) { part.Name() }\n",
}

// What a compiler would refuse for one system is refused for it, and for no other.
func TestWhatACompilerRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file, text    string
		windows, unix string // what the error says; "" is none
	}{
		"nothing":                  {"part/more.go", "package part\n", "", ""},
		"a name of one system":     {"part/more.go", "package part\n\nimport \"syscall\"\n\nvar X = syscall.SIGCONT\n", "undefined: syscall.SIGCONT", ""},
		"in a body":                {"part/more.go", "package part\n\nimport \"syscall\"\n\nfunc f() { println(syscall.SIGCONT) }\n", "undefined: syscall.SIGCONT", ""},
		"a file that is missing":   {"part/a_windows.go", "//go:build never\n\npackage part\n", "undefined: name", ""},
		"another signature":        {"part/a_windows.go", "package part\n\nfunc name() string { return \"\" }\n", "too many arguments", ""},
		"in its own test":          {"part/b_windows_test.go", "package part\n\nvar X int = shared + \"\"\n", "mismatched types", ""},
		"in a test from outside":   {"part/b_windows_test.go", "package part_test\n\nimport \"example.com/m/part\"\n\nvar X = part.Missing\n", "undefined: part.Missing", ""},
		"what is not Go":           {"part/more.go", "package part\n\nfunc {\n", "expected 'IDENT'", "expected 'IDENT'"},
		"not used, only elsewhere": {"part/b_unix.go", "//go:build unix\n\npackage part\n\nimport \"os\"\n", "", "\"os\" imported and not used"},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(good)
			files[c.file] = c.text
			dir := t.TempDir()
			for _, name := range slices.Sorted(maps.Keys(files)) {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for system, want := range map[string]string{"windows": c.windows, "darwin": c.unix} {
				err := check(dir, system, "./...")
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", system, err, want)
				}
			}
		})
	}
}

package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var tide = objects.Ref{Kind: objects.Bundle, ID: "acme/tide"}

func TestProgramRef(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]objects.ID{
		"scripts/tide.py":                      "acme/tide/scripts/tide_py",
		"run":                                  "acme/tide/run",
		"Scripts/Tide-Table.sh":                "acme/tide/scripts/tide-table_sh",
		".hidden.py":                           "acme/tide/_hidden_py",
		"a b.py":                               "acme/tide/program_5d4acf84f11c52ec",
		"潮.py":                                 "acme/tide/program_5bcbd287fe430e02",
		"-x.py":                                "",
		"con/x.py":                             "",
		strings.Repeat("a/", 14) + "x.py":      "",
		strings.Repeat("a", 120) + ".py":       "",
		strings.Repeat("abc/", 9) + "x.tar.gz": "acme/tide/abc/abc/abc/abc/abc/abc/abc/abc/abc/x_tar_gz",
	} {
		ref := objects.ProgramRef(tide, path)
		if want == "" && !strings.HasPrefix(string(ref.ID), "acme/tide/program_") || want != "" && want != ref.ID {
			t.Errorf("ProgramRef(%q) = %s, want %s", path, ref, want)
		}
		if err := ref.Check(); err != nil || ref.Kind != objects.Tool {
			t.Errorf("ProgramRef(%q) = %s: %v", path, ref, err)
		}
		if named, err := objects.ParseName("tool:acme/tide/" + path); err != nil || named != ref {
			t.Errorf("ParseName(%q) = %s, %v; want %s", path, named, err, ref)
		}
	}
	if ref := objects.ProgramRef(objects.Ref{Kind: objects.Bundle, ID: "acme/tools/tide"}, "x.py"); ref != (objects.Ref{}) {
		t.Errorf("a bundle of one kind has the program %s", ref)
	}
	for _, name := range []string{"tool:acme/tide/../x.py", "tool:acme/x.py", "tool:../tide/x.py", "tool:acme/tide/", "tool:acme/tide/a//b.py",
		"knowledge:acme/tide/x.py", "tool:acme/tide/.git/config.py", "tool:acme/tide/a\nb.py", "tool:acme/tide/a\\b.py", "acme/tide/x.py"} {
		if ref, err := objects.ParseName(name); err == nil {
			t.Errorf("ParseName(%q) = %s", name, ref)
		}
	}
}

// manifestWith is a manifest of one file.
func manifestWith(t *testing.T, path string, executable bool, needs objects.Needs) *objects.Manifest {
	t.Helper()
	m := &objects.Manifest{ID: "acme/bundle/tide", Version: "1.2.0", Needs: needs, Files: []objects.File{{Path: path, Executable: executable}}}
	if _, err := m.Encode(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestProgram(t *testing.T) {
	t.Parallel()
	const elf = "\x7fELF\x02\x01\x01\x00"
	for _, c := range []struct {
		path, data string
		executable bool
		want       string // the runtime, a part of the refusal, or "" for no program
	}{
		{"scripts/tide.py", "print(1)\n", false, "python_script_runtime"},
		{"scripts/tide.py", "#!/usr/bin/env python3\n", false, "python_script_runtime"},
		{"scripts/tide.py", "#!/usr/bin/env node\n", false, "node_runtime"},
		{"scripts/tide", "#!/usr/bin/env python3\n", true, "python_script_runtime"},
		{"scripts/tide", "#!/usr/bin/env python3\n", false, ""},
		{"scripts/a.sh", "echo\n", false, "bash_runtime"},
		{"scripts/a.sh", "#!/bin/sh\n", false, "sh_runtime"},
		{"scripts/a.sh", "#!/bin/bash -eu\n", true, "native_runtime"},
		{"scripts/a.sh", "#!/bin/bash -eu\n", false, "gives options"},
		{"scripts/a.js", "1\n", false, "node_runtime"},
		{"scripts/a.ts", "#!/usr/bin/env node\n", true, "typescript_runtime"},
		{"scripts/a.rb", "#!/usr/bin/env ruby\n", true, "native_runtime"},
		{"scripts/a.rb", "#!/usr/bin/env ruby\n", false, ""},
		{"scripts/a.py", "#!/usr/bin/env pypy\n", false, "no runtime of rye"},
		{"scripts/a.ps1", "Get-Item\n", false, ""},
		{"bin/a", elf, true, "native_runtime"},
		{"bin/a", elf, false, ""},
		{"README.md", "text\n", true, "names no interpreter"},
		{"SKILL.md", "#!/bin/sh\n", true, ""},                         // an item's path
		{"main.py", "print(1)\n", true, ""},                           // the same
		{"tools/x.py", "print(1)\n", true, ""},                        // the same
		{"tools/X y.py", "print(1)\n", true, "python_script_runtime"}, // no item can have it
	} {
		m := manifestWith(t, c.path, c.executable, objects.Needs{})
		it, err := m.Program(c.path, []byte(c.data))
		switch {
		case fault.Is(err, fault.NotFound) && c.want == "":
		case fault.Is(err, fault.Malformed) && c.want != "" && strings.Contains(err.Error(), c.want):
		case err == nil && c.want != "" && strings.HasSuffix(string(it.Meta.Executor), "/"+c.want):
			if !it.Meta.Program || !it.Meta.Needs.Declared || it.Meta.Needs.String() != objects.NoNeeds.String() || it.Meta.Version != "1.2.0" {
				t.Errorf("%s: %+v", c.path, it.Meta)
			}
			if it.Path != "bundles/acme/tide/"+c.path || it.Ref != objects.ProgramRef(tide, c.path) || it.Sum != objects.DigestOf([]byte(c.data)) {
				t.Errorf("%s: %s at %s", c.path, it.Ref, it.Path)
			}
		default:
			t.Errorf("Program(%q, %q, %v) = %+v, %v; want %q", c.path, c.data, c.executable, it, err, c.want)
		}
	}
	needs := objects.Needs{Declared: true, Read: []string{"."}, Net: []string{"example.com"}}
	it, err := manifestWith(t, "x.py", false, needs).Program("x.py", nil)
	if err != nil || it.Meta.Needs.String() != needs.String() {
		t.Errorf("needs %v, %v", it, err)
	}
	two := &objects.Manifest{ID: "acme/bundle/tide", Version: "1.0.0", Files: []objects.File{{Path: "a.py"}, {Path: "a_py", Executable: true}}}
	if p, err := two.LocateProgram(objects.ProgramRef(tide, "a.py")); !fault.Is(err, fault.Conflict) {
		t.Errorf("two programs of one id: %q, %v", p, err)
	}
}

// FuzzProgramRef: every path that a manifest can list has a valid id, which lies in its bundle.
func FuzzProgramRef(f *testing.F) {
	for _, path := range []string{"scripts/tide.py", "潮.py", "-x", "a b/c", ".x", "con"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if objects.CheckMember(path) != nil {
			return
		}
		ref := objects.ProgramRef(tide, path)
		if err := ref.Check(); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if of, in := ref.Package(); !in || of != tide {
			t.Errorf("%q: %s is not of the bundle", path, ref)
		}
	})
}

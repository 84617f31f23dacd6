package main

import (
	"os"
	"path/filepath"
	"testing"
)

const module = "../../.." // its root, seen from this package

// TestDocs compares docs/cli and the tables of docs/cli.md and docs/layout.md with the program.
func TestDocs(t *testing.T) {
	all, err := files(module)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is out of date: make docs (%v)", name, err)
		}
	}
	have, err := filepath.Glob(filepath.Join(module, "docs", "cli", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range have {
		if all[name] == "" {
			t.Errorf("%s: there is no such command", name)
		}
	}
}

// TestWrite: write makes the files that TestDocs compares, and removes the page of a command
// that is gone.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	code := put("hat/hat.go", "package hat\n")
	gone := put("docs/cli/gone.md", "")
	layout := put("docs/layout.md", "before\n"+packageMarks[0]+"old\n"+packageMarks[1]+"after\n")
	if err := write(dir); err == nil {
		t.Error("written although a package has no comment")
	}
	put("hat/hat.go", "// Package hat keeps the rain off.\npackage hat\n")
	if err := write(dir); err == nil {
		t.Error("written without a docs/cli.md")
	}
	put("docs/cli.md", "before\n"+exitMarks[0]+"old\n"+exitMarks[1]+"after\n")
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("the page of a command that is no more was left")
	}
	want := "before\n" + packageMarks[0] + "\n| package | |\n|---|---|\n| `hat` | keeps the rain off |\n\n" + packageMarks[1] + "after\n"
	if got, err := os.ReadFile(layout); err != nil || string(got) != want {
		t.Errorf("docs/layout.md is %q, want %q (%v)", got, want, err)
	}
	all, err := files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	put("hat/doc.go", "// Package hat is red.\npackage hat\n")
	if _, err := files(dir); err == nil {
		t.Errorf("a second comment beside %s was accepted", code)
	}
}

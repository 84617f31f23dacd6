package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDocs compares docs/cli and the table of docs/cli.md with the program.
func TestDocs(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	all, err := files(docs)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s does not say what the program says: make docs (%v)", name, err)
		}
	}
	have, err := filepath.Glob(filepath.Join(docs, "cli", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range have {
		if all[name] == "" {
			t.Errorf("%s: there is no such command", name)
		}
	}
}

// TestWrite: what is written is what the test above compares with, and nothing is left
// of a command that is no more.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err == nil {
		t.Error("written without a docs/cli.md")
	}
	page := filepath.Join(dir, "cli.md")
	if err := os.WriteFile(page, []byte("before\n"+tableBegin+"old\n"+tableEnd+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, "cli", "gone.md")
	if err := os.Mkdir(filepath.Dir(gone), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gone, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("the page of a command that is no more was left")
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
}

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/stdlib"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// library copies the standard library, unsigned and unreleased, to a directory.
func library(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "system"), stdlib.Files()); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(dir, "releases"), "# none yet\n", 0o644)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chmod(p, 0o644) // embedded files are read-only
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSignAppends(t *testing.T) {
	dir := library(t)
	manifest, releases := filepath.Join(dir, "manifest.yaml"), filepath.Join(dir, "releases")
	item := filepath.Join(dir, "system", "knowledge", "rye", "reference", "spaces.md")

	if err := run(t.Context(), dir, "", now); err != nil {
		t.Fatal(err)
	}
	one, signed := testkit.ReadFile(t, releases), testkit.ReadFile(t, manifest)
	if !strings.HasPrefix(one, "# none yet\n0.1.0 sha256:") {
		t.Errorf("releases = %q", one)
	}
	if err := run(t.Context(), dir, "", now); err != nil {
		t.Fatal(err)
	}
	if testkit.ReadFile(t, releases) != one || testkit.ReadFile(t, manifest) != signed {
		t.Error("signing an unchanged library changed something")
	}

	testkit.WriteFile(t, item, testkit.ReadFile(t, item)+"\nOne more line.\n", 0o644)
	if err := run(t.Context(), dir, "", now); err != nil {
		t.Fatal(err)
	}
	two := testkit.ReadFile(t, releases)
	rs, err := stdlib.ParseReleases(two)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(two, one) || len(rs) != 2 || rs[1].Version != "0.1.1" {
		t.Errorf("releases after a change = %q, want the old text and 0.1.1", two)
	}
	if rs[0].Key == rs[1].Key {
		t.Error("two releases were signed with one key")
	}

	if err := run(t.Context(), dir, "1.0.0", now); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), dir, "0.9.0", now); err == nil {
		t.Error("a version before the last one was accepted")
	}
}

func TestRefusesWhatIsNoItem(t *testing.T) {
	for name, text := range map[string]string{
		"tools/rye/broken.py":            "__category__ = \"other\"\n",  // not its folder
		"tools/rye/README":               "read me\n",                   // no extension
		"knowledge/rye/Upper.md":         "---\nid: Upper\n---\n",       // no id
		"directives/rye/empty.md":        "# Nothing\n",                 // no XML
		"knowledge/rye/reference/two.md": "---\nid: other\n---\ntext\n", // its name is not its path
	} {
		dir := library(t)
		path := filepath.Join(dir, "system", filepath.FromSlash(name))
		testkit.WriteFile(t, path, text, 0o644)
		if err := run(t.Context(), dir, "", now); err == nil {
			t.Errorf("signed a library that holds %s", name)
		}
		if got := testkit.ReadFile(t, filepath.Join(dir, "releases")); got != "# none yet\n" {
			t.Errorf("%s: releases = %q after a refusal", name, got)
		}
		if _, err := os.Stat(filepath.Join(dir, "manifest.yaml")); err == nil {
			t.Errorf("%s: a manifest was written", name)
		}
	}
}

// TestNoPrivateKeyIsWritten looks for anything but the two files.
func TestNoPrivateKeyIsWritten(t *testing.T) {
	dir := library(t)
	t.Setenv("HOME", t.TempDir())
	if err := run(t.Context(), dir, "", now); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "manifest.yaml releases system" {
		t.Errorf("files after signing: %s", got)
	}
	if left, _ := os.ReadDir(os.Getenv("HOME")); len(left) > 0 {
		t.Errorf("left in HOME: %v", left)
	}
	for _, f := range []string{"manifest.yaml", "releases"} {
		if strings.Contains(testkit.ReadFile(t, filepath.Join(dir, f)), "PRIVATE") {
			t.Errorf("%s holds a private key", f)
		}
	}
}

package testkit

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// WriteFile writes a file and makes the directories above it. A file that is there keeps its mode.
func WriteFile(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(t, os.WriteFile(path, []byte(text), mode))
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	Must(t, err)
	return string(raw)
}

// ReadJSON decodes a file of JSON, such as test vectors.
func ReadJSON[T any](t testing.TB, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(ReadFile(t, path)), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// CopyDir copies a directory, in the place of what is at the path to.
func CopyDir(t testing.TB, from, to string) {
	t.Helper()
	Must(t, os.RemoveAll(to))
	Must(t, os.CopyFS(to, os.DirFS(from)))
}

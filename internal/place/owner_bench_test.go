//go:build unix

package place

import (
	"path/filepath"
	"testing"
)

// What a start pays: the walk once, and then one look at each file.
func BenchmarkOwned(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "home", "ann", ".config", "rye")
	for b.Loop() {
		if err := Owned(dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrusted(b *testing.B) {
	path := filepath.Join(b.TempDir(), "trust.yaml")
	if err := File(path, []byte("x"), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := Trusted(path); err != nil {
			b.Fatal(err)
		}
	}
}

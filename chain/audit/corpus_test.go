package audit_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestTheHalfKeptApart compares testdata/corpus/apart with the digests that were recorded before the rules were
// written: rules are tuned on the other half alone.
func TestTheHalfKeptApart(t *testing.T) {
	want, err := os.ReadFile("testdata/corpus/apart.sha256")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("testdata/corpus/apart/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("testdata/corpus/apart holds no files: %v", err)
	}
	var got bytes.Buffer
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%x  %s\n", sha256.Sum256(data), filepath.Base(name))
	}
	if got.String() != string(want) {
		t.Errorf("the half kept apart has changed:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestBinariesAreAHundred(t *testing.T) {
	if got := len(binaries()); got != 100 {
		t.Errorf("%d binary files, want 100", got)
	}
}

package audit_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestTextsKeptApart compares the texts on which no rule is tuned with the digests that were recorded before:
// testdata/corpus/apart before the rules were written, and later before they were measured on it.
func TestTextsKeptApart(t *testing.T) {
	for _, name := range []string{"apart", "later"} {
		dir := filepath.Join("testdata", "corpus", name)
		want, err := os.ReadFile(dir + ".sha256")
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s holds no files: %v", dir, err)
		}
		var got bytes.Buffer
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%x  %s\n", sha256.Sum256(data), filepath.Base(f))
		}
		if got.String() != string(want) {
			t.Errorf("%s has changed:\n%s\nwant:\n%s", dir, got.String(), want)
		}
	}
}

func TestBinariesAreAHundred(t *testing.T) {
	if got := len(binaries()); got != 100 {
		t.Errorf("%d binary files, want 100", got)
	}
}

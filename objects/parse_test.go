package objects_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// golden reads the archives (txtar) of a directory. Each holds one item, whose
// name is its path below .ai, and a file named want that -update rewrites.
func golden(t *testing.T, dir string, run func(t *testing.T, path string, raw []byte) string) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives in testdata/%s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, want, _ := strings.Cut(string(text), "-- want --\n")
			_, item, ok := strings.Cut(head, "-- ")
			path, raw, ok2 := strings.Cut(item, " --\n")
			if !ok || !ok2 {
				t.Fatalf("%s: want an item below a line with its path", file)
			}
			got := run(t, path, []byte(raw))
			if *update {
				if err := os.WriteFile(file, []byte(head+"-- want --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("%s: got\n%s", file, got)
			}
		})
	}
}

// TestParseGood shows what each dialect gives, and what Validate has against it.
func TestParseGood(t *testing.T) {
	golden(t, "good", func(t *testing.T, path string, raw []byte) string {
		it, err := objects.Parse(path, raw)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(it.Raw, raw) || it.Sum != objects.DigestOf(raw) || it.Digest != objects.DigestOf(it.Body) {
			t.Error("the item's bytes or digests are not those of the file")
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetIndent("", " ")
		enc.SetEscapeHTML(false)
		legacy := ""
		if it.Legacy != nil {
			legacy = it.Legacy.Covers + it.Legacy.Unsigned
		}
		err = enc.Encode(struct {
			Ref      string
			Legacy   string
			Meta     objects.Meta
			Problems []objects.Problem
		}{it.Ref.String(), legacy, it.Meta, it.Validate()})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}

// TestParseBad shows that every refusal says where and what.
func TestParseBad(t *testing.T) {
	golden(t, "bad", func(t *testing.T, path string, raw []byte) string {
		it, err := objects.Parse(path, raw)
		if err == nil {
			t.Fatalf("accepted as %+v", it.Meta)
		}
		if !fault.Is(err, fault.Malformed) {
			t.Errorf("code %s, want malformed", fault.CodeOf(err))
		}
		got := err.Error() + "\n"
		if h := fault.HintOf(err).String(); h != "" {
			got += "mend: " + h + "\n"
		}
		return got
	})
}

package thread

import (
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// FuzzQuoted: whatever a text is, it stays between its fences, hides nothing, and leaves the
// entry that it stands in one that can be read and signed.
func FuzzQuoted(f *testing.F) {
	for _, text := range []string{"", "plain", "```\n````json\n", "rye:signed:v2:x", "\x00\xff\u202e\u200b", "---\nid: x\n---\n", strings.Repeat("`", 5000), "a\r\nb\rc", "<!-- rye:signed:x -->"} {
		f.Add(text)
	}
	head, err := headOf(&Description{Directive: "directive:acme/x", Started: "2026-01-02T03:04:05Z"}, "acme/entry")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := quoted("", text, maxGiven)
		if text == "" {
			if got != "" {
				t.Errorf("nothing is %q", got)
			}
			return
		}
		lines := strings.Split(strings.Trim(got, "\n"), "\n")
		fence := lines[0]
		if len(lines) < 3 || strings.Trim(fence, "`") != "" || len(fence) < 3 || lines[len(lines)-1] != fence {
			t.Fatalf("no fences: %q", got)
		}
		if slices.ContainsFunc(lines[1:len(lines)-1], func(l string) bool { return strings.Contains(l, fence) }) {
			t.Errorf("the fence is in the text: %q", got)
		}
		if strings.ContainsFunc(got, words.Hidden) || strings.Contains(got, "rye:signed") {
			t.Errorf("hidden, or a signature: %q", got)
		}
		if len(got) > 2*maxGiven+len(fence)*2+200 {
			t.Errorf("%d bytes", len(got))
		}
		it, err := objects.Parse("knowledge/acme/entry.md", []byte(head+"# X\n"+got))
		if err != nil {
			t.Fatalf("the entry cannot be read: %v\n%q", err, got)
		}
		if problems := it.Validate(); len(problems) > 0 || it.Signature != nil {
			t.Errorf("%v", problems)
		}
	})
}

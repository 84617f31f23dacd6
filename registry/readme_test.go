package registry

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// TestContentReadme: the page that a forge shows has the counts, the last 50 operations, and
// not a word by people: what an item or a reason says cannot become a link, a picture or a script there.
func TestContentReadme(t *testing.T) {
	ada := newKey("ada")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	hostile := "<script>alert(1)</script> ![x](https://evil.example/x) [click](javascript:x) @everybody | a | b"
	e := testEntry(ada, "acme/tool/a_b_c@1.0.0-rc.1", "x")
	e.Meta = Meta{Description: hostile, Caps: objects.DigestOf(nil)}
	r.do(ada, Op{Kind: OpPublish, Items: []Entry{e}})
	r.do(ada, Op{Kind: OpYank, Reason: hostile, Items: []Entry{{Ref: e.Ref, Version: e.Version}}})
	for i := range 60 {
		r.publish(ada, fmt.Sprintf("acme/knowledge/n%d@1.0.0", i))
	}
	var done []string
	for _, raw := range r.raws {
		op, err := ParseOp(raw)
		if err != nil {
			t.Fatal(err)
		}
		done = append([]string{doneLine(op, op.Time)}, done...)
	}
	page := string(contentReadme(r.s, done)) + string(versionTable(r.s))
	if !strings.Contains(page, "61 versions were published in 63 operations, the last on 2025-01-02.") {
		t.Errorf("counts:\n%s", page[:200])
	}
	if n := strings.Count(page, "\n- "); n != shownOperations {
		t.Errorf("%d operations are shown, want %d", n, shownOperations)
	}
	first := strings.Index(page, "\n- ")
	if line, _, _ := strings.Cut(page[first+1:], "\n"); line != "- 63, 2025-01-02: `publish acme/knowledge/n59@1.0.0`" {
		t.Errorf("newest first: %q", line)
	}
	shown := string(contentReadme(r.s, done[10:])) + string(versionTable(r.s))
	plain := regexp.MustCompile("`[^`\n]*`").ReplaceAllString(shown, "")
	if strings.ContainsAny(plain, "<>[]@_!\\") || strings.Contains(shown, "evil") {
		t.Errorf("text by people:\n%s", plain)
	}
}

package registry

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
)

// TestRebuiltReadme: the page that a forge shows after a rebuild has the counts, the last 50
// operations and all versions, and not a word by people: what an item or a reason says cannot
// become a link, a picture or a script there.
func TestRebuiltReadme(t *testing.T) {
	ada := newKey("ada")
	s, raws := claimed(t, ada)
	do := func(op oplog.Op) {
		t.Helper()
		w, err := penOf(ada).Operation(t.Context(), s, op)
		if err != nil {
			t.Fatal(err)
		}
		s, raws = w.After, append(raws, w.Raw)
	}
	hostile := "<script>alert(1)</script> ![x](https://evil.example/x) [click](javascript:x) @everybody | a | b"
	e := testEntry(ada, "acme/tool/a_b_c@1.0.0-rc.1", "x")
	e.Meta = oplog.Meta{Description: hostile, Caps: objects.DigestOf(nil)}
	do(oplog.Op{Kind: oplog.OpPublish, Items: []oplog.Entry{e}})
	do(oplog.Op{Kind: oplog.OpYank, Reason: hostile, Items: []oplog.Entry{{Ref: e.Ref, Version: e.Version}}})
	for i := range 60 {
		name := fmt.Sprintf("acme/knowledge/n%d@1.0.0", i)
		do(oplog.Op{Kind: oplog.OpPublish, Items: []oplog.Entry{testEntry(ada, name, "body of "+name)}})
	}
	var done []string
	for _, raw := range raws {
		op, err := oplog.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		done = append([]string{doneLine(op, op.Time)}, done...)
	}
	page := string(rebuiltReadme(s, done))
	if !strings.Contains(page, "61 versions were published in 63 operations, the last on 2025-01-02.") {
		t.Errorf("counts:\n%s", page[:600])
	}
	if n := strings.Count(page, "\n- "); n != shownOperations {
		t.Errorf("%d operations are shown, want %d", n, shownOperations)
	}
	first := strings.Index(page, "\n- ")
	if line, _, _ := strings.Cut(page[first+1:], "\n"); line != "- 63, 2025-01-02: `publish acme/knowledge/n59@1.0.0`" {
		t.Errorf("newest first: %q", line)
	}
	shown := string(rebuiltReadme(s, done[10:]))
	plain := regexp.MustCompile("`[^`\n]*`").ReplaceAllString(shown, "")
	if strings.ContainsAny(plain, "<>[]@_!\\") || strings.Contains(shown, "evil") {
		t.Errorf("text by people:\n%s", plain)
	}
}

// claimed returns a namespace that ada claimed, with its log.
func claimed(t *testing.T, ada *testKey) (s oplog.State, raws [][]byte) {
	t.Helper()
	admin, root := newKey("admin"), oplog.Root{}
	for _, op := range []oplog.RootOp{{Kind: oplog.OpGenesis, Name: "Test", Claims: oplog.ClaimsGranted, Threshold: 1, Keys: []trust.PublicKey{admin.pub}},
		{Kind: oplog.OpGrant, Namespace: "acme", Keys: []trust.PublicKey{ada.pub}}} {
		op, err := penOf(admin).RootOperation(root, op)
		if err == nil {
			_, root, err = penOf(admin).SealRoot(t.Context(), root, op)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := penOf(ada).Operation(t.Context(), oplog.NewState(root, "acme"), oplog.Op{Kind: oplog.OpClaim, Keys: []oplog.KeyGrant{{Public: ada.pub}}})
	if err != nil {
		t.Fatal(err)
	}
	return w.After, [][]byte{w.Raw}
}

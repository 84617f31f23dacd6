package origin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/diff"
)

func TestMergeFiles(t *testing.T) {
	file := func(s string) member { return member{data: []byte(s)} }
	exec := func(s string) member { return member{data: []byte(s), exec: true} }
	base := members{"pristine": file("a\n"), "mine": file("a\nb\nc\n"), "lines": file("a\nb\nc\nd\ne\n"), "clash": file("a\n"), "gone": file("a\n"), "gone2": file("a\n"),
		"dropped": file("a\n"), "dropped2": file("a\n"), "mode": file("a\n"), "crlf": file("a\nb\nc\n"), "png": file("\x00a"), "same": file("a\n")}
	ours := members{"pristine": file("a\n"), "mine": file("a\nB\nc\n"), "lines": file("A\nb\nc\nd\ne\n"), "clash": file("o\n"), "gone": file("a\n"), "gone2": file("o\n"),
		"mode": file("o\n"), "crlf": file("a\r\nb\r\nc\r\n"), "png": file("\x00o"), "same": file("x\n"), "new mine": file("o\n"), "new both": file("o\n")}
	theirs := members{"pristine": file("t\n"), "mine": file("a\nb\nc\n"), "lines": file("a\nb\nc\nd\nE\n"), "clash": file("t\n"),
		"dropped": file("a\n"), "dropped2": file("t\n"), "mode": exec("a\n"), "crlf": file("a\nb\nC\n"), "png": file("\x00t"), "same": file("x\n"), "new": exec("t\n"), "new both": file("t\n")}
	m := mergeFiles(base, ours, theirs, diff.Marks{Ours: "yours", Theirs: "upstream"})
	want := members{"pristine": file("t\n"), "mine": file("a\nB\nc\n"), "lines": file("A\nb\nc\nd\nE\n"), "clash": file("<<<<<<< yours\no\n=======\nt\n>>>>>>> upstream\n"),
		"gone2": file("o\n"), "dropped2": file("t\n"), "mode": exec("o\n"), "crlf": file("a\nb\nC\n"), "png": file("\x00o"), "same": file("x\n"), "new": exec("t\n"),
		"new mine": file("o\n"), "new both": file("<<<<<<< yours\no\n=======\nt\n>>>>>>> upstream\n")}
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if got, ok := m.files[p]; !ok || !got.same(want[p]) {
			t.Errorf("%s = %q %v, want %q %v", p, got.data, got.exec, want[p].data, want[p].exec)
		}
	}
	for p := range m.files {
		if _, ok := want[p]; !ok {
			t.Errorf("%s should be gone", p)
		}
	}
	var conflicts []string
	for _, c := range m.conflicts {
		conflicts = append(conflicts, c.path)
	}
	if got := strings.Join(conflicts, ", "); got != "clash, dropped2, gone2, new both, png" {
		t.Errorf("conflicts: %s", got)
	}
	if got := strings.Join(m.edited, ", "); got != "dropped, lines, mine, mode, new mine" {
		t.Errorf("edited: %s", got)
	}
}

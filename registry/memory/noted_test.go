package memory

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// hello is an item.
var hello = objects.Ref{Kind: objects.Knowledge, ID: "acme/a"}

func TestNewestGood(t *testing.T) {
	for want, versions := range map[string][]string{
		"1.2.0": {"1.0.0 ok", "1.2.0 ok", "2.0.0-rc.1 ok"}, "1.0.0": {"1.0.0 ok", "1.1.0 yanked", "1.2.0 deprecated"},
		"2.0.0-rc.2": {"2.0.0-rc.1 ok", "2.0.0-rc.2 ok"}, "": {"1.0.0 revoked"}, "1.0.1": {"0.9.0-a ok", "1.0.1 ok"},
	} {
		var list []oplog.Entry
		for _, v := range versions {
			version, state, _ := strings.Cut(v, " ")
			list = append(list, oplog.Entry{Version: version, Status: oplog.Status(state)})
		}
		if got := NewestGood(list).Version; got != want {
			t.Errorf("NewestGood(%q) = %q, want %q", versions, got, want)
		}
	}
}

// FuzzNoted: whatever the file holds, reading it ends, and tells of no other item.
func FuzzNoted(f *testing.F) {
	f.Add(`{"item":"acme/knowledge/a","state":"yanked"}` + "\n")
	f.Add("\n\n{\"item\":\"acme/knowledge/a\"")
	f.Fuzz(func(t *testing.T, lines string) {
		said, newest, err := Noted{lines: []byte(lines)}.Of(hello, "1.0.0")
		for _, e := range []oplog.Entry{said, newest} {
			if err == nil && e.Version != "" && e.Ref != hello {
				t.Errorf("told of %s", e.Name())
			}
		}
	})
}

// BenchmarkNoted is what a use of an item pays for knowing what its registry says: of a
// namespace with ten thousand items that somebody looked at.
func BenchmarkNoted(b *testing.B) {
	e := oplog.Entry{Ref: hello, Version: "1.0.0", Path: "knowledge/acme/a.md", Size: 1, Seq: 1, Status: oplog.StatusOK, Time: time.Unix(1_700_000_000, 0).UTC()}
	for _, n := range []int{10, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var lines []byte
			for i := range n {
				e.Ref.ID = objects.ID("acme/a" + strconv.Itoa(10_000+i))
				lines = e.AppendLine(lines)
			}
			dir := b.TempDir()
			path := notedPath(dir, objects.Digest{}, "acme")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(path, lines, 0o600); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				noted, err := ReadNoted(dir, objects.Digest{}, "acme")
				if err != nil {
					b.Fatal(err)
				}
				noted.Of(e.Ref, "1.0.0") // whose line is not whole: reading it is all that counts
			}
		})
	}
}

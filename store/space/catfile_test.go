package space

import (
	"bytes"
	"encoding/binary"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store"
)

var (
	sampleSum  = objects.DigestOf([]byte("x"))
	sampleBlob = store.SHA1.Hash(store.TypeBlob, []byte("x"))
	sampleRows = []Row{
		{Ref: objects.Ref{Kind: objects.Knowledge, ID: "acme/gone"}, Space: objects.Project, Path: "knowledge/acme/gone.md", State: objects.Absent, Code: "not_found", Why: "gone", Hint: "rye restore"},
		{Ref: objects.Ref{Kind: objects.Tool, ID: "acme/greet"}, Space: objects.Project, Path: "tools/acme/greet.sh", State: objects.Signed, Recorded: true, Blob: sampleBlob, Sum: sampleSum,
			Signer: objects.Fingerprint(sampleSum), SignedAt: time.Unix(1e9, 0).UTC(), Name: "greet", Version: "1.0.0", Description: "hé", Category: "acme", Tags: []string{"a", ""}, More: []extract.Text{{Name: "team", Value: "platform"}}},
	}
	sampleSeen = []seenFile{{known: true}, {stamp: stamp{size: 1, mtime: 2, ctime: 3, inode: 4, isFile: true}, known: true}}
)

func encode(rows []Row, seen []seenFile) []byte {
	b := newCatalogue(0)
	for i := range rows {
		b = appendRow(b, &rows[i], seen[i])
	}
	return (&catalogue{key: sampleSum, tip: sampleBlob, when: 5}).finish(b, len(rows))
}

func TestCatalogueFileRoundTrip(t *testing.T) {
	raw := encode(sampleRows, sampleSeen)
	c, err := parseCatalogue(raw, objects.Project)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range sampleRows {
		if got := c.row(i); !reflect.DeepEqual(got, want) || c.seen(i) != sampleSeen[i] || c.ref(i) != want.Ref {
			t.Errorf("row %d: got %+v, want %+v", i, got, want)
		}
	}
}

// TestCatalogueFinds asks for every file where folders and files have names of one
// beginning: what order ids and paths have is not what order their bytes have.
func TestCatalogueFinds(t *testing.T) {
	var rows []Row
	for _, p := range []string{
		"config/a.yaml",
		"knowledge/a.md", "knowledge/a-b.md", "knowledge/a-b/c.md", "knowledge/a/b.md", "knowledge/a/b-c.md", "knowledge/a/b-c/d.md", "knowledge/a/b/c.md",
		"knowledge/a/b/d.md", "knowledge/a/b.yaml", "knowledge/a0.md", "knowledge/a0/b.md", "knowledge/a_/b.md", "knowledge/b.md",
		"tools/a/b.sh", "tools/a/b.py", "tools/a.sh",
	} {
		ref, _, err := objects.RefOfPath(p)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, Row{Ref: ref, Path: p, State: objects.Absent, Space: objects.User})
	}
	slices.SortFunc(rows, func(a, b Row) int { return byRef(a.Ref, b.Ref, a.Path, b.Path) })
	c, err := parseCatalogue(encode(rows, make([]seenFile, len(rows))), objects.User)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		for dir := path.Dir(r.Path); dir != "."; dir = path.Dir(dir) {
			from, to := c.below(dir)
			if got := c.find([]byte(r.Path), from, to); got != i {
				t.Errorf("%s below %s (rows %d to %d): row %d, want %d", r.Path, dir, from, to, got, i)
			}
			for j, other := range rows {
				if inside := strings.HasPrefix(other.Path, dir+"/"); inside != (j >= from && j < to) {
					t.Errorf("rows %d to %d are below %s, and %s (row %d) is: %v", from, to, dir, other.Path, j, inside)
				}
			}
		}
		for _, p := range []string{r.Path + "x", strings.TrimSuffix(r.Path, path.Ext(r.Path)), r.Path[:len(r.Path)-1]} {
			if got := c.find([]byte(p), 0, len(rows)); got >= 0 {
				t.Errorf("%s: row %d, want none", p, got)
			}
		}
	}
}

// FuzzCatalogue reads hostile bytes with a sum that holds: an error, or bytes that
// mean one thing only.
func FuzzCatalogue(f *testing.F) {
	f.Add(encode(sampleRows, sampleSeen))
	f.Add(encode(nil, nil))
	f.Add([]byte(catMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 12 {
			binary.LittleEndian.PutUint32(raw[8:], table.Sum(raw[12:]))
		}
		c, err := parseCatalogue(raw, objects.Project)
		if err != nil {
			return
		}
		again, copied := newCatalogue(0), newCatalogue(0)
		for i := range c.len() {
			r := c.row(i)
			again, copied = appendRow(again, &r, c.seen(i)), c.append(copied, i)
			if at := c.find([]byte(r.Path), 0, c.len()); at >= 0 && at != i {
				t.Errorf("row %d is found as row %d", i, at)
			}
		}
		for _, got := range [][]byte{c.finish(again, c.len()), c.finish(copied, c.len())} {
			if !bytes.Equal(got, raw) {
				t.Errorf("parse then encode: %x, want %x", got, raw)
			}
		}
	})
}

package space

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

func sample() *catalogue {
	sum := objects.DigestOf([]byte("x"))
	blob := store.SHA1.Hash(store.TypeBlob, []byte("x"))
	seen := seenFile{stamp: stamp{size: 1, mtime: 2, ctime: 3, inode: 4, isFile: true}, known: true}
	return &catalogue{key: sum, tip: blob, when: 5, rows: []Row{
		{Ref: objects.Ref{Kind: objects.Knowledge, ID: "acme/gone"}, Space: objects.Project, Path: "knowledge/acme/gone.md", State: Deleted, Code: "not_found", Why: "gone", Hint: "rye restore"},
		{Ref: objects.Ref{Kind: objects.Tool, ID: "acme/greet"}, Space: objects.Project, Path: "tools/acme/greet.sh", State: Signed, Recorded: true, Blob: blob, Sum: sum,
			Signer: objects.Fingerprint(sum), SignedAt: time.Unix(1e9, 0).UTC(), Name: "greet", Version: "1.0.0", Description: "hé", Category: "acme", Tags: []string{"a", ""}},
	}, seen: []seenFile{{known: true}, seen}}
}

func TestCatalogueFileRoundTrip(t *testing.T) {
	want := sample()
	raw := want.encode()
	got, err := parseCatalogue(raw, objects.Project)
	if err != nil {
		t.Fatal(err)
	}
	if again := got.encode(); !bytes.Equal(again, raw) {
		t.Error("parse then encode gives other bytes")
	}
	if lhs, rhs := got.rows[1], want.rows[1]; lhs.Description != rhs.Description || len(lhs.Tags) != 2 || !lhs.SignedAt.Equal(rhs.SignedAt) || lhs.Ref != rhs.Ref || got.seen[1] != want.seen[1] {
		t.Errorf("got %+v, want %+v", lhs, rhs)
	}
}

// FuzzCatalogue reads hostile bytes with a sum that holds: an error, or bytes that
// mean one thing only.
func FuzzCatalogue(f *testing.F) {
	f.Add(sample().encode())
	f.Add((&catalogue{}).encode())
	f.Add([]byte(catMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 12 {
			binary.LittleEndian.PutUint32(raw[8:], crc32.Checksum(raw[12:], catSum))
		}
		c, err := parseCatalogue(raw, objects.Project)
		if err != nil {
			return
		}
		if got := c.encode(); !bytes.Equal(got, raw) {
			t.Errorf("parse then encode: %x, want %x", got, raw)
		}
		c.index()
	})
}

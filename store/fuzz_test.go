package store

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte(commitText("tree "+oidA, "parent "+oidB, "author "+stamp, "committer "+stamp, "gpgsig a\n b", "", "msg")))
	f.Add([]byte(commitText("tree "+oidA, "author A\rB <> 0 -0000", "committer "+stamp, "", "msg")))
	f.Add([]byte(commitText("tree "+oidA+oidA[:24], "author A <> 0 -0000", "committer "+stamp, "gpgsig-sha256 x", "", "")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseCommit(raw)
		if err != nil {
			return
		}
		back, err := EncodeCommit(c)
		if err != nil && strings.Contains(c.Author.Name+c.Author.Email+c.Committer.Name+c.Committer.Email, "\r") {
			return // git may write it, and we do not
		}
		if err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("%q encodes to %q, %v", raw, back, err)
		}
		if u, err := ParseCommit(c.Unsigned()); err != nil || u.Signature != "" || u.Message != c.Message {
			t.Fatalf("unsigned %q: %v", c.Unsigned(), err)
		}
	})
}

func FuzzParseTree(f *testing.F) {
	a, _ := ParseOID(oidA)
	f.Add([]byte(rawEntry("100644", "a-b", a) + rawEntry("40000", "a", a) + rawEntry("100755", "a0", a)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := ParseTree(SHA1, raw)
		if err != nil {
			return
		}
		for _, e := range entries {
			if got, ok, err := findEntry(SHA1, raw, e.Name); err != nil || !ok || got != e {
				t.Fatalf("findEntry(%q) = %v, %v, %v, want %v", e.Name, got, ok, err, e)
			}
		}
		back, err := EncodeTree(entries)
		if err != nil { // a name that git may write and we do not
			if CheckTree(entries) == nil {
				t.Fatalf("CheckTree accepts what EncodeTree refuses: %v", err)
			}
			return
		}
		if !bytes.Equal(back, raw) {
			t.Fatalf("%q encodes to %q", raw, back)
		}
	})
}

func FuzzParseTag(f *testing.F) {
	f.Add([]byte("object " + oidA + "\ntype commit\ntag v1\ntagger " + stamp + "\n\nmsg\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if tag, err := ParseTag(raw); err == nil && tag.Target.IsZero() {
			t.Fatalf("%+v", tag)
		}
	})
}

func FuzzLoose(f *testing.F) {
	var b bytes.Buffer
	deflate(&b, []byte("blob 5\x00hello"))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		ty, size, data, err := readLoose(bytes.NewReader(raw), 1<<20, false)
		if err == nil && (int64(len(data)) != size || ty < TypeCommit || ty > TypeTag) {
			t.Fatalf("%v of %d bytes, %d declared", ty, len(data), size)
		}
	})
}

func FuzzPackedRefs(f *testing.F) {
	f.Add([]byte("# pack-refs with: peeled fully-peeled sorted \n" + oidA + " refs/heads/a\n" + oidB + " refs/tags/v\n^" + oidA + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		header, refs, err := parsePackedRefs(raw)
		if err != nil {
			return
		}
		if back := withoutRefs(header, refs, nil); !bytes.Equal(back, raw) {
			t.Fatalf("%q joins to %q", raw, back)
		}
		for _, p := range refs {
			if _, err := findPackedRef(bytes.NewReader(raw), int64(len(raw)), p.name); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("hello"), delta(5, 2, "!"))
	f.Fuzz(func(t *testing.T, base, d []byte) {
		out, err := applyDelta(base, d, 1<<16)
		if err != nil {
			return
		}
		if _, size, _, err := deltaSizes(d); err != nil || size != int64(len(out)) {
			t.Fatalf("%d bytes, %d declared, %v", len(out), size, err)
		}
	})
}

func FuzzRef(f *testing.F) {
	f.Add(oidA + "\n")
	f.Add("ref: refs/heads/main\n")
	f.Fuzz(func(t *testing.T, text string) {
		if id, target, err := parseRef(text, SHA1); err == nil && !id.IsZero() && target != "" {
			t.Fatalf("%q is both %v and %q", text, id, target)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add(newConfig(SHA256))
	f.Add(newConfig(SHA1))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseConfig(text)
		if err == nil && got.format != SHA1 && got.format != SHA256 {
			t.Fatalf("format %d", got.format)
		}
		if any, aerr := parseAnyConfig(text); got != any || (err == nil) != (aerr == nil) {
			t.Fatalf("%+v, %v; read setting by setting %+v, %v", got, err, any, aerr)
		}
	})
}

// FuzzPack puts a pack and its index, each possibly garbage, where the reader
// looks, and asks for everything the index promises. The fan-out of the index, which is 1 KiB
// that hardly ever changes, is given as runs: a fuzzer makes each input small that it finds
// interesting, byte by byte.
func FuzzPack(f *testing.F) {
	var p packBuilder
	p.ofs(p.blob("hello"), delta(5, 1, "!"))
	p.ref(SHA1.Hash(TypeBlob, []byte("hello")), delta(5, 2, ""))
	dir := f.TempDir()
	r, err := Init(filepath.Join(dir, "r"), testHead)
	if err != nil {
		f.Fatal(err)
	}
	q, err := r.Import(context.Background(), bytes.NewReader(p.done(-1)), Limits{})
	if err != nil {
		f.Fatal(err)
	}
	pk, err1 := os.ReadFile(r.files.path(q.path + ".pack"))
	ix, err2 := os.ReadFile(r.files.path(q.path + ".idx"))
	if err1 != nil || err2 != nil {
		f.Fatal(err1, err2)
	}
	r.Close()
	runs := fanRuns(ix[8:1032])
	if fan := fanOf(runs); !bytes.Equal(fan, ix[8:1032]) {
		f.Fatalf("the runs %x give another fan-out: %x", runs, fan)
	}
	f.Add(pk, ix[:8], runs, ix[1032:])
	at := filepath.Join(dir, "p") // one directory for all runs of a process
	if err := os.Mkdir(at, 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, pk, head, runs, rest []byte) {
		must(t, os.WriteFile(filepath.Join(at, "p.pack"), pk, 0o644))
		must(t, os.WriteFile(filepath.Join(at, "p.idx"), slices.Concat(head, fanOf(runs), rest), 0o644))
		in, err := openFiles(at)
		must(t, err)
		defer in.close()
		p := &pack{files: in, path: "p", format: SHA1}
		defer p.close()
		if p.open(true) != nil {
			return
		}
		var ids []OID
		for i := range min(p.idx.n, 50) {
			id, err := p.idx.id(i)
			if err != nil {
				continue
			}
			ids = append(ids, id)
			p.idx.find(id)
			p.stat(i)
			p.load(i, 1<<20)
			p.raw(i)
		}
		pieces, _ := p.pieces(ids)
		p.copy(t.Context(), bufio.NewWriter(io.Discard), pieces)
	})
}

// fanRuns returns a fan-out as runs of five bytes: the length of a run less one, and the four
// bytes that all its entries are.
func fanRuns(fan []byte) (runs []byte) {
	for n := 0; len(fan) > 0; fan = fan[4*n:] {
		for n = 1; n < 256 && len(fan) >= 4*n+4 && bytes.Equal(fan[4*n:4*n+4], fan[:4]); n++ {
		}
		runs = append(append(runs, byte(n-1)), fan[:4]...)
	}
	return runs
}

// fanOf is the fan-out of runs: of 256 entries at most, and fewer where the runs end.
func fanOf(runs []byte) (fan []byte) {
	for ; len(runs) >= 5 && len(fan) < 1024; runs = runs[5:] {
		fan = append(fan, bytes.Repeat(runs[1:5], int(runs[0])+1)...)
	}
	return fan[:min(len(fan), 1024)]
}

// FuzzImport reads a stream; whatever it accepts must be readable as it says.
func FuzzImport(f *testing.F) {
	var p packBuilder
	p.ofs(p.blob("hello"), delta(5, 1, "!"))
	p.ref(SHA1.Hash(TypeBlob, []byte("hello")), delta(5, 2, ""))
	f.Add(p.done(-1))
	r, err := Init(filepath.Join(f.TempDir(), "r"), testHead)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { r.Close() })
	lim := Limits{Objects: 1000, Object: 1 << 20, Total: 4 << 20, Bytes: 1 << 20}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 40 { // let the fuzzer reach beyond the checksum
			h := SHA1.new()
			h.Write(raw[:len(raw)-20])
			raw = h.Sum(bytes.Clone(raw[:len(raw)-20]))
		}
		q, err := r.Import(t.Context(), bytes.NewReader(raw), lim)
		if err != nil {
			return
		}
		defer q.Discard()
		for _, id := range q.Objects() {
			if _, _, err := q.Object(id, 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzMove: a line of a log that is read is written again with the same bytes.
func FuzzMove(f *testing.F) {
	f.Add(oidA + " " + oidB + " Ann <ann@example.org> 1772600767 +0000\tcommit: hi")
	f.Add(strings.Repeat("0", 40) + " " + oidA + " a <> 0 -0130")
	f.Fuzz(func(t *testing.T, line string) {
		m, ok := parseMove(SHA1, line)
		if !ok || m.Why != oneLine(m.Why) || strings.ContainsAny(line, "\r\n\x00") {
			return // git writes no such lines
		}
		got, err := encodeMove(SHA1, m)
		if err != nil || strings.TrimSuffix(got, "\n") != strings.TrimSuffix(line, "\t") {
			t.Fatalf("%q became %q, %v", line, got, err)
		}
	})
}

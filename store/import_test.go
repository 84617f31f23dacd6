package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// packBuilder makes packs byte by byte, honest or not.
type packBuilder struct {
	b bytes.Buffer
	n int
}

func (p *packBuilder) entry(t Type, declared int64, ref []byte, data []byte) int {
	if p.b.Len() == 0 {
		p.b.Write(packHeader(0))
	}
	p.n++
	at := p.b.Len()
	p.b.Write(appendEntryHead(nil, t, declared))
	p.b.Write(ref)
	deflate(&p.b, data)
	return at
}

func (p *packBuilder) blob(data string) int {
	return p.entry(TypeBlob, int64(len(data)), nil, []byte(data))
}

func (p *packBuilder) ofs(base int, delta []byte) int {
	back := p.b.Len() - base
	var enc []byte
	for enc = []byte{byte(back & 0x7f)}; back>>7 > 0; {
		back = back>>7 - 1
		enc = append([]byte{byte(back&0x7f) | 0x80}, enc...)
	}
	return p.entry(packOfsDelta, int64(len(delta)), enc, delta)
}

func (p *packBuilder) ref(base OID, delta []byte) int {
	return p.entry(packRefDelta, int64(len(delta)), base.Bytes(), delta)
}

// done returns the pack with the count claimed (-1: the true one).
func (p *packBuilder) done(claimed int) []byte {
	if p.b.Len() == 0 {
		p.b.Write(packHeader(0))
	}
	if claimed < 0 {
		claimed = p.n
	}
	b := bytes.Clone(p.b.Bytes())
	binary.BigEndian.PutUint32(b[8:], uint32(claimed))
	h := SHA1.new()
	h.Write(b)
	return h.Sum(b)
}

func varint(n int64) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// delta copies the base times times, and appends text.
func delta(base, times int, text string) []byte {
	b := append(varint(int64(base)), varint(int64(base*times+len(text)))...)
	for range times {
		b = append(b, 0x80|0x70, byte(base), byte(base>>8), byte(base>>16))
	}
	if text != "" {
		b = append(append(b, byte(len(text))), text...)
	}
	return b
}

func importBytes(t testing.TB, r *Repo, pack []byte, lim Limits) (*Quarantine, error) {
	t.Helper()
	q, err := r.Import(t.Context(), bytes.NewReader(pack), lim)
	if err == nil {
		t.Cleanup(q.Discard)
	}
	return q, err
}

func TestImport(t *testing.T) {
	for _, f := range []string{"sha1", "sha256"} {
		for _, how := range [][]string{{"--delta-base-offset"}, {"--no-reuse-delta"}, {"--depth=4000", "--window=60", "--no-reuse-delta"}, {"--window=0"}} {
			dir := gitMade(t, 60, "--object-format="+f)
			pack := rawGit(t, dir, []byte(git(t, dir, "rev-parse", "--all")), append([]string{"pack-objects", "--stdout", "--revs", "-q"}, how...)...)
			tip, _ := ParseOID(git(t, dir, "rev-parse", "main"))
			r := newRepoFormat(t, map[string]Format{"sha1": SHA1, "sha256": SHA256}[f])
			for _, name := range []string{"whole", "byte by byte"} {
				var src io.Reader = strings.NewReader(pack)
				if name == "byte by byte" {
					src = iotest.OneByteReader(src)
				}
				q, err := r.Import(t.Context(), src, Limits{})
				if err != nil {
					t.Fatalf("%s %v: %v", name, how, err)
				}
				if r.Has(tip) {
					t.Fatal("the repository sees what is in quarantine")
				}
				if c, err := q.Commit(tip); err != nil || c.Message != "msg\n\n"[:len(c.Message)] {
					t.Fatalf("Commit in quarantine: %+v, %v", c, err)
				}
				if err := q.Connected(t.Context(), tip); err != nil {
					t.Fatal(err)
				}
				want := strings.Fields(git(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
				var got []string
				for _, id := range q.Objects() {
					got = append(got, id.String())
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%d objects, want %d", len(got), len(want))
				}
				if name == "byte by byte" {
					if err := q.Accept(t.Context(), tip); err != nil {
						t.Fatal(err)
					}
					swap(t, r, testHead, OID{}, tip)
					if _, err := q.Commit(tip); err != nil {
						t.Errorf("after Accept: %v", err)
					}
				}
				q.Discard()
			}
			if l := leftovers(t, r); len(l) > 0 {
				t.Errorf("left: %v", l)
			}
			fsck(t, r.Dir())
			git(t, r.Dir(), "verify-pack", only(t, filepath.Join(r.Dir(), "objects/pack/*.idx")))
			sameAsGit(t, r.Dir())
		}
	}
}

func rawGit(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, stdin, args...)
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

func TestImportThinPack(t *testing.T) {
	dir := gitMade(t, 30)
	old, tip := git(t, dir, "rev-parse", "main~20"), git(t, dir, "rev-parse", "main")
	oldID, _ := ParseOID(old)
	tipID, _ := ParseOID(tip)
	r := newRepo(t)
	base := rawGit(t, dir, []byte(old+"\n"), "pack-objects", "--stdout", "--revs", "-q")
	q, err := importBytes(t, r, []byte(base), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Accept(t.Context(), oldID); err != nil {
		t.Fatal(err)
	}
	swap(t, r, testHead, OID{}, oldID)
	q.Release()
	thin := rawGit(t, dir, []byte(tip+"\n^"+old+"\n"), "pack-objects", "--stdout", "--revs", "--thin", "-q", "--delta-base-offset")
	if _, err := importBytes(t, newRepo(t), []byte(thin), Limits{}); !fault.Is(err, fault.Malformed) {
		t.Errorf("a thin pack without its bases: %v", err)
	}
	q, err = importBytes(t, r, []byte(thin), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Connected(t.Context(), tipID); err != nil {
		t.Fatal(err)
	}
	if err := q.Accept(t.Context(), tipID); err != nil {
		t.Fatal(err)
	}
	swap(t, r, testHead, oldID, tipID)
	q.Release()
	fsck(t, r.Dir())
	for _, x := range mustGlob(t, filepath.Join(r.Dir(), "objects/pack/*.idx")) {
		git(t, r.Dir(), "verify-pack", x)
	}
}

// TestImportWithoutGit makes its packs itself: every kind of delta, in any order.
func TestImportWithoutGit(t *testing.T) {
	r := newRepo(t)
	inRepo, err := r.Put(t.Context(), TypeBlob, []byte("in the repository"))
	if err != nil {
		t.Fatal(err)
	}
	hash := func(s string) OID { return SHA1.Hash(TypeBlob, []byte(s)) }
	var p packBuilder
	p.ref(hash("hello, you, and you"), delta(19, 1, "!")) // before its base
	base := p.blob("hello")
	next := p.ofs(base, delta(5, 1, ", you"))
	p.ofs(next, delta(10, 1, ", and you"))
	p.ref(hash("hello"), delta(5, 2, ""))
	p.ref(inRepo, delta(17, 1, "?")) // thin
	q, err := importBytes(t, r, p.done(-1), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"hello", "hello, you", "hello, you, and you", "hello, you, and you!", "hellohello", "in the repository?", "in the repository"} {
		if b, err := q.Blob(hash(s), 0); err != nil || string(b) != s || !q.in[hash(s)] {
			t.Errorf("%q: %q, %v", s, b, err)
		}
	}
	if err := q.Accept(t.Context(), hash("hellohello"), hash("nowhere")); !fault.Is(err, fault.Malformed) {
		t.Errorf("Accept of what did not come: %v", err)
	}
	if err := q.Accept(t.Context(), hash("hellohello")); err != nil {
		t.Fatal(err)
	}
	if b, err := reopen(t, r).Blob(hash("hello, you"), 0); err != nil || string(b) != "hello, you" {
		t.Errorf("after Accept: %q, %v", b, err)
	}
	fsck(t, r.Dir())
	var empty packBuilder
	q, err = importBytes(t, r, empty.done(-1), Limits{})
	if err != nil || len(q.Objects()) != 0 {
		t.Fatalf("empty pack: %v", err)
	}
	if err := q.Accept(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConnected(t *testing.T) {
	r := newRepo(t)
	blob := SHA1.Hash(TypeBlob, []byte("x"))
	tree, _ := EncodeTree([]Entry{{"f", ModeFile, blob}})
	at := Ident{"A", "a"}.At(testTime)
	commit, _ := EncodeCommit(&Commit{Tree: SHA1.Hash(TypeTree, tree), Author: at, Committer: at, Message: "m\n"})
	id := SHA1.Hash(TypeCommit, commit)
	var p packBuilder
	p.entry(TypeTree, int64(len(tree)), nil, tree)
	p.entry(TypeCommit, int64(len(commit)), nil, commit)
	q, err := importBytes(t, r, p.done(-1), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Connected(t.Context(), id); !fault.Is(err, fault.Malformed) {
		t.Errorf("with a hole: %v", err)
	}
	if _, err := r.Put(t.Context(), TypeBlob, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := q.Connected(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// TestHostilePacks is the table of security.md §4.3 and more: each row is refused
// in two seconds of processor time, in memory, and leaves nothing behind.
func TestHostilePacks(t *testing.T) {
	hello := SHA1.Hash(TypeBlob, []byte("hello"))
	build := func(f func(p *packBuilder)) []byte {
		var p packBuilder
		f(&p)
		return p.done(-1)
	}
	good := build(func(p *packBuilder) { p.ofs(p.blob("hello"), delta(5, 1, "!")) })
	claims := func(n uint32) []byte {
		b := bytes.Clone(good)
		binary.BigEndian.PutUint32(b[8:], n)
		return b
	}
	bomb := build(func(p *packBuilder) { // less than 2 KiB that make 3 GiB
		at := p.ofs(p.ofs(p.blob(strings.Repeat("x", 4000)), bigDelta(4000, 64, 0)), bigDelta(256_000, 64, 0))
		for i := range 60 {
			p.ofs(at, append(bigDelta(16_384_000, 3, i+1), 0x90, byte(i+1))) // each another
		}
	})
	tree := func(raw string) []byte {
		return build(func(p *packBuilder) { p.entry(TypeTree, int64(len(raw)), nil, []byte(raw)) })
	}
	rows := map[string]struct {
		pack []byte
		lim  Limits
		code fault.Code
	}{
		"fine":                        {good, Limits{}, ""},
		"empty":                       {nil, Limits{}, fault.Malformed},
		"not a pack":                  {[]byte(strings.Repeat("x", 100)), Limits{}, fault.Malformed},
		"version 9":                   {append([]byte("PACK\x00\x00\x00\x09\x00\x00\x00\x01"), make([]byte, 40)...), Limits{}, fault.Malformed},
		"32 bytes claim 4 G objects":  {append([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xf0"), make([]byte, 20)...), Limits{}, fault.Limit},
		"claims one too many":         {claims(3), Limits{}, ""},
		"claims one too few":          {claims(1), Limits{}, ""},
		"claims 200,000":              {claims(200_000), Limits{}, ""},
		"1 TiB blob, 3 bytes":         {build(func(p *packBuilder) { p.entry(TypeBlob, 1<<40, nil, []byte("abc")) }), Limits{}, fault.Limit},
		"1 TiB delta":                 {build(func(p *packBuilder) { p.entry(packRefDelta, 1<<40, hello.Bytes(), []byte("abc")) }), Limits{}, fault.Limit},
		"60 MiB tree, 3 bytes":        {build(func(p *packBuilder) { p.entry(TypeTree, 60<<20, nil, []byte("abc")) }), Limits{}, fault.Limit},
		"7 MiB tree, 3 bytes":         {build(func(p *packBuilder) { p.entry(TypeTree, 7<<20, nil, []byte("abc")) }), Limits{}, fault.Integrity},
		"60 MiB commit":               {build(func(p *packBuilder) { p.entry(TypeCommit, 60<<20, nil, make([]byte, 60<<20)) }), Limits{}, fault.Limit},
		"60 MiB tag":                  {build(func(p *packBuilder) { p.entry(TypeTag, 60<<20, nil, make([]byte, 60<<20)) }), Limits{}, fault.Limit},
		"deltas on a 60 MiB base":     {build(func(p *packBuilder) { bombs(p, 1); p.ofs(packHead, bigDelta(60<<20, 1, 1)) }), Limits{}, fault.Limit},
		"a delta chain of much each":  {bigChain(100, 256<<10), Limits{}, fault.Limit},
		"100,000 deltas on nothing":   {build(func(p *packBuilder) { onNothing(p, 100_000) }), Limits{}, fault.Malformed},
		"inflates past its size":      {build(func(p *packBuilder) { p.entry(TypeBlob, 3, nil, make([]byte, 100<<20)) }), Limits{}, fault.Integrity},
		"inflates to less":            {build(func(p *packBuilder) { p.entry(TypeBlob, 4, nil, []byte("abc")) }), Limits{}, fault.Integrity},
		"zip bomb in total":           {build(func(p *packBuilder) { bombs(p, 5) }), Limits{}, fault.Limit},
		"object over the limit":       {build(func(p *packBuilder) { p.blob(strings.Repeat("x", 2000)) }), Limits{Object: 1000}, fault.Limit},
		"stream over the limit":       {good, Limits{Bytes: 20}, fault.Limit},
		"too many objects":            {good, Limits{Objects: 1}, fault.Limit},
		"delta bomb":                  {bomb, Limits{}, fault.Limit},
		"delta chain over the limit":  {chain(20), Limits{Depth: 10}, fault.Limit},
		"delta chain of 4,000":        {chain(4000), Limits{}, ""},
		"delta chain of 5,000":        {chain(5000), Limits{}, fault.Limit},
		"no base":                     {build(func(p *packBuilder) { p.ref(hello, delta(5, 1, "!")) }), Limits{}, fault.Malformed},
		"delta on itself":             {build(func(p *packBuilder) { p.entry(packOfsDelta, 3, []byte{0}, []byte("abc")) }), Limits{}, fault.Integrity},
		"delta before the pack":       {build(func(p *packBuilder) { p.entry(packOfsDelta, 3, []byte{0x7f}, []byte("abc")) }), Limits{}, fault.Integrity},
		"delta into an entry":         {build(func(p *packBuilder) { p.ofs(p.blob("hello")+1, delta(5, 1, "!")) }), Limits{}, fault.Malformed},
		"deltas in a ring":            {ring(), Limits{}, fault.Malformed},
		"delta for another size":      {build(func(p *packBuilder) { p.ofs(p.blob("hello"), delta(6, 1, "!")) }), Limits{}, fault.Integrity},
		"delta of nothing":            {build(func(p *packBuilder) { p.ofs(p.blob("hello"), nil) }), Limits{}, fault.Integrity},
		"delta copies from outside":   {build(func(p *packBuilder) { p.ofs(p.blob("hello"), []byte{5, 5, 0x91, 3, 5}) }), Limits{}, fault.Integrity},
		"delta with reserved op":      {build(func(p *packBuilder) { p.ofs(p.blob("hello"), []byte{5, 5, 0}) }), Limits{}, fault.Integrity},
		"delta makes too little":      {build(func(p *packBuilder) { p.ofs(p.blob("hello"), []byte{5, 9, 1, 'a'}) }), Limits{}, fault.Integrity},
		"delta makes too much":        {build(func(p *packBuilder) { p.ofs(p.blob("hello"), []byte{5, 1, 2, 'a', 'b'}) }), Limits{}, fault.Integrity},
		"delta to 1 TiB":              {build(func(p *packBuilder) { p.ofs(p.blob("hello"), append([]byte{5}, varint(1<<40)...)) }), Limits{}, fault.Limit},
		"type 0":                      {build(func(p *packBuilder) { p.entry(0, 3, nil, []byte("abc")) }), Limits{}, fault.Integrity},
		"type 5":                      {build(func(p *packBuilder) { p.entry(5, 3, nil, []byte("abc")) }), Limits{}, fault.Integrity},
		"endless size":                {append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), bytes.Repeat([]byte{0xff}, 200)...), Limits{}, fault.Integrity},
		"one object twice":            {build(func(p *packBuilder) { p.blob("hello"); p.blob("hello") }), Limits{}, fault.Malformed},
		"cut off in an entry":         {good[:len(good)-25], Limits{}, fault.Malformed},
		"cut off in its checksum":     {good[:len(good)-5], Limits{}, fault.Malformed},
		"bad checksum":                {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), Limits{}, fault.Integrity},
		"bytes after its end":         {append(bytes.Clone(good), 'x'), Limits{}, fault.Malformed},
		"unsorted tree":               {tree(rawEntry("100644", "b", hello) + rawEntry("100644", "a", hello)), Limits{}, fault.Malformed},
		"tree with a slash":           {tree(rawEntry("100644", "a/b", hello)), Limits{}, fault.Malformed},
		"tree with a mode of its own": {tree(rawEntry("100777", "a", hello)), Limits{}, fault.Malformed},
		"commit without author":       {build(func(p *packBuilder) { s := "tree " + oidA + "\n\n"; p.entry(TypeCommit, int64(len(s)), nil, []byte(s)) }), Limits{}, fault.Malformed},
		"tag of nothing":              {build(func(p *packBuilder) { p.entry(TypeTag, 1, nil, []byte("\n")) }), Limits{}, fault.Malformed},
	}
	r := newRepo(t)
	if _, err := r.Put(t.Context(), TypeBlob, []byte("something")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			q, err := r.ImportApart(t.Context(), []string{self, "__import"}, bytes.NewReader(row.pack), row.lim, nil)
			if strings.HasPrefix(name, "claims") && err == nil || !strings.HasPrefix(name, "claims") && fault.CodeOf(err) != row.code {
				t.Errorf("apart: %v, want code %q", err, row.code)
			}
			if q != nil {
				q.Discard()
			}
		})
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := testkit.CPUTime()
			q, err := importBytes(t, r, row.pack, row.lim)
			took := testkit.CPUTime() - start
			runtime.ReadMemStats(&after)
			if strings.HasPrefix(name, "claims") { // whatever the code
				if err == nil {
					t.Error("accepted")
				}
			} else if got := fault.CodeOf(err); got != row.code {
				t.Errorf("%v, want code %q", err, row.code)
			}
			if took > 2*time.Second*slowdown {
				t.Errorf("took %v of processor time", took)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 256<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
			if q != nil {
				q.Discard()
			}
			if l := leftovers(t, r); len(l) > 0 {
				t.Errorf("left: %v", l)
			}
			if p, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*")); len(p) > 0 {
				t.Errorf("in objects/pack: %v", p)
			}
		})
	}
}

// bigDelta copies a base of up to 16 MiB several times, and then its first n bytes.
func bigDelta(base, times, n int) []byte {
	b := append(varint(int64(base)), varint(int64(base*times+n))...)
	for range times {
		b = append(b, 0xf0, byte(base), byte(base>>8), byte(base>>16))
	}
	return b
}

// bombs adds n blobs of 60 MiB each, which deflate to little.
func bombs(p *packBuilder, n int) {
	for i := range n {
		big := make([]byte, 60<<20)
		big[0] = byte(i)
		p.entry(TypeBlob, 60<<20, nil, big)
	}
}

// bigChain makes n deltas below each other, each of an object of size bytes.
func bigChain(n, size int) []byte {
	var p packBuilder
	at := p.entry(TypeBlob, int64(size), nil, make([]byte, size))
	for i := range n {
		op := append([]byte{4, byte(i), byte(i >> 8), byte(i >> 16), 1}, 0xb0|0x80, byte((size-4)>>0), byte((size-4)>>8))
		d := append(append(varint(int64(size)), varint(int64(size))...), op...)
		if size-4 > 0xffff {
			d = append(d[:len(d)-3], 0xf0, byte(size-4), byte((size-4)>>8), byte((size-4)>>16))
		}
		at = p.ofs(at, d)
	}
	return p.done(-1)
}

// onNothing adds n deltas whose bases are nowhere, all different.
func onNothing(p *packBuilder, n int) {
	for i := range n {
		var id [20]byte
		binary.BigEndian.PutUint32(id[:], uint32(i+1))
		p.ref(oidOf(id[:]), []byte{5, 5, 1, 'x'})
	}
}

func chain(n int) []byte {
	var p packBuilder
	at := p.blob("hello")
	for i := range n {
		at = p.ofs(at, append(append(varint(5), varint(5)...), 5, byte(i), byte(i>>8), byte(i>>16), 'a', 'b'))
	}
	return p.done(-1)
}

// ring makes two deltas, each on the other.
func ring() []byte {
	var p packBuilder
	a, b := oidOf(bytes.Repeat([]byte{1}, 20)), oidOf(bytes.Repeat([]byte{2}, 20))
	p.ref(a, delta(5, 1, "!"))
	p.ref(b, delta(6, 1, "!"))
	return p.done(-1)
}

// TestImportMakesBasesAgain: bases that would be too many bytes to hold at a time are
// let go, and made again when their other deltas come.
func TestImportMakesBasesAgain(t *testing.T) {
	const size = 1 << 20
	change := func(n byte) []byte { // the first byte becomes n, the rest stays
		return append(append(varint(size), varint(size)...), 1, n, 0xf0|1, 1, 0xff, 0xff, 0x0f)
	}
	for _, thin := range []bool{false, true} {
		r := newRepo(t)
		want := make([]byte, size)
		var p packBuilder
		var at int
		if thin {
			id, err := r.Put(t.Context(), TypeBlob, want)
			if err != nil {
				t.Fatal(err)
			}
			at = p.ref(id, change(1))
		} else {
			at = p.entry(TypeBlob, size, nil, want)
		}
		var ids []OID
		for i := range 45 { // held at once this were 45 MiB
			next := p.ofs(at, change(byte(2+i))) // taken first, so that its base waits for the other
			p.ofs(at, change(byte(100+i)))
			at = next
			for _, c := range []byte{byte(100 + i), byte(2 + i)} {
				want[0] = c
				ids = append(ids, SHA1.Hash(TypeBlob, want))
			}
		}
		q, err := importBytes(t, r, p.done(-1), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if !q.in[id] {
				t.Fatalf("thin %t: %s did not come", thin, id)
			}
		}
	}
}

// TestImportBrokenSource: the error of a connection comes through, not a verdict
// about the pack.
func TestImportBrokenSource(t *testing.T) {
	r := newRepo(t)
	var p packBuilder
	p.blob(strings.Repeat("hello", 1000))
	boom := fault.New(fault.Network, "connection reset")
	pack := p.done(-1)
	for n := range len(pack) {
		_, err := r.Import(t.Context(), io.MultiReader(bytes.NewReader(pack[:n]), iotest.ErrReader(boom)), Limits{})
		if !errors.Is(err, boom) || !fault.Is(err, fault.Network) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		if _, err := r.Import(t.Context(), bytes.NewReader(pack[:n]), Limits{}); !fault.Is(err, fault.Malformed) {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
	}
}

// TestImportStopsAtTheEnd: a connection that stays open is not read further.
func TestImportStopsAtTheEnd(t *testing.T) {
	r := newRepo(t)
	var p packBuilder
	p.blob("hello")
	pr, pw := io.Pipe()
	go pw.Write(p.done(-1)) // and never closed
	q, err := r.Import(t.Context(), pr, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	q.Discard()
}

func TestDeadQuarantineIsRemoved(t *testing.T) {
	r := newRepo(t)
	var p packBuilder
	p.blob("hello")
	if _, err := r.Import(t.Context(), bytes.NewReader(p.done(-1)), Limits{}); err != nil {
		t.Fatal(err)
	}
	nest := r.files.path(r.nest)
	r.pin.Close() // as when the process dies
	n := reopen(t, r)
	if _, err := n.Put(t.Context(), TypeBlob, []byte("y")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(nest); !isMissing(err) {
		t.Errorf("the dead quarantine is still there: %v", err)
	}
}

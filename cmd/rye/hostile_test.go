package main_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostileRow is one repository that must be refused, and with which exit status.
type hostileRow struct {
	name string
	exit int
	make func(h *hostileRepo)
}

const b1 = "1111111111111111111111111111111111111111"

// hostilePacks lie in the pack itself.
func hostilePacks() []hostileRow {
	good := func(h *hostileRepo) { h.item("knowledge/eve/x.md", "x") }
	raw := func(f func(good []byte) []byte) func(*hostileRepo) {
		return func(h *hostileRepo) { good(h); h.serves(f(h.pack.done(-1))) }
	}
	more := func(f func(p *packOf)) func(*hostileRepo) {
		return func(h *hostileRepo) { good(h); f(&h.pack) }
	}
	onHello := func(delta ...byte) func(*hostileRepo) {
		return more(func(p *packOf) { p.ofs(p.entry(blobType, 5, nil, []byte("hello")), delta) })
	}
	zeros := func(p *packOf, typ byte, declared, real int64) int {
		return p.entry(typ, declared, nil, make([]byte, real))
	}
	return []hostileRow{
		{"32 bytes that claim 4 G objects", 20, raw(func([]byte) []byte {
			return []byte("PACK\x00\x00\x00\x02\xff\xff\xff\xf0" + strings.Repeat("\x00", 20))
		})},
		{"claims more objects than accepted", 20, func(h *hostileRepo) { good(h); h.serves(h.pack.done(200_001)) }},
		{"claims one too many", 10, func(h *hostileRepo) {
			good(h)
			b := h.pack.done(h.pack.n + 1)
			b[len(b)-20] = 0x50 // the checksum is read as an entry, of type 5
			h.serves(b)
		}},
		{"claims one too few", 10, func(h *hostileRepo) { good(h); h.serves(h.pack.done(h.pack.n - 1)) }},
		{"not a pack", 19, raw(func([]byte) []byte { return []byte(strings.Repeat("x", 100)) })},
		{"nothing", 19, raw(func([]byte) []byte { return nil })},
		{"version 9", 19, raw(func([]byte) []byte {
			return []byte("PACK\x00\x00\x00\x09\x00\x00\x00\x01" + strings.Repeat("\x00", 40))
		})},
		{"cut off in an entry", 19, raw(func(b []byte) []byte { return b[:len(b)-30] })},
		{"cut off in its checksum", 19, raw(func(b []byte) []byte { return b[:len(b)-5] })},
		{"a checksum of another", 10, raw(func(b []byte) []byte { b[len(b)-1] ^= 1; return b })},
		{"bytes after its end", 19, raw(func(b []byte) []byte { return append(b, 'x') })},
		{"a byte flipped in an object", 10, raw(func(b []byte) []byte { b = b[:len(b)-20]; b[20] ^= 0x10; return seal(b) })},
		{"other objects than were asked for", 10, func(h *hostileRepo) { good(h); h.refs[0][1], h.refs[1][1] = b1, b1 }},
		{"1 TiB blob of 3 bytes", 20, more(func(p *packOf) { p.entry(blobType, 1<<40, nil, []byte("abc")) })},
		{"1 TiB delta", 20, more(func(p *packOf) { p.entry(refDelta, 1<<40, make([]byte, 20), []byte("abc")) })},
		{"60 MiB tree", 20, more(func(p *packOf) { zeros(p, treeType, 60<<20, 60<<20) })},
		{"60 MiB commit", 20, more(func(p *packOf) { zeros(p, commitType, 60<<20, 60<<20) })},
		{"60 MiB tag", 20, more(func(p *packOf) { zeros(p, tagType, 60<<20, 60<<20) })},
		{"7 MiB tree of 3 bytes", 10, more(func(p *packOf) { p.entry(treeType, 7<<20, nil, []byte("abc")) })},
		{"a zip bomb behind 3 bytes", 10, more(func(p *packOf) { zeros(p, blobType, 3, 100<<20) })},
		{"inflates to less", 10, more(func(p *packOf) { p.entry(blobType, 4, nil, []byte("abc")) })},
		{"zlib with a wrong sum", 10, more(func(p *packOf) { p.raw(blobType, 0, nil, []byte{0x78, 0x9c, 3, 0, 0, 0, 0, 2}) })},
		{"no zlib", 10, more(func(p *packOf) { p.raw(blobType, 3, nil, []byte("abcdefgh")) })},
		{"five bombs of 60 MiB", 20, more(func(p *packOf) {
			for i := range int64(5) {
				zeros(p, blobType, 60<<20-i, 60<<20-i)
			}
		})},
		{"2 KiB of deltas that make 3 GiB", 20, more(func(p *packOf) {
			at := p.ofs(p.entry(blobType, 4000, nil, make([]byte, 4000)), copies(4000, 4000, 64, ""))
			at = p.ofs(at, copies(256_000, 256_000, 50, ""))
			for i := range 80 {
				p.ofs(at, copies(12_800_000, 12_800_000, 1, fmt.Sprint(i)))
			}
		})},
		{"deltas on a 60 MiB base", 20, more(func(p *packOf) { p.ofs(zeros(p, blobType, 60<<20, 60<<20), copies(60<<20, 1, 1, "x")) })},
		{"5,000 deltas below each other", 20, more(func(p *packOf) {
			at := p.entry(blobType, 5, nil, []byte("hello"))
			for i := range 5000 {
				at = p.ofs(at, []byte{5, 5, 5, byte(i), byte(i >> 8), 'x', 'x', 'x'})
			}
		})},
		{"a deep chain of large objects", 20, more(func(p *packOf) {
			const size = 1 << 20
			at := zeros(p, blobType, size, size)
			for i := range 100 {
				d := append(append(varint(size), varint(size)...), 2, byte(i), 1)
				at = p.ofs(at, append(d, 0xf0, 0xfe, 0xff, 0x0f))
			}
		})},
		{"49,000 deltas on nothing", 19, more(func(p *packOf) {
			for i := range 49_000 {
				p.ref(fmt.Sprintf("%040x", i+1), []byte{5, 5, 1, 'x'})
			}
		})},
		{"delta on an object of nowhere", 19, more(func(p *packOf) { p.ref(b1, []byte{5, 1, 1, 'x'}) })},
		{"delta on itself", 10, more(func(p *packOf) { p.entry(ofsDelta, 3, []byte{0}, []byte("abc")) })},
		{"delta on what lies before the pack", 10, more(func(p *packOf) { p.entry(ofsDelta, 3, []byte{0x86, 0x7f}, []byte("abc")) })},
		{"delta on the middle of an entry", 19, more(func(p *packOf) { p.ofs(p.entry(blobType, 5, nil, []byte("hello"))+1, []byte{5, 1, 1, 'x'}) })},
		{"deltas in a ring", 19, more(func(p *packOf) {
			p.ref(strings.Repeat("01", 20), []byte{5, 1, 1, 'x'})
			p.ref(strings.Repeat("02", 20), []byte{5, 1, 1, 'y'})
		})},
		{"delta for another size", 10, onHello(6, 1, 1, 'x')},
		{"delta of nothing", 10, onHello()},
		{"delta that copies from outside", 10, onHello(5, 5, 0x91, 3, 5)},
		{"delta with a reserved instruction", 10, onHello(5, 5, 0)},
		{"delta that makes too little", 10, onHello(5, 9, 1, 'a')},
		{"delta that makes too much", 10, onHello(5, 1, 2, 'a', 'b')},
		{"delta to 1 TiB", 20, onHello(append([]byte{5}, varint(1<<40)...)...)},
		{"type 0", 10, more(func(p *packOf) { p.entry(0, 3, nil, []byte("abc")) })},
		{"type 5", 10, more(func(p *packOf) { p.entry(5, 3, nil, []byte("abc")) })},
		{"a size without end", 10, raw(func([]byte) []byte {
			return []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\xff", 200))
		})},
		{"one object twice", 19, more(func(p *packOf) { p.put(blobType, "y"); p.put(blobType, "y") })},
	}
}

// hostileTrees lie in what a checkout would write.
func hostileTrees() []hostileRow {
	named := func(exit int, what, mode, name string) hostileRow {
		return hostileRow{what, exit, func(h *hostileRepo) {
			id := h.blob()
			if mode == "40000" {
				id = h.pack.put(treeType, treeEntry("100644", "x.py", id))
			}
			h.toolsTree(treeEntry(mode, name, id))
		}}
	}
	two := func(what, first, second string) hostileRow {
		return hostileRow{what, 19, func(h *hostileRepo) {
			id := h.blob()
			h.toolsTree(treeEntry("100644", first, id) + treeEntry("100644", second, id))
		}}
	}
	rows := []hostileRow{
		named(3, "symbolic link", "120000", "passwd"),
		named(3, "submodule", "160000", "sub"),
		named(19, "mode 100777", "100777", "x.py"),
		named(19, "setuid", "104755", "x.py"),
		named(19, "mode 0100644", "0100644", "x.py"),
		named(19, "mode 100664", "100664", "x.py"),
		named(19, "empty name", "100644", ""),
		named(19, "name ..", "40000", ".."),
		named(19, "name .", "40000", "."),
		named(19, "name .git", "40000", ".git"),
		named(19, "name .GIT", "40000", ".GIT"),
		named(19, "name git~1", "40000", "git~1"),
		named(19, "name .g<ZWNJ>it", "40000", ".g\u200cit"),
		named(19, "name .git::$INDEX_ALLOCATION", "40000", ".git::$INDEX_ALLOCATION"),
		named(3, "name .gitmodules", "100644", ".gitmodules"),
		named(19, "name ../../pwn", "100644", "../../pwn"),
		named(3, `name ..\..\pwn`, "100644", `..\..\pwn`),
		named(19, "absolute name", "100644", "/tmp/pwn"),
		named(19, "name with an escape sequence", "100644", "\x1b[2Jx.py"),
		named(19, "name with a line end", "100644", "a\nb.py"),
		named(19, "device name", "100644", "nul.py"),
		named(19, "device name, numbered", "100644", "COM1.yaml"),
		named(19, "trailing dot", "100644", "x.py."),
		named(19, "trailing space", "100644", "x.py "),
		named(19, "lock file", "100644", "x.lock"),
		named(19, "option", "100644", "-rf"),
		named(19, "combining letters", "100644", "e\u0301.py"),
		named(19, "alternate stream", "100644", "x.py:evil"),
		named(19, "name of 129 bytes", "100644", strings.Repeat("a", 129)),
		named(19, "name of 5,000 bytes", "100644", strings.Repeat("a", 5000)),
		two("twins in case", "A.py", "a.py"),
		two("one name twice", "a.py", "a.py"),
		two("unsorted", "b.py", "a.py"),
		{"file and directory of one name", 19, func(h *hostileRepo) {
			sub := h.pack.put(treeType, treeEntry("100644", "x.py", h.blob()))
			h.toolsTree(treeEntry("100644", "a", emptyBlob) + treeEntry("40000", "a", sub))
		}},
		{"file that is a tree", 19, func(h *hostileRepo) {
			h.blob()
			h.toolsTree(treeEntry("100644", "a.py", h.pack.put(treeType, treeEntry("100644", "x.py", emptyBlob))))
		}},
		{"directory that is a file", 19, func(h *hostileRepo) { h.toolsTree(treeEntry("40000", "a", h.blob())) }},
		{"kind that is a file", 19, func(h *hostileRepo) {
			h.commit(h.pack.put(treeType, treeEntry("40000", ".ai", h.pack.put(treeType, treeEntry("100644", "tools", h.blob())))))
		}},
		{"kind that is a link", 3, func(h *hostileRepo) {
			h.commit(h.pack.put(treeType, treeEntry("40000", ".ai", h.pack.put(treeType, treeEntry("120000", "tools", h.blob())))))
		}},
		{"a blob that does not come", 19, func(h *hostileRepo) { h.toolsTree(treeEntry("100644", "a.py", b1)) }},
		{"a tree that does not come", 19, func(h *hostileRepo) { h.tools(b1) }},
		{"entry of the zero id", 19, func(h *hostileRepo) { h.toolsTree(treeEntry("100644", "a.py", strings.Repeat("0", 40))) }},
		{"entry cut off", 19, func(h *hostileRepo) { h.toolsTree(treeEntry("100644", "a.py", h.blob())[:20]) }},
		{"17 directories deep", 19, func(h *hostileRepo) { deep(h, 17) }},
		{"3,000 directories deep", 20, func(h *hostileRepo) { deep(h, 3000) }},
		{"a million files from seven trees", 20, func(h *hostileRepo) {
			id := h.pack.put(treeType, wide(10, "100644", h.blob()))
			for range 5 {
				id = h.pack.put(treeType, wide(10, "40000", id))
			}
			h.tools(id)
		}},
		{"10,001 files", 19, func(h *hostileRepo) { h.toolsTree(wide(10_001, "100644", h.blob())) }},
		{"a tree of 250,000 names", 20, func(h *hostileRepo) { h.toolsTree(wide(250_000, "100644", h.blob())) }},
		{"a file of 9 MiB", 20, func(h *hostileRepo) {
			h.toolsTree(treeEntry("100644", "a.py", h.pack.put(blobType, strings.Repeat("x", 9<<20))))
		}},
		{"70 MiB of files from one", 19, func(h *hostileRepo) {
			h.toolsTree(wide(10, "100644", h.pack.put(blobType, strings.Repeat("x", 7<<20))))
		}},
	}
	return rows
}

func wide(n int, mode, id string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(treeEntry(mode, fmt.Sprintf("f%07d", i), id))
	}
	return b.String()
}

func deep(h *hostileRepo, n int) {
	id := h.pack.put(treeType, treeEntry("100644", "x.py", h.blob()))
	for range n - 1 {
		id = h.pack.put(treeType, treeEntry("40000", "a", id))
	}
	h.tools(id)
}

// hostileItems lie in the text of an item.
func hostileItems() []hostileRow {
	front := func(meta string) string { return "---\n" + meta + "\n---\n\ntext\n" }
	item := func(exit int, what, path, text string) hostileRow {
		return hostileRow{what, exit, func(h *hostileRepo) { h.item(path, text) }}
	}
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ","))
	}
	return []hostileRow{
		item(19, "an item's name that is no id", "tools/EVE/X.py", "x"),
		item(19, "a file of no kind of item", "tools/eve/x.exe.unknown", "x"),
		item(19, "a billion laughs in YAML", "tools/eve/x.yaml", laughs),
		item(19, "YAML 9,000 levels deep", "tools/eve/x.yaml", "a: "+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)),
		item(20, "8 MiB of YAML", "tools/eve/x.yaml", "a: "+strings.Repeat("[x],", 2<<20)),
		item(19, "YAML with a key twice", "knowledge/eve/x.md", front("name: x\nname: y")),
		item(19, "YAML of two documents", "tools/eve/x.yaml", "name: x\n---\nname: y\n"),
		item(19, "YAML with a tag", "tools/eve/x.yaml", "name: !!python/object/apply:os.system [id]\n"),
		item(19, "YAML with a merge key", "tools/eve/x.yaml", "<<: {name: x}\nname: y\n"),
		item(19, "metadata that reads backwards", "knowledge/eve/x.md", front("name: x\ntitle: \"\u202egnihton\"")),
		item(19, "metadata that is not UTF-8", "knowledge/eve/x.md", front("name: x\ntitle: \"\xff\xfe\"")),
		item(19, "XML with an entity", "directives/eve/x.md", "# X\n\n```xml\n<!DOCTYPE d [<!ENTITY a \"b\">]>\n<directive name=\"x\" version=\"1.0.0\"><metadata>&a;</metadata></directive>\n```\n"),
		item(19, "XML 100,000 levels deep", "directives/eve/x.md", "# X\n\n```xml\n<directive name=\"x\" version=\"1.0.0\">"+strings.Repeat("<a>", 100_000)+"\n```\n"),
		item(19, "two signature lines", "knowledge/eve/x.md", front("name: x")+"<!-- rye:signed:v2:x -->\n<!-- rye:signed:v2:y -->\n"),
	}
}

// hostileHistory lies in commits, tags and refs.
func hostileHistory() []hostileRow {
	const who = "author " + hostileStamp + "\ncommitter " + hostileStamp + "\n"
	textAt := func(exit int, what string, f func(tree string) string) hostileRow {
		return hostileRow{what, exit, func(h *hostileRepo) {
			h.item("knowledge/eve/x.md", "x")
			h.rawCommit(f(h.pack.put(treeType, "")))
		}}
	}
	text := func(what string, f func(tree string) string) hostileRow { return textAt(19, what, f) }
	tag := func(exit int, what, name string, target func(h *hostileRepo, commit string) (id, typ string)) hostileRow {
		return hostileRow{what, exit, func(h *hostileRepo) {
			h.item("knowledge/eve/x.md", "x")
			id, typ := target(h, h.refs[0][1])
			made := h.pack.put(tagType, "object "+id+"\ntype "+typ+"\ntag "+name+"\ntagger "+hostileStamp+"\n\nx\n")
			h.refs = [][2]string{{"refs/tags/v1", made}}
		}}
	}
	same := func(h *hostileRepo, c string) (string, string) { return c, "commit" }
	return []hostileRow{
		text("commit of two trees", func(t string) string { return "tree " + t + "\ntree " + t + "\n" + who + "\nx\n" }),
		text("commit without an author", func(t string) string { return "tree " + t + "\n\nx\n" }),
		text("commit with two authors", func(t string) string { return "tree " + t + "\nauthor " + hostileStamp + "\n" + who + "\nx\n" }),
		textAt(3, "commit with an unknown header", func(t string) string { return "tree " + t + "\n" + who + "x y\n\nx\n" }),
		textAt(3, "commit in another encoding", func(t string) string { return "tree " + t + "\n" + who + "encoding latin1\n\nx\n" }),
		text("commit with two signatures", func(t string) string { return "tree " + t + "\n" + who + "gpgsig a\ngpgsig b\n\nx\n" }),
		textAt(3, "commit with a NUL", func(t string) string { return "tree " + t + "\n" + who + "\nx\x00y\n" }),
		textAt(20, "commit of 2,000 parents", func(t string) string {
			return "tree " + t + "\n" + strings.Repeat("parent "+b1+"\n", 2000) + who + "\nx\n"
		}),
		text("commit of no tree", func(t string) string { return "tree " + strings.Repeat("0", 40) + "\n" + who + "\nx\n" }),
		tag(10, "tag of another name", "v2", same),
		tag(19, "tag of a tag", "v1", func(h *hostileRepo, c string) (string, string) {
			return h.pack.put(tagType, "object "+c+"\ntype commit\ntag v1\ntagger "+hostileStamp+"\n\nx\n"), "tag"
		}),
		tag(19, "tag of a file", "v1", func(h *hostileRepo, c string) (string, string) { return h.pack.put(blobType, "y"), "blob" }),
		tag(19, "tag without a target", "v1", func(h *hostileRepo, c string) (string, string) { return strings.Repeat("0", 40), "commit" }),
		{"HEAD that is a file", 3, func(h *hostileRepo) { h.refs = [][2]string{{"HEAD", h.pack.put(blobType, "x")}} }},
		{"HEAD that is a tree", 3, func(h *hostileRepo) {
			h.refs = [][2]string{{"HEAD", h.pack.put(treeType, treeEntry("100644", "x", h.blob()))}}
		}},
	}
}

// TestHostileRepositories: rye add of each, as a process, refuses with the status of the row,
// which is 3 where all that is there was passed over, as links and odd names are. It takes two
// seconds of processor time and 256 MiB at most, its helpers included, and changes no file:
// none comes, none goes.
func TestHostileRepositories(t *testing.T) {
	t.Parallel()
	rows := slices.Concat(hostilePacks(), hostileTrees(), hostileItems(), hostileHistory())
	h := newHome(t)
	h.write(".ai/knowledge/acme/mine.md", "---\nname: mine\ntitle: Mine\nversion: 1.0.0\nentry_type: reference\ncategory: acme\ntags: [a]\n---\n\nmine\n")
	h.rye("add", ".ai/knowledge/acme/mine.md")
	var repos sync.Map
	friendly := &hostileRepo{}
	friendly.item("knowledge/eve/x.md", "---\nname: x\ntitle: X\nversion: 1.0.0\nentry_type: reference\ncategory: eve\ntags: [a]\n---\n\nx\n")
	repos.Store("friendly", friendly)
	url := hostileHost(t, &repos)
	if out := h.rye("add", url+"/friendly.git", "--dry-run"); !strings.Contains(out, "eve/x") {
		t.Fatalf("an honest repository of this host: %s", out)
	}
	before := everyFile(t, filepath.Dir(h.dir))
	seen := map[string]bool{}
	for i, row := range rows {
		if seen[row.name] {
			t.Errorf("row %q twice", row.name)
		}
		seen[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			repo := &hostileRepo{}
			row.make(repo)
			name := fmt.Sprintf("r%d", i)
			repos.Store(name, repo)
			address := url + "/" + name + ".git"
			if repo.refs[0][0] == "refs/tags/v1" {
				address += "#v1"
			}
			args := []string{"add", address, "--yes"}
			if strings.HasPrefix(row.name, "twins") { // one of them may come in
				args = append(args, "--dry-run")
			}
			refusedCheaply(t, h, row.exit, args...)
			repos.Delete(name)
		})
	}
	if after := everyFile(t, filepath.Dir(h.dir)); after != before {
		t.Errorf("refusing changed files; there were\n%s\nand are\n%s", before, after)
	}
	h.rye("show", "knowledge:acme/mine")
	if len(rows) < 100 {
		t.Errorf("%d hostile repositories, want 100", len(rows))
	}
}

// refusedCheaply runs a command that must end with a status, in bounds.
func refusedCheaply(t *testing.T, h *home, exit int, args ...string) {
	t.Helper()
	out, got, u := measured(t, h.command(args...))
	if got != exit {
		t.Errorf("status %d, want %d\n%s", got, exit, out)
	}
	if u.cpu > 2*time.Second || u.rss > 256<<20 {
		t.Errorf("took %v of processor time and %d MiB", u.cpu, u.rss>>20)
	}
	t.Logf("%v, %d MiB", u.cpu.Round(time.Millisecond), u.rss>>20)
	if strings.Contains(string(out), "panic") || strings.Contains(string(out), "goroutine") {
		t.Errorf("%s", out)
	}
}

// everyFile lists every file below dir with the digest of its bytes.
func everyFile(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

package store

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

const (
	oidA  = "1111111111111111111111111111111111111111"
	oidB  = "2222222222222222222222222222222222222222"
	stamp = "Ann <ann@example.org> 1700000000 +0100"
)

// commitText is a well-formed commit; each part can be replaced.
func commitText(parts ...string) string { return strings.Join(parts, "\n") + "\n" }

func TestParseCommit(t *testing.T) {
	sig := "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NI\n \n -----END SSH SIGNATURE-----"
	good := map[string]string{
		"root":        commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "", "msg"),
		"parents":     commitText("tree "+oidA, "parent "+oidA, "parent "+oidB, "author "+stamp, "committer "+stamp, "", "msg"),
		"signed":      commitText("tree "+oidA, "author "+stamp, "committer "+stamp, sig, "", "msg"),
		"no message":  "tree " + oidA + "\nauthor " + stamp + "\ncommitter " + stamp + "\n\n",
		"minus zone":  commitText("tree "+oidA, "author A <> 0 -0000", "committer "+stamp, "", "m"),
		"sha256":      commitText("tree "+oidA+oidA[:24], "author "+stamp, "committer "+stamp, "", "m"),
		"blank lines": commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "", "", "", "m"),
	}
	for name, text := range good {
		c, err := ParseCommit([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := EncodeCommit(c)
		if err != nil || string(back) != text {
			t.Errorf("%s: encodes to %q, %v", name, back, err)
		}
	}
	bad := map[string]string{
		"empty":               "",
		"no tree":             commitText("author "+stamp, "committer "+stamp, "", "m"),
		"two trees":           commitText("tree "+oidA, "tree "+oidA, "author "+stamp, "committer "+stamp, "", "m"),
		"zero tree":           commitText("tree "+strings.Repeat("0", 40), "author "+stamp, "committer "+stamp, "", "m"),
		"upper-case tree":     commitText("tree "+strings.Repeat("A", 40), "author "+stamp, "committer "+stamp, "", "m"),
		"parent after author": commitText("tree "+oidA, "author "+stamp, "parent "+oidA, "committer "+stamp, "", "m"),
		"no author":           commitText("tree "+oidA, "committer "+stamp, "", "m"),
		"two authors":         commitText("tree "+oidA, "author "+stamp, "author "+stamp, "committer "+stamp, "", "m"),
		"two committers":      commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "committer "+stamp, "", "m"),
		"two signatures":      commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "gpgsig a", "gpgsig b", "", "m"),
		"signature first":     commitText("gpgsig a", "tree "+oidA, "author "+stamp, "committer "+stamp, "", "m"),
		"empty signature":     commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "gpgsig ", "", "m"),
		"gpgsig-sha256":       commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "gpgsig-sha256 a", "", "m"),
		"mergetag":            commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "mergetag object "+oidA, "", "m"),
		"encoding":            commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "encoding latin1", "", "m"),
		"unknown header":      commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "x y", "", "m"),
		"NUL in message":      commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "", "a\x00b"),
		"no blank line":       commitText("tree "+oidA, "author "+stamp, "committer "+stamp),
		"zero-padded time":    commitText("tree "+oidA, "author A <a> 01 +0000", "committer "+stamp, "", "m"),
		"time too large":      commitText("tree "+oidA, "author A <a> 99999999999999999999 +0000", "committer "+stamp, "", "m"),
		"no zone":             commitText("tree "+oidA, "author A <a> 1", "committer "+stamp, "", "m"),
		"no email":            commitText("tree "+oidA, "author A 1 +0000", "committer "+stamp, "", "m"),
		"two emails":          commitText("tree "+oidA, "author A <a> <b> 1 +0000", "committer "+stamp, "", "m"),
		"CR":                  "tree " + oidA + "\r\nauthor " + stamp + "\ncommitter " + stamp + "\n\nm",
		"mixed formats":       commitText("tree "+oidA, "parent "+oidA+oidA[:24], "author "+stamp, "committer "+stamp, "", "m"),
	}
	for name, text := range bad {
		if _, err := ParseCommit([]byte(text)); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

func TestCommitUnsigned(t *testing.T) {
	unsigned := commitText("tree "+oidA, "author "+stamp, "committer "+stamp, "", "msg")
	c, err := ParseCommit([]byte(unsigned))
	if err != nil {
		t.Fatal(err)
	}
	c.Signature = "-----BEGIN X-----\nabc\n\n-----END X-----"
	raw, err := EncodeCommit(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseCommit(raw)
	if err != nil {
		t.Fatal(err)
	}
	if s.Signature != c.Signature {
		t.Errorf("Signature = %q, want %q", s.Signature, c.Signature)
	}
	if got := string(s.Unsigned()); got != unsigned {
		t.Errorf("Unsigned = %q, want %q", got, unsigned)
	}
}

func TestEncodeCommitRefusesSmuggledHeaders(t *testing.T) {
	id, _ := ParseOID(oidA)
	ok := Commit{Tree: id, Author: Ident{"A", "a"}.At(testTime), Committer: Ident{"A", "a"}.At(testTime), Message: "m\n"}
	if _, err := EncodeCommit(&ok); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Commit){
		"newline in name":  func(c *Commit) { c.Author.Name = "A\nparent " + oidB },
		"newline in email": func(c *Commit) { c.Committer.Email = "a\n" },
		"bracket in name":  func(c *Commit) { c.Author.Name = "A <x> 1 +0000" },
		"bracket in email": func(c *Commit) { c.Author.Email = "x> 1 +0000\nparent" },
		"bad zone":         func(c *Commit) { c.Author.Zone = "UTC" },
		"no tree":          func(c *Commit) { c.Tree = OID{} },
		"zero parent":      func(c *Commit) { c.Parents = []OID{{}} },
		"NUL in message":   func(c *Commit) { c.Message = "a\x00" },
		"NUL in signature": func(c *Commit) { c.Signature = "a\x00" },
	} {
		c := ok
		change(&c)
		if raw, err := EncodeCommit(&c); err == nil {
			t.Errorf("%s: accepted: %q", name, raw)
		}
	}
}

type fakeSigner struct{ saw []byte }

func (s *fakeSigner) SignCommit(_ context.Context, b []byte) (string, error) {
	s.saw = bytes.Clone(b)
	return "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----", nil
}

func TestSignedCommit(t *testing.T) {
	r := newRepo(t)
	var s fakeSigner
	o := opts("signed")
	o.Signer = &s
	id, err := r.Edit(t.Context(), testHead, []Change{put("a", "1")}, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Commit(id)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(c.Unsigned(), s.saw) {
		t.Errorf("Unsigned = %q, the signer saw %q", c.Unsigned(), s.saw)
	}
	fsck(t, r.Dir())
}

func TestStampTime(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", -3*3600-1800))
	s := Ident{"A", "a"}.At(when)
	if s.Zone != "-0330" || !s.Time().Equal(when) || s.Time().Format(time.RFC3339) != "2026-01-02T03:04:05-03:30" {
		t.Errorf("%+v gives %v", s, s.Time())
	}
}

func TestParseTag(t *testing.T) {
	raw := "object " + oidA + "\ntype commit\ntag v1\ntagger " + stamp + "\n\nmsg\n"
	tag, err := ParseTag([]byte(raw))
	if err != nil || tag.Target.String() != oidA || tag.Name != "v1" {
		t.Errorf("ParseTag = %+v, %v", tag, err)
	}
	for _, bad := range []string{"", "object x\n", raw[:len(raw)-6], strings.Replace(raw, "commit", "comet", 1)} {
		if _, err := ParseTag([]byte(bad)); !fault.Is(err, fault.Malformed) {
			t.Errorf("ParseTag(%q) = %v", bad, err)
		}
	}
}

// rawEntry is one entry of a tree, unchecked.
func rawEntry(mode, name string, id OID) string {
	return mode + " " + name + "\x00" + string(id.Bytes())
}

func TestParseTree(t *testing.T) {
	a, _ := ParseOID(oidA)
	good := []string{
		"",
		rawEntry("100644", "a", a),
		rawEntry("100644", "a-b", a) + rawEntry("40000", "a", a) + rawEntry("100755", "a0", a),
		rawEntry("120000", "l", a) + rawEntry("160000", "m", a),
	}
	for _, raw := range good {
		entries, err := ParseTree(SHA1, []byte(raw))
		if err != nil {
			t.Errorf("ParseTree(%q): %v", raw, err)
			continue
		}
		back, err := EncodeTree(entries)
		if err != nil || string(back) != raw {
			t.Errorf("%q encodes to %q, %v", raw, back, err)
		}
	}
	bad := map[string]string{
		"cut off":             rawEntry("100644", "a", a)[:20],
		"no name":             rawEntry("100644", "", a),
		"slash":               rawEntry("100644", "a/b", a),
		"absolute":            rawEntry("100644", "/a", a),
		"unsorted":            rawEntry("100644", "b", a) + rawEntry("100644", "a", a),
		"twice":               rawEntry("100644", "a", a) + rawEntry("100644", "a", a),
		"file and directory":  rawEntry("100644", "a", a) + rawEntry("100644", "a.b", a) + rawEntry("40000", "a", a),
		"directory and file":  rawEntry("100644", "a", a) + rawEntry("40000", "a-b", a) + rawEntry("40000", "a-c", a) + rawEntry("40000", "a", a) + rawEntry("40000", "b", a),
		"directory sorted so": rawEntry("40000", "a", a) + rawEntry("100644", "a-b", a),
		"mode 777":            rawEntry("100777", "a", a),
		"setuid":              rawEntry("104755", "a", a),
		"zero-padded":         rawEntry("040000", "a", a),
		"huge mode":           rawEntry("10000000000", "a", a),
		"zero id":             rawEntry("100644", "a", oidOf(make([]byte, 20)))[:9] + strings.Repeat("\x00", 20),
	}
	for name, raw := range bad {
		if _, err := ParseTree(SHA1, []byte(raw)); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "A", "0", "_", "__init__.py", "a.b-c_d", "hello.py", "con_", "command", "lptx", strings.Repeat("a", MaxNameLength)} {
		if err := CheckName(good); err != nil {
			t.Errorf("CheckName(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", ".git", ".GIT", ".gitmodules", "-x", "a b", "a/b", `a\b`, "a:b", "a.", "a\n", "a\x00", "é", "a\u200c",
		"git~1", "con", "CON", "nul.yaml", "Aux.tar.gz", "com1", "lpt9.txt", "x.lock", "X.LOCK", "a*", "a?", strings.Repeat("a", MaxNameLength+1)} {
		if err := CheckName(bad); !fault.Is(err, fault.Malformed) {
			t.Errorf("CheckName(%q) = %v, want malformed", bad, err)
		}
	}
}

func TestCheckTree(t *testing.T) {
	a, _ := ParseOID(oidA)
	if err := CheckTree([]Entry{{"a", ModeFile, a}, {"b", ModeDir, a}, {"c", ModeExec, a}}); err != nil {
		t.Error(err)
	}
	for name, entries := range map[string][]Entry{
		"symlink":   {{"a", ModeSymlink, a}},
		"submodule": {{"a", ModeGitlink, a}},
		"case":      {{"A", ModeFile, a}, {"a", ModeFile, a}},
		"name":      {{".git", ModeDir, a}},
	} {
		if err := CheckTree(entries); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

// TestCheckContent has the hostile trees that are well-formed one by one.
func TestCheckContent(t *testing.T) {
	r := newRepo(t)
	b := r.NewBatch()
	defer b.Discard()
	add := func(typ Type, data []byte) OID {
		id, err := b.Add(typ, data)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	tree := func(entries ...Entry) OID {
		raw, err := EncodeTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		return add(TypeTree, raw)
	}
	blob := add(TypeBlob, []byte("x"))
	big := add(TypeBlob, make([]byte, 9<<20))
	deep := tree(Entry{"f", ModeFile, blob})
	for range 16 {
		deep = tree(Entry{"d", ModeDir, deep})
	}
	wide := tree(Entry{"f", ModeFile, blob})
	for range 6 {
		var es []Entry
		for i := range 10 {
			es = append(es, Entry{string(rune('a' + i)), ModeDir, wide})
		}
		wide = tree(es...)
	}
	fine := tree(Entry{"d", ModeDir, tree(Entry{"f", ModeFile, blob})})
	cases := map[string]struct {
		id   OID
		code fault.Code
	}{
		"fine":            {fine, ""},
		"deep":            {deep, fault.Limit},
		"million":         {wide, fault.Limit},
		"big":             {tree(Entry{"f", ModeFile, big}), fault.Limit},
		"symlink below":   {tree(Entry{"d", ModeDir, tree(Entry{"l", ModeSymlink, blob})}), fault.Malformed},
		"submodule":       {tree(Entry{"m", ModeGitlink, blob}), fault.Malformed},
		"tree as file":    {tree(Entry{"f", ModeFile, fine}), fault.Malformed},
		"file as tree":    {tree(Entry{"f", ModeDir, blob}), fault.Malformed},
		"missing":         {tree(Entry{"f", ModeFile, r.format.Hash(TypeBlob, []byte("no"))}), fault.NotFound},
		"case":            {tree(Entry{"README", ModeFile, blob}, Entry{"readme", ModeFile, blob}), fault.Malformed},
		"name with space": {tree(Entry{"a b", ModeFile, blob}), fault.Malformed},
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		start := testkit.CPUTime()
		err := r.CheckContent(t.Context(), c.id, ContentLimits{})
		if got := fault.CodeOf(err); got != c.code {
			t.Errorf("%s: %v, want code %q", name, err, c.code)
		}
		if took := testkit.CPUTime() - start; took > 2*time.Second*slowdown {
			t.Errorf("%s: took %v of processor time", name, took)
		}
	}
}

func TestOID(t *testing.T) {
	for _, s := range []string{oidA, oidA + oidA[:24]} {
		id, err := ParseOID(s)
		if err != nil || id.String() != s || len(id.Bytes()) != len(s)/2 {
			t.Errorf("ParseOID(%q) = %v, %v", s, id, err)
		}
	}
	for _, s := range []string{"", "1", oidA[:39], oidA + "1", strings.Repeat("0", 40), strings.ToUpper(strings.Repeat("a", 40)), strings.Repeat("g", 40)} {
		if _, err := ParseOID(s); !fault.Is(err, fault.Malformed) {
			t.Errorf("ParseOID(%q) = %v", s, err)
		}
	}
	if !(OID{}).IsZero() || (OID{}).Bytes() != nil {
		t.Error("zero OID")
	}
	if got := SHA1.Hash(TypeBlob, []byte("hello\n")).String(); got != "ce013625030ba8dba906f756967f9e9ca394464a" {
		t.Errorf("hash of hello: %s", got)
	}
	if _, err := OIDFromBytes(make([]byte, 21)); err == nil {
		t.Error("21 bytes accepted")
	}
	if !errors.Is(notFound("x"), ErrNotExist) {
		t.Error("notFound is not ErrNotExist")
	}
}

func TestCheckRefName(t *testing.T) {
	good := []string{"refs/heads/main", testHead, "refs/rye/lock/0123abc", "refs/heads/threads/01HZX", "refs/tags/acme/tool/hello@1.4.0", "refs/x", "refs/heads/@", "refs/heads/a{b"}
	bad := []string{"", "HEAD", "main", "refs", "refs/", "refs//a", "refs/heads/", "/refs/heads/a", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.", "refs/heads/a.lock",
		"refs/heads/a.LOCK/b", "refs/heads/a b", "refs/heads/a~", "refs/heads/a^", "refs/heads/a:b", "refs/heads/a?", "refs/heads/a*", "refs/heads/a[", `refs/heads/a\b`, "refs/heads/@{x",
		"refs/heads/-x", "refs/heads/é", "refs/heads/a\x7f", "refs/heads/a\n", "refs/../config", "refs/heads/../../hooks/x", "refs/heads/" + strings.Repeat("a", 300)}
	for _, n := range good {
		if err := CheckRefName(n); err != nil {
			t.Errorf("CheckRefName(%q) = %v", n, err)
		}
		if gitBin != "" {
			if out, err := tryGit("", nil, "check-ref-format", n); err != nil {
				t.Errorf("git refuses %q: %s", n, out)
			}
		}
	}
	for _, n := range bad {
		if err := CheckRefName(n); !fault.Is(err, fault.Usage) {
			t.Errorf("CheckRefName(%q) = %v, want usage", n, err)
		}
	}
}

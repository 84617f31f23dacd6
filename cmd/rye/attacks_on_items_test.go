package main_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The attacks on items and keys, numbered as in docs/security.md, through the real
// program: what it says, and with which status it ends. 18 to 21 and 23 are about
// bytes that no command writes; they are in objects/trust.

const attackTool = "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n" +
	"# category: acme\n# description: Leaves a mark.\necho it ran\n"

const attackDirective = "# Greet\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\">\n  <metadata>\n    <description>Greets.</description>\n" +
	"    <category>acme</category>\n    <author>me</author>\n    <permissions><execute><tool>acme/hello</tool></execute></permissions>\n" +
	"  </metadata>\n</directive>\n```\n\nSay hello to the user.\n"

const attackNote = "---\nversion: 1.0.0\ntitle: Notes\nentry_type: reference\n---\n\nHello is a greeting.\n"

// Where the samples stand, and how they are called.
const (
	toolFile, toolRef           = ".ai/tools/acme/hello.sh", "tool:acme/hello"
	directiveFile, directiveRef = ".ai/directives/acme/greet.md", "directive:acme/greet"
	noteFile, noteRef           = ".ai/knowledge/acme/notes.md", "knowledge:acme/notes"
)

// signed writes a file, signs it, shows that it can be used, and returns its text.
func (h *home) signed(path, ref, text string) string {
	h.t.Helper()
	h.write(path, text)
	h.rye("sign", ref)
	h.rye("load", ref)
	return h.read(path)
}

// refuses puts text in place of a file and demands that using it ends with status.
func (h *home) refuses(what, path, text, ref string, status int) string {
	h.t.Helper()
	h.write(path, text)
	said := h.fails(status, "load", ref)
	if out := h.fails(status, "execute", ref); strings.Contains(strings.ToLower(out), "it ran\n") {
		h.t.Errorf("%s: it ran:\n%s", what, out)
	}
	if !strings.Contains(said, "hint: ") {
		h.t.Errorf("%s: no way out is shown:\n%s", what, said)
	}
	return said
}

func swap(t *testing.T, text, old, new string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not in\n%s", old, text)
	}
	return strings.Replace(text, old, new, 1)
}

var signatureLine = regexp.MustCompile(`(?m)^.*rye:signed:v2:(\S+):([0-9a-f]{64}):([A-Za-z0-9_-]{86}):([A-Za-z0-9_-]{43}).*\n`)

func TestAttack01ByteChanged(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.refuses("body", toolFile, swap(t, h.signed(toolFile, toolRef, attackTool), "echo it", "echo IT"), toolRef, 10)
	h.refuses("note", noteFile, swap(t, h.signed(noteFile, noteRef, attackNote), "greeting", "treating"), noteRef, 10)
}

// TestAttack02AroundTheBody: what RYE OS left uncovered.
func TestAttack02AroundTheBody(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	directive := h.signed(directiveFile, directiveRef, attackDirective)
	h.refuses("prose after the fence", directiveFile, swap(t, directive, "Say hello", "Say goodbye"), directiveRef, 10)
	h.refuses("prose before it", directiveFile, swap(t, directive, "# Greet", "# Treat"), directiveRef, 10)
	h.refuses("front matter", noteFile, swap(t, h.signed(noteFile, noteRef, attackNote), "title: Notes", "title: Other"), noteRef, 10)
	h.refuses("shebang", toolFile, swap(t, h.signed(toolFile, toolRef, attackTool), "env bash", "env dash"), toolRef, 10)
}

func TestAttack03TimeEdited(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	text := h.signed(noteFile, noteRef, attackNote)
	at := signatureLine.FindStringSubmatch(text)[1]
	h.refuses("later", noteFile, swap(t, text, at, "2099"+at[4:]), noteRef, 10)
	h.refuses("earlier", noteFile, swap(t, text, at, "2020"+at[4:]), noteRef, 10)
}

func TestAttack04LineMoved(t *testing.T) {
	t.Parallel()
	h, other := newHome(t), newHome(t)
	note := h.signed(noteFile, noteRef, attackNote)
	h.refuses("another id", ".ai/knowledge/acme/others.md", note, "knowledge:acme/others", 10)
	h.refuses("another version", noteFile, swap(t, note, "version: 1.0.0", "version: 1.0.1"), noteRef, 10)
	data := h.signed(".ai/knowledge/acme/data.yaml", "knowledge:acme/data", "id: data\nversion: 1.0.0\ntitle: Data\nentry_type: reference\ncategory: acme\n")
	h.refuses("another kind", ".ai/config/acme/data.yaml", data, "config:acme/data", 10)
	// The line alone, on a file of the same text and on one of another.
	line := signatureLine.FindString(note)
	h.refuses("onto another text", ".ai/knowledge/acme/more.md", swap(t, attackNote, "greeting", "word")+line, "knowledge:acme/more", 10)
	h.refuses("onto the same text", ".ai/knowledge/acme/more.md", attackNote+line, "knowledge:acme/more", 10)
	// Another project of the same person: local ids bind theirs.
	const scratch, scratchRef = ".ai/knowledge/local/scratch.md", "knowledge:local/scratch"
	local := h.signed(scratch, scratchRef, attackNote)
	twin := *other
	twin.env = h.env
	twin.rye("trust", "--yes")
	twin.refuses("another project", scratch, local, scratchRef, 10)
}

// One file that is a Python tool and a shell tool: whoever can rename it must not choose
// who executes what was signed.
func TestAttack04Polyglot(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.rye("init", "--namespace", "acme")
	polyglot := "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n" +
		"# category: acme\n# description: Two languages.\n__version__ = \"1.0.0\"\n__executor_id__ = \"rye/core/runtimes/python_script_runtime\"\n\"echo\" \"it ran\"\n"
	h.signed(toolFile, toolRef, polyglot)
	signed := h.read(toolFile)
	h.rye("rm", toolRef)
	for ext, status := range map[string]int{"py": 10, "js": 19, "bash": 10, "SH": 19} {
		path := strings.TrimSuffix(toolFile, "sh") + ext
		h.refuses("as ."+ext, path, signed, toolRef, status)
		if err := os.Remove(filepath.Join(h.dir, filepath.FromSlash(path))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAttack05SuffixForged(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	text := h.signed(noteFile, noteRef, attackNote)
	fp := signatureLine.FindStringSubmatch(text)[4]
	h.refuses("suffix", noteFile, swap(t, text, fp, fp+"|rye-registry@somebody"), noteRef, 19)
}

func TestAttack06TwoLines(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	text := h.signed(noteFile, noteRef, attackNote)
	line := signatureLine.FindString(text)
	h.refuses("doubled", noteFile, text+line, noteRef, 19)
	h.refuses("one in a code fence", noteFile, swap(t, text, "Hello is", "```\n"+line+"```\n\nHello is"), noteRef, 10) // there it is text, and the text was changed
}

// TestAttack07LineOfRyeOS: refused, labelled, and counted only by consent.
func TestAttack07LineOfRyeOS(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	block, _ := pem.Decode([]byte(h.rye("key", "export", "--pem", "--yes")))
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	public := sha256.Sum256([]byte(h.rye("key", "export", "--pem", "--public")))
	digest := sha256.Sum256([]byte(attackTool[strings.Index(attackTool, "\n")+1:]))
	text := hex.EncodeToString(digest[:])
	sig := base64.URLEncoding.EncodeToString(ed25519.Sign(private.(ed25519.PrivateKey), []byte(text)))
	line := fmt.Sprintf("# rye:signed:2026-02-20T10:00:00Z:%s:%s:%x\n", text, sig, public[:8])
	old := swap(t, attackTool, "bash\n", "bash\n"+line)
	said := h.refuses("a line of RYE OS", toolFile, old, toolRef, 11)
	if !strings.Contains(said, "legacy, covers") {
		t.Errorf("not labelled: %s", said)
	}
	h.write(toolFile, strings.Replace(old, "category", "Category", 1))
	h.fails(10, "load", toolRef)
	h.write(toolFile, old)
	config := filepath.Join(filepath.Dir(h.dir), "home", ".config", "rye")
	if err := os.WriteFile(filepath.Join(config, "policy.yaml"), []byte("policy: 1\nallow_legacy: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.rye("execute", toolRef)
	if said := h.rye("status"); !strings.Contains(said, "legacy") {
		t.Errorf("status does not label it:\n%s", said)
	}
}

func TestAttack08Stripped(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	for path, c := range map[string]struct{ ref, text string }{
		toolFile: {toolRef, attackTool}, directiveFile: {directiveRef, attackDirective}, noteFile: {noteRef, attackNote},
	} {
		h.signed(path, c.ref, c.text)
		if said := h.refuses("stripped", path, c.text, c.ref, 11); !strings.Contains(said, "hint: rye sign "+c.ref) {
			t.Errorf("%s: %s", c.ref, said)
		}
	}
}

func TestAttack09LineEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	text := h.signed(noteFile, noteRef, attackNote)
	for what, b := range map[string]string{
		"one of them":        swap(t, text, "greeting.\n", "greeting.\r\n"),
		"a line feed more":   swap(t, text, "greeting.\n", "greeting.\n\n"),
		"a space at its end": swap(t, text, "greeting.\n", "greeting. \n"),
	} {
		h.write(noteFile, b)
		if said := h.fails(10, "load", noteRef); !strings.Contains(said, "changed since it was signed") {
			t.Errorf("%s: %s", what, said)
		}
	}
	// Whoever converts them all touches the line, too; and a byte order mark is no
	// text of rye's at all.
	h.refuses("windows line ends", noteFile, strings.ReplaceAll(text, "\n", "\r\n"), noteRef, 19)
	h.refuses("byte order mark", noteFile, "\ufeff"+text, noteRef, 19)
}

// TestAttack12OnlyWhatItMay: a change of nothing but what makes a file run, or of
// what it may do.
func TestAttack12OnlyWhatItMay(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	tool := h.signed(toolFile, toolRef, attackTool)
	h.refuses("shebang gone", toolFile, swap(t, tool, "#!/usr/bin/env bash\n", ""), toolRef, 10)
	directive := h.signed(directiveFile, directiveRef, attackDirective)
	h.refuses("capability added", directiveFile, swap(t, directive, "</execute>", "<tool>*</tool></execute>"), directiveRef, 10)
	// The mode on disk is no evidence either way.
	h.signed(noteFile, noteRef, attackNote)
	if err := os.Chmod(filepath.Join(h.dir, noteFile), 0o755); err != nil {
		t.Fatal(err)
	}
	h.rye("load", noteRef)
}

// TestAttack13Confusable: an id that looks like another is no id, before anything
// else is asked.
func TestAttack13Confusable(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.signed(noteFile, noteRef, attackNote)
	for _, id := range []string{"аcme/notes" /* Cyrillic */, "acme/nоtes", "acme/notes\u200b", "Acme/notes", "acme/../acme/notes", "acme//notes"} {
		h.fails(2, "load", "knowledge:"+id)
	}
	h.write(".ai/knowledge/acme/nоtes.md", attackNote)
	h.fails(2, "sign", "knowledge:acme/nоtes")
	h.rye("load", noteRef)
}

// wireKey returns 32 bytes as a public key line, whatever they are.
func wireKey(b [32]byte) string {
	return "ssh-ed25519 " + base64.StdEncoding.EncodeToString(slices.Concat([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"), b[:]))
}

// TestAttack15SmallOrder: a key whose signature holds for every message is refused
// wherever a key can come in.
func TestAttack15SmallOrder(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	identity := wireKey([32]byte{1})
	h.fails(19, "trust", "pin", identity, "--namespace", "acme", "--yes", "--fingerprint", "SHA256:"+strings.Repeat("A", 43))
	h.write("weak.pub", identity+"\n")
	h.fails(19, "trust", "pin", "weak.pub", "--namespace", "acme", "--yes", "--fingerprint", "SHA256:"+strings.Repeat("A", 43))
	text := h.signed(noteFile, noteRef, attackNote)
	m := signatureLine.FindStringSubmatch(text)
	fp := sha256.Sum256(slices.Concat([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20\x01"), make([]byte, 31)))
	universal := base64.RawURLEncoding.EncodeToString(slices.Concat([]byte{1}, make([]byte, 63)))
	forged := swap(t, swap(t, text, m[3], universal), m[4], base64.RawURLEncoding.EncodeToString(fp[:]))
	h.refuses("universal signature", noteFile, forged, noteRef, 11)
	// Slipped into the trust store by hand, it spoils the store, and nothing counts.
	store := filepath.Join(filepath.Dir(h.dir), "home", ".config", "rye", "trust.yaml")
	raw, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store, []byte(swap(t, string(raw), "own:\n", "own:\n  - key: "+identity+"\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	h.fails(19, "load", noteRef)
}

// TestAttack16NonCanonical: a second spelling of a key, and of a signature.
func TestAttack16NonCanonical(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var y [32]byte // p + 3, which is y = 3
	for i := range y {
		y[i] = 0xff
	}
	y[0], y[31] = 0xf0, 0x7f
	h.fails(19, "trust", "pin", wireKey(y), "--namespace", "acme", "--yes", "--fingerprint", "SHA256:"+strings.Repeat("A", 43))

	text := h.signed(noteFile, noteRef, attackNote)
	field := signatureLine.FindStringSubmatch(text)[3]
	sig, err := base64.RawURLEncoding.DecodeString(field)
	if err != nil {
		t.Fatal(err)
	}
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := slices.Clone(sig[32:])
	slices.Reverse(s)
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	copy(sig[32:], sum)
	h.refuses("S+L", noteFile, swap(t, text, field, base64.RawURLEncoding.EncodeToString(sig)), noteRef, 10)
	// The last character of base64 has bits to spare: only one spelling of them is read.
	h.refuses("spare bits", noteFile, swap(t, text, field, field[:85]+string(spare(field[85]))), noteRef, 19)
}

// spare returns another letter of base64url for the same last two bits.
func spare(c byte) byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return letters[strings.IndexByte(letters, c)|1]
}

// TestAttack17OtherKeyTypes: refused by name, with what speaks against them.
func TestAttack17OtherKeyTypes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for kind, why := range map[string]string{
		"ssh-rsa": "only plain ssh-ed25519", "ssh-dss": "only plain ssh-ed25519", "ecdsa-sha2-nistp256": "only plain ssh-ed25519",
		"sk-ssh-ed25519@openssh.com": "a counter and flags of its own", "ssh-ed25519-cert-v01@openssh.com": "relies on its authority",
	} {
		said := h.fails(11, "trust", "pin", kind+" AAAAB3NzaC1yc2E", "--namespace", "acme", "--yes", "--fingerprint", "SHA256:"+strings.Repeat("A", 43))
		if !strings.Contains(said, kind) || !strings.Contains(said, why) {
			t.Errorf("%s: %s", kind, said)
		}
	}
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed here, so no private keys of other types")
	}
	for _, kind := range []string{"rsa", "ecdsa"} {
		path := filepath.Join(t.TempDir(), kind)
		if out, err := exec.Command(keygen, "-q", "-t", kind, "-N", "", "-f", path).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
		if said := h.fails(11, "key", "import", path, "other"); !strings.Contains(said, "only plain ssh-ed25519") {
			t.Errorf("%s: %s", kind, said)
		}
		h.write(noteFile, attackNote)
		h.with("RYE_KEY="+path).fails(11, "sign", noteRef)
	}
}

// TestAttack22SameKeyTwice: where two must agree, one key is one holder, under two
// names, with an approval beside its signature, or both.
func TestAttack22SameKeyTwice(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("registry", "init", filepath.Join(t.TempDir(), "registry.git"), "--yes")
	h.rye("key", "new", "bob")
	bob := h.key("bob").SSH
	h.write("bob.pub", bob+"\n")
	h.write("carol.pub", strings.Fields(bob)[0]+" "+strings.Fields(bob)[1]+" carol@example.org\n")
	if said := h.fails(11, "registry", "root", "add", "bob.pub", "carol.pub", "--threshold", "2", "--yes"); !strings.Contains(said, "one key is one holder") {
		t.Error(said)
	}
	h.rye("registry", "root", "add", "bob.pub", "--threshold", "2", "--out", "p.txt", "--yes")
	h.with("RYE_KEY=bob").rye("registry", "root", "approve", "p.txt", "--yes")
	h.rye("registry", "root", "commit", "p.txt", "--yes")
	h.fails(11, "registry", "root", "add", "carol.pub", "--yes")

	h.rye("registry", "root", "threshold", "1", "--out", "q.txt", "--yes")
	h.rye("registry", "root", "approve", "q.txt", "--yes")
	if said := h.fails(11, "registry", "root", "commit", "q.txt", "--yes"); !strings.Contains(said, "one key counts once") {
		t.Error(said)
	}
	// The same approval, written there a second time by hand.
	text := h.read("q.txt")
	line := regexp.MustCompile(`(?m)^Rye-Approval: .*\n`).FindString(text)
	h.write("q.txt", swap(t, text, line, line+line))
	h.fails(19, "registry", "root", "commit", "q.txt", "--yes")
	if said := h.rye("registry", "root", "show"); !strings.Contains(said, "2 of 2") {
		t.Errorf("the root changed:\n%s", said)
	}
}

// TestAttackTable: every attack of the list has its test, where docs/security.md
// says it is.
func TestAttackTable(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (\\d+) \\|.*?`(TestAttack\\w+)`.*\\| `([a-z/]+)` \\|$").FindAllStringSubmatch(string(doc), -1)
	if len(rows) != 23 {
		t.Fatalf("%d attacks in the table, want 23", len(rows))
	}
	for i, row := range rows {
		if row[1] != fmt.Sprint(i+1) || !strings.HasPrefix(row[2], fmt.Sprintf("TestAttack%02d", i+1)) {
			t.Errorf("row %d is attack %s, shown by %s", i+1, row[1], row[2])
		}
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(row[3]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(src), "\nfunc "+row[2]+"(t *testing.T)")
		}
		if !found {
			t.Errorf("%s is not in %s", row[2], row[3])
		}
	}
}

//go:build unix

package main_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// Branches of a registry, and an id that nothing has.
const (
	logRef     = "refs/heads/ns/acme"
	rootRef    = "refs/heads/main"
	contentRef = "refs/heads/content/acme"
	nowhere    = "1111111111111111111111111111111111111111"
)

// A wireAttack is served by every side: somebody who holds the host, and perhaps a key, does
// something to the registry as it was at a stage, and a reader runs commands.
type wireAttack struct {
	n      int
	what   string
	stage  string // "" is four: one operation more than bob knows
	play   func(s *side, h *registrytest.Host)
	who    func(s *side) *machine // nil: bob
	run    string                 // words of the command, "" is fetch
	exit   int
	says   string
	then   func(s *side, m *machine) // looks further; with exit 0, where beliefs may change
	holds  bool                      // the log does, and is remembered; what it names is refused
	learns bool                      // what it revokes is remembered too
	since  bool                      // it came with branches of namespaces: every server gets it
}

var (
	byCarol = func(s *side) *machine { return s.carol }
	byDave  = func(s *side) *machine { return s.dave }
)

const (
	addC   = "add acme/knowledge/c --yes"
	verify = "registry verify"
)

// gets sets the command of an attack on what a log names: the log itself holds.
func (w *wireAttack) gets(run string) *wireAttack {
	w.run, w.holds = run, true
	return w
}

// spoil changes the bytes of the last operation and leaves its signature.
func spoil(change func(string) string) func(*side, *registrytest.Host) {
	return func(_ *side, h *registrytest.Host) { h.Spoil(logRef, change) }
}

// forged changes the last operation and signs it by its own key.
func forged(change func(h *registrytest.Host, c *store.Commit)) func(*side, *registrytest.Host) {
	return func(s *side, h *registrytest.Host) {
		h.Forge(logRef, registrytest.By(s.t, s.key), func(c *store.Commit) { change(h, c) })
	}
}

// trailer gives a trailer of the last operation another value.
func trailer(name string, value func(old string) string) func(*side, *registrytest.Host) {
	return forged(func(_ *registrytest.Host, c *store.Commit) {
		registrytest.SetTrailer(c, name, value(registrytest.Trailer(c.Message, name)))
	})
}

func becomes(value string) func(string) string { return func(string) string { return value } }

// flipped is another digest.
func flipped(old string) string {
	if strings.HasPrefix(old, "sha256:0") {
		return "sha256:1" + old[8:]
	}
	return "sha256:0" + old[8:]
}

// lastFlipped is another number in hexadecimal, with a letter at its end, so that YAML takes it
// for no number.
func lastFlipped(old string) string {
	if strings.HasSuffix(old, "a") {
		return old[:len(old)-1] + "b"
	}
	return old[:len(old)-1] + "a"
}

// another makes the last operation publish another file as acme/knowledge/c@1.0.0.
func another(file func(genuine string) string) func(*side, *registrytest.Host) {
	return forged(func(h *registrytest.Host, c *store.Commit) {
		text, _ := genuine(h, c)
		text = file(text)
		h.Replace(c, "acme/knowledge/c@1.0.0", "knowledge/acme/c.md", text, signedAt(text))
	})
}

// signedAt is the time of the version that a file makes: that of its signature line.
func signedAt(text string) int64 {
	it, err := objects.Parse("knowledge/acme/c.md", []byte(text))
	if err != nil || it.Signature == nil {
		return 0
	}
	return it.Signature.SignedAt.Unix()
}

// signedAs signs a file anew, as another type of thing than an item.
func signedAs(s *side, text, payload string) string {
	it, err := objects.Parse("knowledge/acme/c.md", []byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	sig := *it.Signature
	msg := objects.SignedMessage(it.Ref, it.Bound(""), sig)
	raw, err := s.key.Sign(s.t.Context(), objects.PAE(payload, msg[bytes.IndexByte(msg, '{'):]))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Replace(text, signatureLine.FindStringSubmatch(text)[3], base64.RawURLEncoding.EncodeToString(raw), 1)
}

// genuine returns the file of acme/knowledge/c@1.0.0, and when it was signed.
func genuine(h *registrytest.Host, c *store.Commit) (text string, unix int64) {
	v := h.Commit(versionOf(h, c, "acme/knowledge/c@1.0.0"))
	return h.File(v.Tree, "knowledge/acme/c.md"), v.Author.Unix
}

// versionOf returns the commit of a version that the operation's change list names.
func versionOf(h *registrytest.Host, c *store.Commit, name string) store.OID {
	line := h.State(c)[registrytest.Changes]
	_, rest, _ := strings.Cut(line, `"commit":"`)
	id, _ := store.ParseOID(rest[:40])
	return id
}

// sshsig makes the armor of git's own signature, and changes the blob in it.
func sshsig(change func(blob string) string) func(*side, *registrytest.Host) {
	return armored(func(armor string) string { return registrytest.Blob(armor, change) })
}

// armored changes the armor of a good signature.
func armored(change func(armor string) string) func(*side, *registrytest.Host) {
	return func(s *side, h *registrytest.Host) {
		good := registrytest.By(s.t, s.key)
		h.Forge(logRef, func(unsigned []byte) string { return change(good(unsigned)) }, nil)
	}
}

// withEntry makes the last operation's version one with an entry beside the item.
func withEntry(mode, name string) func(*side, *registrytest.Host) {
	return forged(func(h *registrytest.Host, c *store.Commit) {
		v := h.Commit(versionOf(h, c, "acme/knowledge/c@1.0.0"))
		blob := h.Put(store.TypeBlob, "evil")
		if mode == "40000" {
			blob = v.Tree
		}
		entry, item := mode+" "+name+"\x00"+string(blob.Bytes()), h.Raw(v.Tree)
		if name < "knowledge" && name != "aaa" { // that one is out of order
			entry, item = item, entry
		}
		v.Tree = h.Put(store.TypeTree, item+entry)
		raw, err := store.EncodeCommit(v)
		if err != nil {
			panic(err)
		}
		id := h.Put(store.TypeCommit, string(raw))
		h.EditLine(c, "acme/knowledge/c@1.0.0", func(line string) string { return registrytest.Field(line, "commit", fmt.Sprintf("%q", id)) })
	})
}

// hide takes objects away from what is served.
func hide(s *side, ids ...store.OID) {
	s.t.Helper()
	packs, _ := filepath.Glob(filepath.Join(s.dir, "objects", "pack", "*.pack"))
	for _, pack := range packs {
		raw, err := os.ReadFile(pack)
		if err != nil {
			s.t.Fatal(err)
		}
		left, _ := filepath.Glob(strings.TrimSuffix(pack, "pack") + "*")
		for _, path := range left {
			os.Remove(path)
		}
		cmd := exec.Command("git", "-C", s.dir, "unpack-objects", "-q")
		cmd.Stdin = bytes.NewReader(raw)
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git unpack-objects: %v\n%s", err, out)
		}
	}
	for _, id := range ids {
		hex := id.String()
		if err := os.Remove(filepath.Join(s.dir, "objects", hex[:2], hex[2:])); err != nil {
			s.t.Fatal(err)
		}
	}
}

// address returns the git id in a trailer of the last operation, by its place.
func address(h *registrytest.Host, name string, at int) store.OID {
	id, err := store.ParseOID(strings.Fields(registrytest.Trailer(h.Commit(h.At(logRef)).Message, name))[at])
	if err != nil {
		panic(err)
	}
	return id
}

func later(seconds int64) func(*side, *registrytest.Host) {
	return forged(func(_ *registrytest.Host, c *store.Commit) {
		c.Author.Unix += seconds
		c.Committer.Unix += seconds
	})
}

// hasFile wants the reader to have an item that says so.
func hasFile(ref, want string) func(*side, *machine) {
	return func(s *side, m *machine) {
		s.t.Helper()
		if got := m.rye("load", ref); !strings.Contains(got, want) {
			s.t.Errorf("load %s: %q, want %q", ref, got, want)
		}
	}
}

// wireAttacks are those of the list that are about what a host sends, by number, and what came
// to be attackable since it was written.
func wireAttacks() []wireAttack {
	var rows []wireAttack
	add := func(n int, what string, exit int, says string, play func(*side, *registrytest.Host)) *wireAttack {
		rows = append(rows, wireAttack{n: n, what: what, exit: exit, says: says, play: play})
		return &rows[len(rows)-1]
	}
	// Items, published by an owner who spoils another's signature, or his own.
	item := func(n int, what string, exit int, says string, change func(string) string) {
		add(n, "published: "+what, exit, says, another(change)).gets(addC)
	}
	// An operation by a member that cannot be applied has no effect, and is reported.
	skipped := func(n int, what, why string, play func(*side, *registrytest.Host)) *wireAttack {
		return add(n, what, 0, "is malformed and has no effect: "+why, play)
	}
	replace := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	item(1, "one byte of the body changed", 10, "", replace("text 0", "text 1"))
	item(2, "front matter changed", 10, "", replace("title: T", "title: U"))
	item(3, "time of signing edited", 10, "", func(s string) string {
		at := signatureLine.FindStringSubmatchIndex(s)[2]
		return s[:at] + "2020" + s[at+4:]
	})
	item(5, "a suffix after the fingerprint", 19, "", func(s string) string {
		at := signatureLine.FindStringSubmatchIndex(s)[9]
		return s[:at] + "|registry@eve" + s[at:]
	})
	item(6, "two lines", 19, "", func(s string) string { return s + signatureLine.FindString(s) })
	item(8, "the line taken out", 11, "", func(s string) string { return signatureLine.ReplaceAllString(s, "") })
	item(9, "a byte order mark", 19, "", func(s string) string { return "\ufeff" + s })
	add(21, "published: signed as something else", 10, "", func(s *side, h *registrytest.Host) {
		another(func(text string) string { return signedAs(s, text, "application/vnd.rye.item.v3+json") })(s, h)
	}).gets(addC)
	// The signature over an operation.
	add(18, "made for files", 10, "", func(s *side, h *registrytest.Host) {
		h.Forge(logRef, registrytest.For(s.t, s.key, "file"), nil)
	})
	add(18, "made for approvals of rye", 10, "", func(s *side, h *registrytest.Host) {
		h.Forge(logRef, registrytest.For(s.t, s.key, "rye-approve"), nil)
	})
	add(19, "hash sha256", 19, "", sshsig(replace("\x00\x00\x00\x06sha512", "\x00\x00\x00\x06sha256")))
	add(19, "version 2", 19, "", sshsig(replace("SSHSIG\x00\x00\x00\x01", "SSHSIG\x00\x00\x00\x02")))
	add(19, "bytes behind", 19, "", sshsig(func(b string) string { return b + "x" }))
	add(19, "reserved field used", 19, "", sshsig(replace("git\x00\x00\x00\x00", "git\x00\x00\x00\x01x")))
	add(20, "text before the armor", 19, "", armored(func(a string) string { return "hello\n" + a }))
	add(20, "text behind the armor", 19, "", armored(func(a string) string { return a + "\nhello" }))
	add(20, "two armors", 19, "", armored(func(a string) string { return a + "\n" + a }))
	add(23, "by a certificate", 11, "", sshsig(func(b string) string {
		return strings.Replace(b, "\x00\x00\x00\x33\x00\x00\x00\x0bssh-ed25519", "\x00\x00\x00\x48\x00\x00\x00\x20ssh-ed25519-cert-v01@openssh.com", 1)
	}))
	add(17, "by a security key", 11, "", sshsig(func(b string) string {
		return strings.Replace(b, "\x00\x00\x00\x33\x00\x00\x00\x0bssh-ed25519", "\x00\x00\x00\x42\x00\x00\x00\x1ask-ssh-ed25519@openssh.com", 1)
	}))
	add(15, "by the key whose signature holds for everything", 19, "", sshsig(registrytest.Universal))
	// Git objects.
	add(24, "two trees", 19, "", spoil(registrytest.After("tree", "tree "+nowhere+"\n")))
	add(24, "the same tree twice", 19, "", spoil(registrytest.Again("tree")))
	add(25, "two authors", 19, "", spoil(registrytest.Again("author")))
	add(25, "two committers", 19, "", spoil(registrytest.Again("committer")))
	add(25, "a parent behind the author", 19, "", spoil(registrytest.After("author", "parent "+nowhere+"\n")))
	add(26, "gpgsig-sha256", 19, "", spoil(registrytest.After("committer", "gpgsig-sha256 -----BEGIN SSH SIGNATURE-----\n x\n -----END SSH SIGNATURE-----\n")))
	add(27, "gpgsig twice", 19, "", spoil(registrytest.Again("gpgsig")))
	add(28, "unknown header", 19, "", spoil(registrytest.After("committer", "x-note hello\n")))
	add(28, "mergetag", 19, "", spoil(registrytest.After("committer", "mergetag object "+nowhere+"\n type commit\n tag v1\n")))
	add(28, "encoding", 19, "", spoil(registrytest.After("committer", "encoding ISO-8859-1\n")))
	skipped(28, "another trailer", "trailers: Rye-Note", forged(func(_ *registrytest.Host, c *store.Commit) { c.Message += "Rye-Note: hi\n" }))
	add(29, "message rewritten under its signature", 10, "", spoil(replace("publish acme", "Publish acme")))
	for _, tag := range []struct{ n int }{{31}, {32}} {
		add(tag.n, "a version that only a tag names", 4, "", tagged).gets("add acme/knowledge/a@9.9.9 --yes").stage = "three"
	}
	for _, e := range [][2]string{{"40000", ".git"}, {"40000", ".GIT"}, {"40000", "git~1"}, {"40000", ".."}, {"100644", "knowledge"},
		{"100644", "aaa"}, {"100777", "zzz"}, {"160000", "zzz"}, {"120000", "zzz"}, {"100644", "zzz"}} {
		add(33, "a tree with "+e[1]+" "+e[0], 19, "", withEntry(e[0], e[1])).gets(addC)
	}
	add(34, "a file of 22 MB", 19, "", another(func(s string) string { return s + strings.Repeat("\n", 22<<20) })).gets(addC)
	add(34, "a file of 22 MB that is called small", 20, "", forged(func(h *registrytest.Host, c *store.Commit) {
		text, unix := genuine(h, c)
		h.Replace(c, "acme/knowledge/c@1.0.0", "knowledge/acme/c.md", text+strings.Repeat("\n", 22<<20), unix)
		h.EditLine(c, "acme/knowledge/c@1.0.0", func(line string) string { return registrytest.Field(line, "size", "100") })
	})).gets(addC)
	r := add(35, "replace refs, grafts and alternates", 0, "", replaced)
	r.run, r.then = addC, hasFile("knowledge:acme/c", "text 0")
	// The log.
	back := func(_ *side, h *registrytest.Host) { h.Set(logRef, h.Commit(h.At(logRef)).Parents[0]) }
	add(36, "an older tip", 13, "", back).stage = "three"
	add(36, "no log at all", 13, "", func(_ *side, h *registrytest.Host) { h.Set(logRef, store.OID{}) }).stage = "three"
	r = add(37, "older than the lock, on a fresh machine", 18, "names operation 3 of acme", back)
	r.gets("pull").stage, r.who = "three", byCarol
	r = add(38, "a sibling of what was seen", 15, "", later(1))
	r.stage, r.then = "three", hasEvidence
	add(39, "a log cut off", 19, "", forged(func(_ *registrytest.Host, c *store.Commit) { c.Parents = nil }))
	r = add(39, "a shallow repository", 19, "", shallow) // the root is whole
	r.who, r.holds = byDave, true
	skipped(40, "a gap", "follows position 3", trailer("Rye-Seq", becomes("5")))
	skipped(40, "a repetition", "follows position 3", trailer("Rye-Seq", becomes("3")))
	skipped(40, "a jump to 2^63", "", trailer("Rye-Seq", becomes("9223372036854775808")))
	skipped(41, "of another registry", "belongs to registry", trailer("Rye-Registry", flipped))
	skipped(41, "of another genesis", "belongs to the log", trailer("Rye-Genesis", flipped))
	add(42, "another predecessor", 10, "", trailer("Rye-Prev", flipped))
	skipped(44, "files in the tree of an operation", "", forged(func(h *registrytest.Host, c *store.Commit) { c.Tree = h.Commit(h.At(rootRef)).Tree }))
	add(44, "another state digest", 10, "", trailer("Rye-State", flipped))
	add(45, "by a key without the namespace", 11, "", func(s *side, h *registrytest.Host) { h.Forge(logRef, registrytest.By(s.t, s.eve), nil) })
	rewrite := forged(func(h *registrytest.Host, c *store.Commit) {
		h.EditLine(c, "acme/knowledge/a@1.0.0", func(line string) string {
			return registrytest.Field(line, "sha256", `"`+registrytest.Digest("other")+`"`)
		})
	})
	add(46, "a version that has other bytes now", 10, "", rewrite).gets("update --yes")
	add(46, "a version that has other bytes now, for who never saw it", 10, "", rewrite).gets(verify)
	r = add(47, "called fresh until lately, where policy refuses that", 14, "expired on", func(s *side, _ *registrytest.Host) {
		s.bob.write(".ai/policy.yaml", "policy: 1\nstale: refuse\n")
	})
	r.stage, r.holds = "stale", true
	skipped(48, "before its predecessor", "dated", later(-100))
	add(48, "in the future", 19, "", later(3600))
	add(49, "the commit of another version", 19, "", forged(func(h *registrytest.Host, c *store.Commit) {
		before := h.Commit(c.Parents[0])
		h.EditLine(c, "acme/knowledge/c@1.0.0", func(line string) string {
			return registrytest.Field(line, "commit", fmt.Sprintf("%q", versionOf(h, before, "acme/knowledge/b@1.0.0")))
		})
	})).gets(addC)
	add(49, "other bytes than the catalogue says", 10, "", forged(func(h *registrytest.Host, c *store.Commit) {
		text, unix := genuine(h, c)
		sum := registrytest.Digest(text)
		id := h.VersionSaying("acme/knowledge/c@1.0.0", "knowledge/acme/c.md", text+"evil\n", sum, unix)
		h.EditLine(c, "acme/knowledge/c@1.0.0", func(line string) string { return registrytest.Field(line, "commit", fmt.Sprintf("%q", id)) })
	})).gets(addC)
	r = add(50, "content that no operation names", 3, "", func(s *side, h *registrytest.Host) { h.Set(logRef, h.Commit(h.At(logRef)).Parents[0]) })
	r.run = addC
	r = add(51, "not fetched before, offline", 0, "", nil)
	r.then = func(s *side, m *machine) { m.fails(17, append([]string{"--offline"}, strings.Fields(addC)...)...) }
	skipped(52, "an operation to skip", "operation", forged(func(_ *registrytest.Host, c *store.Commit) {
		c.Message = strings.NewReplacer("publish acme/", "skip acme/", "Rye-Op: publish", "Rye-Op: skip").Replace(c.Message)
	}))
	add(53, "another registry at the address", 11, "", func(*side, *registrytest.Host) {}).stage = "another"
	r = add(53, "another registry at the address, for who pinned it only", 11, "", func(*side, *registrytest.Host) {})
	r.stage, r.who = "another", byDave
	skipped(54, "position of the root lowered", "saw the root at 1", trailer("Rye-Root", becomes("1")))
	add(54, "position of the root beyond it", 13, "", trailer("Rye-Root", becomes("99")))
	skipped(54, "format lowered", "format 0", trailer("Rye-Format", becomes("0")))
	r = add(56, "a teammate's lock names another tip", 10, "rye.lock", func(s *side, _ *registrytest.Host) {
		lock := s.bob.read(".ai/rye.lock")
		_, rest, _ := strings.Cut(lock, "seq: 3\n")
		_, rest, _ = strings.Cut(rest, "sha256: ")
		sum := rest[:64]
		s.bob.write(".ai/rye.lock", strings.Replace(lock, sum, lastFlipped(sum), 1))
	})
	r.stage = "three"
	// Keys, owners and statuses.
	add(60, "by a retired key, dated back", 12, "", byOscar).stage = "retired"
	r = add(61, "a version from before the bad position", 0, "", nil)
	r.stage, r.run, r.then = "revoked", "add acme/knowledge/good --yes", hasFile("knowledge:acme/good", "text 0")
	r = add(61, "a version from the bad position on", 12, "", nil)
	r.gets("add acme/knowledge/bad --yes").stage, r.learns = "revoked", true
	add(61, "an operation by a revoked key", 12, "", byOscar).stage = "after"
	r = add(62, "a line by a revoked key, never logged", 0, "", nil)
	r.stage, r.then = "revoked", func(s *side, m *machine) {
		m.write(".ai/knowledge/acme/late.md", s.late)
		m.fails(12, "load", "knowledge:acme/late")
	}
	add(63, "a revoked key adds itself again", 11, "", func(s *side, h *registrytest.Host) {
		h.Forge(logRef, registrytest.By(s.t, s.oscarKey), func(c *store.Commit) { // operation 4 once more, as 8
			added := h.Commit(h.At(logRef))
			for registrytest.Trailer(added.Message, "Rye-Op") != "key-add" {
				added = h.Commit(added.Parents[0])
			}
			last := *c
			c.Message = added.Message
			for _, name := range []string{"Rye-Seq", "Rye-Prev", "Rye-Root", "Rye-State"} {
				registrytest.SetTrailer(c, name, registrytest.Trailer(last.Message, name))
			}
		})
	}).stage = "after"
	skipped(64, "a key without the proof that its owner agrees", "key", trailer("Rye-Proof", func(old string) string {
		return strings.Repeat("A", 85) + "A"
	})).stage = "joined"
	r = add(65, "a revocation hidden by setting the log back", 13, "", back)
	r.stage, r.who = "revoked", func(s *side) *machine { return s.erin }
	add(66, "a root change by nobody's key", 11, "", func(s *side, h *registrytest.Host) { h.Forge(rootRef, registrytest.By(s.t, s.eve), nil) }).stage = "granted"
	add(67, "handed to other owners", 11, "has other owners", nil).stage = "transferred"
	add(69, "a yanked version is not selected", 4, "", nil).gets(addC).stage = "yanked"
	r = add(69, "a revoked version", 12, "", nil)
	r.gets(addC).stage, r.learns = "taken", true
	// The lock.
	lock := func(n int, what string, exit int, says, run, old string, new func(string) string) {
		r := add(n, what, exit, says, func(s *side, _ *registrytest.Host) {
			lock := s.bob.read(".ai/rye.lock")
			m := regexp.MustCompile(old).FindStringSubmatch(lock)
			s.bob.write(".ai/rye.lock", strings.Replace(lock, m[1], new(m[1]), 1))
		})
		r.gets(run).stage = "three"
	}
	lock(71, "lock: another digest", 10, "", "pull", `(?s)knowledge:acme/a:.*?sha256: "?([0-9a-f]{64})`, lastFlipped)
	lock(71, "lock: another commit", 18, "", "lock verify", `(?s)knowledge:acme/a:.*?commit: "?([0-9a-f]{40})`, lastFlipped)
	lock(71, "lock: another author", 16, "SIGNER CHANGED", "pull", `(?s)knowledge:acme/a:.*?author: (SHA256:\S+)`, becomes("SHA256:AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))
	lock(71, "lock: another registry", 18, "", "lock verify", `id: sha256:([0-9a-f]{64})`, lastFlipped)
	lock(72, "a lock of a newer format", 19, "", "pull", `(lock: 1)`, becomes("lock: 9"))
	r = add(71, "rye.yaml: the address of a lookalike", 11, "rye trust", func(s *side, _ *registrytest.Host) {
		s.bob.write(".ai/rye.yaml", strings.ReplaceAll(s.bob.read(".ai/rye.yaml"), s.address, s.stages["another"]))
	})
	r.stage = "three"
	r = add(68, "revoked, then offline", 0, "", nil)
	r.stage, r.run, r.then = "four", addC, func(s *side, m *machine) {
		m.rye("load", "knowledge:acme/c")
		s.serve("taken")
		m.rye("fetch")
		m.fails(12, "--offline", "load", "knowledge:acme/c")
		m.fails(12, "load", "knowledge:acme/c")
	}
	r = add(69, "yanked, deprecated: a lock keeps working", 0, "", nil)
	r.stage, r.run, r.then = "four", addC, func(s *side, m *machine) {
		s.serve("yanked")
		m.rye("fetch")
		m.rye("load", "knowledge:acme/c")
		s.serve("deprecated")
		m.rye("load", "knowledge:acme/c")
	}
	return append(rows, sinceThen()...)
}

// sinceThen are the attacks on what the list did not know yet: states, lists, shards, change
// lists, and the branch that keeps them.
func sinceThen() (rows []wireAttack) {
	add := func(n int, what string, exit int, play func(*side, *registrytest.Host)) *wireAttack {
		rows = append(rows, wireAttack{n: n, what: what, exit: exit, play: play, since: true})
		return &rows[len(rows)-1]
	}
	add(43, "a second parent: the operation before that", 15, forged(func(h *registrytest.Host, c *store.Commit) {
		c.Parents = append(c.Parents, h.Commit(c.Parents[0]).Parents[0])
	}))
	add(43, "a second parent: its own content", 15, forged(func(h *registrytest.Host, c *store.Commit) {
		c.Parents = append(c.Parents, address(h, "Rye-State", 2))
	}))
	add(44, "a version smuggled into the state", 10, forged(smuggle)).gets(verify)
	add(44, "a version left out of the change list", 10, forged(func(h *registrytest.Host, c *store.Commit) {
		h.Restate(c, func(files map[string]string) {
			files[registrytest.Changes] = strings.ReplaceAll(files[registrytest.Changes], "1.0.0", "1.0.1")
		}, nil)
	})).gets(verify)
	add(49, "a forged root list", 10, forgedAddress("Rye-State", 1))
	add(49, "a forged list", 10, forgedList(func(path string) bool { return path == "catalogue/list" })).gets(addC)
	add(49, "a forged shard", 10, forgedList(func(path string) bool { return path != "catalogue/list" })).gets(addC)
	add(49, "a forged change list", 10, forgedAddress("Rye-Changes", 3)).gets(verify)
	add(51, "a root list that is not there", 5, func(s *side, h *registrytest.Host) {
		h.Set(contentRef, store.OID{})
		hide(s, address(h, "Rye-State", 1))
	})
	for what, hidden := range map[string]func(h *registrytest.Host, c *store.Commit) []store.OID{
		"a version that is not there": func(h *registrytest.Host, c *store.Commit) []store.OID {
			return []store.OID{versionOf(h, c, "acme/knowledge/c@1.0.0")}
		},
		"lists that are not there":  func(h *registrytest.Host, c *store.Commit) []store.OID { return h.Blobs(c, "list") },
		"shards that are not there": func(h *registrytest.Host, c *store.Commit) []store.OID { return h.Blobs(c, "??.jsonl") },
	} {
		add(51, what, 5, func(s *side, h *registrytest.Host) {
			h.Set(contentRef, store.OID{})
			hide(s, hidden(h, h.Commit(h.At(logRef)))...)
		}).gets(addC)
	}
	for what, to := range map[string]func(h *registrytest.Host) store.OID{
		"content set back":              func(h *registrytest.Host) store.OID { return h.Commit(h.At(contentRef)).Parents[0] },
		"content set to something else": func(h *registrytest.Host) store.OID { return h.At(rootRef) },
		"no content at all":             func(*registrytest.Host) store.OID { return store.OID{} },
	} {
		r := add(50, what, 0, func(_ *side, h *registrytest.Host) { h.Set(contentRef, to(h)) })
		r.run, r.then = addC, hasFile("knowledge:acme/c", "text 0") // it proves nothing, and is not asked
	}
	return rows
}

// smuggle puts a second version beside the one that an operation publishes.
func smuggle(h *registrytest.Host, c *store.Commit) {
	h.Restate(c, func(files map[string]string) {
		for path, raw := range files {
			if path != registrytest.Changes && strings.Contains(raw, "acme/knowledge/c") {
				files[path] = raw + strings.ReplaceAll(raw, `"version":"1.0.0"`, `"version":"1.0.1"`)
			}
		}
	}, nil)
}

// byOscar signs the last operation by the key of a member who was one.
func byOscar(s *side, h *registrytest.Host) {
	h.Forge(logRef, registrytest.By(s.t, s.oscarKey), nil)
}

// shallow makes the repository one that has no operation before the last.
func shallow(s *side, h *registrytest.Host) {
	c := h.Commit(h.At(logRef))
	if err := os.WriteFile(filepath.Join(s.dir, "shallow"), []byte(h.At(logRef).String()+"\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
	h.Set(contentRef, store.OID{})
	hide(s, c.Parents[0])
}

// tagged puts tags of every kind beside the branches, and a branch that is called like a version.
func tagged(s *side, h *registrytest.Host) {
	evil := h.Version("acme/knowledge/a@9.9.9", "knowledge/acme/a.md", "evil", 0)
	tag := h.Put(store.TypeTag, "object "+evil.String()+"\ntype commit\ntag acme/knowledge/b@1.0.0\ntagger Eve <e@e> 1700000000 +0000\n\nx\n")
	h.Set("refs/tags/acme/knowledge/a@1.0.0", tag)
	h.Set("refs/tags/acme/knowledge/a@9.9.9", evil)
	h.Set("refs/heads/acme/knowledge/a@9.9.9", evil)
	h.Set("refs/rye/verified/ns/acme", evil)
}

// replaced says, in the ways that git has, that a version is another, and where more objects are.
func replaced(s *side, h *registrytest.Host) {
	real := versionOf(h, h.Commit(h.At(logRef)), "acme/knowledge/c@1.0.0")
	evil := h.Version("acme/knowledge/c@1.0.0", "knowledge/acme/c.md", "evil\n", 0)
	h.Set("refs/replace/"+real.String(), evil)
	for name, text := range map[string]string{
		"info/grafts":             real.String() + " " + evil.String() + "\n" + h.At(logRef).String() + "\n",
		"objects/info/alternates": filepath.Join(s.stages["taken"], "objects") + "\n",
	} {
		path := filepath.Join(s.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// forgedAddress lets a trailer name the digest of one blob and the git id of another: what a
// host could send if SHA-1 were broken.
func forgedAddress(name string, at int) func(*side, *registrytest.Host) {
	return forged(func(h *registrytest.Host, c *store.Commit) {
		words := strings.Fields(registrytest.Trailer(c.Message, name))
		words[at] = h.Put(store.TypeBlob, "evil\n").String()
		registrytest.SetTrailer(c, name, strings.Join(words, " "))
	})
}

// forgedList does the same to every line of the lists of a kind.
func forgedList(which func(path string) bool) func(*side, *registrytest.Host) {
	return forged(func(h *registrytest.Host, c *store.Commit) {
		evil := h.Put(store.TypeBlob, "evil\n").String()
		h.Restate(c, func(map[string]string) {}, func(path, text string) string {
			if !which(path) {
				return text
			}
			out := ""
			for line := range strings.Lines(text) {
				if !strings.HasPrefix(line, "keys ") {
					line = line[:len(line)-41] + evil + "\n"
				}
				out += line
			}
			return out
		})
	})
}

// hasEvidence: both histories are kept, as they were signed.
func hasEvidence(s *side, m *machine) {
	s.t.Helper()
	kept, err := filepath.Glob(filepath.Join(m.top(), "home", ".local", "state", "rye", "registries", "*.evidence", "acme-3-*.commit"))
	if err != nil || len(kept) < 2 {
		s.t.Errorf("evidence: %v, want both operations", kept)
	}
}

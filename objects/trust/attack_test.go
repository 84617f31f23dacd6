package trust

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// The attacks are numbered as in the design's list; 15 to 20 and 23 are in
// key_test.go and sshsig_test.go, 7 in item_test.go, 14 in bundle_test.go.

const tool = "tools/acme/hello.py"

// altered parses a changed file; what does not even parse is refused as malformed.
func altered(t *testing.T, what string, path string, raw []byte, in Scope, st *Store, want ...fault.Code) {
	t.Helper()
	it, err := objects.Parse(path, raw)
	if err == nil {
		_, err = Verify(it, in, st)
	}
	if !slices.Contains(want, fault.CodeOf(err)) {
		t.Errorf("%s: %v (%s), want %v", what, err, fault.CodeOf(err), want)
	}
}

func replace1(raw []byte, old, new string) []byte {
	if !bytes.Contains(raw, []byte(old)) {
		panic(fmt.Sprintf("%q is not in %q", old, raw))
	}
	return bytes.Replace(raw, []byte(old), []byte(new), 1)
}

func TestAttack1and2OneByteChanged(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	for name, c := range map[string]struct{ path, old, new string }{
		"body":                  {tool, "execute(params", "execute(param_"},
		"front matter":          {"directives/acme/front.md", "Greets.", "Treats."},
		"prose after the fence": {"directives/acme/greet.md", "Say hello", "Say hallo"},
		"prose before it":       {"directives/acme/greet.md", "# Greet", "# Treat"},
		"capability":            {"directives/acme/greet.md", "acme/hello<", "acme/hallo<"},
		"shebang":               {"tools/acme/hello_sh.sh", "#!/bin/sh", "#!/bin/zh"},
		"metadata":              {"tools/acme/hello_yaml.yaml", "example.com", "exbmple.com"},
	} {
		it := sign(t, k, c.path, inA)
		altered(t, name, c.path, replace1(it.Raw, c.old, c.new), inA, st, fault.Integrity)
	}
}

func TestAttack3TimeEdited(t *testing.T) {
	k := newKey(t)
	it := sign(t, k, tool, inA)
	altered(t, "time", tool, replace1(it.Raw, "2026-11-20T12", "2026-11-20T13"), inA, storeOf(t, k), fault.Integrity)
}

// TestAttack4Moved: a signed file is nothing under another id, kind, version,
// project or key.
func TestAttack4Moved(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	must(t, st.Grant(noon, inB.Site().OwnKeys()))
	it := sign(t, k, tool, inA)
	altered(t, "other id", "tools/acme/other.py", it.Raw, inA, st, fault.Integrity)
	altered(t, "other namespace", "tools/else/hello.py", replace1(it.Raw, `"acme"`, `"acme"`), inA, st, fault.Integrity, fault.Malformed)
	altered(t, "other version", tool, replace1(it.Raw, `"1.0.0"`, `"1.0.1"`), inA, st, fault.Integrity)

	// The extension decides who executes the bytes, so it is bound as well.
	for _, other := range []string{"tools/acme/hello.rb", "tools/acme/hello.bash", "tools/acme/hello.sh"} {
		altered(t, "other file type", other, it.Raw, inA, st, fault.Integrity)
	}
	altered(t, "extension in upper case", "tools/acme/hello.PY", it.Raw, inA, st, fault.Malformed)

	data := sign(t, k, "knowledge/acme/data.yaml", inA)
	altered(t, "other kind", "config/acme/data.yaml", data.Raw, inA, st, fault.Integrity)

	// The version is also bound apart from the bytes: here the bytes are genuine.
	c := *it
	c.Meta.Version = "9.9.9"
	refused(t, "version of the item", &c, inA, st, fault.Integrity)

	local := sign(t, k, "tools/local/scratch_own.py", inA)
	refused(t, "other project", local, inB, st, fault.Integrity)
	refused(t, "user space", local, inUser, st, fault.Integrity)
	if _, err := Verify(it, inB, st); err != nil {
		t.Errorf("an item with a namespace may be copied to another accepted project: %v", err)
	}

	other := newKey(t)
	must(t, st.AddOwn(other.Public(), "second"))
	altered(t, "other key's name", tool, replace1(it.Raw, k.Public().Fingerprint().URL(), other.Public().Fingerprint().URL()), inA, st, fault.Integrity)
	twin := sign(t, other, tool, inA)
	sig := func(it *objects.Item) string { return it.Signature.Line()[len("rye:signed:v2:")+20+1+64+1:][:86] }
	altered(t, "other key's signature", tool, replace1(it.Raw, sig(it), sig(twin)), inA, st, fault.Integrity)
}

func TestAttack5Suffix(t *testing.T) {
	k := newKey(t)
	it := sign(t, k, tool, inA)
	line := it.Signature.Line()
	altered(t, "suffix", tool, replace1(it.Raw, line, line+"|rye-registry@somebody"), inA, storeOf(t, k), fault.Malformed)
}

func TestAttack6TwoLines(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	for path := range samples {
		it := sign(t, k, path, inA)
		i := bytes.Index(it.Raw, []byte("rye:signed:"))
		start := bytes.LastIndexByte(it.Raw[:i], '\n') + 1
		end := i + bytes.IndexByte(it.Raw[i:], '\n') + 1
		line, body := it.Raw[start:end], it.Body
		altered(t, path+": doubled", path, slices.Concat(it.Raw[:start], line, line, it.Raw[end:]), inA, st, fault.Malformed)
		altered(t, path+": one more at the end", path, slices.Concat(it.Raw, line), inA, st, fault.Malformed)
		altered(t, path+": one more in a code fence", path, slices.Concat(it.Raw, []byte("\n```\n"), line, []byte("```\n")), inA, st, fault.Malformed, fault.Integrity) // in Markdown it is text
		for at := 0; at <= len(body); at++ {                                                                                                                            // moved to every line
			if at > 0 && body[at-1] != '\n' || at == start {
				continue
			}
			moved := slices.Concat(body[:at], line, body[at:])
			altered(t, fmt.Sprintf("%s: moved to %d", path, at), path, moved, inA, st, fault.Malformed, fault.Integrity, fault.Untrusted)
		}
	}
}

func TestAttack8Stripped(t *testing.T) {
	st := storeOf(t, newKey(t))
	for path, text := range samples {
		it := parse(t, path, []byte(text))
		err := refused(t, path, it, inA, st, fault.Untrusted)
		if want := "rye sign " + it.Ref.String(); fault.HintOf(err).String() != want {
			t.Errorf("%s: mend %q, want %q", path, fault.HintOf(err).String(), want)
		}
	}
}

// TestAttack9LineEndings: what an editor or git may do to a file.
func TestAttack9LineEndings(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	for path := range samples {
		raw := sign(t, k, path, inA).Raw
		for name, b := range map[string][]byte{
			"bom":              append([]byte("\xef\xbb\xbf"), raw...),
			"crlf":             bytes.ReplaceAll(raw, []byte("\n"), []byte("\r\n")),
			"one crlf":         append(slices.Clone(raw[:len(raw)-1]), "\r\n"...),
			"newline at end":   append(slices.Clone(raw), '\n'),
			"no newline":       raw[:len(raw)-1],
			"space at end":     append(slices.Clone(raw), ' '),
			"newline at start": append([]byte("\n"), raw...),
			"nul at end":       append(slices.Clone(raw), 0),
		} {
			altered(t, path+": "+name, path, b, inA, st, fault.Integrity, fault.Malformed)
		}
	}
}

// TestAttack10OtherNamespace: a known key counts for what it was pinned for, there.
func TestAttack10OtherNamespace(t *testing.T) {
	me, bob := newKey(t), newKey(t)
	st := storeOf(t, me)
	must(t, st.Grant(noon, inA.Site().Signer("tools", bob.Public())))
	it := sign(t, bob, tool, inA)
	err := refused(t, "other namespace", it, inA, st, fault.Untrusted)
	if !strings.Contains(err.Error(), bob.Public().String()) || !strings.Contains(err.Error(), "acme/") {
		t.Errorf("%v names neither key nor namespace", err)
	}
	must(t, st.Grant(noon, inA.Site().Signer("acme", bob.Public())))
	if _, err := Verify(it, declaring(t, inA, bob.Public(), "acme"), st); err != nil {
		t.Errorf("granted and declared: %v", err)
	}
	refused(t, "granted and not declared", it, inA, st, fault.Untrusted)
	refused(t, "granted, in a file that breaks its format", it, declared(inA, "acme "+bob.Public().Authorized()), st, fault.Untrusted)
	refused(t, "declared for another namespace", it, declaring(t, inA, bob.Public(), "tools"), st, fault.Untrusted)
	refused(t, "user space", it, inUser, st, fault.Untrusted)
	must(t, st.Grant(noon, inB.Site().OwnKeys()))
	refused(t, "other project", it, inB, st, fault.Untrusted)
	refused(t, "other place of the id", it, Scope{Space: objects.Project, Project: projectA, Place: placeB}, st, fault.Untrusted)
	refused(t, "other id at the place", it, Scope{Space: objects.Project, Project: projectB, Place: placeA}, st, fault.Untrusted)
	must(t, st.Pin(Pin{Key: bob.Public(), Namespaces: []string{"acme"}}))
	if _, err := Verify(it, inUser, st); err != nil {
		t.Errorf("pinned in the user space: %v", err)
	}
	st.Ungrant(func(g Grant) bool { return g.Kind == GrantSigner })
	refused(t, "pinned for the user space only", it, declaring(t, inA, bob.Public(), "acme"), st, fault.Untrusted)
}

// TestAttack11ShortFingerprint: keys are looked up by the whole fingerprint.
func TestAttack11ShortFingerprint(t *testing.T) {
	me := newKey(t)
	st := storeOf(t, me)
	it := sign(t, newKey(t), tool, inA)
	near := me.Public().Fingerprint()
	near[31] ^= 1 // 248 bits agree
	forged := parse(t, tool, replace1(it.Raw, it.Signature.Key.URL(), near.URL()))
	err := refused(t, "near fingerprint", forged, inA, st, fault.Untrusted)
	if !strings.Contains(err.Error(), near.String()) {
		t.Errorf("%v does not name %s", err, near)
	}
	refused(t, "unknown key", it, inA, st, fault.Untrusted)
}

// TestAttack12Executable: what makes a file run is signed, and the disk's mode is
// no part of an item.
func TestAttack12Executable(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	it := sign(t, k, "tools/acme/hello_sh.sh", inA)
	if !it.Executable() {
		t.Fatal("the sample is not executable")
	}
	altered(t, "shebang gone", it.Path, replace1(it.Raw, "#!/bin/sh\n", ""), inA, st, fault.Integrity, fault.Malformed)
	plain := sign(t, k, tool, inA)
	altered(t, "shebang added", tool, append([]byte("#!/bin/sh\n"), plain.Raw...), inA, st, fault.Integrity)
	altered(t, "capability added", "directives/acme/greet.md", replace1(sign(t, k, "directives/acme/greet.md", inA).Raw,
		"<tool>acme/hello</tool>", "<tool>acme/hello</tool><tool>*</tool>"), inA, st, fault.Integrity)
}

// TestEveryByte flips every byte of a signed item of every type in several ways:
// nothing verifies, nothing panics, and the code is one of content.
func TestEveryByte(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	flips := []byte{0x01, 0x20, 0x80, 0xff}
	if testing.Short() {
		flips = flips[:1]
	}
	for path := range samples {
		raw := sign(t, k, path, inA).Raw
		for i := range raw {
			for _, f := range flips {
				b := slices.Clone(raw)
				b[i] ^= f
				mustFail(t, fmt.Sprintf("%s byte %d ^ %#x", path, i, f), path, b, st)
			}
			mustFail(t, fmt.Sprintf("%s without byte %d", path, i), path, slices.Delete(slices.Clone(raw), i, i+1), st)
			mustFail(t, fmt.Sprintf("%s cut at %d", path, i), path, raw[:i], st)
		}
	}
}

func mustFail(t *testing.T, what, path string, raw []byte, st *Store) {
	t.Helper()
	it, err := objects.Parse(path, raw)
	if err == nil {
		_, err = Verify(it, inA, st)
	}
	switch c := fault.CodeOf(err); c {
	case fault.Integrity, fault.Untrusted, fault.Malformed:
	default:
		t.Errorf("%s: %v (%s)", what, err, c)
	}
}

// TestSwapped: of all items and places, each verifies in its own only.
func TestSwapped(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	items := make(map[string][]byte)
	for path := range samples {
		items[path] = sign(t, k, path, inA).Raw
	}
	for from, raw := range items {
		for to := range items {
			it, err := objects.Parse(to, raw)
			if err == nil {
				_, err = Verify(it, inA, st)
			}
			if (err == nil) != (from == to) {
				t.Errorf("%s at %s: %v", from, to, err)
			}
		}
	}
}

// TestItemFilledByHand: an Item whose fields say what its bytes do not.
func TestItemFilledByHand(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	good := sign(t, k, tool, inA)
	for name, change := range map[string]func(*objects.Item){
		"body":      func(it *objects.Item) { it.Body = []byte("evil") },
		"raw":       func(it *objects.Item) { it.Raw = []byte("evil") },
		"digest":    func(it *objects.Item) { it.Digest[0] ^= 1 },
		"sum":       func(it *objects.Item) { it.Sum[0] ^= 1 },
		"ref":       func(it *objects.Item) { it.Ref.ID = "acme/evil" },
		"path":      func(it *objects.Item) { it.Path = "tools/acme/evil.py" },
		"signature": func(it *objects.Item) { s := *it.Signature; s.SignedAt = noon.AddDate(1, 0, 0); it.Signature = &s },
		"no line":   func(it *objects.Item) { it.Signature = nil },
		"legacy":    func(it *objects.Item) { it.Legacy = &objects.LegacySignature{} },
		"meta":      func(it *objects.Item) { it.Meta.Version = "2.0.0" },
		"nowhere":   func(it *objects.Item) { it.Path = "elsewhere/x.py" },
	} {
		it := *good
		change(&it)
		if _, err := Verify(&it, inA, st); err == nil {
			t.Errorf("%s: verified", name)
		}
	}
	if _, err := Verify(good, inA, st); err != nil {
		t.Error(err)
	}
	st.SetAllowLegacy(true)
	old := *legacy(t, k, tool, samples[tool])
	other := legacy(t, k, tool, samples[tool]+"# more\n")
	old.Legacy = other.Legacy
	refused(t, "another file's line of RYE OS", &old, inA, st, fault.Malformed)
}

// TestAttack21OtherPayloadType: the message says what it is; bytes that a key
// signed as something else are no item's signature.
func TestAttack21OtherPayloadType(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	it := sign(t, k, tool, inA)
	sig := *it.Signature
	msg := objects.SignedMessage(it.Ref, it.Bound(""), sig)
	payload := msg[bytes.IndexByte(msg, '{'):]
	if !bytes.Equal(objects.PAE(objects.PayloadType, payload), msg) {
		t.Fatal("the message is not the PAE of its payload")
	}
	former, err := k.Sign(t.Context(), objects.FormerMessage(it.Ref, it.Meta.Version, "", sig))
	must(t, err)
	copy(sig.Sig[:], former)
	file, err := objects.WithSignature(tool, it.Body, sig)
	must(t, err)
	altered(t, "rye 0.1, before the extension was bound", tool, file, inA, st, fault.Untrusted)
	for name, m := range map[string][]byte{
		"in-toto":     objects.PAE("application/vnd.in-toto+json", payload),
		"other item":  objects.PAE("application/vnd.rye.item.v3+json", payload),
		"no encoding": payload,
		"body":        it.Body,
		"digest":      []byte(it.Digest.Hex()),
		"commit":      sshsigMessage(GitNamespace, msg),
	} {
		raw, err := k.Sign(t.Context(), m)
		must(t, err)
		copy(sig.Sig[:], raw)
		file, err := objects.WithSignature(tool, it.Body, sig)
		must(t, err)
		altered(t, name, tool, file, inA, st, fault.Integrity)
	}
}

// FuzzVerify: of all files at a path, only the one that was signed verifies.
func FuzzVerify(f *testing.F) {
	k, err := newFileKey(ed25519.NewKeyFromSeed(make([]byte, 32))) // the same in every worker
	must(f, err)
	st := storeOf(f, k)
	paths := slices.Sorted(maps.Keys(samples))
	genuine := make(map[string][]byte)
	for i, path := range paths {
		genuine[path] = sign(f, k, path, inA).Raw
		f.Add(i, genuine[path])
		f.Add(i, []byte(samples[path]))
		f.Add(i, legacy(f, k, tool, samples[tool]).Raw)
	}
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		path := paths[uint(i)%uint(len(paths))]
		it, err := objects.Parse(path, raw)
		if err != nil {
			return
		}
		if v, err := Verify(it, inA, st); err == nil && !bytes.Equal(v.Item().Raw, genuine[path]) {
			t.Fatalf("%s verifies:\n%s", path, raw)
		}
		st.Explain(it, inA)
	})
}

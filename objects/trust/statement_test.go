package trust

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var update = flag.Bool("update", false, "write testdata/vectors/statement.json anew")

const statementVectors = "../../testdata/vectors/statement.json"

// vector is one directory's declarations and what they state.
type vector struct {
	Name       string         `json:"name"`
	Project    string         `json:"project"`
	Signers    string         `json:"allowed_signers"`
	Registries []registryJSON `json:"registries"`
	Overrides  []overrideJSON `json:"overrides"`
	Canonical  string         `json:"canonical"`
	Digest     string         `json:"digest"`
	Parts      []vectorPart   `json:"parts"`
}

type vectorPart struct {
	Canonical string `json:"canonical"`
	Digest    string `json:"digest"`
}

// testKey is a public key that depends on n alone.
func testKey(t testing.TB, n int) PublicKey {
	t.Helper()
	seed := sha256.Sum256(fmt.Appendf(nil, "rye test vectors, signer %d", n))
	k, err := PublicKeyFromBytes(ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey))
	must(t, err)
	return k
}

func (v vector) statement(t testing.TB) *Statement {
	t.Helper()
	signers, err := ParseSigners([]byte(v.Signers))
	must(t, err)
	var regs []StatedRegistry
	for _, r := range v.Registries {
		one := StatedRegistry{ID: r.Identity, Addresses: r.Addresses, Scopes: r.Scopes}
		for _, text := range r.RootKeys {
			fp, err := objects.ParseFingerprint(text)
			must(t, err)
			one.Roots = append(one.Roots, fp)
		}
		regs = append(regs, one)
	}
	var overrides []StatedOverride
	for _, o := range v.Overrides {
		ref, err := objects.ParseRef(o.Ref)
		must(t, err)
		fp, err := objects.ParseFingerprint(o.Signer)
		must(t, err)
		overrides = append(overrides, StatedOverride{ref, fp})
	}
	st, err := NewStatement(v.Project, signers, regs, overrides)
	must(t, err)
	return st
}

func (v *vector) fill(t testing.TB) {
	st := v.statement(t)
	v.Canonical, v.Digest, v.Parts = string(st.JSON()), st.Digest().String(), nil
	for _, p := range st.Parts() {
		v.Parts = append(v.Parts, vectorPart{string(p.JSON()), p.Digest().String()})
	}
}

// declarations are the inputs of the vectors.
func declarations(t testing.TB) []vector {
	a, b, c := testKey(t, 1), testKey(t, 2), testKey(t, 3)
	line := func(k PublicKey, namespaces string) string {
		return namespaces + ` namespaces="git" ` + k.Authorized() + "\n"
	}
	one := registryJSON{[]string{"https://git.example.org/acme/registry.git"}, regOne, []string{c.String()}, []string{"acme"}}
	return []vector{
		{Name: "nothing", Project: projectA},
		{Name: "one signer", Project: projectA, Signers: line(a, "acme")},
		{Name: "the same, in another project", Project: projectB, Signers: line(a, "acme")},
		{Name: "two lines of a key after a merge, a comment, reserved namespaces", Project: projectA,
			Signers: "# who signs here\n" + line(b, "tools") + line(a, "local,acme,rye") + line(b, "acme") + line(c, "rye")},
		{Name: "everything", Project: projectA, Signers: line(b, "acme,tools") + line(a, "local"),
			Registries: []registryJSON{one, {[]string{"git@mirror.example.org:acme.git"}, regOne, []string{c.String()}, []string{"more"}}, {[]string{"/srv/r.git"}, regTwo, []string{a.String(), c.String()}, []string{"*"}}},
			Overrides:  []overrideJSON{{"tool:rye/bash", b.String()}, {"tool:acme/hello", a.String()}}},
		{Name: "characters that JSON may escape", Project: projectA,
			Registries: []registryJSON{{[]string{`https://e.example/<&>"\é`}, regTwo, []string{c.String()}, []string{}}}},
	}
}

// TestStatementVectors: the digest is the same on every machine.
func TestStatementVectors(t *testing.T) {
	all := declarations(t)
	for i := range all {
		all[i].fill(t)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	must(t, enc.Encode(all))
	if *update {
		must(t, os.WriteFile(statementVectors, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(statementVectors)
	must(t, err)
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", b.Bytes(), want)
	}
	doc, err := os.ReadFile("../../docs/format/statement.md")
	must(t, err)
	for _, text := range []string{all[1].Canonical, all[1].Digest, all[1].Parts[1].Canonical, all[1].Parts[1].Digest, all[1].Signers} {
		if !bytes.Contains(doc, []byte(text)) {
			t.Errorf("docs/format/statement.md does not show %s", text)
		}
	}
}

// TestStatementOrder: the digest depends on what is declared, not on how it is written.
func TestStatementOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range declarations(t) {
		want := v.statement(t).Digest()
		for range 50 {
			lines := strings.SplitAfter(v.Signers, "\n")
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			r.Shuffle(len(v.Registries), func(i, j int) { v.Registries[i], v.Registries[j] = v.Registries[j], v.Registries[i] })
			r.Shuffle(len(v.Overrides), func(i, j int) { v.Overrides[i], v.Overrides[j] = v.Overrides[j], v.Overrides[i] })
			v.Signers = strings.Join(lines, "")
			if got := v.statement(t).Digest(); got != want {
				t.Fatalf("%s: %s in another order, want %s", v.Name, got, want)
			}
		}
	}
}

// TestOneMoreIsAskedAlone: one signer, namespace, registry or override more changes the
// digest, and what was granted of the rest is not asked again.
func TestOneMoreIsAskedAlone(t *testing.T) {
	here := inA.Site()
	grow := map[string]func(v *vector){
		"a namespace": func(v *vector) { v.Signers = strings.Replace(v.Signers, "acme,tools", "acme,more,tools", 1) },
		"a signer":    func(v *vector) { v.Signers += `acme namespaces="git" ` + testKey(t, 9).Authorized() + "\n" },
		"an address": func(v *vector) {
			v.Registries = append(slices.Clone(v.Registries), registryJSON{[]string{"https://other.example"}, regTwo, v.Registries[0].RootKeys, nil})
		},
		"a scope": func(v *vector) {
			v.Registries = append(slices.Clone(v.Registries), registryJSON{v.Registries[0].Addresses, regOne, v.Registries[0].RootKeys, []string{"new"}})
		},
		"an override": func(v *vector) {
			v.Overrides = append(slices.Clone(v.Overrides), overrideJSON{"tool:rye/python", testKey(t, 2).String()})
		},
	}
	for name, f := range grow {
		v := declarations(t)[4]
		st := v.statement(t)
		store := storeOf(t)
		for _, p := range st.Parts() {
			must(t, store.Grant(noon, p.Grants(here)...))
		}
		if left := st.Missing(store, here, nil); len(left) != 0 {
			t.Fatalf("all granted, and %d are asked", len(left))
		}
		f(&v)
		after := v.statement(t)
		if left := after.Missing(store, here, nil); len(left) != 1 || after.Digest() == st.Digest() {
			t.Errorf("%s more: %d parts are asked, the digest is %s and was %s", name, len(left), after.Digest(), st.Digest())
		}
		if n := len(after.Missing(store, inB.Site(), nil)); n != len(after.Parts()) {
			t.Errorf("%s more: %d of %d parts are asked in another directory", name, n, len(after.Parts()))
		}
		if n := len(st.Missing(store, here, nil)); n != 0 {
			t.Errorf("%s less: %d parts are asked", name, n)
		}
	}
}

// TestPartsAreNoStatements: no part has the digest of a whole statement, even where that
// asks for nothing else, and no two parts share one.
func TestPartsAreNoStatements(t *testing.T) {
	seen := map[objects.Digest]string{}
	for _, v := range declarations(t) {
		st := v.statement(t)
		at := map[objects.Digest]string{st.Digest(): "whole " + v.Name}
		for _, p := range st.Parts() {
			at[p.Digest()] = string(p.JSON())
		}
		if len(at) != 1+len(st.Parts()) {
			t.Errorf("%s: %d digests of %d parts and the whole", v.Name, len(at), len(st.Parts()))
		}
		for d, what := range at {
			if was, ok := seen[d]; ok && was != what {
				t.Errorf("%s and %s share %s", was, what, d)
			}
			seen[d] = what
		}
	}
}

func TestStatementRefused(t *testing.T) {
	k := testKey(t, 1)
	many := &Signers{}
	many.Add(k, "acme")
	reg := func(change func(r *StatedRegistry)) []StatedRegistry {
		r := StatedRegistry{ID: regOne, Roots: []objects.Fingerprint{root}, Addresses: []string{"https://one.example"}, Scopes: []string{"acme"}}
		change(&r)
		return []StatedRegistry{r}
	}
	for name, c := range map[string]struct {
		project    string
		registries []StatedRegistry
		overrides  []StatedOverride
		want       fault.Code
	}{
		"project":              {"mine", nil, nil, fault.Malformed},
		"identity":             {projectA, reg(func(r *StatedRegistry) { r.ID = "main" }), nil, fault.Malformed},
		"no address":           {projectA, reg(func(r *StatedRegistry) { r.Addresses = nil }), nil, fault.Malformed},
		"address with escapes": {projectA, reg(func(r *StatedRegistry) { r.Addresses = []string{"https://\x1b[31m"} }), nil, fault.Malformed},
		"no root key":          {projectA, reg(func(r *StatedRegistry) { r.Roots = nil }), nil, fault.Malformed},
		"scope local":          {projectA, reg(func(r *StatedRegistry) { r.Scopes = []string{"local"} }), nil, fault.Malformed},
		"scope rye":            {projectA, reg(func(r *StatedRegistry) { r.Scopes = []string{"rye"} }), nil, fault.Malformed},
		"override of local":    {projectA, nil, []StatedOverride{{objects.Ref{Kind: objects.Tool, ID: "local/x"}, root}}, fault.Malformed},
		"override by nobody":   {projectA, nil, []StatedOverride{{objects.Ref{Kind: objects.Tool, ID: "rye/x"}, objects.Fingerprint{}}}, fault.Malformed},
		"many overrides":       {projectA, nil, make([]StatedOverride, maxStated+1), fault.Limit},
	} {
		if _, err := NewStatement(c.project, many, c.registries, c.overrides); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestSignersRefused(t *testing.T) {
	k := testKey(t, 1).Authorized()
	good := `acme namespaces="git" ` + k
	for name, text := range map[string]string{
		"an address as principal":  `a@example.org namespaces="git" ` + k,
		"a star":                   `* namespaces="git" ` + k,
		"a negated namespace":      `!acme namespaces="git" ` + k,
		"two segments":             `acme/tools namespaces="git" ` + k,
		"an empty namespace":       `acme,,tools namespaces="git" ` + k,
		"capitals":                 `Acme namespaces="git" ` + k,
		"quoted":                   `"acme" namespaces="git" ` + k,
		"no option":                `acme ` + k,
		"another option":           `acme cert-authority ` + k,
		"more options":             `acme namespaces="git",valid-after="20200101" ` + k,
		"another namespace of git": `acme namespaces="file" ` + k,
		"another type":             `acme namespaces="git" ssh-rsa AAAA`,
		"half a key":               good[:len(good)-9],
		"two spaces":               strings.Replace(good, " ", "  ", 1),
		"a tab":                    strings.Replace(good, " ", "\t", 1),
		"a space first":            " " + good,
		"an escape in a comment":   good + " \x1b[31m",
		"conflict markers":         "<<<<<<< HEAD\n" + good,
	} {
		if _, err := ParseSigners([]byte(text + "\n")); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
	var many strings.Builder
	for i := range maxSigners + 1 {
		fmt.Fprintf(&many, "acme namespaces=\"git\" %s\n", testKey(t, i).Authorized())
	}
	var wide strings.Builder
	for i := range maxSignersOf + 1 {
		fmt.Fprintf(&wide, "n%d,", i)
	}
	for name, text := range map[string]string{"signers": many.String(), "namespaces": wide.String() + good, "bytes": strings.Repeat("#\n", MaxSignersFile)} {
		if _, err := ParseSigners([]byte(text)); !fault.Is(err, fault.Limit) {
			t.Errorf("many %s: %v, want limit", name, err)
		}
	}
}

// TestSignersEncode: two who signed at once, merged by taking both sides, are one file.
func TestSignersEncode(t *testing.T) {
	a, b := testKey(t, 1), testKey(t, 2)
	s := &Signers{}
	s.Add(a, "tools", "acme")
	if s.Add(a, "acme") || !s.Add(b, "acme") {
		t.Error("Add does not tell what changed")
	}
	text := s.Encode()
	again, err := ParseSigners(append(slices.Clone(text), text...))
	must(t, err)
	if !bytes.Equal(again.Encode(), text) || !again.Has(a, "tools") || again.Has(b, "tools") {
		t.Errorf("written as\n%s\nand then as\n%s", text, again.Encode())
	}
	if (&Signers{}).Encode() != nil {
		t.Error("nobody is no file")
	}
	// ssh-keygen's format: OpenSSH's own reader takes the key out of a line.
	_, rest, ok := strings.Cut(string(text), signersOption+" ")
	if !ok {
		t.Fatalf("%s", text)
	}
	if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(rest)); err != nil {
		t.Error(err)
	}
}

// FuzzSigners: no text makes the reader panic; what it accepts is written in a form that
// reads as the same, and states the same.
func FuzzSigners(f *testing.F) {
	for _, v := range declarations(f) {
		f.Add([]byte(v.Signers))
	}
	f.Add([]byte("a@b namespaces=\"git\" ssh-ed25519 AAAA\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := ParseSigners(raw)
		if err != nil {
			return
		}
		text := s.Encode()
		again, err := ParseSigners(text)
		if err != nil || !bytes.Equal(again.Encode(), text) {
			t.Fatalf("written as\n%s\nand then: %v", text, err)
		}
		one, err1 := NewStatement(projectA, s, nil, nil)
		two, err2 := NewStatement(projectA, again, nil, nil)
		must(t, err1)
		must(t, err2)
		if one.Digest() != two.Digest() {
			t.Fatalf("%s and %s", one.JSON(), two.JSON())
		}
	})
}

func BenchmarkSigners(b *testing.B) {
	s := &Signers{}
	for i := range maxSigners {
		s.Add(testKey(b, i), "acme")
	}
	text := s.Encode()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseSigners(text); err != nil {
			b.Fatal(err)
		}
	}
}

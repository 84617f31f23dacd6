package token

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
)

var update = flag.Bool("update", false, "write testdata/vectors/token.json anew")

const vectorsPath = "../../../testdata/vectors/token.json"

var (
	began  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ends   = began.Add(time.Hour)
	during = began.Add(time.Minute)
	nonce  = bytes.Repeat([]byte{7}, 16)
)

// rootKey begins the chains of these tests; seeds stand for randomness.
func rootKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)) }

func seed(n byte) *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{n}, 32)) }

func block(thread string) Block {
	return Block{ID: "b-" + thread, Thread: thread, Project: "p1", Audience: "rye", NotBefore: began, Expires: ends}
}

// parent is a thread that coordinates: it may do little, and hand on more.
func parent(t testing.TB) Grant {
	t.Helper()
	b := block("t1")
	b.Do = []string{"rye.thread.*", "rye.search.tool"}
	b.Delegate = []string{"rye.execute.tool.acme.*", "rye.load.*", "rye.search.tool"}
	b.Deny = []string{"rye.*.tool.acme.secret"}
	b.Limits = map[string]int64{"turns": 20, "spend": 2_000_000}
	g, err := Mint(rootKey(), b, seed(2))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func child(t testing.TB, of Grant) Grant {
	t.Helper()
	b := block("t2")
	b.Do = []string{"rye.execute.tool.acme.*", "rye.load.knowledge.acme.*"}
	b.Delegate = []string{"rye.execute.tool.acme.lint"}
	b.Deny = []string{"rye.load.knowledge.acme.diary"}
	b.Limits = map[string]int64{"turns": 5, "spawns": 0}
	g, err := of.Token.Narrow(of.Key, b, seed(3))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// want is what t1's or t2's token is verified for, with the proof of its holder.
func want(t testing.TB, g Grant) Want {
	t.Helper()
	proof, err := g.Token.Prove(g.Key, nonce)
	if err != nil {
		t.Fatal(err)
	}
	last := g.Token.last()
	return Want{Root: isRoot, Now: during, Thread: last.Thread, Parent: last.Parent, Project: "p1", Audience: "rye", Nonce: nonce, Proof: proof}
}

func isRoot(k ed25519.PublicKey) bool { return k.Equal(public(rootKey())) }

func wantCode(t *testing.T, what string, err error, code fault.Code, words string) {
	t.Helper()
	if !fault.Is(err, code) || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v (%s), want %s and %q", what, err, fault.CodeOf(err), code, words)
	}
}

func TestVerify(t *testing.T) {
	first := parent(t)
	second := child(t, first)
	for _, g := range []Grant{first, second} {
		back, err := Parse(g.Token.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(back.Encode(), g.Token.Encode()) {
			t.Error("parsed and encoded, it is another")
		}
		if _, err := Verify(back, want(t, g)); err != nil {
			t.Errorf("Verify: %v", err)
		}
	}
	v, err := Verify(second.Token, want(t, second))
	if err != nil {
		t.Fatal(err)
	}
	if v.Thread() != "t2" || v.Parent() != "t1" || v.Project() != "p1" || v.String() != "t1 > t2" || !v.Expires().Equal(ends) || v.IsZero() {
		t.Errorf("verified %s, parent %s, project %s, %s", v, v.Parent(), v.Project(), v.Expires())
	}
	if got := v.Do(); !slices.Equal(got, []string{"rye.execute.tool.acme.*", "rye.load.knowledge.acme.*"}) {
		t.Errorf("Do() = %q", got)
	}
	if got := v.Deny(); !slices.Equal(got, []string{"rye.*.tool.acme.secret", "rye.load.knowledge.acme.diary"}) {
		t.Errorf("Deny() = %q: not those of the whole chain", got)
	}
	if l := v.Limits(); len(l) != 3 || l["turns"] != 5 || l["spend"] != 2_000_000 || l["spawns"] != 0 {
		t.Errorf("Limits() = %v", l)
	}
	if got := v.IDs(); !slices.Equal(got, []string{"b-t1", "b-t2"}) {
		t.Errorf("IDs() = %q", got)
	}
	var none Verified
	if none.Thread() != "" || none.Do() != nil || !none.IsZero() || !none.Expires().IsZero() {
		t.Error("the zero Verified is somebody")
	}
}

// What a child does not get is told, and what it gets is within what its parent delegates.
func TestNarrowTellsWhatItTakes(t *testing.T) {
	first := parent(t)
	b := block("t2")
	b.Expires = ends.Add(time.Hour)
	b.NotBefore = began.Add(-time.Hour)
	b.Limits = map[string]int64{"turns": 50}
	b.Do = []string{"rye.execute.*", "rye.sign.*", "rye.search.tool", "rye.execute.tool.acme.secret", "rye.thread.start"}
	b.Delegate = []string{"rye.*"}
	g, err := first.Token.Narrow(first.Key, b, seed(3))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, x := range g.Taken {
		told = append(told, x.String())
	}
	if got, want := strings.Join(told, "\n"), `expires 2026-01-02T05:04:05Z: only 2026-01-02T04:04:05Z is left
limits.turns 50: only 20 is left
do rye.execute.*: only rye.execute.tool.acme.* is left, without rye.*.tool.acme.secret
do rye.sign.*: nothing is left
do rye.execute.tool.acme.secret: nothing is left
do rye.thread.start: nothing is left
delegate rye.*: only rye.execute.tool.acme.*, rye.load.*, rye.search.tool is left, without rye.*.tool.acme.secret`; got != want {
		t.Errorf("taken:\n%s\nwant:\n%s", got, want)
	}
	v, err := Verify(g.Token, want(t, g))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Do(); !slices.Equal(got, []string{"rye.execute.tool.acme.*", "rye.search.tool"}) {
		t.Errorf("Do() = %q", got)
	}
	b = block("t2")
	b.Expires, b.Do = time.Time{}, []string{"rye.search.tool"}
	if g, err = first.Token.Narrow(first.Key, b, seed(3)); err != nil || len(g.Taken) != 0 || !g.Token.last().Expires.Equal(ends) {
		t.Errorf("Narrow to what is there: taken %v, %v", g.Taken, err)
	}
}

func TestNarrowRefuses(t *testing.T) {
	first := parent(t)
	second := child(t, first)
	for name, tc := range map[string]struct {
		from   Grant
		change func(*Block)
		code   fault.Code
		words  string
	}{
		"another's key":     {Grant{Token: second.Token, Key: first.Key}, func(*Block) {}, fault.Auth, "not the one that the last block names"},
		"another project":   {second, func(b *Block) { b.Project = "p2" }, fault.Denied, `for project "p2"`},
		"another audience":  {second, func(b *Block) { b.Audience = "web" }, fault.Denied, `for "web"`},
		"another parent":    {second, func(b *Block) { b.Parent = "t1" }, fault.Denied, `its parent is "t1"`},
		"an ancestor":       {second, func(b *Block) { b.Thread = "t1" }, fault.Denied, "in the chain already"},
		"itself":            {second, func(b *Block) { b.Thread = "t2" }, fault.Denied, "in the chain already"},
		"no id":             {second, func(b *Block) { b.ID = "" }, fault.Malformed, "id"},
		"an odd thread":     {second, func(b *Block) { b.Thread = "t 3" }, fault.Malformed, "thread"},
		"no capability":     {second, func(b *Block) { b.Deny = []string{"acme.*"} }, fault.Malformed, "deny"},
		"an unknown limit":  {second, func(b *Block) { b.Limits = map[string]int64{"cats": 1} }, fault.Malformed, "limits"},
		"a negative limit":  {second, func(b *Block) { b.Limits = map[string]int64{"turns": -1} }, fault.Malformed, "limits"},
		"it ends before":    {second, func(b *Block) { b.Expires = began.Add(-time.Second) }, fault.Malformed, "expires"},
		"too many patterns": {second, func(b *Block) { b.Deny = manyCaps(MaxPatterns) }, fault.Limit, "capabilities, at most 1000"},
		"too long":          {second, func(b *Block) { b.Deny = longCaps(160) }, fault.Limit, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := block("t3")
			tc.change(&b)
			_, err := tc.from.Token.Narrow(tc.from.Key, b, seed(4))
			wantCode(t, "Narrow", err, tc.code, tc.words)
		})
	}
	b := block("t1")
	b.Parent = "t0"
	_, err := Mint(rootKey(), b, seed(2))
	wantCode(t, "Mint with a parent", err, fault.Usage, "no parent")
	_, err = Mint(nil, block("t1"), seed(2))
	wantCode(t, "Mint without a key", err, fault.Usage, "no key")
	_, err = Mint(rootKey(), block("t1"), bytes.NewReader(nil))
	wantCode(t, "Mint without randomness", err, fault.Failed, "EOF")
	_, err = Token{}.Narrow(first.Key, block("t2"), seed(3))
	wantCode(t, "Narrow the zero Token", err, fault.Limit, "0 blocks")
	for g, i := first, 2; ; i++ {
		n, err := g.Token.Narrow(g.Key, block("t"+strings.Repeat("i", i)), seed(byte(i)))
		if i > MaxBlocks {
			wantCode(t, "one block too many", err, fault.Limit, "17 blocks")
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		g = n
	}
}

func manyCaps(n int) (all []string) {
	for i := range n {
		all = append(all, "rye.execute.tool.x"+strings.Repeat("y", i%7)+"."+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))
	}
	return all
}

func longCaps(n int) (all []string) {
	for _, c := range manyCaps(n) {
		all = append(all, c+strings.Repeat("z", 500-len(c)))
	}
	return all
}

// forge signs a block over whatever stands before it, as a program without our rules would.
func forge(on Token, key ed25519.PrivateKey, b Block) Grant {
	next := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32))
	b.next = public(next)
	n := Token{root: on.root, blocks: append(slices.Clip(on.blocks), signed{b, ed25519.Sign(key, b.message(on.sum()))})}
	return Grant{Token: n, Key: next}
}

// Each attack is by somebody who has the keys that the case says, and nothing else.
func TestAttacks(t *testing.T) {
	first := parent(t)
	second := child(t, first)
	third := func(change func(*Block)) Grant { // by the holder of the second, past our rules
		b := block("t3")
		b.Parent = "t2"
		change(&b)
		return forge(second.Token, second.Key, b)
	}
	other, err := Mint(rootKey(), block("t1"), seed(5))
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := Mint(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, 32)), block("t1"), seed(2))
	if err != nil {
		t.Fatal(err)
	}
	brief := block("t2")
	brief.Expires = during
	short, err := first.Token.Narrow(first.Key, brief, seed(3))
	if err != nil {
		t.Fatal(err)
	}
	long := block("t3")
	long.Parent = "t2"
	with := func(g Grant, change func(*Token)) Grant {
		n := Token{root: g.Token.root, blocks: slices.Clone(g.Token.blocks)}
		change(&n)
		g.Token = n
		return g
	}
	for name, tc := range map[string]struct {
		g     Grant
		wants func(*Want)
		code  fault.Code
		words string
	}{
		"another root":                  {stranger, nil, fault.Untrusted, "is not trusted for threads"},
		"another root's name":           {with(stranger, func(t *Token) { t.root = public(rootKey()) }), nil, fault.Integrity, "block 0"},
		"wider than it may delegate":    {third(func(b *Block) { b.Do = []string{"rye.execute.tool.acme.*"} }), nil, fault.Denied, "may not delegate"},
		"as wide as its parent does":    {third(func(b *Block) { b.Do = []string{"rye.load.knowledge.acme.*"} }), nil, fault.Denied, "may not delegate"},
		"delegates more":                {third(func(b *Block) { b.Delegate = []string{"rye.*"} }), nil, fault.Denied, "its delegate has rye.*"},
		"poses as its grandparent":      {third(func(b *Block) { b.Thread = "t1" }), nil, fault.Denied, "is in the chain already"},
		"poses as another's child":      {third(func(b *Block) { b.Parent = "t1" }), nil, fault.Denied, "its parent is"},
		"moves to another project":      {third(func(b *Block) { b.Project = "p2" }), func(w *Want) { w.Project = "p2" }, fault.Denied, "for project"},
		"moves to another audience":     {third(func(b *Block) { b.Audience = "web" }), func(w *Want) { w.Audience = "web" }, fault.Denied, `it is for "web"`},
		"a block dropped":               {with(second, func(t *Token) { t.blocks = t.blocks[1:] }), nil, fault.Integrity, "block 0"},
		"blocks reordered":              {with(second, func(t *Token) { slices.Reverse(t.blocks) }), nil, fault.Integrity, "block 0"},
		"a block twice":                 {with(second, func(t *Token) { t.blocks = append(t.blocks, t.blocks[1]) }), nil, fault.Integrity, "block 2"},
		"a block under another root":    {with(second, func(t *Token) { t.blocks[0] = other.Token.blocks[0] }), nil, fault.Integrity, "block 1"},
		"the last block cut off":        {with(second, func(t *Token) { t.blocks = t.blocks[:1] }), func(w *Want) { w.Thread, w.Parent = "t1", "" }, fault.Auth, "did not prove"},
		"a word changed":                {with(second, func(t *Token) { t.blocks[0].Deny = nil }), nil, fault.Integrity, "block 0"},
		"a limit raised":                {with(second, func(t *Token) { t.blocks[1].Limits = nil }), nil, fault.Integrity, "block 1"},
		"a longer life":                 {with(second, func(t *Token) { t.blocks[1].Expires = ends.Add(1e9) }), nil, fault.Integrity, "block 1"},
		"another key":                   {with(second, func(t *Token) { t.blocks[1].next = public(first.Key) }), nil, fault.Integrity, "block 1"},
		"for another thread":            {second, func(w *Want) { w.Thread = "t9" }, fault.Denied, `for thread "t2", not "t9"`},
		"for another's child":           {second, func(w *Want) { w.Parent = "t9" }, fault.Denied, `for parent "t1"`},
		"for another project":           {second, func(w *Want) { w.Project = "p2" }, fault.Denied, `for project "p1"`},
		"for another audience":          {second, func(w *Want) { w.Audience = "web" }, fault.Denied, `for audience "rye"`},
		"expired":                       {second, func(w *Want) { w.Now = ends }, fault.Denied, "expired at 2026-01-02T04:04:05Z"},
		"too early":                     {second, func(w *Want) { w.Now = began.Add(-1) }, fault.Denied, "is not valid before"},
		"longer than its parent":        {third(func(b *Block) { b.Expires = ends.Add(time.Hour) }), func(w *Want) { w.Now = ends }, fault.Denied, "expired"},
		"longer than its middle":        {forge(short.Token, short.Key, long), func(w *Want) { w.Now = during }, fault.Denied, "expired"},
		"a beginning with a parent":     {forge(Token{root: public(rootKey())}, rootKey(), long), nil, fault.Denied, "names t2 as its parent"},
		"no proof":                      {second, func(w *Want) { w.Proof = nil }, fault.Auth, "did not prove"},
		"a proof for another nonce":     {second, func(w *Want) { w.Nonce = bytes.Repeat([]byte{6}, 16) }, fault.Auth, "did not prove"},
		"no nonce":                      {second, func(w *Want) { w.Nonce = nil; w.Proof = ed25519.Sign(second.Key, second.Token.proof(nil)) }, fault.Auth, "did not prove"},
		"its parent's proof":            {second, func(w *Want) { w.Proof = ed25519.Sign(first.Key, second.Token.proof(nonce)) }, fault.Auth, "did not prove"},
		"a signature shown as a proof":  {second, func(w *Want) { w.Proof = second.Token.blocks[1].sig }, fault.Auth, "did not prove"},
		"nobody says which roots count": {second, func(w *Want) { w.Root = nil }, fault.Untrusted, "is not trusted for threads"},
		"the zero Token":                {Grant{}, nil, fault.Limit, "0 blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			w := Want{Root: isRoot, Now: during, Project: "p1", Audience: "rye", Nonce: nonce}
			if !tc.g.Token.IsZero() {
				last := tc.g.Token.last()
				w.Thread, w.Parent = last.Thread, last.Parent
				w.Proof = ed25519.Sign(tc.g.Key, tc.g.Token.proof(nonce))
			}
			if tc.wants != nil {
				tc.wants(&w)
			}
			v, err := Verify(tc.g.Token, w)
			wantCode(t, "Verify", err, tc.code, tc.words)
			if !v.IsZero() {
				t.Error("a refused token gives something")
			}
		})
	}
}

// TestLimitsOnlyShrink: a child that signs a block with larger limits than its parent's, past
// our rules, has no more for it.
func TestLimitsOnlyShrink(t *testing.T) {
	second := child(t, parent(t))
	b := block("t3")
	b.Parent = "t2"
	b.Limits = map[string]int64{"turns": 500, "spend": 9_000_000, "spawns": 7}
	third := forge(second.Token, second.Key, b)
	v, err := Verify(third.Token, want(t, third))
	if l := v.Limits(); err != nil || l["turns"] != 5 || l["spend"] != 2_000_000 || l["spawns"] != 0 {
		t.Errorf("Limits() = %v, %v; want 5 turns, 2 dollars, no spawns", l, err)
	}
}

// No bit of the text can be changed.
func TestEveryByteCounts(t *testing.T) {
	g := child(t, parent(t))
	raw, w := g.Token.Encode(), want(t, g)
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		if tok, err := Parse(changed); err == nil {
			if _, err = Verify(tok, w); err == nil {
				t.Fatalf("byte %d, %q changed to %q, still verifies", i, raw[i], changed[i])
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := string(child(t, parent(t)).Token.Encode())
	for name, change := range map[string][2]string{
		"another format":       {`"root":`, `"v":1,"root":`},
		"a space":              {`"blocks":[`, `"blocks": [`},
		"an unknown field":     {`"audience":"rye"`, `"also":1,"audience":"rye"`},
		"another case":         {`"audience"`, `"Audience"`},
		"a time with zone":     {`"2026-01-02T04:04:05Z"`, `"2026-01-02T05:04:05+01:00"`},
		"half a second":        {`"2026-01-02T04:04:05Z"`, `"2026-01-02T04:04:05.5Z"`},
		"lists out of order":   {`"do":["rye.search.tool","rye.thread.*"]`, `"do":["rye.thread.*","rye.search.tool"]`},
		"a capability twice":   {`"do":["rye.search.tool",`, `"do":["rye.search.tool","rye.search.tool",`},
		"no list":              {`"do":["rye.search.tool","rye.thread.*"]`, `"do":null`},
		"a verb of the user's": {`"rye.thread.*"`, `"rye.trust.add"`},
		"a number with a dot":  {`"turns":20`, `"turns":20.0`},
		"a limit of text":      {`"turns":20`, `"turns":"20"`},
		"another version":      {`"thread":"t2","v":1`, `"thread":"t2","v":2`},
		"no blocks":            {good, `{"blocks":[],"root":"iojjdWJ1zOP1ZBwoNqGkYHIBLtWFDOTwhUxS2Jo3QXw","v":1}`},
		"nothing":              {good, ""},
		"something behind":     {good, good + "\n"},
	} {
		if !strings.Contains(good, change[0]) {
			t.Errorf("%s: nothing to change", name)
		}
		if _, err := Parse([]byte(strings.Replace(good, change[0], change[1], 1))); !fault.Is(err, fault.Malformed) && !fault.Is(err, fault.Limit) {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

// vector is one case for other readers: they need the seeds only to make it again.
type vector struct {
	Name   string   `json:"name"`
	Token  string   `json:"token"`
	Now    string   `json:"now"`
	Thread string   `json:"thread"`
	Parent string   `json:"parent"`
	Root   string   `json:"root"` // the key that counts
	Nonce  string   `json:"nonce"`
	Proof  string   `json:"proof"`
	Sum    string   `json:"sum"` // of the chain
	Code   string   `json:"code,omitempty"`
	Do     []string `json:"do,omitempty"`
	Deny   []string `json:"deny,omitempty"`
}

func vectorOf(t *testing.T, name string, g Grant, now time.Time) vector {
	last, sum := g.Token.last(), g.Token.sum()
	w := Want{Root: isRoot, Now: now, Thread: last.Thread, Parent: last.Parent, Project: "p1", Audience: "rye", Nonce: nonce, Proof: ed25519.Sign(g.Key, g.Token.proof(nonce))}
	v, err := Verify(g.Token, w)
	return vector{name, string(g.Token.Encode()), stamp(now), w.Thread, w.Parent, base64url(public(rootKey())), base64url(nonce), base64url(w.Proof),
		base64url(sum[:]), string(fault.CodeOf(err)), v.Do(), v.Deny()}
}

// Other readers read the vectors; docs/format/token.md shows the first.
func TestVectors(t *testing.T) {
	first := parent(t)
	second := child(t, first)
	wide := block("t3")
	wide.Parent, wide.Do = "t2", []string{"rye.*"}
	dropped := second
	dropped.Token = Token{root: second.Token.root, blocks: second.Token.blocks[1:]}
	is := []vector{
		vectorOf(t, "one block", first, during),
		vectorOf(t, "a child", second, during),
		vectorOf(t, "expired", second, ends),
		vectorOf(t, "wider than its parent", forge(second.Token, second.Key, wide), during),
		vectorOf(t, "the first block dropped", dropped, during),
	}
	raw, err := json.MarshalIndent(is, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, '\n')
	if *update {
		if err := os.WriteFile(vectorsPath, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(vectorsPath); err != nil || !bytes.Equal(raw, was) {
		t.Errorf("the vectors are\n%s%v", raw, err)
	}
	page, err := os.ReadFile("../../../docs/format/token.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{is[0].Token, is[0].Proof, is[0].Sum} {
		if !strings.Contains(string(page), text) {
			t.Errorf("docs/format/token.md does not show %s", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	first := parent(f)
	f.Add(first.Token.Encode())
	f.Add(child(f, first).Token.Encode())
	f.Add([]byte(`{"blocks":[],"root":"","v":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tok, err := Parse(raw)
		if err != nil {
			return
		}
		if got := tok.Encode(); !bytes.Equal(got, raw) {
			t.Fatalf("parsed and encoded, %q became %q", raw, got)
		}
		if v, err := Verify(tok, Want{Root: isRoot, Now: during}); err == nil {
			t.Fatalf("it verifies without a proof: %v", v)
		}
	})
}

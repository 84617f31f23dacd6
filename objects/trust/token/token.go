// Package token makes and checks capability tokens, which can be handed on and can only
// become less. A token is a chain of Ed25519 blocks and says what an agent thread may do.
// A key that the verifier knows signs the first block, and each further block is signed by
// a key that the block before it names. So the holder of the last key can add a block that
// narrows. Without that key no one can use the chain, and no key can take a block away or
// widen it. docs/format/token.md is normative.
//
// A token is one line of canonical JSON (RFC 8785):
//
//	{"blocks":[{"block":{"audience":"rye","delegate":[],"deny":[],"do":["rye.execute.tool.acme.*"],
//	"expires":"2026-01-02T04:04:05Z","id":"b1","limits":{"turns":20},"next":"<43 base64url>",
//	"not_before":"2026-01-02T03:04:05Z","parent":"","project":"p1","thread":"t1","v":1},
//	"sig":"<86 base64url>"}],"root":"<43 base64url>","v":1}
//
// The package is pure: time and randomness are arguments. Its values do not change, and are
// safe for concurrent use.
package token

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
)

// Bounds of a token.
const (
	MaxBytes    = 64 << 10
	MaxBlocks   = 16
	MaxPatterns = 1000    // in all lists of all blocks together
	MaxName     = 128     // bytes of an id, a thread, a project or an audience
	MaxLimit    = 1 << 53 // numbers of JSON are exact below it
	version     = 1
)

// Block is one link of the chain: a grant to one thread.
type Block struct {
	ID       string // of this block
	Thread   string // the thread that receives the grant
	Parent   string // the thread that grants; "" in the first block
	Project  string // where it is valid; the same in every block
	Audience string // the service that may accept it; the same in every block

	NotBefore time.Time // whole seconds, UTC
	Expires   time.Time // whole seconds, UTC; from then on the block is not valid

	Do       []string // capabilities of the thread (docs/format/capability.md)
	Delegate []string // capabilities that it may pass on, separate from Do
	Deny     []string // capabilities that neither it nor a later block has, even if Do or Delegate has them

	// Limits bound the resources of the thread, by the names of docs/format/thread.md, each at
	// least 0. For a missing name the limits of the earlier blocks apply.
	Limits map[string]int64

	next ed25519.PublicKey // the key that may add a block; set by Mint and Narrow
}

// limitNames are the names of a thread's limits (docs/format/thread.md).
var limitNames = []string{"depth", "duration_seconds", "output", "spawns", "spend", "tokens", "turns"}

// Token is a chain of blocks. Its zero value is no token. A parsed Token is not verified;
// Verify does that.
type Token struct {
	root   ed25519.PublicKey
	blocks []signed
}

type signed struct {
	Block
	sig []byte
}

// IsZero reports whether t is no token.
func (t Token) IsZero() bool { return len(t.blocks) == 0 }

// Blocks returns a copy of the blocks, the first one first. They are not verified; use them
// only to show the token to people.
func (t Token) Blocks() []Block {
	all := make([]Block, len(t.blocks))
	for i, b := range t.blocks {
		all[i] = b.Block.clone()
	}
	return all
}

func (b Block) clone() Block {
	b.Do, b.Delegate, b.Deny = slices.Clone(b.Do), slices.Clone(b.Delegate), slices.Clone(b.Deny)
	b.Limits, b.next = maps.Clone(b.Limits), slices.Clone(b.next)
	return b
}

// The JSON of a token; fields are in the order of their names.
type (
	tokenJSON struct {
		Blocks []signedJSON `json:"blocks"`
		Root   string       `json:"root"`
		V      int          `json:"v"`
	}
	signedJSON struct {
		Block blockJSON `json:"block"`
		Sig   string    `json:"sig"`
	}
	blockJSON struct {
		Audience  string           `json:"audience"`
		Delegate  []string         `json:"delegate"`
		Deny      []string         `json:"deny"`
		Do        []string         `json:"do"`
		Expires   string           `json:"expires"`
		ID        string           `json:"id"`
		Limits    map[string]int64 `json:"limits"`
		Next      string           `json:"next"`
		NotBefore string           `json:"not_before"`
		Parent    string           `json:"parent"`
		Project   string           `json:"project"`
		Thread    string           `json:"thread"`
		V         int              `json:"v"`
	}
)

// Encode returns the canonical text of a token; nil for the zero Token.
func (t Token) Encode() []byte {
	if t.IsZero() {
		return nil
	}
	j := tokenJSON{Root: base64url(t.root), V: version}
	for _, b := range t.blocks {
		j.Blocks = append(j.Blocks, signedJSON{b.json(), base64url(b.sig)})
	}
	return canonical(j)
}

func (b Block) json() blockJSON {
	j := blockJSON{Audience: b.Audience, Delegate: list(b.Delegate), Deny: list(b.Deny), Do: list(b.Do), Expires: stamp(b.Expires), ID: b.ID,
		Limits: b.Limits, Next: base64url(b.next), NotBefore: stamp(b.NotBefore), Parent: b.Parent, Project: b.Project, Thread: b.Thread, V: version}
	if j.Limits == nil {
		j.Limits = map[string]int64{}
	}
	return j
}

// list returns a list for the JSON, which is never null.
func list(l []string) []string { return append([]string{}, l...) }

// Parse reads the text of a token. It accepts exactly the bytes that Encode writes; any other
// text is fault.Malformed or fault.Limit. It verifies nothing.
func Parse(raw []byte) (Token, error) {
	var j tokenJSON
	if err := strict.Decode(raw, MaxBytes, &j); err != nil {
		return Token{}, fault.Wrap(err, "token")
	}
	t, err := j.token()
	if err == nil {
		err = t.check()
	}
	if err == nil && !bytes.Equal(t.Encode(), raw) {
		err = malformed("not in canonical form")
	}
	if err != nil {
		return Token{}, err
	}
	return t, nil
}

func (j tokenJSON) token() (t Token, err error) {
	if j.V != version {
		return t, malformed("format %d, this version of rye reads format %d", j.V, version)
	}
	if t.root, err = decode("root", j.Root, ed25519.PublicKeySize); err != nil {
		return t, err
	}
	for _, s := range j.Blocks {
		b, err := s.Block.block()
		if err != nil {
			return t, err
		}
		sig, err := decode("sig", s.Sig, ed25519.SignatureSize)
		if err != nil {
			return t, err
		}
		t.blocks = append(t.blocks, signed{b, sig})
	}
	return t, nil
}

func (j blockJSON) block() (b Block, err error) {
	if j.V != version {
		return b, malformed("a block of format %d, this version of rye reads format %d", j.V, version)
	}
	b = Block{ID: j.ID, Thread: j.Thread, Parent: j.Parent, Project: j.Project, Audience: j.Audience, Do: j.Do, Delegate: j.Delegate, Deny: j.Deny, Limits: j.Limits}
	if b.NotBefore, err = time.Parse(time.RFC3339, j.NotBefore); err != nil {
		return b, malformed("not_before: %w", err)
	}
	if b.Expires, err = time.Parse(time.RFC3339, j.Expires); err != nil {
		return b, malformed("expires: %w", err)
	}
	b.next, err = decode("next", j.Next, ed25519.PublicKeySize)
	return b, err
}

// check checks the form of a chain: bounds, names and lists. It verifies no signature.
func (t Token) check() error {
	if n := len(t.blocks); n < 1 || n > MaxBlocks {
		return fault.New(fault.Limit, "token: %d blocks, want 1 to %d", n, MaxBlocks)
	}
	patterns := 0
	for i, b := range t.blocks {
		if err := b.check(); err != nil {
			return fault.Wrap(err, "token: block %d", i)
		}
		patterns += len(b.Do) + len(b.Delegate) + len(b.Deny)
	}
	if patterns > MaxPatterns {
		return fault.New(fault.Limit, "token: %d capabilities, at most %d are allowed", patterns, MaxPatterns)
	}
	return nil
}

func (b Block) check() error {
	for _, f := range [...]struct {
		name, text string
		empty      bool
	}{{"id", b.ID, false}, {"thread", b.Thread, false}, {"parent", b.Parent, true}, {"project", b.Project, false}, {"audience", b.Audience, false}} {
		if !named(f.text) && !(f.empty && f.text == "") {
			return fault.New(fault.Malformed, "%s: want 1 to %d of the characters A-Z a-z 0-9 . _ : / -", f.name, MaxName)
		}
	}
	if !b.Expires.After(b.NotBefore) {
		return fault.New(fault.Malformed, "it expires at %s, and begins at %s", stamp(b.Expires), stamp(b.NotBefore))
	}
	for _, l := range [...]struct {
		name string
		list []string
	}{{"do", b.Do}, {"delegate", b.Delegate}, {"deny", b.Deny}} {
		if err := checkList(l.name, l.list); err != nil {
			return err
		}
	}
	for name, n := range b.Limits {
		if !slices.Contains(limitNames, name) || n < 0 || n >= MaxLimit {
			return fault.New(fault.Malformed, "limits: want %s, each from 0 on and below 2^53", strings.Join(limitNames, ", "))
		}
	}
	return nil
}

func checkList(name string, list []string) error {
	for i, c := range list {
		if why := objects.CheckCapability(c); why != "" {
			return fault.New(fault.Malformed, "%s: capability %q: %s", name, c[:min(len(c), objects.MaxCapability)], why)
		}
		if i > 0 && list[i-1] >= c {
			return fault.New(fault.Malformed, "%s: want each capability once, in order", name)
		}
	}
	return nil
}

const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-"

func named(s string) bool { return s != "" && len(s) <= MaxName && strings.Trim(s, nameLetters) == "" }

// Prefixes of the signed messages, so that no signature is valid for another purpose.
const (
	signedAs = "rye-thread-token-v1\x00"
	provedAs = "rye-thread-token-proof-v1\x00"
)

// message returns the bytes that a block's signature covers. before is the sum of all earlier
// blocks, zero for none.
func (b Block) message(before [sha256.Size]byte) []byte {
	return slices.Concat([]byte(signedAs), before[:], canonical(b.json()))
}

// sumOf returns the sum of all blocks up to the one with this message and signature.
func sumOf(message, sig []byte) [sha256.Size]byte { return sha256.Sum256(slices.Concat(message, sig)) }

// sum returns the sum of the whole chain.
func (t Token) sum() (sum [sha256.Size]byte) {
	for _, b := range t.blocks {
		sum = sumOf(b.message(sum), b.sig)
	}
	return sum
}

func (t Token) last() Block { return t.blocks[len(t.blocks)-1].Block }

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decode(what, text string, size int) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != size {
		return nil, malformed("%s: want %d bytes in base64url", what, size)
	}
	return b, nil
}

func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

func malformed(format string, args ...any) error {
	return fault.Wrap(fault.New(fault.Malformed, format, args...), "token")
}

func canonical(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // texts and numbers: cannot fail
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

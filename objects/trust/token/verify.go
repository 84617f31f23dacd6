package token

import (
	"crypto/ed25519"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// Want is the use for which a verifier accepts a token. Every field except Parent must be set;
// a missing one is refused.
type Want struct {
	Root     func(ed25519.PublicKey) bool // reports whether a chain may begin with this key
	Now      time.Time
	Thread   string // the thread that the token must be for
	Parent   string // the thread that granted it; "" for none
	Project  string
	Audience string

	Nonce []byte // at least MinNonce bytes that this verifier chose, never twice
	Proof []byte // from Token.Prove, made by the presenter of the token
}

// MinNonce is the least length of a nonce in bytes.
const MinNonce = 16

// Verified is a token that passed Verify. Its zero value has no thread and no capability.
type Verified struct {
	blocks []signed
	all    united
}

// united is the combination of all blocks.
type united struct {
	notBefore, expires time.Time
	deny               []string
	limits             map[string]int64
}

// Verify checks everything: the key at the beginning of the chain (fault.Untrusted) and each
// signature (fault.Integrity). It checks that each block only narrows, and it checks the time,
// thread, project and audience (fault.Denied). Finally the presenter must prove that it holds
// the key (fault.Auth). A malformed chain has the code that Parse would give it.
func Verify(t Token, w Want) (Verified, error) {
	if err := t.check(); err != nil {
		return Verified{}, err
	}
	if w.Root == nil || !w.Root(slices.Clone(t.root)) {
		return Verified{}, fault.New(fault.Untrusted, "token: its first key is not trusted for threads here: %s", base64url(t.root))
	}
	if err := t.checkSignatures(); err != nil {
		return Verified{}, err
	}
	for i := range t.blocks {
		if err := t.checkBlock(i); err != nil {
			return Verified{}, fault.Wrap(err, "token: block %d, of thread %s", i, t.blocks[i].Thread)
		}
	}
	if err := t.checkWant(w); err != nil {
		return Verified{}, err
	}
	if err := t.checkProof(w); err != nil {
		return Verified{}, err
	}
	return Verified{blocks: t.blocks, all: t.all()}, nil
}

func (t Token) checkSignatures() error {
	key := t.root
	var sum [32]byte
	for i, b := range t.blocks {
		m := b.message(sum)
		if !ed25519.Verify(key, m, b.sig) {
			return fault.New(fault.Integrity, "token: block %d is not signed by the key that the block before it names", i)
		}
		key, sum = b.next, sumOf(m, b.sig)
	}
	return nil
}

// checkBlock refuses a block that is wider than the previous one, or belongs to another chain.
func (t Token) checkBlock(i int) error {
	b := t.blocks[i].Block
	if i == 0 {
		if b.Parent != "" {
			return fault.New(fault.Denied, "it begins the chain, and names %s as its parent", b.Parent)
		}
		return nil
	}
	if err := follow(t.blocks[:i], b); err != nil {
		return err
	}
	may := t.blocks[i-1].Delegate
	for _, l := range [...]struct {
		name string
		list []string
	}{{"do", b.Do}, {"delegate", b.Delegate}} {
		for _, c := range l.list {
			if !covered(may, c) {
				return fault.New(fault.Denied, "its %s has %s, which its parent may not delegate", l.name, c)
			}
		}
	}
	return nil
}

// follow refuses a block that cannot follow the blocks before it. A thread occurs only once in
// a chain: otherwise a child could pass for one of its ancestors.
func follow(before []signed, b Block) error {
	last := before[len(before)-1]
	switch {
	case b.Parent != last.Thread:
		return fault.New(fault.Denied, "its parent is %q, and the block before is of %s", b.Parent, last.Thread)
	case b.Project != last.Project:
		return fault.New(fault.Denied, "it is for project %q, and the block before for %s", b.Project, last.Project)
	case b.Audience != last.Audience:
		return fault.New(fault.Denied, "it is for %q, and the block before for %s", b.Audience, last.Audience)
	case slices.ContainsFunc(before, func(o signed) bool { return o.Thread == b.Thread }):
		return fault.New(fault.Denied, "thread %s is in the chain already", b.Thread)
	}
	return nil
}

// checkWant refuses a token for another time, thread, parent, project or audience.
func (t Token) checkWant(w Want) error {
	last, all := t.last(), t.all()
	for _, f := range [...]struct{ name, is, want string }{
		{"thread", last.Thread, w.Thread}, {"parent", last.Parent, w.Parent}, {"project", last.Project, w.Project}, {"audience", last.Audience, w.Audience},
	} {
		if f.is != f.want {
			return fault.New(fault.Denied, "token: it is for %s %q, not %q", f.name, f.is, f.want)
		}
	}
	switch {
	case w.Now.Before(all.notBefore):
		return fault.New(fault.Denied, "token: it is not valid before %s", stamp(all.notBefore))
	case !w.Now.Before(all.expires):
		return fault.New(fault.Denied, "token: it expired at %s", stamp(all.expires)).Advise("the thread that started this one has to grant it more time")
	}
	return nil
}

// all combines the blocks: the latest beginning, the earliest end, every denial, the smallest
// limits.
func (t Token) all() united {
	all := united{notBefore: t.blocks[0].NotBefore, expires: t.blocks[0].Expires, limits: map[string]int64{}}
	for _, b := range t.blocks {
		if b.NotBefore.After(all.notBefore) {
			all.notBefore = b.NotBefore
		}
		if b.Expires.Before(all.expires) {
			all.expires = b.Expires
		}
		all.deny = append(all.deny, b.Deny...)
		for name, n := range b.Limits {
			if most, ok := all.limits[name]; !ok || n < most {
				all.limits[name] = n
			}
		}
	}
	slices.Sort(all.deny)
	all.deny = slices.Compact(all.deny)
	return all
}

// Prove returns a proof, for the verifier that chose nonce, that the caller holds the key of t.
// It is valid only for this token and this nonce. nonce has at least MinNonce bytes.
func (t Token) Prove(holder ed25519.PrivateKey, nonce []byte) ([]byte, error) {
	if err := t.heldBy(holder); err != nil {
		return nil, err
	}
	if len(nonce) < MinNonce {
		return nil, fault.New(fault.Usage, "token: prove: a nonce of %d bytes, want %d", len(nonce), MinNonce)
	}
	return ed25519.Sign(holder, t.proof(nonce)), nil
}

func (t Token) proof(nonce []byte) []byte {
	sum := t.sum()
	return slices.Concat([]byte(provedAs), sum[:], nonce)
}

func (t Token) checkProof(w Want) error {
	if len(w.Nonce) < MinNonce || !ed25519.Verify(t.last().next, t.proof(w.Nonce), w.Proof) {
		return fault.New(fault.Auth, "token: its holder did not prove that it owns the token")
	}
	return nil
}

// heldBy refuses a key other than the one that the last block names.
func (t Token) heldBy(holder ed25519.PrivateKey) error {
	if t.IsZero() || len(holder) != ed25519.PrivateKeySize || !public(holder).Equal(t.last().next) {
		return fault.New(fault.Auth, "token: this key is not the one that the last block names")
	}
	return nil
}

func (v Verified) last() Block {
	if v.IsZero() {
		return Block{}
	}
	return v.blocks[len(v.blocks)-1].Block
}

// IsZero reports whether v is the zero Verified.
func (v Verified) IsZero() bool { return len(v.blocks) == 0 }

// Thread returns the thread that holds the token; "" for the zero Verified.
func (v Verified) Thread() string { return v.last().Thread }

// Parent returns the thread that granted it, or "" when no thread did.
func (v Verified) Parent() string { return v.last().Parent }

// Lineage returns the threads of the chain in order; Thread is the last.
func (v Verified) Lineage() []string {
	var all []string
	for _, b := range v.blocks {
		all = append(all, b.Thread)
	}
	return all
}

// IDs returns the ids of the blocks in order. A revoked block makes all later ones invalid.
func (v Verified) IDs() []string {
	var all []string
	for _, b := range v.blocks {
		all = append(all, b.ID)
	}
	return all
}

// Project returns the project where the token is valid.
func (v Verified) Project() string { return v.last().Project }

// Do returns a copy of the thread's capabilities, sorted. The denials in Deny still apply.
func (v Verified) Do() []string { return slices.Clone(v.last().Do) }

// Delegate returns a copy of the capabilities that the thread may pass on, sorted. The denials
// in Deny still apply.
func (v Verified) Delegate() []string { return slices.Clone(v.last().Delegate) }

// Deny returns a copy of the denials of all blocks, sorted. A denial has precedence over Do and
// Delegate.
func (v Verified) Deny() []string { return slices.Clone(v.all.deny) }

// Limits returns the smallest stated value of each limit, by name (docs/format/thread.md).
func (v Verified) Limits() map[string]int64 { return maps.Clone(v.all.limits) }

// Expires returns the end of the token: the earliest in the chain.
func (v Verified) Expires() time.Time { return v.all.expires }

// String returns the lineage for messages: "t1 > t2".
func (v Verified) String() string { return strings.Join(v.Lineage(), " > ") }

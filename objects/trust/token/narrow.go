package token

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Grant is a token with the key that its holder needs to use it.
type Grant struct {
	Token Token
	Key   ed25519.PrivateKey // of the holder of the last block: it proves possession and narrows further
	Taken []Taken            // requests that were not granted in full
}

// Mint begins a chain with the block b, signed by root. random gives the 32 bytes of the
// holder's key. Mint sorts lists and cuts times to seconds, and then refuses a malformed block.
func Mint(root ed25519.PrivateKey, b Block, random io.Reader) (Grant, error) {
	if len(root) != ed25519.PrivateKeySize {
		return Grant{}, fault.New(fault.Usage, "token: no key to sign with")
	}
	if b.Parent != "" {
		return Grant{}, fault.New(fault.Usage, "token: the first block has no parent, this one names %q", b.Parent)
	}
	return Token{root: public(root)}.add(root, b, random)
}

// Narrow adds a block for a child thread. asked is the child's request. Narrow cuts its Do and
// its Delegate to the capabilities that the last block may delegate and no block denies, and
// its times and limits to the chain's. Grant.Taken lists the cuts. Another project or audience
// is refused, and so is a thread that is already in the chain (fault.Denied). A missing parent,
// project, audience or expiry is taken from the chain. holder is the key that came with t.
func (t Token) Narrow(holder ed25519.PrivateKey, asked Block, random io.Reader) (Grant, error) {
	if err := t.check(); err != nil {
		return Grant{}, err
	}
	if err := t.heldBy(holder); err != nil {
		return Grant{}, err
	}
	all := t.all()
	b := asked.clone()
	if err := t.follows(&b); err != nil {
		return Grant{}, err
	}
	var taken []Taken
	if b.Expires.IsZero() {
		b.Expires = all.expires
	}
	if b.Expires.After(all.expires) {
		taken = append(taken, Taken{Of: "expires", Asked: stamp(b.Expires), Left: []string{stamp(all.expires)}})
		b.Expires = all.expires
	}
	if b.NotBefore.Before(all.notBefore) {
		b.NotBefore = all.notBefore // not a cut: no child needs an earlier beginning
	}
	for _, name := range slices.Sorted(maps.Keys(b.Limits)) {
		if most, ok := all.limits[name]; ok && b.Limits[name] > most {
			taken = append(taken, Taken{Of: "limits." + name, Asked: strconv.FormatInt(b.Limits[name], 10), Left: []string{strconv.FormatInt(most, 10)}})
			b.Limits[name] = most
		}
	}
	var less []Taken
	b.Do, less = Within("do", t.last().Delegate, all.deny, b.Do)
	taken = append(taken, less...)
	b.Delegate, less = Within("delegate", t.last().Delegate, all.deny, b.Delegate)
	grant, err := t.add(holder, b, random)
	grant.Taken = append(taken, less...)
	return grant, err
}

// follows fills in missing fields of a block, and refuses a block that does not belong to this
// chain.
func (t Token) follows(b *Block) error {
	last := t.last()
	for _, f := range [...]struct {
		name string
		text *string
		want string
	}{{"parent", &b.Parent, last.Thread}, {"project", &b.Project, last.Project}, {"audience", &b.Audience, last.Audience}} {
		if *f.text == "" {
			*f.text = f.want
		}
	}
	return follow(t.blocks, *b)
}

// add signs a block and appends it.
func (t Token) add(key ed25519.PrivateKey, b Block, random io.Reader) (Grant, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return Grant{}, fault.New(fault.Failed, "token: make a key: %w", err)
	}
	next := ed25519.NewKeyFromSeed(seed)
	b = b.clone()
	b.next, b.NotBefore, b.Expires = public(next), whole(b.NotBefore), whole(b.Expires)
	for _, l := range []*[]string{&b.Do, &b.Delegate, &b.Deny} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	n := Token{root: t.root, blocks: append(slices.Clip(t.blocks), signed{Block: b})}
	if err := n.check(); err != nil {
		return Grant{}, err
	}
	n.blocks[len(n.blocks)-1].sig = ed25519.Sign(key, b.message(t.sum()))
	if size := len(n.Encode()); size > MaxBytes {
		return Grant{}, fault.New(fault.Limit, "token: %d bytes, at most %d are allowed", size, MaxBytes)
	}
	return Grant{Token: n, Key: next}, nil
}

func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// Taken is the cut that narrowing made to one request.
type Taken struct {
	Of    string   // do, delegate, expires, or limits. and a name
	Asked string   // a capability, a time, a number
	Left  []string // the granted part; empty for none
	Deny  []string // denials that take a part of Left away
}

// String returns the cut in words: "do rye.sign.*: nothing is left".
func (t Taken) String() string {
	left := "nothing is left"
	if len(t.Left) > 0 {
		left = "only " + strings.Join(t.Left, ", ") + " is left"
	}
	if len(t.Left) == 1 && t.Left[0] == t.Asked {
		left = "granted"
	}
	if len(t.Deny) > 0 {
		left += ", without " + strings.Join(t.Deny, ", ")
	}
	return fmt.Sprintf("%s %s: %s", t.Of, t.Asked, left)
}

// Within returns the part of the asked capabilities that a list allows and denials leave,
// sorted, and the cuts; of is the word for them. A capability that only overlaps the list is
// cut, so the result never allows more than the list. A denial of only a part of a capability
// is reported in the cuts, and still applies to the result.
func Within(of string, list, deny, asked []string) (kept []string, taken []Taken) {
	for _, a := range asked {
		t := Taken{Of: of, Asked: a}
		for _, c := range objects.Within(list, a) {
			if !covered(deny, c) {
				t.Left = append(t.Left, c)
			}
		}
		for _, d := range deny {
			if slices.ContainsFunc(t.Left, func(c string) bool { return objects.Overlap(c, d) }) {
				t.Deny = append(t.Deny, d)
			}
		}
		kept = append(kept, t.Left...)
		if len(t.Deny) > 0 || !slices.Equal(t.Left, []string{a}) {
			taken = append(taken, t)
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept), taken
}

// covered reports whether an entry of a list covers a capability.
func covered(list []string, c string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return objects.Covers(l, c) })
}

package oplog

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// maxRequest bounds the text of a request for membership, in bytes.
const maxRequest = 400

// Text returns a key and its proof as one line, which its owner sends to a member of the
// namespace: "ssh-ed25519 AAAA… <86 characters of base64url>". ParseMember reads it back.
func (k KeyGrant) Text() string {
	return k.Public.Authorized() + " " + base64.RawURLEncoding.EncodeToString(k.Proof)
}

// ParseMember reads a request for membership. It does not verify the proof; Apply does so when the
// key is added.
func ParseMember(text string) (k KeyGrant, err error) {
	if len(text) > maxRequest {
		return k, fault.New(fault.Malformed, "request of %d bytes: want at most %d", len(text), maxRequest)
	}
	cut := strings.LastIndexByte(text, ' ')
	if cut < 0 || strings.Count(text, " ") != 2 {
		return k, fault.New(fault.Malformed, "request %q: want a key and its proof", words.Brief(text))
	}
	if err := publicKey(&k.Public).read(text[:cut]); err != nil {
		return KeyGrant{}, err
	}
	if err := signature(&k.Proof, "request: want a proof of 86 characters of base64url").read(text[cut+1:]); err != nil {
		return KeyGrant{}, err
	}
	if k.Text() != text {
		return KeyGrant{}, fault.New(fault.Malformed, "request of %s: is not in canonical form", k.Public.Fingerprint())
	}
	return k, nil
}

// MayJoin reports whether a key may add itself to a namespace: the root granted the namespace to it
// after the grant on which the present owners rest.
func (s State) MayJoin(root Root, key trust.PublicKey) bool {
	g := root.Grant(s.Namespace)
	if g == nil || g.Since <= s.Grant {
		return false
	}
	for _, k := range g.Keys {
		if k == key {
			return true
		}
	}
	return false
}

// Prove returns the proof that the owner of a key agrees to being added.
func Prove(ctx context.Context, key trust.Signer, registry objects.Digest, namespace string, genesis objects.Digest) ([]byte, error) {
	return key.Sign(ctx, ProofMessage(registry, namespace, genesis, key.Public().Fingerprint()))
}

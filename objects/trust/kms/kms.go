// Package kms lets keys in a key service sign for rye. Anything that sigstore offers as a
// signature.SignerVerifier (a cloud's key service, Vault, a plug-in program) becomes a
// trust.Signer.
//
// It is a package of its own because linking sigstore costs every start of a program about
// 0.8 ms and 4.7 MB: the engine links it and the front does not (docs/rationale.md,
// "Programs"). To leave sigstore is to delete this package. The build tag keeps it out of
// builds that lack its modules.
package kms

import (
	"bytes"
	"context"
	"crypto/ed25519"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
)

// Signer returns sv as a signer. Its key must be a plain Ed25519 key (Untrusted). Each
// signature is verified before it is returned, so a key service that signs a digest
// instead of the message (Ed25519ph) fails at the first one. Signer asks for the public
// key once.
func Signer(ctx context.Context, sv signature.SignerVerifier) (trust.Signer, error) {
	pub, err := sv.PublicKey(options.WithContext(ctx))
	if err != nil {
		return nil, fault.New(fault.Auth, "ask the key service for its public key: %w", err)
	}
	raw, ok := pub.(ed25519.PublicKey)
	if !ok {
		return nil, fault.New(fault.Untrusted, "the key service holds a key of type %T, and only Ed25519 is accepted", pub)
	}
	k, err := trust.PublicKeyFromBytes(raw)
	if err != nil {
		return nil, err
	}
	return &signer{sv, k}, nil
}

type signer struct {
	sv  signature.SignerVerifier
	pub trust.PublicKey
}

func (s *signer) Public() trust.PublicKey { return s.pub }

func (s *signer) Sign(ctx context.Context, message []byte) ([]byte, error) {
	sig, err := s.sv.SignMessage(bytes.NewReader(message), options.WithContext(ctx))
	if err != nil {
		return nil, fault.New(fault.Auth, "sign with %s in the key service: %w", s.pub, err)
	}
	if !s.pub.Verify(message, sig) {
		return nil, fault.New(fault.Integrity, "sign with %s in the key service: it returned a signature that does not verify", s.pub)
	}
	return sig, nil
}

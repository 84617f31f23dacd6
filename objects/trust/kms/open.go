package kms

import (
	"context"
	"crypto"
	"errors"
	"io"
	"os/exec"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature"
	sigkms "github.com/sigstore/sigstore/pkg/signature/kms"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
)

// maxURI bounds an address, in bytes.
const maxURI = 2048

// Open opens the key at a sigstore address: name://key. It runs the program
// sigstore-kms-<name> on PATH, which talks to the service, over version 1 of sigstore's
// plug-in protocol; no service is linked in. The key must be a plain Ed25519 key.
func Open(ctx context.Context, uri string) (trust.Signer, error) {
	name, _, ok := strings.Cut(uri, "://")
	if !ok || len(uri) > maxURI || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || name == "" {
		// The address is not repeated: it may hold a secret.
		return nil, fault.New(fault.Usage, "key service: want an address like name://key, where sigstore-kms-name is a plug-in").
			Advise("RYE_KEY=kms:<name>://<key>")
	}
	sv, err := sigkms.Get(ctx, uri, crypto.Hash(0)) // Ed25519 signs the message, no digest of it
	var unknown *sigkms.ProviderNotFoundError
	switch {
	case errors.As(err, &unknown) || errors.Is(err, exec.ErrNotFound):
		return nil, fault.New(fault.NotFound, "key service %q: there is no program %s%s on PATH", name, cliplugin.PluginBinaryPrefix, name).
			Advise("install sigstore's plug-in for it")
	case err != nil:
		return nil, fault.New(fault.Auth, "key service %q: %w", name, err)
	}
	return Signer(ctx, steady{sv})
}

// steady turns the panics of sigstore's client into errors. The client assumes that an
// answer has the requested part.
type steady struct{ signature.SignerVerifier }

func (s steady) PublicKey(o ...signature.PublicKeyOption) (k crypto.PublicKey, err error) {
	defer incomplete(&err)
	return s.SignerVerifier.PublicKey(o...)
}

func (s steady) SignMessage(message io.Reader, o ...signature.SignOption) (sig []byte, err error) {
	defer incomplete(&err)
	return s.SignerVerifier.SignMessage(message, o...)
}

func incomplete(err *error) {
	if recover() != nil {
		*err = errors.New("the plug-in's answer is not complete")
	}
}

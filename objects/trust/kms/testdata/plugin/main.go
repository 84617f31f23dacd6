// A plug-in of sigstore's protocol with an Ed25519 key made from the key's name.
// Some names make it misbehave. Tests build it as sigstore-kms-test.
package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/handler"
)

func main() {
	args, err := handler.GetPluginArgs(os.Args)
	if err != nil {
		handler.WriteErrorResponse(os.Stdout, err)
		return
	}
	name := args.InitOptions.KeyResourceID
	switch name {
	case "silent":
		return
	case "empty":
		fmt.Print("{}")
		return
	}
	seed := sha256.Sum256([]byte(name))
	sv, err := signature.LoadED25519SignerVerifier(ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		handler.WriteErrorResponse(os.Stdout, err)
		return
	}
	k := &key{ED25519SignerVerifier: sv, name: name}
	if name == "ecdsa" {
		if k.other, _, err = signature.NewDefaultECDSASignerVerifier(); err != nil {
			panic(err)
		}
	}
	handler.Dispatch(os.Stdout, os.Stdin, args, k)
}

type key struct {
	*signature.ED25519SignerVerifier
	name  string
	other signature.SignerVerifier
}

func (k *key) PublicKey(o ...signature.PublicKeyOption) (crypto.PublicKey, error) {
	if k.other != nil {
		return k.other.PublicKey(o...)
	}
	return k.ED25519SignerVerifier.PublicKey(o...)
}

func (k *key) SignMessage(message io.Reader, o ...signature.SignOption) ([]byte, error) {
	switch k.name {
	case "refuses":
		return nil, errors.New("nobody touched the token")
	case "lies":
		message = bytes.NewReader([]byte("something else"))
	}
	return k.ED25519SignerVerifier.SignMessage(message, o...)
}

func (k *key) CreateKey(context.Context, string) (crypto.PublicKey, error) {
	return nil, errors.New("not offered")
}
func (k *key) CryptoSigner(context.Context, func(error)) (crypto.Signer, crypto.SignerOpts, error) {
	return nil, nil, errors.New("not offered")
}
func (k *key) SupportedAlgorithms() []string { return []string{"ed25519"} }
func (k *key) DefaultAlgorithm() string      { return "ed25519" }

package kms_test

import (
	"context"
	"testing"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/objects/trust/kms"
)

func TestSignerSigns(t *testing.T) {
	ctx, msg := context.Background(), []byte("message")
	sv, _, err := signature.NewDefaultED25519SignerVerifier()
	if err != nil {
		t.Fatal(err)
	}
	s, err := kms.Signer(ctx, sv)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := s.Sign(ctx, msg)
	if err != nil || !s.Public().Verify(msg, sig) {
		t.Fatalf("signature through sigstore: %v", err)
	}
	armor, err := trust.SignCommit(ctx, s, msg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.VerifySSHSIG(armor, trust.GitNamespace, msg); err != nil {
		t.Error(err)
	}
}

func TestOtherAlgorithmsAreRefused(t *testing.T) {
	ctx := context.Background()
	ec, _, err := signature.NewDefaultECDSASignerVerifier()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kms.Signer(ctx, ec); !fault.Is(err, fault.Untrusted) {
		t.Errorf("ECDSA: %v, want untrusted", err)
	}
	_, priv, err := signature.NewDefaultED25519SignerVerifier()
	if err != nil {
		t.Fatal(err)
	}
	ph, err := signature.LoadSignerVerifierWithOpts(priv, options.WithED25519ph())
	if err != nil {
		t.Fatal(err)
	}
	s, err := kms.Signer(ctx, ph)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sign(ctx, []byte("message")); !fault.Is(err, fault.Integrity) {
		t.Errorf("Ed25519ph: %v, want integrity", err)
	}
}

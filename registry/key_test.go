package registry

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

var update = flag.Bool("update", false, "write the vectors anew")

// testKey is a signer with a key derived from its name, so that failures repeat.
type testKey struct {
	priv ed25519.PrivateKey
	pub  trust.PublicKey
}

func newKey(name string) *testKey {
	seed := sha256.Sum256([]byte("test key " + name))
	k := &testKey{priv: ed25519.NewKeyFromSeed(seed[:])}
	pub, err := trust.PublicKeyFromBytes(k.priv.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	k.pub = pub
	return k
}

func (k *testKey) Public() trust.PublicKey { return k.pub }
func (k *testKey) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(k.priv, msg), nil
}
func (k *testKey) fp() objects.Fingerprint { return k.pub.Fingerprint() }

var testTime = time.Date(2025, 1, 2, 12, 0, 0, 0, time.UTC)

func penOf(k *testKey) oplog.Pen {
	return oplog.Pen{Signer: k, Who: store.Ident{Name: "Ada", Email: "ada@example.org"}, Now: testTime, Format: store.SHA1}
}

// testEntry is a version as a publisher gives it to an operation.
func testEntry(author *testKey, name, body string) oplog.Entry {
	ref, version, err := oplog.ParseName(name)
	if err != nil {
		panic(err)
	}
	sum := objects.DigestOf([]byte(body))
	return oplog.Entry{Ref: ref, Version: version, Path: ref.Path(".md"), Sum: sum, Size: int64(len(body)),
		Author: author.fp(), Commit: store.SHA1.Hash(store.TypeBlob, []byte(name+body))}
}

func wantCode(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("code = %q, want %q (%v)", got, want, err)
	}
}

func asError[T error](err error, into *T) bool { return errors.As(err, into) }

// emptyTree is the tree of every operation.
var emptyTree = store.SHA1.Hash(store.TypeTree, nil)

// grants returns keys with the proofs that they want to be in a namespace.
func grants(t testing.TB, s oplog.State, keys ...*testKey) (list []oplog.KeyGrant) {
	t.Helper()
	for _, k := range keys {
		proof, err := oplog.Prove(context.Background(), k, s.Registry, s.Namespace, s.Genesis)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, oplog.KeyGrant{Public: k.pub, Proof: proof})
	}
	return list
}

// stateFile returns a file of what a machine remembers of its registry.
func stateFile(m *machine, name string) string {
	return filepath.Join(m.o.StateDir, m.o.ID.Hex()+filepath.FromSlash(name))
}

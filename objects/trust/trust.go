package trust

import (
	"context"
	"time"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Signer makes Ed25519 signatures with one key. Implementations are safe for
// concurrent use. Sign returns 64 bytes over the message itself, not a digest.
type Signer interface {
	Public() PublicKey
	Sign(ctx context.Context, message []byte) ([]byte, error)
}

// Scope is the place where an item is used. It decides which keys are trusted. Scope is
// comparable.
type Scope struct {
	Space    objects.Space
	Project  string         // the project's genesis id (rye.yaml "project"); "" outside a project
	Place    string         // key of the space's directory (store/records); a grant is for both
	Registry string         // registry identity an item was locked from ("sha256:..."); "" for own files
	Declared *Declared      // by the project's directory; nil declares no keys
	Pinned   objects.Digest // SHA-256 of the whole file in a lock or a log; zero for none. It adds no trust
}

// binds returns the genesis id that signatures of local/* items bind in this scope; ""
// in the user space, which belongs to no project.
func (in Scope) binds() string {
	if in.Space == objects.Project {
		return in.Project
	}
	return ""
}

// String names the scope for people.
func (in Scope) String() string {
	if in.Registry != "" {
		return "registry " + words.Brief(in.Registry)
	}
	return in.Space.String() + " space"
}

// Level is the kind of signature that makes an item trusted.
type Level string

// The levels.
const (
	Signed   Level = "signed"   // its own line, version 2: every byte, id, kind, extension and version
	Manifest Level = "manifest" // listed in the signed manifest of a bundle
	Legacy   Level = "legacy"   // RYE OS's line, which covers less; only where the user opted in
)

// Verified is an item whose signature was verified and whose signer is trusted for its
// id, in one scope. Only Verify, Bundle.Item and Bundle.Cover make one. On the zero
// value every method except IsZero panics.
type Verified struct {
	item  *objects.Item
	key   PublicKey
	scope Scope
	level Level
	at    time.Time
	patch Patch
}

// Item returns the verified item.
func (v Verified) Item() *objects.Item { return v.must().item }

// Key returns the key that signed the item, or the manifest that covers it.
func (v Verified) Key() PublicKey { return v.must().key }

// Scope returns the scope that the item was verified for. It is not trusted elsewhere.
func (v Verified) Scope() Scope { return v.must().scope }

// Level returns the kind of signature that makes the item trusted.
func (v Verified) Level() Level { return v.must().level }

// SignedAt returns the time that the signer claims, in UTC. Only the order within one
// signer's own files is meaningful, because a signer can set the clock.
func (v Verified) SignedAt() time.Time { return v.must().at }

// IsZero reports whether v is the zero value, for which every other method panics.
func (v Verified) IsZero() bool { return v.item == nil }

func (v Verified) must() Verified {
	if v.item == nil {
		panic("trust: use of an item that was not verified")
	}
	return v
}

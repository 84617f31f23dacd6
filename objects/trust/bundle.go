package trust

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Bundle is a set of files that one signature covers through a verified manifest.
// Each request for a file reads it and compares it with the manifest, so a bundle
// costs nothing until it is used. It is safe for concurrent use when its file system
// is. Only VerifyBundle and OpenBundle make one; the zero value holds no files.
type Bundle struct {
	manifest *objects.Manifest
	files    fs.FS
	store    *Store // nil for the system bundle, whose keys are compiled in
	key      PublicKey
	scope    Scope
	at       time.Time
	dir      string // slash path below .ai of the files' directory; "" for .ai itself
	patch    Patch
}

// VerifyBundle verifies the manifest of the system space against the keys that are
// compiled into the program. The files are verified by digest when they are read. A
// missing signature and an unknown signer are Untrusted; a wrong digest or signature
// is Integrity.
func VerifyBundle(manifest []byte, files fs.FS, keys []PublicKey) (Bundle, error) {
	m, err := objects.ParseManifest(manifest)
	if err != nil {
		return Bundle{}, err
	}
	it := m.Item()
	no := func(code fault.Code, format string, args ...any) (Bundle, error) {
		return Bundle{}, fault.New(code, "verify bundle %s: "+format, append([]any{m.ID}, args...)...).Advise("install rye again")
	}
	if it.Signature == nil {
		return no(fault.Untrusted, "unsigned")
	}
	if it.Signature.Digest != it.Digest {
		return no(fault.Integrity, "changed since it was signed")
	}
	for _, k := range keys {
		if k.Fingerprint() != it.Signature.Key {
			continue
		}
		if !signedRelease(m, k) {
			return no(fault.Integrity, "not a signature by %s", k)
		}
		return Bundle{manifest: m, files: files, key: k, scope: Scope{Space: objects.System}, at: it.Signature.SignedAt}, nil
	}
	return no(fault.Untrusted, "signed by %s, which is not a key of this rye", it.Signature.Key)
}

// signedRelease reports whether a key of the program signed a manifest. Releases up to 0.1.3
// were signed as config items with the bundle's id, by keys that signed nothing else. Locks
// still name them, and the program knows the digest of each.
func signedRelease(m *objects.Manifest, k PublicKey) bool {
	it := m.Item()
	for _, ref := range []objects.Ref{m.Ref(), {Kind: objects.Config, ID: m.ID}} {
		if k.Verify(objects.SignedMessage(ref, it.Bound(""), *it.Signature), it.Signature.Sig[:]) {
			return true
		}
	}
	return false
}

// OpenBundle verifies the manifest of any other bundle, as Verify does for an item
// with the bundle's id, and opens it. Its files are trusted only as far as the key
// that signed the manifest. An item of another namespace is refused, unless that key
// is trusted for it too.
func OpenBundle(manifest []byte, files fs.FS, in Scope, st *Store) (Bundle, error) {
	m, err := objects.ParseManifest(manifest)
	if err != nil {
		return Bundle{}, err
	}
	v, err := Verify(m.Item(), in, st)
	if err != nil {
		return Bundle{}, err
	}
	in.Pinned = objects.Digest{} // it pins the manifest, not the files
	return Bundle{manifest: m, files: files, store: st, key: v.key, scope: in, at: v.at, patch: v.patch}, nil
}

// In returns the bundle with its files in dir, a slash path below .ai. dir must be the
// directory for the bundle's id (objects.BundleID), so that moving the files cannot
// change the names of their items.
func (b Bundle) In(dir string) (Bundle, error) {
	want, err := objects.BundleID(dir)
	if err != nil {
		return Bundle{}, err
	}
	if want != b.ID() {
		return Bundle{}, fault.New(fault.Integrity, "bundle %s: it lies in .ai/%s, which is not its place", b.ID(), words.Brief(dir)).
			Advise("rye sign .ai/%s, if that is its place now", words.Brief(dir))
	}
	b.dir = dir
	return b, nil
}

// ID returns the bundle's id, "" for the zero Bundle.
func (b Bundle) ID() objects.ID {
	if b.manifest == nil {
		return ""
	}
	return b.manifest.ID
}

// Version returns the bundle's version.
func (b Bundle) Version() string {
	if b.manifest == nil {
		return ""
	}
	return b.manifest.Version
}

// Digest returns the SHA-256 of the signed manifest, which names the bundle.
func (b Bundle) Digest() objects.Digest {
	if b.manifest == nil {
		return objects.Digest{}
	}
	return b.manifest.Item().Sum
}

// Key returns the key that signed the manifest.
func (b Bundle) Key() PublicKey { return b.key }

// SignedAt returns the time that the manifest's signer claims, in UTC.
func (b Bundle) SignedAt() time.Time { return b.at }

// Files returns the entries of the manifest, sorted by path. The caller must not
// change them.
func (b Bundle) Files() []objects.File {
	if b.manifest == nil {
		return nil
	}
	return b.manifest.Files
}

// Manifest returns a copy of the verified manifest, nil for the zero Bundle.
func (b Bundle) Manifest() *objects.Manifest {
	if b.manifest == nil {
		return nil
	}
	m := *b.manifest
	return &m
}

// File returns the verified bytes of a file. A path that the manifest does not list is
// NotFound, even when the file exists; other bytes are Integrity.
func (b Bundle) File(path string) ([]byte, error) {
	f, ok := objects.File{}, false
	if b.manifest != nil {
		f, ok = b.manifest.File(path)
	}
	if !ok {
		return nil, fault.New(fault.NotFound, "bundle %s: no file %q", b.ID(), words.Brief(path))
	}
	data, err := readListed(b.files, f)
	if err != nil {
		return nil, fault.New(fault.Integrity, "bundle %s: read %q: %w", b.ID(), path, err)
	}
	if !f.Matches(data) {
		return nil, fault.New(fault.Integrity, "bundle %s: %q is not the file that the manifest lists", b.ID(), path).
			Advise("install the bundle again")
	}
	return data, nil
}

// readListed reads at most one byte more than the size in the manifest.
func readListed(files fs.FS, f objects.File) ([]byte, error) {
	r, err := files.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, f.Size+1)
	n, err := io.ReadFull(r, data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return data[:n:n], err
}

// Lists returns nil when data is the file that the manifest lists at path, and
// Integrity for other bytes and for a path that it does not list.
func (b Bundle) Lists(path string, data []byte) error {
	if b.manifest == nil {
		return fault.New(fault.Usage, "read a bundle: it was not verified")
	}
	f, ok := b.manifest.File(path)
	switch {
	case !ok:
		return fault.New(fault.Integrity, "bundle %s: %q is not in its manifest", b.ID(), words.Brief(path)).
			Advise("rye sign %s, if it belongs there", b.manifest.Ref())
	case !f.Matches(data):
		return fault.New(fault.Integrity, "bundle %s: %q is not the file that the manifest lists", b.ID(), path).
			Advise("rye sign %s, if the change is yours", b.manifest.Ref())
	}
	return nil
}

// Read checks that the directory holds every file of the manifest and nothing else. It
// passes the compared bytes to visit; see objects.Manifest.Read.
func (b Bundle) Read(visit func(objects.File, []byte) error) error {
	if b.manifest == nil {
		return fault.New(fault.Usage, "check bundle: it was not verified")
	}
	return b.manifest.Read(b.files, visit)
}

// Item returns the item in a file, verified through the manifest. path is below .ai or
// below the directory given to In.
func (b Bundle) Item(path string) (Verified, error) {
	data, err := b.File(path)
	if err != nil {
		return Verified{}, err
	}
	return b.Cover(path, data)
}

// Cover is Item for a caller that already read the file. A program of the bundle, which is no item, is
// returned as a tool (objects.Manifest.Program).
func (b Bundle) Cover(path string, data []byte) (Verified, error) {
	if err := b.Lists(path, data); err != nil {
		return Verified{}, err
	}
	it, err := b.parse(path, data)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{item: it, key: b.key, scope: b.scope, level: Manifest, at: b.at}
	if b.store == nil {
		return v, nil
	}
	if err := b.store.Denied(v); err != nil {
		return Verified{}, err
	}
	if it.Ref.ID.Namespace() == objects.LocalNamespace && b.ID().Namespace() != objects.LocalNamespace {
		return Verified{}, fault.New(fault.Untrusted, "bundle %s: %s: the manifest does not bind a project", b.ID(), it.Ref)
	}
	if b.patch == GrantedPatch && it.Ref.ID.Namespace() == b.ID().Namespace() {
		v.patch = b.patch // the grant names the manifest, and the manifest this file
		return v, nil
	}
	if v.patch, err = b.store.believes(b.key, it.Ref, b.scope, b.Digest()); err != nil {
		return Verified{}, fault.Wrap(err, "bundle %s", b.ID())
	}
	if v.patch == NoPatch {
		v.patch = b.patch
	}
	return v, nil
}

// parse reads a listed file as an item, or as a program.
func (b Bundle) parse(path string, data []byte) (*objects.Item, error) {
	if f, _ := b.manifest.File(path); b.manifest.IsProgram(f) {
		return b.manifest.Program(path, data)
	}
	if b.dir != "" {
		path = b.dir + "/" + path
	}
	return objects.Parse(path, data)
}

// LocateProgram returns the path of the program with a ref; see objects.Manifest.LocateProgram.
func (b Bundle) LocateProgram(ref objects.Ref) (string, error) {
	if b.manifest == nil {
		return "", nil
	}
	return b.manifest.LocateProgram(ref)
}

// Check compares every file with the manifest. It refuses missing, changed and extra files.
func (b Bundle) Check() error {
	return b.Read(func(objects.File, []byte) error { return nil })
}

// SignManifest returns the bundle manifest with a fresh signature line by s. The
// scope matters only for a bundle below local/.
func SignManifest(ctx context.Context, s Signer, manifest []byte, in Scope, now time.Time) ([]byte, error) {
	m, err := objects.ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	return signLine(ctx, s, m.Item(), in, now)
}

package oplog

import (
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// State is a namespace after an operation of its log: its keys and its catalogue. A State never
// changes; Apply returns a new one that shares unchanged parts. It is safe for concurrent use. The
// zero value is no namespace: see NewState.
type State struct {
	Registry  objects.Digest // identity of the registry
	Namespace string
	Grant     uint64 // the root operation on which the owners rest; 0 for an open claim
	Owners    uint64 // the operation that last changed the owners: at first the claim
	Published uint64 // versions so far
	Threshold int    // how many active keys must agree to operations in Governs; at least 1 after the claim
	Roles     uint64 // the operation that last changed the keys or Threshold; 0 while one key is enough

	// The position in the log. Not part of the encoded state.
	Genesis objects.Digest // digest of the raw claim
	Seq     uint64         // 0 before the claim
	Tip     objects.Digest // digest of the raw commit at Seq
	At      store.OID      // its address
	Kept    store.OID      // the commit that keeps this state
	Root    uint64         // highest root position seen by an operation
	Time    time.Time      // time of the last operation with effect

	last Position // of the last operation with effect; later ones were skipped
	root Root
	keys []Key
	cat  *catalogue // nil before the claim
	from Source     // source of the parts of the catalogue
}

// NewState returns the state of a namespace before its claim, to be judged by root.
func NewState(root Root, namespace string) State {
	return State{Registry: root.ID, Namespace: namespace, Threshold: 1, root: root}
}

// WithRoot returns s, to be judged by root, a later state of the same root.
func (s State) WithRoot(root Root) State {
	s.root = root
	return s
}

// Keys returns the namespace's keys in the order in which they were added.
func (s State) Keys() []Key { return slices.Clone(s.keys) }

// Key returns the key with this fingerprint.
func (s State) Key(fp objects.Fingerprint) (Key, bool) {
	if i := findKey(s.keys, fp); i >= 0 {
		return s.keys[i], true
	}
	return Key{}, false
}

// Entry returns a published version, or fault.NotFound.
func (s State) Entry(ref objects.Ref, version string) (Entry, error) {
	e, err := s.Lookup(ref, version)
	if err == nil && e == nil {
		err = fault.New(fault.NotFound, "%s@%s: was never published", ref.Published(), words.Brief(version))
	}
	if err != nil {
		return Entry{}, err
	}
	return *e, nil
}

// Lookup returns a published version, or nil. The caller must not change it.
func (s State) Lookup(ref objects.Ref, version string) (*Entry, error) {
	rows, err := s.cat.Rows(ShardOf(ref))
	e := FindEntry(rows, ref, version)
	if e != nil && err == nil {
		err = s.CheckLine(e)
	}
	return e, err
}

// Versions returns all versions of an item in any status, oldest version first. An item without
// versions is no error.
func (s State) Versions(ref objects.Ref) ([]Entry, error) {
	rows, err := s.cat.Rows(ShardOf(ref))
	if err != nil {
		return nil, err
	}
	var out []Entry
	at, _ := find(rows, ref, "")
	for ; at < len(rows) && rows[at].Ref == ref; at++ {
		if err := s.CheckLine(rows[at].Entry); err != nil {
			return nil, err
		}
		out = append(out, *rows[at].Entry)
	}
	slices.SortFunc(out, func(a, b Entry) int { return compareVersions(a.Version, b.Version) })
	return out, nil
}

// compareVersions orders by semver precedence; both passed checkVersion.
func compareVersions(a, b string) int {
	v, _ := objects.ParseVersion(a)
	w, _ := objects.ParseVersion(b)
	return v.Compare(w)
}

// Entries calls visit for every published version, in the order of the catalogue's files and lines,
// until visit fails.
func (s State) Entries(visit func(Entry) error) error {
	return s.cat.each(func(_ byte, sh *Shard) error {
		rows, err := sh.Get()
		for _, r := range rows {
			if err == nil {
				err = visit(*r.Entry)
			}
		}
		return err
	})
}

// Digest returns the SHA-256 of the state's root list, which proves the whole state; zero before
// the claim.
func (s State) Digest() objects.Digest {
	if s.cat == nil {
		return objects.Digest{}
	}
	return s.cat.at.Sum
}

// CheckKeys refuses a state whose root list names other keys than the log.
func (s State) CheckKeys() error {
	if err := s.cat.get(); err != nil || s.cat == nil {
		return err
	}
	if want := AddressOf(s.EncodeNamespace()); s.cat.keys != want {
		return fault.New(fault.Integrity, "state of %s: names keys of %s, its log gives %s", s.Namespace, s.cat.keys.Sum, want.Sum)
	}
	return nil
}

// Keep returns the id of the commit that keeps a state and the change list that led to it. Unless
// put is nil, it passes everything new since the catalogue before to put. The commit has no parents
// and is unsigned; it follows from its content, and the log states its id.
func (s State) Keep(changes Address, before *catalogue, put Sink) (store.OID, error) {
	if put == nil {
		put, before = Hasher(store.SHA1), s.cat
	} else if err := s.putNew(before, put); err != nil {
		return store.OID{}, err
	}
	tree, err := s.Tree(changes, before, put)
	if err != nil {
		return store.OID{}, err
	}
	raw, err := PlainCommit(tree, fmt.Sprintf("state of %s after operation %d\n", s.Namespace, s.last.Seq), s.Time)
	if err != nil {
		return store.OID{}, err
	}
	return put(store.TypeCommit, raw)
}

// Tree passes the trees of a state that differ from the catalogue before to put, and returns the
// top tree.
func (s State) Tree(changes Address, before *catalogue, put Sink) (store.OID, error) {
	catalogue, err := s.cat.tree(before, put)
	if err != nil {
		return store.OID{}, err
	}
	entries := []store.Entry{
		{Name: namespacePath, Mode: store.ModeFile, ID: s.cat.keys.ID},
		{Name: cataloguePath, Mode: store.ModeDir, ID: catalogue},
	}
	if !changes.IsZero() {
		entries = append(entries, store.Entry{Name: changesPath, Mode: store.ModeFile, ID: changes.ID})
	}
	return PutTree(put, entries)
}

// putNew passes the files of a state that the catalogue before lacks to put.
func (s State) putNew(before *catalogue, put Sink) error {
	if err := s.cat.PutNew(before, put); err != nil {
		return err
	}
	_, err := put(store.TypeBlob, s.EncodeNamespace())
	return err
}

// PlainCommit encodes a commit that depends only on its content and time.
func PlainCommit(tree store.OID, message string, when time.Time) ([]byte, error) {
	stamp := contentIdent.At(when.UTC())
	return store.EncodeCommit(&store.Commit{Tree: tree, Author: stamp, Committer: stamp, Message: message})
}

// contentIdent is the author of states and versions.
var contentIdent = store.Ident{Name: "rye", Email: "content@rye.invalid"}

// Under returns the root by which s is judged: see WithRoot.
func (s State) Under() Root { return s.root }

// Last returns the last operation with effect. Later ones were skipped.
func (s State) Last() Position { return s.last }

// Catalogue returns the published versions; nil before the claim.
func (s State) Catalogue() *catalogue { return s.cat }

// WithKeys returns s with other keys, such as the keys after planned operations.
func (s State) WithKeys(keys []Key) State {
	s.keys = keys
	return s
}

// From returns s with a source for its later catalogues.
func (s State) From(from Source) State {
	s.from = from
	return s
}

// Anew returns s with a catalogue of its own, unshared and read from a source.
func (s State) Anew(from Source) State {
	if s.from = from; s.cat != nil {
		s.cat = OpenCatalogue(s.cat.at, from)
	}
	return s
}

// Derived returns s with the catalogue of x, which was derived from the same log.
func (s State) Derived(x State) State {
	s.cat, s.from, s.Kept = x.cat, x.from, x.Kept
	return s
}

// Unkept returns s as one of which no host has the state.
func (s State) Unkept() State {
	s.cat = nil
	return s
}

// StateAt returns the state after a trusted operation. It reads the catalogue later, and checks it
// against the digests that op states.
func StateAt(from Source, op Op) (State, error) {
	cat := OpenCatalogue(op.State, from)
	if err := cat.get(); err != nil {
		return State{}, err
	}
	raw, err := from.Load(cat.keys, "keys")
	if err != nil {
		return State{}, err
	}
	s, err := parseNamespace(raw)
	if err != nil {
		return State{}, err
	}
	if s.Registry != op.Registry || s.Namespace != op.Namespace {
		return State{}, fault.New(fault.Integrity, "state of %s: is another namespace's", op.Namespace)
	}
	s.last = Position{op.Seq, op.ID, op.Sum}
	s = s.Past(s.last)
	s.Genesis, s.Root, s.Time = op.Genesis, op.Root, op.Time
	if op.Kind == OpClaim {
		s.Genesis = op.Sum
	}
	s.Kept, s.cat, s.from = op.Kept, cat, from
	return s, nil
}

// Claimant returns the key that signed the claim.
func (s State) Claimant() trust.PublicKey {
	for _, k := range s.keys {
		if k.Added == 1 && k.By == k.Public.Fingerprint() {
			return k.Public
		}
	}
	return trust.PublicKey{}
}

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

// State is a namespace after an operation of its log: its keys and its catalogue.
// A State is never changed; Apply returns another that shares what is unchanged.
// It is safe for concurrent use. The zero value is no namespace: see NewState.
type State struct {
	Registry  objects.Digest // identity of the registry
	Namespace string
	Grant     uint64 // the root operation that the owners derive from; 0 for an open claim
	Owners    uint64 // the operation that last put other owners there: the claim, at first
	Published uint64 // versions so far
	Threshold int    // active keys that must agree to what Governs names; at least 1 after the claim
	Roles     uint64 // the operation that made the keys and Threshold what they are; 0 while one key is enough

	// Where the log stands. Not part of the encoded state.
	Genesis objects.Digest // raw claim
	Seq     uint64         // 0 before the claim
	Tip     objects.Digest // raw commit at Seq
	At      store.OID      // its address
	Kept    store.OID      // the commit that keeps this state
	Root    uint64         // highest root position seen by an operation
	Time    time.Time      // of the last operation that has effect

	last Position // of the last operation that has effect; those after it were skipped
	root Root
	keys []Key
	cat  *catalogue // nil before the claim
	from Source     // of what the catalogue is made of
}

// NewState returns the state of a namespace before its claim, to be judged by root.
func NewState(root Root, namespace string) State {
	return State{Registry: root.ID, Namespace: namespace, Threshold: 1, root: root}
}

// WithRoot returns s judged by another, later, position of the root.
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

// Entry returns a published version: fault.NotFound when there is none.
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

// Lookup returns a published version, which must not be changed; nil when there is
// none.
func (s State) Lookup(ref objects.Ref, version string) (*Entry, error) {
	rows, err := s.cat.Rows(ShardOf(ref))
	e := FindEntry(rows, ref, version)
	if e != nil && err == nil {
		err = s.CheckLine(e)
	}
	return e, err
}

// Versions returns every version of an item, oldest version first, whatever its
// status; none is no error.
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

// Entries calls visit for every published version, in the order of the
// catalogue's files and lines, until visit fails.
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

// Digest returns the SHA-256 of the state's root list, which proves all of it; zero before
// the claim.
func (s State) Digest() objects.Digest {
	if s.cat == nil {
		return objects.Digest{}
	}
	return s.cat.at.Sum
}

// CheckKeys refuses a state whose root list names other keys than the log gave.
func (s State) CheckKeys() error {
	if err := s.cat.get(); err != nil || s.cat == nil {
		return err
	}
	if want := AddressOf(s.EncodeNamespace()); s.cat.keys != want {
		return fault.New(fault.Integrity, "state of %s: names keys of %s, its log gives %s", s.Namespace, s.cat.keys.Sum, want.Sum)
	}
	return nil
}

// Keep returns the id of the commit that keeps a state and the change list that led to it,
// and gives to put, unless it is nil, what is new after the catalogue before. The commit has
// no parents, is not signed, and follows from what it holds: the log vouches for it.
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

// Tree gives to put the trees of a state that are not those of the catalogue before, and
// returns the top one.
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

// putNew gives the files of a state to put, but for those of the catalogue before.
func (s State) putNew(before *catalogue, put Sink) error {
	if err := s.cat.PutNew(before, put); err != nil {
		return err
	}
	_, err := put(store.TypeBlob, s.EncodeNamespace())
	return err
}

// PlainCommit encodes a commit that is told apart by nothing but what it holds.
func PlainCommit(tree store.OID, message string, when time.Time) ([]byte, error) {
	stamp := contentIdent.At(when.UTC())
	return store.EncodeCommit(&store.Commit{Tree: tree, Author: stamp, Committer: stamp, Message: message})
}

// contentIdent is who states and versions are by.
var contentIdent = store.Ident{Name: "rye", Email: "content@rye.invalid"}

// Under returns the root that s is judged by: see WithRoot.
func (s State) Under() Root { return s.root }

// Last returns the last operation that has effect. Those after it were skipped.
func (s State) Last() Position { return s.last }

// Catalogue returns the published versions; nil before the claim.
func (s State) Catalogue() *catalogue { return s.cat }

// WithKeys returns s with other keys, such as those that planned operations lead to.
func (s State) WithKeys(keys []Key) State {
	s.keys = keys
	return s
}

// From returns s whose later catalogues are read from a source.
func (s State) From(from Source) State {
	s.from = from
	return s
}

// Anew returns s with a catalogue that nobody else keeps, read from a source.
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

// StateAt returns the state that follows an operation that is believed. The catalogue is
// read later, against the digests that op vouches for.
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

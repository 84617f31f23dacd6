package registry

import (
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
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
	from source     // of what the catalogue is made of
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
	e, err := s.lookup(ref, version)
	if err == nil && e == nil {
		err = fault.New(fault.NotFound, "%s@%s: was never published", ref.Published(), words.Brief(version))
	}
	if err != nil {
		return Entry{}, err
	}
	return *e, nil
}

// lookup returns a published version, which must not be changed; nil when there is
// none.
func (s State) lookup(ref objects.Ref, version string) (*Entry, error) {
	rows, err := s.cat.rows(shardOf(ref))
	e := findEntry(rows, ref, version)
	if e != nil && err == nil {
		err = sound(s, e)
	}
	return e, err
}

// Versions returns every version of an item, oldest version first, whatever its
// status; none is no error.
func (s State) Versions(ref objects.Ref) ([]Entry, error) {
	rows, err := s.cat.rows(shardOf(ref))
	if err != nil {
		return nil, err
	}
	var out []Entry
	at, _ := find(rows, ref, "")
	for ; at < len(rows) && rows[at].Ref == ref; at++ {
		if err := sound(s, rows[at].Entry); err != nil {
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
	return s.cat.each(func(_ byte, sh *shard) error {
		rows, err := sh.get()
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

// settled refuses a state whose root list names other keys than the log gave.
func settled(s State) error {
	if err := s.cat.get(); err != nil || s.cat == nil {
		return err
	}
	if want := addressOf(encodeNamespace(&s)); s.cat.keys != want {
		return fault.New(fault.Integrity, "state of %s: names keys of %s, its log gives %s", s.Namespace, s.cat.keys.Sum, want.Sum)
	}
	return nil
}

// keepState returns the id of the commit that keeps a state and the change list that led to it,
// and gives to put, unless it is nil, what is new after the catalogue before. The commit has
// no parents, is not signed, and follows from what it holds: the log vouches for it.
func keepState(s State, changes Address, before *catalogue, put sink) (store.OID, error) {
	if put == nil {
		put, before = hasher(store.SHA1), s.cat
	} else if err := putState(s, before, put); err != nil {
		return store.OID{}, err
	}
	tree, err := stateTree(s, changes, before, put)
	if err != nil {
		return store.OID{}, err
	}
	raw, err := plainCommit(tree, fmt.Sprintf("state of %s after operation %d\n", s.Namespace, s.last.Seq), s.Time)
	if err != nil {
		return store.OID{}, err
	}
	return put(store.TypeCommit, raw)
}

// stateTree gives to put the trees of a state that are not those of the catalogue before, and
// returns the top one.
func stateTree(s State, changes Address, before *catalogue, put sink) (store.OID, error) {
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
	return putTree(put, entries)
}

// putState gives the files of a state to put, but for those of the catalogue before.
func putState(s State, before *catalogue, put sink) error {
	if err := s.cat.putNew(before, put); err != nil {
		return err
	}
	_, err := put(store.TypeBlob, encodeNamespace(&s))
	return err
}

// plainCommit encodes a commit that is told apart by nothing but what it holds.
func plainCommit(tree store.OID, message string, when time.Time) ([]byte, error) {
	stamp := contentIdent.At(when.UTC())
	return store.EncodeCommit(&store.Commit{Tree: tree, Author: stamp, Committer: stamp, Message: message})
}

// contentIdent is who states and versions are by.
var contentIdent = store.Ident{Name: "rye", Email: "content@rye.invalid"}

package registry

import (
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

	// Where the log stands. Not part of the encoded state.
	Genesis objects.Digest // raw claim
	Seq     uint64         // 0 before the claim
	Tip     objects.Digest // raw commit at Seq
	At      store.OID      // its address
	Root    uint64         // highest root position seen by an operation
	Time    time.Time      // of the operation at Seq

	root   Root
	keys   []Key
	shards [256]*shard // nil for no file
}

// NewState returns the state of a namespace before its claim, to be judged by root.
func NewState(root Root, namespace string) State {
	return State{Registry: root.ID, Namespace: namespace, root: root}
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
	rows, err := s.shards[shardOf(ref)].get()
	return findEntry(rows, ref, version), err
}

// Versions returns every version of an item, oldest version first, whatever its
// status; none is no error.
func (s State) Versions(ref objects.Ref) ([]Entry, error) {
	rows, err := s.shards[shardOf(ref)].get()
	if err != nil {
		return nil, err
	}
	var out []Entry
	at, _ := find(rows, ref, "")
	for ; at < len(rows) && rows[at].Ref == ref; at++ {
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
	for _, sh := range s.shards {
		rows, err := sh.get()
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := visit(*r.Entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// Digest returns the SHA-256 of the tree's listing: one line "<64 hex>  <path>"
// for each file, sorted by path.
func (s State) Digest() objects.Digest { return objects.DigestOf(s.listing()) }

func (s State) listing() []byte {
	sums := make([]fileSum, 0, 257)
	for i, sh := range s.shards {
		if sh != nil {
			sums = append(sums, fileSum{shardPath(i), sh.sum})
		}
	}
	return listing(append(sums, fileSum{namespacePath, objects.DigestOf(encodeNamespace(&s))}))
}

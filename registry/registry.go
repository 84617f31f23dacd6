package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// Options say which registry is meant and where what is known of it is kept.
type Options struct {
	URL     string         // any address that transport.Dial takes; operations are written there
	To      string         // the one of these addresses that operations are written to; "" is as the registry says
	Mirrors []string       // further addresses of the same registry, asked in their order
	ID      objects.Digest // its identity, as pinned; Open refuses the zero value

	CacheDir string // holds <hex id>.git: may be deleted at any time
	StateDir string // holds <hex id>.yaml: what was verified; never delete it

	Transport transport.Options
	Offline   bool // never use the network

	// MayAsk says whether the user agreed to ask this registry at an address, where its root
	// locates a namespace; nil: at none but those above. See LocatedError.
	MayAsk func(url string) bool

	// Whole is asked before the content of a namespace is fetched whole, because its host
	// serves only what a ref names; nil: it is fetched.
	Whole func(context.Context, WholeFetch) error

	// AcceptOwners consents to owners that the root put in place of those that
	// this machine knew: by namespace, the root operation that did it. See OwnerError.
	AcceptOwners map[string]uint64

	Now func() time.Time // nil: time.Now
}

// Registry is a registry, as far as this machine has verified it. It is safe for
// concurrent use, also by several processes; its operations run one at a time.
type Registry struct {
	o   Options
	mem *memory.Memory

	mu        sync.Mutex
	mirrors   []*mirror          // its addresses, the one to write to first; none when offline
	elsewhere []*mirror          // where the root locates namespaces, as far as somebody asked
	shown     map[string]*mirror // who showed a namespace ("": the root) last
	notes     []string           // for people
	drops     []string           // of these, the key-revokes that were read and drop operations
	repo      *store.Repo        // nil until the cache exists
	root      oplog.Root
	spaces    map[string]oplog.State // as of the last Sync or load
	first     map[string]bool        // namespaces that nothing was known of before
	stats     Stats
	ahead     ahead // what Unchanged was shown, for the Sync that follows
}

// Stats count what a Registry moved over the network since Open.
type Stats struct {
	Fetches  int   // fetches of objects
	Listings int   // listings of refs
	Bytes    int64 // received in fetches
}

// Open returns a pinned registry. It reads nothing yet and uses no network.
func Open(o Options) (*Registry, error) {
	if o.ID.IsZero() {
		return nil, fault.New(fault.Untrusted, "open registry %s: it was not pinned", words.Brief(o.URL)).Mend("rye registry add %s", o.URL)
	}
	if o.CacheDir == "" || o.StateDir == "" {
		return nil, fault.New(fault.Usage, "open registry: no directory for its cache or for what was verified")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	mem := memory.Open(memory.Options{ID: o.ID, URL: o.URL, StateDir: o.StateDir, CacheDir: o.CacheDir, Offline: o.Offline, Now: o.Now})
	r := &Registry{o: o, mem: mem, spaces: map[string]oplog.State{}, shown: map[string]*mirror{}, first: map[string]bool{}}
	if !o.Offline {
		var err error
		if r.mirrors, err = dialAll(o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Close ends connections and gives back files.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, m := range slices.Concat(r.mirrors, r.elsewhere) {
		errs = append(errs, m.remote.Close())
	}
	if r.repo != nil {
		errs = append(errs, r.repo.Close())
		r.repo = nil
	}
	return errors.Join(errs...)
}

// ID returns the identity that was pinned.
func (r *Registry) ID() objects.Digest { return r.o.ID }

// URL returns the address that the registry was opened with.
func (r *Registry) URL() string { return r.o.URL }

// FirstContact reports whether nothing was known of a namespace before this Registry was
// opened: then its host is believed about when, unless a checkpoint or a lock tells.
func (r *Registry) FirstContact(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first[namespace]
}

// Stats returns what was moved over the network so far.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Identity is what a registry says it is: what a person is shown before it is
// pinned, and what trust.Store.PinRegistry is given.
type Identity struct {
	ID         objects.Digest
	Name       string
	Claims     oplog.Claims
	Threshold  int
	Roots      []trust.PublicKey
	Seq        uint64 // operations of the root
	Namespaces int    // granted
	Created    time.Time
}

func identityOf(r oplog.Root, created time.Time) Identity {
	return Identity{ID: r.ID, Name: r.Name, Claims: r.Claims, Threshold: r.Threshold, Roots: r.Keys,
		Seq: r.Seq, Namespaces: len(r.Namespaces()), Created: created}
}

// Contact reads the root of the registry at a URL and verifies it against
// itself, which proves that it is one thing and not whose it is: to believe that
// is the caller's decision. tmp is a directory for what is fetched meanwhile; ""
// is the system's.
func Contact(ctx context.Context, url, tmp string, o transport.Options) (Identity, error) {
	o.ReadOnly = true
	remote, err := transport.Dial(url, o)
	if err != nil {
		return Identity{}, err
	}
	defer remote.Close()
	repo, remove, err := tempRepo(tmp)
	if err != nil {
		return Identity{}, fault.Wrap(err, "contact %s", remote)
	}
	defer remove()
	refs, err := remote.Refs(ctx, mainBranch)
	if err != nil {
		return Identity{}, err
	}
	tip := refs[mainBranch]
	if tip.IsZero() {
		return Identity{}, noRegistry(remote.String())
	}
	q, _, err := remote.Fetch(ctx, repo, []store.OID{tip}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return Identity{}, err
	}
	defer q.Discard()
	raws, _, err := oplog.ReadLine(ctx, &q.Reader, tip, store.OID{})
	if err != nil {
		return Identity{}, err
	}
	root, ops, err := oplog.ReplayRoot(oplog.Root{}, raws, time.Now(), repo.Format())
	if err != nil {
		return Identity{}, err
	}
	return identityOf(root, ops[0].Time), nil
}

func noRegistry(url string) error {
	return fault.New(fault.NotFound, "%s: holds no registry (there is no branch main)", url).
		Mend("rye registry init %s", url)
}

const (
	mainBranch   = "refs/heads/main"
	branchPrefix = "refs/heads/ns/"
	commitsOnly  = "tree:0" // a replay needs no trees: the state is in the messages
)

// branchOf returns the branch of a namespace, "" being the root.
func branchOf(namespace string) string {
	if namespace == "" {
		return mainBranch
	}
	return branchPrefix + namespace
}

// reading returns the cache repository, nil when there is none.
func (r *Registry) reading() *store.Repo {
	if r.repo == nil {
		repo, err := store.OpenCache(context.Background(), r.mem.CacheDir())
		if err == nil {
			r.repo = repo
		} else if fault.Is(err, fault.Integrity) {
			os.RemoveAll(r.mem.CacheDir()) // damaged when the machine went down; all of it can be had again
		}
	}
	return r.repo
}

// writing returns the cache repository and makes it when there is none.
func (r *Registry) writing() (*store.Repo, error) {
	if repo := r.reading(); repo != nil {
		return repo, nil
	}
	if err := os.MkdirAll(r.o.CacheDir, 0o700); err != nil {
		return nil, fault.New(fault.Failed, "make the cache of registry %s: %w", r.o.ID, err)
	}
	repo, err := store.InitCache(r.mem.CacheDir(), mainBranch)
	if fault.Is(err, fault.Conflict) { // another process was first, or empty directories were cleared away
		if err := store.RefillCache(r.mem.CacheDir()); err != nil {
			return nil, fault.Wrap(err, "mend the cache of registry %s", r.o.ID)
		}
		repo, err = store.OpenCache(context.Background(), r.mem.CacheDir())
	}
	if err != nil {
		return nil, err
	}
	r.repo = repo
	return repo, nil
}

// tempRepo makes an empty repository in a directory below tmp ("": the system's) that
// remove removes.
func tempRepo(tmp string) (repo *store.Repo, remove func(), err error) {
	dir, err := os.MkdirTemp(tmp, "rye-registry-*")
	if err != nil {
		return nil, nil, err
	}
	repo, err = store.InitCache(filepath.Join(dir, "registry.git"), mainBranch)
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return repo, func() {
		repo.Close()
		os.RemoveAll(dir)
	}, nil
}

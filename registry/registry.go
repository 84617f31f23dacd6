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

// Options name a registry and the directories for its local data.
type Options struct {
	URL     string         // any address that transport.Dial accepts; operations are written there
	To      string         // address to write operations to; "": as the registry says
	Mirrors []string       // more addresses of the same registry, asked in this order
	Copy    string         // a repository by MakeCopy, which is asked instead of every address; "": none
	ID      objects.Digest // its identity, as pinned; Open refuses the zero value

	CacheDir string // holds <hex id>.git: may be deleted at any time
	StateDir string // holds <hex id>.seen, the verified points; never delete it

	Transport transport.Options
	Offline   bool // never use the network

	// MayAsk reports whether the user agreed to contact an address where the root of this registry
	// locates a namespace; nil: only the addresses above. See LocatedError.
	MayAsk func(url string) bool

	// Whole is asked before the whole content of a namespace is fetched, because its host serves
	// only objects below a ref; nil: the fetch goes ahead.
	Whole func(context.Context, WholeFetch) error

	// AcceptOwners consents to new owners: for each namespace, the operation of its log that
	// replaced the owners known here. See OwnerError.
	AcceptOwners map[string]uint64

	Now func() time.Time // nil: time.Now
}

// Registry is a registry, as far as this machine has verified it. It is safe for
// concurrent use, also by several processes; its operations run one at a time.
type Registry struct {
	o   Options
	mem *memory.Memory

	mu        sync.Mutex
	mirrors   []*mirror          // its addresses, the one to write to first; none if offline
	elsewhere []*mirror          // where the root locates namespaces, as far as they were asked for
	shown     map[string]*mirror // the mirror that last showed a namespace ("": the root)
	notes     []string           // for people
	drops     []string           // key-revokes read since Open that drop operations, for people
	repo      *store.Repo        // nil until the cache exists
	root      oplog.Root
	spaces    map[string]oplog.State // as of the last Sync or load
	first     map[string]bool        // namespaces that were unknown before
	stats     Stats
	ahead     ahead // the refs that Unchanged saw, for the Sync that follows
}

// Stats count the network traffic of a Registry since Open.
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
		return nil, fault.New(fault.Usage, "open registry: no directory for its cache or its memory")
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

// Close ends connections and closes files.
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

// ID returns the pinned identity.
func (r *Registry) ID() objects.Digest { return r.o.ID }

// URL returns the address that the registry was opened with.
func (r *Registry) URL() string { return r.o.URL }

// FirstContact reports whether a namespace was unknown before this Registry was opened. Then rye
// cannot check how recent the host's log is, unless a checkpoint or a lock shows it.
func (r *Registry) FirstContact(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first[namespace]
}

// Stats returns the network traffic so far.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Identity is a registry's description of itself. It is shown to a person before the registry is
// pinned, and passed to trust.Store.PinRegistry.
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

// Contact reads the root of the registry at a URL and verifies that it is consistent. That does not
// prove who owns it; the caller decides whether to trust it. tmp is a directory for fetched
// objects; "" is the system's.
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
	commitsOnly  = "tree:0" // a replay needs no trees: the messages contain the state
)

// branchOf returns the branch of a namespace; "" is the root.
func branchOf(namespace string) string {
	if namespace == "" {
		return mainBranch
	}
	return branchPrefix + namespace
}

// reading returns the cache repository, or nil if there is none.
func (r *Registry) reading() *store.Repo {
	if r.repo == nil {
		repo, err := store.OpenCache(context.Background(), r.mem.CacheDir())
		if err == nil {
			r.repo = repo
		} else if fault.Is(err, fault.Integrity) {
			os.RemoveAll(r.mem.CacheDir()) // damaged by a crash; everything in it can be fetched again
		}
	}
	return r.repo
}

// writing returns the cache repository, and creates it if necessary.
func (r *Registry) writing() (*store.Repo, error) {
	if repo := r.reading(); repo != nil {
		return repo, nil
	}
	if err := os.MkdirAll(r.o.CacheDir, 0o700); err != nil {
		return nil, fault.New(fault.Failed, "make the cache of registry %s: %w", r.o.ID, err)
	}
	repo, err := store.InitCache(r.mem.CacheDir(), mainBranch)
	if fault.Is(err, fault.Conflict) { // another process was first, or empty directories were deleted
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

// tempRepo makes an empty repository in a directory below tmp ("": the system's). remove deletes
// it.
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

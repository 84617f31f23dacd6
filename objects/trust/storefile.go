package trust

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

const (
	storeFormat = 1
	storeMax    = 4 << 20          // bytes of trust.yaml
	lockWait    = 10 * time.Second // for another process that is writing
)

// storeHeader is the beginning of every trust.yaml that rye writes.
const storeHeader = `# Whom you believe. Written by rye trust, rye key and rye registry, which drop
# comments; docs/format/trust.md says what the fields mean.
`

// The file's fields; docs/format/trust.md is normative.
type (
	storeFile struct {
		Format      int                    `yaml:"format"`
		Own         []ownFile              `yaml:"own,omitempty"`
		Keys        []pinFile              `yaml:"keys,omitempty"`
		Grants      []grantFile            `yaml:"grants,omitempty"`
		Registries  []registryFile         `yaml:"registries,omitempty"`
		Namespaces  map[string]bindingFile `yaml:"namespaces,omitempty"`
		Deny        []denialFile           `yaml:"deny,omitempty"`
		AllowLegacy bool                   `yaml:"allow_legacy,omitempty"`
	}
	ownFile struct {
		Key        string   `yaml:"key"`
		Name       string   `yaml:"name,omitempty"`
		Namespaces []string `yaml:"namespaces,omitempty"`
		Retired    string   `yaml:"retired,omitempty"`
		Kept       string   `yaml:"kept,omitempty"`
	}
	pinFile struct {
		Key        string   `yaml:"key"`
		Name       string   `yaml:"name,omitempty"`
		Namespaces []string `yaml:"namespaces"`
	}
	grantFile struct {
		Place   string    `yaml:"place"`
		Project string    `yaml:"project,omitempty"`
		Kind    GrantKind `yaml:"kind"`
		Value   string    `yaml:"value,omitempty"`
		At      string    `yaml:"at"`
	}
	registryFile struct {
		ID    string   `yaml:"id"`
		URL   string   `yaml:"url,omitempty"`
		Roots []string `yaml:"roots"`
	}
	bindingFile struct {
		Registry string         `yaml:"registry"`
		Keys     []boundKeyFile `yaml:"keys"`
	}
	boundKeyFile struct {
		Key    string   `yaml:"key"`
		State  KeyState `yaml:"state"`
		Logged string   `yaml:"logged,omitempty"`
	}
	denialFile struct {
		Key       string `yaml:"key,omitempty"`
		Digest    string `yaml:"digest,omitempty"`
		Registry  string `yaml:"registry,omitempty"`
		Namespace string `yaml:"namespace,omitempty"`
		Reason    string `yaml:"reason,omitempty"`
	}
)

// LoadStore reads the trust store at path, without a lock: writers replace the file as a
// whole. A missing file is an empty store, which trusts no keys. A file that other users
// may write is refused (Auth), and so is a file that breaks its format (Malformed): half
// a deny list is worse than none.
func LoadStore(path string) (*Store, error) {
	raw, err := readStoreFile(path)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		s := &Store{path: path, fresh: true}
		s.index()
		return s, nil
	}
	s, err := ParseStore(raw)
	if err != nil {
		err := fault.Wrap(err, "read %s", path)
		if fault.HintOf(err) != newer {
			err = err.Mend("mv %s %s", path, Aside(path, raw))
		}
		return nil, err
	}
	s.path, s.read, s.fresh = path, objects.DigestOf(raw), true
	return s, nil
}

// newer is the hint for a store in a format that this rye does not know.
var newer = fault.Advice("install a newer rye")

// Aside returns a path to move a damaged file to. The name is unique to these bytes, so the
// move overwrites no other file.
func Aside(path string, raw []byte) string {
	return path + ".damaged-" + objects.DigestOf(raw).Hex()[:8]
}

// readStoreFile returns nil when there is no file.
func readStoreFile(path string) ([]byte, error) {
	if err := place.Trusted(path); err != nil {
		return nil, fault.Wrap(err, "read trust store")
	}
	raw, err := place.ReadIf(path, storeMax, func(m fs.FileMode) error { return checkUnwritable(path, m) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil && fault.CodeOf(err) == fault.Failed {
		return nil, fault.New(fault.Failed, "read trust store: %w", err)
	}
	return raw, err
}

// ParseStore reads the text of a trust.yaml. The store it returns has no file.
func ParseStore(raw []byte) (*Store, error) {
	var f storeFile
	if err := objects.DecodeYAML(raw, storeMax, &f); err != nil {
		return nil, err
	}
	if f.Format > storeFormat {
		return nil, fault.New(fault.Malformed, "trust store: format %d, this rye reads %d", f.Format, storeFormat).With(newer)
	}
	if f.Format != storeFormat {
		return nil, fault.New(fault.Malformed, "trust store: it does not say format: %d", storeFormat)
	}
	s := &Store{allowLegacy: f.AllowLegacy, bound: make(map[string]Binding)}
	if err := s.fill(f); err != nil {
		return nil, err
	}
	s.sort()
	s.index()
	return s, s.consistent()
}

// fill converts every entry; consistent then checks them together.
func (s *Store) fill(f storeFile) (err error) {
	for _, o := range f.Own {
		k := OwnKey{Name: o.Name, Namespaces: sorted(o.Namespaces), Retired: o.Retired}
		if k.Key, err = ParsePublicKey(o.Key); err != nil {
			return err
		}
		if o.Kept != "" {
			if k.Kept, err = objects.ParseDigest(o.Kept); err != nil {
				return err
			}
		}
		s.own = append(s.own, k)
	}
	for _, p := range f.Keys {
		k := Pin{Name: p.Name, Namespaces: sorted(p.Namespaces)}
		if k.Key, err = ParsePublicKey(p.Key); err != nil {
			return err
		}
		s.pins = append(s.pins, k)
	}
	for _, r := range f.Registries {
		reg := Registry{ID: r.ID, URL: r.URL}
		for _, text := range r.Roots {
			fp, err := objects.ParseFingerprint(text)
			if err != nil {
				return err
			}
			reg.Roots = append(reg.Roots, fp)
		}
		slices.SortFunc(reg.Roots, comparePrints)
		s.registries = append(s.registries, reg)
	}
	for ns, b := range f.Namespaces {
		bind := Binding{Namespace: ns, Registry: b.Registry}
		for _, k := range b.Keys {
			pub, err := ParsePublicKey(k.Key)
			if err != nil {
				return err
			}
			key := BoundKey{Key: pub, State: k.State}
			if k.Logged != "" {
				if key.Logged, err = objects.ParseDigest(k.Logged); err != nil {
					return err
				}
			}
			bind.Keys = append(bind.Keys, key)
		}
		sortBound(bind.Keys)
		s.bound[ns] = bind
	}
	return s.fillRest(f)
}

func (s *Store) fillRest(f storeFile) (err error) {
	for _, d := range f.Deny {
		den := Denial{Reason: d.Reason, Registry: d.Registry, Namespace: d.Namespace}
		if d.Key != "" {
			if den.Key, err = objects.ParseFingerprint(d.Key); err != nil {
				return err
			}
		}
		if d.Digest != "" {
			if den.Digest, err = objects.ParseDigest(d.Digest); err != nil {
				return err
			}
		}
		s.denials = append(s.denials, s.asRegistryDenial(den))
	}
	for _, g := range f.Grants {
		at, err := time.Parse(time.RFC3339, g.At)
		if err != nil || at.UTC().Format(time.RFC3339) != g.At {
			return bad("grant at %q: want a time like 2026-11-22T12:00:00Z", words.Brief(g.At))
		}
		s.grants = append(s.grants, Grant{Site{g.Place, g.Project}, g.Kind, g.Value, at.UTC()})
	}
	return nil
}

// Encode returns the text of trust.yaml. Equal stores give equal bytes.
func (s *Store) Encode() ([]byte, error) {
	f := storeFile{Format: storeFormat, AllowLegacy: s.allowLegacy}
	for _, o := range s.own {
		of := ownFile{Key: o.Key.Authorized(), Name: o.Name, Namespaces: o.Namespaces, Retired: o.Retired}
		if !o.Kept.IsZero() {
			of.Kept = o.Kept.String()
		}
		f.Own = append(f.Own, of)
	}
	for _, p := range s.pins {
		f.Keys = append(f.Keys, pinFile{p.Key.Authorized(), p.Name, p.Namespaces})
	}
	for _, r := range s.registries {
		rf := registryFile{ID: r.ID, URL: r.URL}
		for _, fp := range r.Roots {
			rf.Roots = append(rf.Roots, fp.String())
		}
		f.Registries = append(f.Registries, rf)
	}
	for ns, b := range s.bound {
		bf := bindingFile{Registry: b.Registry}
		for _, k := range b.Keys {
			kf := boundKeyFile{Key: k.Key.Authorized(), State: k.State}
			if !k.Logged.IsZero() {
				kf.Logged = k.Logged.String()
			}
			bf.Keys = append(bf.Keys, kf)
		}
		if f.Namespaces == nil {
			f.Namespaces = make(map[string]bindingFile)
		}
		f.Namespaces[ns] = bf
	}
	for _, d := range s.denials {
		df := denialFile{Reason: d.Reason, Registry: d.Registry, Namespace: d.Namespace}
		if d.Key.IsZero() {
			df.Digest = d.Digest.String()
		} else {
			df.Key = d.Key.String()
		}
		f.Deny = append(f.Deny, df)
	}
	for _, g := range s.grants {
		f.Grants = append(f.Grants, grantFile{g.Place, g.Project, g.Kind, g.Value, g.At.Format(time.RFC3339)})
	}
	text, err := objects.EncodeYAML(f)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(storeHeader), text), nil
}

// Epoch identifies the current content of the store: two stores with different contents
// have different epochs. A kept result of Verify is valid for one epoch.
func (s *Store) Epoch() (objects.Digest, error) {
	file := s.read // of the bytes as read: a search would encode the store four times otherwise
	if !s.fresh || file.IsZero() {
		text, err := s.Encode()
		if err != nil {
			return objects.Digest{}, err
		}
		file = objects.DigestOf(text)
	}
	if s.revokedSum.IsZero() {
		return file, nil
	}
	return objects.DigestOf([]byte(file.Hex() + s.revokedSum.Hex())), nil
}

// save writes a store that LoadStore returned, durably and as a whole, with mode 0600.
// The caller holds the lock. save refuses (Conflict) when the file has changed since,
// for example in an editor, which takes no lock.
func (s *Store) save() error {
	raw, err := readStoreFile(s.path)
	if err != nil {
		return err
	}
	var now objects.Digest
	if raw != nil {
		now = objects.DigestOf(raw)
	}
	if now != s.read {
		return fault.New(fault.Conflict, "write %s: another process changed it meanwhile", s.path).Advise("try again")
	}
	text, err := s.Encode()
	if err != nil {
		return err
	}
	// The new text must be readable: a store that rye cannot read locks its owner out.
	if _, err := ParseStore(text); err != nil {
		return fault.Wrap(err, "write %s", s.path)
	}
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		path = s.path // not there yet
	}
	if err := place.File(path, text, 0o600); err != nil {
		return err
	}
	s.read, s.fresh = objects.DigestOf(text), true
	return nil
}

// Update changes the trust store at path under a lock across processes. It loads the
// store, calls change, and saves the store unless change fails or changes nothing.
// change must not wait for a person.
func Update(path string, change func(*Store) error) error {
	return locked(path, func() error {
		s, err := LoadStore(path)
		if err != nil {
			return err
		}
		if err := change(s); err != nil {
			return err
		}
		if s.fresh {
			return nil
		}
		return s.save()
	})
}

// Ensure is Update for a change that was usually made before. If change has no effect on the
// loaded store, Ensure neither locks nor reads the file.
func (s *Store) Ensure(change func(*Store) error) error {
	try := &Store{path: s.path, read: s.read, fresh: s.fresh, own: slices.Clone(s.own), pins: slices.Clone(s.pins), grants: slices.Clone(s.grants),
		registries: slices.Clone(s.registries), bound: maps.Clone(s.bound), denials: slices.Clone(s.denials), allowLegacy: s.allowLegacy,
		known: s.known, denied: s.denied, granted: s.granted, scopes: s.scopes, keyFile: s.keyFile,
		revokedDir: s.revokedDir, revokedBy: s.revokedBy, revokedSum: s.revokedSum}
	if err := change(try); err == nil && try.fresh {
		return nil
	}
	return Update(s.path, change)
}

// locked runs f while it holds the write lock of the store at path.
func locked(path string, f func() error) error {
	if path == "" {
		return fault.New(fault.Usage, "save the trust store: it has no file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.New(fault.Failed, "save trust store: %w", err)
	}
	unlock, err := lockFor(path+".lock", lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// lockFor takes the lock at path, waiting up to wait.
func lockFor(path string, wait time.Duration) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), wait,
		fault.New(fault.Conflict, "lock %s: another process has held it for %s", path, wait).Advise("try again"))
	defer cancel()
	return place.Lock(ctx, path)
}

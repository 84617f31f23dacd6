// Package custody keeps the user's keys and the user's trust in other keys. It makes,
// lists, imports and exports keys, reaches the one that signs, and changes the trust
// store. A Desk is where rooms work with a session and these keys.
package custody

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Keys are the user's keys, of which one signs. It is safe for concurrent use.
type Keys struct {
	host *session.Host
	*Options

	mu   sync.Mutex
	held trust.Signer // kept after the first contact, so that an agent or a service is asked for its key only once
}

// New returns the keys of a host. The options do not change afterwards.
func New(h *session.Host, o *Options) *Keys { return &Keys{host: h, Options: o} }

// At returns the same keys, for another project of the same user.
func (ks *Keys) At(h *session.Host) *Keys {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return &Keys{host: h, Options: ks.Options, held: ks.held}
}

// With returns the keys of a host, with the given one as the signing key.
func (ks *Keys) With(h *session.Host, key trust.Signer) *Keys {
	return &Keys{host: h, Options: ks.Options, held: key}
}

// Path returns the file of a key given by name or by path.
func (ks *Keys) Path(name string) string {
	if strings.ContainsAny(name, `/\`) {
		return name
	}
	if ks.host.KeyDir() == "" {
		return ""
	}
	return filepath.Join(ks.host.KeyDir(), name)
}

// Suffixes and marks of files in the directory of keys that are no signing keys.
const (
	nextSuffix   = ".next"     // made by a rotation that has not ended
	retiredMark  = ".retired-" // kept by a rotation, with its date
	publicSuffix = ".pub"      // written by ssh-keygen beside a key
)

const (
	maxKeyName    = 100 // bytes
	keyNameLetter = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
)

// checkKeyName refuses names for new keys that have another meaning.
func checkKeyName(name string) error {
	base := filepath.Base(name)
	switch {
	case Held(name):
		return fault.New(fault.Usage, "key %q: no file holds this key", name).Advise("rye key import %s", name)
	case len(base) > maxKeyName || strings.Trim(base, keyNameLetter) != "" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "-"):
		return fault.New(fault.Usage, "key %q: want letters, digits, _, - and inner dots, at most %d characters", name, maxKeyName)
	case strings.HasSuffix(base, nextSuffix) || strings.HasSuffix(base, publicSuffix) || strings.Contains(base, retiredMark):
		return fault.New(fault.Usage, "key %q: rye reserves this kind of name for its own files", name)
	}
	return nil
}

// Generate makes a key, keeps it under its name and trusts it as the user's own. The trust is
// for the given namespace or, when that is empty, for every free one.
func (ks *Keys) Generate(q rye.KeyNewRequest) (*rye.KeyInfo, error) {
	name := cmp.Or(q.Name, ks.Key)
	if q.Name == "" && Held(name) {
		name = "default"
	}
	if err := checkKeyName(name); err != nil {
		return nil, err
	}
	if err := ks.host.NeedConfig(); err != nil {
		return nil, err
	}
	namespaces, err := claims(q.Namespace)
	if err != nil {
		return nil, err
	}
	k, err := trust.GenerateKey()
	if err != nil {
		return nil, err
	}
	info := keyInfo(name, ks.Path(name), k.Public(), namespaces)
	info.Protected = len(q.Passphrase) > 0
	if err := k.Save(info.Path, q.Passphrase); err != nil {
		return nil, err
	}
	if err := ks.Claim(k, filepath.Base(name), namespaces...); err != nil {
		return nil, err
	}
	return info, nil
}

// Claim trusts a key as the user's own under a name, and for the namespaces. Without
// namespaces, a key that is already the user's own stays as it is.
func (ks *Keys) Claim(k trust.Signer, name string, namespaces ...string) error {
	return trust.Update(ks.host.TrustPath(), func(st *trust.Store) error {
		if st.IsOwn(k.Public()) && len(namespaces) == 0 {
			return nil
		}
		return st.AddOwn(k.Public(), name, namespaces...)
	})
}

// claims returns the namespaces that a new key is to claim: one, or none.
func claims(namespace string) ([]string, error) {
	if namespace == "" {
		return nil, nil
	}
	return []string{namespace}, session.CheckNamespace(namespace)
}

func keyInfo(name, path string, pub trust.PublicKey, namespaces []string) *rye.KeyInfo {
	return &rye.KeyInfo{Name: name, Fingerprint: pub.Fingerprint().String(), Path: path,
		SSH: pub.Authorized() + " rye:" + name, Namespaces: namespaces, Retired: strings.Contains(filepath.Base(path), retiredMark)}
}

// List describes the user's keys, in the key directory and in an agent or a key service. A
// file is described from its public half, which the OpenSSH format leaves open, so no
// passphrase is needed.
func (ks *Keys) List() ([]rye.KeyInfo, error) {
	st, err := trust.LoadStore(ks.host.TrustPath())
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(ks.host.KeyDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []rye.KeyInfo
	seen := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), publicSuffix) {
			continue
		}
		k, err := ks.describeFile(st, e.Name())
		if fault.Is(err, fault.Malformed) {
			all = append(all, rye.KeyInfo{Name: e.Name(), Path: ks.Path(e.Name()), State: "damaged"})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", e.Name(), err)
		}
		seen[k.Fingerprint] = true
		all = append(all, *k)
	}
	for _, o := range st.Own() {
		if !seen[o.Key.String()] {
			k := keyInfo(o.Name, "", o.Key, o.Namespaces)
			k.State, k.Retired = keyState(st, o.Key), o.Retired != ""
			all = append(all, *k)
		}
	}
	return all, nil
}

// Find describes one key, by name, path, fingerprint or holder (see Held); "" is the
// signing key. A key that is not here is fault.NotFound.
func (ks *Keys) Find(ctx context.Context, name string) (*rye.KeyInfo, error) {
	if name == "" {
		name = ks.Key
	}
	if Held(name) {
		k, err := ks.reach(ctx, name)
		if err != nil {
			return nil, err
		}
		return keyInfo(HeldName(name), "", k.Public(), nil), nil
	}
	if strings.ContainsAny(name, `/\`) && !strings.HasPrefix(name, "SHA256:") {
		st, err := trust.LoadStore(ks.host.TrustPath())
		if err != nil {
			return nil, err
		}
		return ks.describeFile(st, name)
	}
	all, err := ks.List()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(k rye.KeyInfo) bool { return k.Name == name || k.Fingerprint == name })
	if i < 0 {
		return nil, fault.New(fault.NotFound, "key %q: no such key on this machine", words.Brief(name)).Mend("rye key new %s", words.Brief(name))
	}
	if all[i].State == "damaged" {
		return nil, fault.New(fault.Malformed, "key %q: %s is not a key", words.Brief(name), all[i].Path).With(aside(ks.host, all[i].Path))
	}
	return &all[i], nil
}

// describeFile reads the public half of a key file, and the key's entry in the trust store.
func (ks *Keys) describeFile(st *trust.Store, name string) (*rye.KeyInfo, error) {
	path := ks.Path(name)
	pub, protected, err := trust.Peek(path)
	if err != nil {
		return nil, err
	}
	k := keyInfo(name, path, pub, nil)
	k.Protected, k.State = protected, keyState(st, pub)
	for _, o := range st.Own() {
		if o.Key == pub {
			k.Namespaces = o.Namespaces
			k.Retired = k.Retired || o.Retired != ""
		}
	}
	return k, nil
}

// keyState names a problem of one of the user's keys: "denied", "unknown" to the trust store,
// or "".
func keyState(st *trust.Store, pub trust.PublicKey) string {
	switch {
	case isDenied(st, pub):
		return "denied"
	case !st.IsOwn(pub):
		return "unknown"
	}
	return ""
}

func isDenied(st *trust.Store, pub trust.PublicKey) bool {
	return slices.ContainsFunc(st.Denials(), func(d trust.Denial) bool { return d.Key == pub.Fingerprint() })
}

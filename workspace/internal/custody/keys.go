package custody

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Path returns the file of a key given by name or by path.
func (ks *Keys) Path(name string) string {
	if strings.ContainsAny(name, `/\`) {
		return name
	}
	return filepath.Join(ks.host.KeyDir(), name)
}

// Endings of files among the keys that are not keys to sign with.
const (
	nextSuffix    = ".next"     // made by a rotation that has not ended
	retiredMark   = ".retired-" // kept by a rotation, with its date
	publicSuffix  = ".pub"      // what ssh-keygen puts beside a key
	maxKeyName    = 100
	keyNameLetter = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
)

// checkKeyName refuses names for new keys that would mean something else.
func checkKeyName(name string) error {
	base := filepath.Base(name)
	switch {
	case Held(name):
		return fault.New(fault.Usage, "key %q: that names a key which no file holds", name).Mend("rye key import %s", name)
	case len(base) > maxKeyName || strings.Trim(base, keyNameLetter) != "" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "-"):
		return fault.New(fault.Usage, "key %q: want letters, digits, _, - and dots within, at most %d", name, maxKeyName)
	case strings.HasSuffix(base, nextSuffix) || strings.HasSuffix(base, publicSuffix) || strings.Contains(base, retiredMark):
		return fault.New(fault.Usage, "key %q: rye gives names like that to files of its own", name)
	}
	return nil
}

// Generate makes a key, keeps it under its name and believes it as the user's own,
// for the given namespace or, when that is empty, for every free one.
func (ks *Keys) Generate(q rye.KeyNewRequest) (*rye.KeyInfo, error) {
	name := q.Name
	if name == "" {
		if name = ks.Name; Held(name) {
			name = "default"
		}
	}
	if err := checkKeyName(name); err != nil {
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
	path := ks.Path(name)
	if err := k.Save(path, q.Passphrase); err != nil {
		return nil, err
	}
	if err := ks.Claim(k, filepath.Base(name), namespaces...); err != nil {
		return nil, err
	}
	info := keyInfo(name, path, k.Public(), namespaces)
	info.Protected = len(q.Passphrase) > 0
	return info, nil
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

// List lists the user's keys: those in the key directory, and those that somebody
// else holds. A key that cannot be read without a passphrase is listed from its
// public half, which the OpenSSH format leaves open.
func (ks *Keys) List(ctx context.Context) ([]rye.KeyInfo, error) {
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
		k, err := ks.describeKey(st, e.Name())
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

// Find describes one key, by name, path, fingerprint or who holds it; "" is the
// signing key.
func (ks *Keys) Find(ctx context.Context, name string) (*rye.KeyInfo, error) {
	if name == "" {
		name = ks.Name
	}
	if Held(name) {
		k, err := ks.holder(ctx, name)
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
		return ks.describeKey(st, name)
	}
	all, err := ks.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if k.Name == name || k.Fingerprint == name {
			return &k, nil
		}
	}
	return nil, fault.New(fault.NotFound, "key %q: there is none on this machine", words.Brief(name)).Mend("rye key new %s", words.Brief(name))
}

// holder reaches who holds a key, through the keyring when it is the signing key.
func (ks *Keys) holder(ctx context.Context, name string) (trust.Signer, error) {
	if name == ks.Name {
		return ks.Signer(ctx)
	}
	return ks.reach(ctx, name)
}

// describeKey reads the open half of a key file and what the store says of it.
func (ks *Keys) describeKey(st *trust.Store, name string) (*rye.KeyInfo, error) {
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

// keyState says what the trust store makes of one of the user's keys.
func keyState(st *trust.Store, pub trust.PublicKey) string {
	for _, d := range st.Denials() {
		if d.Key == pub.Fingerprint() {
			return "denied"
		}
	}
	if !st.IsOwn(pub) {
		return "unknown"
	}
	return ""
}

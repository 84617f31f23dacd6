package custody

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// Rotation is the replacement of one key file by a new one. Until Finish the old key is the
// signing key, and the new one is beside it. So an interrupted rotation can continue with the
// same new key.
type Rotation struct {
	keys *Keys

	Old     rye.KeyInfo
	Public  trust.PublicKey // of the old key
	Retired string          // where Finish keeps the old key's file
	New     string          // fingerprint of the new key that an interrupted rotation made; "" for none
}

// KeyPair are the two keys of a rotation, both ready to sign. A field is nil when its key
// could not be opened.
type KeyPair struct{ Old, New trust.Signer }

// PlanRotation finds the key to replace by name, path or fingerprint; "" is the signing key.
// It writes nothing. Only a key in a file can be rotated, and a retired one only where a
// rotation stopped after retiring it.
func (ks *Keys) PlanRotation(ctx context.Context, name string) (*Rotation, error) {
	info, err := ks.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Path == "" {
		return nil, fault.New(fault.Usage, "rotate key %s: rye has no file with its private key", info.Fingerprint).
			Advise("rotate it in its agent or service, then rye key import it")
	}
	if err := trust.NoLink(info.Path); err != nil {
		return nil, err
	}
	r := &Rotation{keys: ks, Old: *info}
	if r.Public, err = trust.ParsePublicKey(info.SSH); err != nil {
		return nil, err
	}
	next, _, err := trust.Peek(r.newPath())
	if err == nil {
		r.New = next.String()
	} else if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if info.Retired && (r.New == "" || strings.Contains(filepath.Base(info.Path), retiredMark)) {
		return nil, fault.New(fault.Usage, "rotate key %s: it is already retired", info.Name).Advise("rye key list")
	}
	r.Retired, err = r.retiredPath()
	return r, err
}

// newPath is the path of the new key until Finish.
func (r *Rotation) newPath() string { return r.Old.Path + nextSuffix }

// Open opens the old key, and either opens an interrupted rotation's new key or makes one and
// trusts it. The new key gets a passphrase when the old one has one or q.Protect asks for it.
func (r *Rotation) Open(q rye.KeyRotateRequest) (KeyPair, error) {
	old, err := trust.LoadKey(r.Old.Path, r.keys.Passphrase)
	if err != nil {
		return KeyPair{}, err
	}
	if r.New == "" {
		return r.makeNew(old, q)
	}
	made, err := trust.LoadKey(r.newPath(), q.Ask)
	if err != nil {
		return KeyPair{Old: old}, err
	}
	return KeyPair{Old: old, New: made}, nil
}

func (r *Rotation) makeNew(old trust.Signer, q rye.KeyRotateRequest) (KeyPair, error) {
	pair := KeyPair{Old: old}
	var secret []byte
	if r.Old.Protected || q.Protect {
		if q.Ask == nil {
			return pair, fault.New(fault.Auth, "rotate key %s: the new key needs a passphrase like the old one, but this is not a terminal",
				r.Old.Fingerprint).
				Advise("rye key rotate at a terminal")
		}
		var err error
		if secret, err = q.Ask(); err != nil {
			return pair, err
		}
	}
	k, err := trust.GenerateKey()
	if err != nil {
		return pair, err
	}
	if err := k.Save(r.newPath(), secret); err != nil {
		return pair, err
	}
	pair.New = k
	return pair, r.keys.Claim(k, r.Old.Name+nextSuffix)
}

// Finish exchanges the files. The old key stays trusted for exactly the files with the digests
// in kept. The signing key's name always has a file: the old key is copied first, then the new
// one is renamed over it. If Finish stops in between, the old key signs nothing any more, and
// the next rotation continues.
func (r *Rotation) Finish(pair KeyPair, kept []objects.Digest) error {
	if !r.Old.Retired {
		if err := r.retire(pair, kept); err != nil {
			return err
		}
	}
	return trust.ReplaceKey(r.newPath(), r.Old.Path)
}

// retire copies the old key's file, and enters both keys into the trust store.
func (r *Rotation) retire(pair KeyPair, kept []objects.Digest) error {
	if err := trust.CopyKey(r.Old.Path, r.Retired); err != nil {
		return err
	}
	list, err := trust.KeepList(r.keys.host.TrustPath(), r.Public, kept)
	if err != nil {
		return err
	}
	added := pair.New.Public()
	return trust.Update(r.keys.host.TrustPath(), func(st *trust.Store) error {
		var claims []string
		for _, ns := range r.Old.Namespaces {
			if b, ok := st.Binding(ns); !ok || slices.Contains(b.Keys, trust.BoundKey{Key: added, State: trust.Current}) {
				claims = append(claims, ns)
			}
		}
		if err := st.AddOwn(added, filepath.Base(r.Old.Path), claims...); err != nil {
			return err
		}
		if err := overridesFollow(st, r.Public, added); err != nil {
			return err
		}
		return st.RetireOwn(r.Public, filepath.Base(r.Retired), r.keys.host.Today(), list)
	})
}

// overridesFollow grants the new key the old key's overrides.
func overridesFollow(st *trust.Store, old, added trust.PublicKey) error {
	for _, g := range st.Grants() {
		what, of := g.Cut()
		ref, err := objects.ParseRef(what)
		if g.Kind != trust.GrantOverride || err != nil || of != old.String() {
			continue
		}
		if err := st.Grant(g.At, g.Site.Override(ref, added.Fingerprint())); err != nil {
			return err
		}
	}
	return nil
}

// RotationQuestion asks for consent to a planned rotation.
func RotationQuestion(r *rye.KeyRotation) rye.Question {
	q := rye.Question{Topic: "rotate key", Text: "Replace the key " + r.Name + " with a new one?", Mend: fault.Command("rye key rotate %s --yes", r.Name),
		Lines: []string{
			"old " + r.Old + ", kept as " + filepath.Base(r.Retired),
			"its signatures stay valid on " + words.Plural(r.Kept, "file") + ", in " + strings.Join(r.Places, ", ") + "; it can sign nothing new",
		}}
	if r.Elsewhere > 0 {
		q.Lines = append(q.Lines, "they become invalid in "+words.Plural(r.Elsewhere, "other project")+" of yours: "+
			"name these with --project, or sign there again")
	}
	for _, n := range r.Namespaces {
		q.Lines = append(q.Lines, n.Namespace+"/ in "+n.URL+": "+n.Text)
	}
	return q
}

// retiredPath returns the path of the old key's retired file, or else a free name for it.
func (r *Rotation) retiredPath() (string, error) {
	path, date := r.Old.Path, r.keys.host.Today()
	if r.Old.Retired {
		st, err := trust.LoadStore(r.keys.host.TrustPath())
		if err != nil {
			return "", err
		}
		for _, o := range st.Own() {
			if o.Key == r.Public {
				return filepath.Join(filepath.Dir(path), o.Name), nil
			}
		}
	}
	for n := 1; n < 1000; n++ {
		p := path + retiredMark + date
		if n > 1 {
			p += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			return p, nil
		}
	}
	return "", fault.New(fault.Limit, "rotate key %s: a thousand of its keys were retired on %s", path, date)
}

package share

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// RotateKey replaces a key by a new one. In every registry namespace where the old
// key is current, the new one is added, with its own proof, and the old one
// retired; then the files change places. The old key stays the user's own, for
// exactly the files that it signed in the spaces that were looked at, as they are and
// as they were recorded; with Resign the new key signs them once more. A rotation that
// was interrupted goes on where it stopped when it
// is called again: until the last step the old key is the signing key.
func RotateKey(ctx context.Context, s *Desk, q rye.KeyRotateRequest) (*rye.KeyRotation, error) {
	t, err := planRotation(ctx, s, q)
	if err != nil || q.DryRun {
		return t.report(), err
	}
	if err := s.Ask(ctx, t.question()); err != nil {
		return t.report(), err
	}
	if err := t.makeKeys(q); err != nil {
		return t.report(), err
	}
	for i := range t.rep.Namespaces {
		if err := t.move(ctx, &t.rep.Namespaces[i]); err != nil {
			return t.report(), err
		}
	}
	if err := t.finish(ctx); err != nil {
		return t.report(), err
	}
	return t.report(), t.resign(ctx, q)
}

// rotation is one old key on its way out.
type rotation struct {
	s        *Desk
	rep      rye.KeyRotation
	path     string
	old, new trust.Signer
	pub      trust.PublicKey // of the old key
	was      trust.OwnKey    // what the trust store says of it
	guarded  bool            // the old key has a passphrase
	signed   signedBy        // what the old key vouches for
}

func (t *rotation) report() *rye.KeyRotation {
	if t == nil {
		return nil
	}
	return &t.rep
}

// planRotation finds out what there is to do. It writes nothing of the user's.
func planRotation(ctx context.Context, s *Desk, q rye.KeyRotateRequest) (*rotation, error) {
	info, err := s.Keys.Find(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.Path == "":
		return nil, fault.New(fault.Usage, "rotate key %s: its private half is not in a file of rye's", info.Fingerprint).Advise("rotate it where it is, then rye key import it")
	case info.Retired:
		return nil, fault.New(fault.Usage, "rotate key %s: it was retired already", info.Name).Mend("rye key list")
	}
	if err := trust.NoLink(info.Path); err != nil {
		return nil, err
	}
	t := &rotation{s: s, path: info.Path, guarded: info.Protected}
	if t.pub, err = trust.ParsePublicKey(info.SSH); err != nil {
		return nil, err
	}
	t.was = trust.OwnKey{Key: t.pub, Name: info.Name, Namespaces: info.Namespaces}
	t.rep = rye.KeyRotation{Name: info.Name, Old: info.Fingerprint, Path: info.Path, DryRun: q.DryRun}
	if t.rep.Retired, err = custody.RetiredPath(info.Path, s.Today()); err != nil {
		return nil, err
	}
	if next, _, err := trust.Peek(info.Path + custody.NextSuffix); err == nil {
		t.rep.New = next.String() // an interrupted rotation made it
	} else if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if err := t.planKept(ctx, q); err != nil {
		return nil, err
	}
	return t, t.planBindings(ctx, q)
}

// planBindings lists the namespaces of registries that have to learn of it.
func (t *rotation) planBindings(ctx context.Context, q rye.KeyRotateRequest) error {
	for _, reg := range t.s.Trust.Registries() {
		if slices.Contains(reg.Roots, t.pub.Fingerprint()) {
			t.rep.Roots = append(t.rep.Roots, reg.ID)
		}
	}
	for _, b := range t.s.Trust.Bindings() {
		i := slices.IndexFunc(b.Keys, func(k trust.BoundKey) bool { return k.Key == t.pub })
		if i < 0 || b.Keys[i].State != trust.Current {
			continue
		}
		reg, _ := t.s.Trust.Registry(b.Registry)
		n := rye.RotatedBinding{Namespace: b.Namespace, Registry: reg.ID, URL: addressOf(t.s, reg),
			Status: "would-rotate", Text: "add the new key, retire the old one"}
		if q.Local {
			n.Status, n.Text = "left", "the registry still names the old key; rotate without --local"
		}
		t.rep.Namespaces = append(t.rep.Namespaces, n)
		if !q.Local {
			t.rep.SignAgain = append(t.rep.SignAgain, "*:"+b.Namespace+"/*")
		}
	}
	if len(t.rep.SignAgain) > 0 && t.s.Offline {
		return fault.New(fault.Offline, "rotate key %s: registries have to be told", t.rep.Old).Advise("leave out --offline, or rye key rotate --local")
	}
	return ctx.Err()
}

// addressOf prefers the address that the project uses for a registry.
func addressOf(s *Desk, reg trust.Registry) string {
	if s.Project != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
			if c := s.Project.Registries[name]; c.ID == reg.ID {
				return c.URL
			}
		}
	}
	return reg.URL
}

func (t *rotation) question() rye.Question {
	q := rye.Question{Topic: "rotate key", Text: "Replace the key " + t.rep.Name + " by a new one?", Mend: fault.Command("rye key rotate %s --yes", t.rep.Name),
		Lines: []string{"old " + t.rep.Old + ", kept as " + filepath.Base(t.rep.Retired)}}
	q.Lines = append(q.Lines, "it still vouches for "+words.Plural(t.rep.Kept, "file")+" that it signed, in "+strings.Join(t.rep.Places, ", ")+", and for nothing else")
	if t.rep.Elsewhere > 0 {
		q.Lines = append(q.Lines, "not for what it signed in "+words.Plural(t.rep.Elsewhere, "other project")+" of yours: name them with --project, or sign there again")
	}
	for _, n := range t.rep.Namespaces {
		q.Lines = append(q.Lines, n.Namespace+"/ in "+n.URL+": "+n.Text)
	}
	return q
}

// makeKeys opens the old key and makes the new one beside it, or finds the one that
// an interrupted rotation made.
func (t *rotation) makeKeys(q rye.KeyRotateRequest) (err error) {
	if t.old, err = trust.LoadKey(t.path, t.s.Keys.Passphrase); err != nil {
		return err
	}
	next := t.path + custody.NextSuffix
	if t.rep.New != "" {
		t.new, err = trust.LoadKey(next, q.Ask)
		return err
	}
	var secret []byte
	if t.guarded || q.Protect {
		if q.Ask == nil {
			return fault.New(fault.Auth, "rotate key %s: the new key needs a passphrase like the old one, and there is nobody to ask", t.rep.Old).Advise("rye key rotate at a terminal")
		}
		if secret, err = q.Ask(); err != nil {
			return err
		}
	}
	k, err := trust.GenerateKey()
	if err != nil {
		return err
	}
	if err := k.Save(next, secret); err != nil {
		return err
	}
	t.new, t.rep.New = k, k.Public().String()
	return t.s.Keys.Claim(k, t.rep.Name+custody.NextSuffix)
}

// move hands one namespace of a registry over to the new key.
func (t *rotation) move(ctx context.Context, n *rye.RotatedBinding) error {
	if n.Status == "left" {
		return nil
	}
	reg, err := openPinned(t.s, n)
	if err != nil {
		return err
	}
	defer reg.Close()
	t.s.Say("rotating " + n.Namespace)
	if err := reg.Sync(ctx, n.Namespace); err != nil {
		return err
	}
	st, err := reg.View(n.Namespace)
	if err != nil {
		return err
	}
	if err := t.addNew(ctx, reg, st); err != nil {
		return fmt.Errorf("add the new key to %s: %w", n.Namespace, err)
	}
	if st, err = reg.View(n.Namespace); err != nil {
		return err
	}
	if k, ok := st.Key(t.pub.Fingerprint()); ok && k.State == registry.KeyActive {
		if err := reg.RetireKey(ctx, n.Namespace, by(t.new), t.pub.Fingerprint()); err != nil {
			return fmt.Errorf("retire the old key of %s: %w", n.Namespace, err)
		}
	}
	n.Status, n.Text = "rotated", "the new key was added, the old one retired"
	_, err = bind(t.s, reg, n.Namespace)
	return err
}

// addNew publishes the new key with its proof, unless an earlier try did.
func (t *rotation) addNew(ctx context.Context, reg *registry.Registry, st registry.State) error {
	if k, ok := st.Key(t.new.Public().Fingerprint()); ok && k.State == registry.KeyActive {
		return nil
	}
	proof, err := registry.Prove(ctx, t.new, st.Registry, st.Namespace, st.Genesis)
	if err != nil {
		return err
	}
	return reg.AddKey(ctx, st.Namespace, by(t.old), t.new.Public(), proof)
}

// openPinned opens a registry that the trust store holds, in a project or not.
func openPinned(s *Desk, n *rye.RotatedBinding) (*registry.Registry, error) {
	id, err := objects.ParseDigest(n.Registry)
	if err != nil {
		return nil, err
	}
	var known map[string][]registry.Point
	if s.Project != nil {
		for name, c := range s.Project.Registries {
			if c.ID == n.Registry {
				known = floors(s, name)
			}
		}
	}
	return registry.Open(registry.Options{
		URL: n.URL, ID: id, Offline: s.Offline,
		CacheDir: filepath.Join(s.CacheDir, "registries"), StateDir: filepath.Join(s.StateDir, "registries"),
		Transport: transportOptions(s), Floors: known, Now: s.Now,
	})
}

// finish lets the files change places. The signing key's name always has a key:
// first the old one is copied, then the new one is renamed over it. In between the
// old one signs nothing any more, and the same command goes on.
func (t *rotation) finish(ctx context.Context) error {
	if err := trust.CopyKey(t.path, t.rep.Retired); err != nil {
		return err
	}
	kept, err := trust.KeepList(t.s.TrustPath(), t.pub, t.signed.sums)
	if err != nil {
		return err
	}
	err = trust.Update(t.s.TrustPath(), func(st *trust.Store) error {
		var claims []string
		for _, ns := range t.was.Namespaces {
			if b, ok := st.Binding(ns); !ok || slices.Contains(b.Keys, trust.BoundKey{Key: t.new.Public(), State: trust.Current}) {
				claims = append(claims, ns)
			}
		}
		if err := st.AddOwn(t.new.Public(), filepath.Base(t.path), claims...); err != nil {
			return err
		}
		return st.RetireOwn(t.pub, filepath.Base(t.rep.Retired), t.s.Today(), kept)
	})
	if err != nil {
		return err
	}
	return trust.ReplaceKey(t.path+custody.NextSuffix, t.path)
}

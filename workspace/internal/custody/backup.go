package custody

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/objects/trust/backup"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Backup writes the user's decisions about trust, and what this user has seen of registries and
// signers, into a new file that the signing key signs.
func (ks *Keys) Backup(ctx context.Context, q rye.TrustBackupRequest) (*rye.TrustBackup, error) {
	st, err := trust.LoadStore(ks.host.TrustPath())
	if err != nil {
		return nil, err
	}
	key, err := ks.Signer(ctx)
	if err == nil {
		err = ks.Known(st, key)
	}
	if err != nil {
		return nil, err
	}
	text, err := st.Encode()
	if err != nil {
		return nil, err
	}
	c := backup.Content{Trust: string(text)}
	rep := &rye.TrustBackup{Out: q.Out, Signer: key.Public().String(), Denials: len(st.Denials()), Grants: len(st.Grants())}
	for _, o := range st.Own() {
		if o.Retired == "" {
			continue
		}
		rep.Retired++
		list, err := st.KeptList(o.Key)
		switch {
		case fault.Is(err, fault.NotFound): // the list is gone, and the key is trusted for nothing here either
		case err != nil:
			return nil, fault.Wrap(err, "back up the retired key %s", o.Key)
		case list != "":
			c.Kept = append(c.Kept, backup.Kept{Key: o.Key.String(), List: list})
		}
	}
	if c.Registries, c.Projects, err = ks.host.Remembered(); err != nil {
		return nil, err
	}
	rep.Registries, rep.Projects = len(c.Registries), len(c.Projects)
	file, err := backup.Seal(ctx, key, ks.host.Now(), c)
	if err != nil {
		return nil, err
	}
	return rep, trust.WriteSecret(q.Out, file)
}

// Restore merges a backup into the user's decisions. The restrictions come first, so a kill in
// between leaves the safer state.
func Restore(ctx context.Context, s *session.Session, q rye.TrustRestoreRequest) (*rye.TrustRestore, error) {
	r, err := openBackup(s, q)
	if err != nil {
		return nil, err
	}
	restricted, err := r.restrict(s.Trust)
	if err != nil {
		return nil, err
	}
	r.rep.Changes = append(r.rep.Changes, restricted...)
	for _, c := range r.memory.Changes() {
		r.rep.Changes = append(r.rep.Changes, rye.RestoredTrust{Status: "restricted", Kind: c.Kind, Subject: c.Subject, Detail: c.Detail})
	}
	if !q.DryRun {
		if err := r.applyRestrictions(ctx); err != nil {
			return r.rep, err
		}
	}
	after, err := trust.LoadStore(s.TrustPath())
	if err != nil {
		return r.rep, err
	}
	if q.DryRun { // judge the permissions by the store as it would be
		if _, err := r.restrict(after); err != nil {
			return r.rep, err
		}
	}
	return r.rep, r.permissions(ctx, after)
}

// restore is one backup that is merged.
type restore struct {
	s      *session.Session
	q      rye.TrustRestoreRequest
	copied *trust.Store
	lists  map[trust.PublicKey][]objects.Digest // of retired keys
	kept   map[trust.PublicKey]objects.Digest   // the digests of the lists
	memory *session.Returning
	rep    *rye.TrustRestore
}

// openBackup reads a file, checks its signer, and then its content.
func openBackup(s *session.Session, q rye.TrustRestoreRequest) (*restore, error) {
	raw, err := place.Read(q.File, backup.MaxFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "read the backup %s: no such file", q.File)
	}
	if err != nil {
		return nil, fault.Wrap(err, "read the backup %s", q.File)
	}
	sealed, err := backup.Open(raw)
	if err != nil {
		return nil, err
	}
	if err := mayRestore(s.Trust, sealed.Key, q); err != nil {
		return nil, err
	}
	c, err := sealed.Content()
	if err != nil {
		return nil, err
	}
	r := &restore{s: s, q: q, lists: map[trust.PublicKey][]objects.Digest{}, kept: map[trust.PublicKey]objects.Digest{},
		rep: &rye.TrustRestore{File: q.File, Signer: sealed.Key.String(), Made: c.Made, Changes: []rye.RestoredTrust{}, DryRun: q.DryRun}}
	if r.copied, err = trust.ParseStore([]byte(c.Trust)); err != nil {
		return nil, fault.Wrap(err, "read the backup")
	}
	if err := r.readLists(c.Kept); err != nil {
		return nil, err
	}
	r.memory, err = s.Host.Returns(c.Registries, c.Projects)
	return r, err
}

// mayRestore accepts a backup by one of the user's own keys in use, or by the key whose
// fingerprint the user typed.
func mayRestore(st *trust.Store, key trust.PublicKey, q rye.TrustRestoreRequest) error {
	switch {
	case isDenied(st, key):
		return fault.New(fault.Revoked, "restore %s: %s signed it, and you denied that key", q.File, key).Advise("rye trust list")
	case st.IsRetired(key):
		return fault.New(fault.Revoked, "restore %s: %s signed it, and that key is retired", q.File, key).Advise("rye trust backup makes another, with your present key")
	case q.Fingerprint != "" && q.Fingerprint != key.String():
		return fault.New(fault.Untrusted, "restore %s: %s signed it, not %q, which you gave", q.File, key, words.Brief(q.Fingerprint)).
			Advise("rye key show on the other machine prints the fingerprint")
	case q.Fingerprint == "" && !st.IsOwn(key):
		return fault.New(fault.Untrusted, "restore %s: %s signed it, which is not one of your keys here", q.File, key).
			Advise("compare it with rye key show on the other machine, then add --fingerprint <SHA256:...>; or import that key first")
	}
	return nil
}

// readLists parses the lists of retired keys, and compares them with the digests in the store of
// the backup.
func (r *restore) readLists(all []backup.Kept) error {
	for _, o := range r.copied.Own() {
		if o.Retired == "" || o.Kept.IsZero() {
			continue
		}
		for _, k := range all {
			if k.Key != o.Key.String() || objects.DigestOf([]byte(k.List)) != o.Kept {
				continue
			}
			sums, err := trust.ParseKept(k.List)
			if err != nil {
				return fault.Wrap(err, "read the backup")
			}
			r.lists[o.Key], r.kept[o.Key] = sums, o.Kept
		}
	}
	return nil
}

// restrict merges the restrictions of the trust store into st.
func (r *restore) restrict(st *trust.Store) (all []rye.RestoredTrust, err error) {
	done, err := st.Restrict(r.copied, r.memory.Later, func(k trust.PublicKey) objects.Digest { return r.kept[k] })
	for _, d := range done {
		all = append(all, rye.RestoredTrust{Status: "restricted", Kind: d.Kind, Subject: d.Subject, Detail: d.Detail})
	}
	return all, err
}

// applyRestrictions writes what restricts: the trust store first, then the memory of signers and
// registries.
func (r *restore) applyRestrictions(ctx context.Context) error {
	path := r.s.TrustPath()
	now, err := trust.LoadStore(path)
	if err != nil {
		return err
	}
	for _, o := range now.Own() { // a list has no effect until the store names its digest
		if sums, ok := r.lists[o.Key]; ok && o.Retired == "" {
			if _, err := trust.KeepList(path, o.Key, sums); err != nil {
				return err
			}
		}
	}
	err = trust.Update(path, func(st *trust.Store) error {
		_, err := r.restrict(st)
		return err
	})
	if err != nil {
		return err
	}
	return r.memory.Apply(ctx)
}

// permissions finds the permissions that the backup could give back here: pins for the user
// space, and the parts of this directory's statement that it grants to this project. It lists
// them, and with q.Grants asks a person.
func (r *restore) permissions(ctx context.Context, st *trust.Store) error {
	pins := r.pins(st)
	var a *asking
	var parts []trust.Part
	if r.s.Project != nil {
		var err error
		if a, err = readAsking(r.s, nil); err == nil {
			err = a.findContests(ctx)
		}
		if err != nil {
			return err
		}
		parts = r.parts(a, st)
	}
	r.left()
	r.rep.Asked = len(pins) + len(parts)
	if r.rep.Asked == 0 {
		return nil
	}
	var lines []string
	first := len(r.rep.Changes)
	for _, p := range pins {
		r.change("asked", "pin", p.Key.String(), strings.TrimSpace(p.Name+" for "+strings.Join(p.Namespaces, ", ")+" in the user space"))
	}
	for _, p := range parts {
		for _, g := range p.Grants(r.s.Site()) {
			r.change("asked", string(g.Kind), words.Quote(r.s.ProjectDir), g.Value)
		}
	}
	for _, c := range r.rep.Changes[first:] {
		lines = append(lines, strings.TrimSpace(c.Kind+" "+c.Subject+" "+c.Detail))
	}
	if r.q.DryRun || !r.q.Grants {
		return nil
	}
	ask := rye.Question{Topic: "restore permissions", Text: "Give these permissions again, from the backup of " + r.rep.Made + "?", Lines: lines, Person: true,
		Mend: fault.Advice("rye trust restore %s --grants at a terminal", words.Quote(r.q.File))}
	if err := r.s.Ask(ctx, ask); err != nil {
		return err
	}
	if err := r.give(pins, parts, a); err != nil {
		return err
	}
	for i := range r.rep.Changes[first:] {
		r.rep.Changes[first+i].Status = "granted"
	}
	r.rep.Asked = 0
	return nil
}

// pins returns the pins of the backup that are missing here, without keys that this store refuses
// or owns, and without namespaces that belong to others here.
func (r *restore) pins(st *trust.Store) (all []trust.Pin) {
	for _, p := range r.copied.Pins() {
		try := p
		var fresh []string
		_, had := holderOf(st, p.Key.Fingerprint())
		for _, ns := range p.Namespaces {
			if _, bound := st.Binding(ns); !bound && !contains(had, ns) {
				fresh = append(fresh, ns)
			}
		}
		if try.Namespaces = fresh; len(fresh) == 0 || st.IsOwn(p.Key) {
			continue
		}
		if isDenied(st, p.Key) {
			r.change("skipped", "pin", p.Key.String(), "the key is denied")
			continue
		}
		all = append(all, try)
	}
	return all
}

func contains(list []string, one string) bool {
	for _, s := range list {
		if s == one {
			return true
		}
	}
	return false
}

// parts returns the missing parts of this directory's statement whose grants the backup holds for
// this project, at whatever place. A part that something here speaks against is skipped: a denied
// key, a removal since the grant, or another owner.
func (r *restore) parts(a *asking, st *trust.Store) (all []trust.Part) {
	for _, p := range a.statement.Missing(st, r.s.Site(), r.s.Stack.Declared) {
		grants := p.Grants(r.s.Site())
		why := ""
		for i, g := range grants {
			old, ok := r.granted(g)
			if !ok {
				why = "not in the backup"
				break
			}
			grants[i].At = old.At
			if _, removed := r.s.Stack.Declared.Removal(st, grants[i]); removed {
				why = "its signer was removed since"
			}
		}
		switch {
		case why == "not in the backup" || len(grants) == 0:
			continue
		case why == "" && p.Kind == trust.GrantSigner && isDenied(st, p.Signer.Key):
			why = "the key is denied"
		case why == "" && a.conflict([]trust.Part{p}) != nil:
			why = "the namespace has another owner in another directory of this project"
		}
		if why != "" {
			r.change("skipped", string(p.Kind), words.Quote(r.s.ProjectDir), why)
			continue
		}
		all = append(all, p)
	}
	return all
}

// granted returns the grant of the backup that equals g, except for its place and time. The
// earliest counts: every later removal ends it.
func (r *restore) granted(g trust.Grant) (old trust.Grant, ok bool) {
	for _, x := range r.copied.Grants() {
		if x.Project == g.Project && x.Kind == g.Kind && x.Value == g.Value && (!ok || x.At.Before(old.At)) {
			old, ok = x, true
		}
	}
	return old, ok
}

// left counts the grants of the backup for other projects.
func (r *restore) left() {
	seen := map[string]bool{}
	for _, g := range r.copied.Grants() {
		if g.Kind == trust.GrantProject && g.Project != r.s.Site().Project {
			seen[g.Project] = true
		}
	}
	r.rep.Left = len(seen)
}

func (r *restore) change(status, kind, subject, detail string) {
	r.rep.Changes = append(r.rep.Changes, rye.RestoredTrust{Status: status, Kind: kind, Subject: subject, Detail: detail})
}

// give records what the person agreed to. A grant keeps its old time, so that a removal which is
// seen later ends it.
func (r *restore) give(pins []trust.Pin, parts []trust.Part, a *asking) error {
	return trust.Update(r.s.TrustPath(), func(st *trust.Store) error {
		for _, p := range pins {
			if err := st.PinMore(p); err != nil {
				return err
			}
		}
		for _, p := range parts {
			if p.Kind == trust.GrantRegistry {
				if err := meet(st, p.Registry); err != nil {
					return err
				}
			}
			for _, g := range p.Grants(a.s.Site()) {
				old, _ := r.granted(g)
				if err := st.Grant(old.At, g); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

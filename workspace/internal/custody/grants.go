package custody

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// grantEntries lists the grants, each with its directory where a record names it.
func grantEntries(h *session.Host, st *trust.Store) []rye.TrustEntry {
	paths := map[string]string{}
	if known, err := h.Records.All(); err == nil {
		for _, k := range known {
			paths[k.Key] = k.Path
		}
	}
	var all []rye.TrustEntry
	for _, g := range st.Grants() {
		e := rye.TrustEntry{Kind: string(g.Kind), Subject: g.Project, Place: g.Place, Path: paths[g.Place], Project: g.Project}
		what, of := g.Cut()
		switch g.Kind {
		case trust.GrantProject:
			e.Detail = "your own keys are trusted"
		case trust.GrantSigner:
			e.Namespaces = []string{what}
			if k, err := trust.ParsePublicKey(of); err == nil {
				e.Subject = k.String()
			}
		case trust.GrantScope:
			e.Namespaces, e.Subject = []string{what}, of
		case trust.GrantRegistry:
			e.Subject, e.Detail = what, of
		case trust.GrantOverride:
			e.Subject, e.Detail = what, "by "+of
		case trust.GrantPatch:
			if c, ok := g.Contribution(); ok {
				e.Subject, e.Detail = c.Ref.String(), c.Sum.String()+" by "+c.Key.String()
			}
		case trust.GrantOrigin:
			e.Subject, e.Detail = g.Value, "may be contacted"
		case trust.GrantOwner:
			e.Subject, e.Detail = g.Value, "may own the directory"
		}
		e.Detail = strings.TrimSpace(e.Detail + " in " + whereIs(e))
		all = append(all, e)
	}
	return all
}

// whereIs names the directory of a grant: by its path, where a record has it.
func whereIs(e rye.TrustEntry) string {
	if e.Path != "" {
		return e.Path
	}
	return "project " + e.Project + ", place " + e.Place
}

// Override lets this directory replace an item of a reserved or bound namespace by one that
// the user's keys signed. It declares that in rye.yaml, for others who share the project.
// Only the user's trust store can grant this.
func Override(ctx context.Context, s *session.Session, q rye.TrustOverrideRequest) (*rye.TrustChange, error) {
	if err := q.Ref.Check(); err != nil {
		return nil, err
	}
	c := &rye.TrustChange{Status: "may override", Subject: q.Ref.String(), Where: []string{"project " + s.Project.Project}, DryRun: q.DryRun}
	if q.Remove {
		c.Status = "may no longer override"
	}
	var grants []trust.Grant
	err := update(s.Host, q.DryRun, func(st *trust.Store) error {
		if q.Remove {
			return forgetOverride(st, s.Site(), q.Ref)
		}
		if !st.Accepted(s.Site()) {
			return fault.New(fault.Untrusted, "override %s: you have not accepted this directory", q.Ref).Mend("rye trust")
		}
		grants = overridesByOwn(st, s.Site(), q.Ref)
		if len(grants) == 0 {
			return fault.New(fault.NotFound, "override %s: you have no key that could sign it", q.Ref).Mend("rye key new")
		}
		return st.Grant(s.Now(), grants...)
	})
	if err != nil || q.DryRun {
		return c, err
	}
	return c, declareOverrides(ctx, s, []objects.Ref{q.Ref}, grants)
}

// OverrideAll is Override for many items at once.
func OverrideAll(ctx context.Context, s *session.Session, refs []objects.Ref) error {
	var grants []trust.Grant
	err := update(s.Host, false, func(st *trust.Store) error {
		if !st.Accepted(s.Site()) {
			return fault.New(fault.Untrusted, "override %s: you have not accepted this directory", refs[0]).Mend("rye trust")
		}
		for _, ref := range refs {
			grants = append(grants, overridesByOwn(st, s.Site(), ref)...)
		}
		return st.Grant(s.Now(), grants...)
	})
	if err != nil {
		return err
	}
	return declareOverrides(ctx, s, refs, grants)
}

// MayOverride reports whether one of the user's keys may override an item of a reserved
// namespace in this directory.
func MayOverride(s *session.Session, ref objects.Ref) bool {
	return slices.ContainsFunc(s.Trust.Grants(), func(g trust.Grant) bool {
		what, _ := g.Cut()
		return g.Site == s.Site() && g.Kind == trust.GrantOverride && what == ref.String()
	})
}

// declareOverrides writes the overrides of items by the user's keys into rye.yaml, and removes
// outdated ones.
func declareOverrides(ctx context.Context, s *session.Session, refs []objects.Ref, grants []trust.Grant) error {
	alone, release, err := s.Alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	p := alone.Project.Edit()
	of := map[string]bool{}
	for _, ref := range refs {
		of[ref.String()] = true
	}
	p.Overrides = slices.DeleteFunc(p.Overrides, func(o session.Override) bool {
		fp, err := objects.ParseFingerprint(o.Signer)
		own, _ := s.Trust.Key(fp)
		return err == nil && of[o.Ref] && s.Trust.IsOwn(own)
	})
	for _, g := range grants {
		what, of := g.Cut()
		p.Overrides = append(p.Overrides, session.Override{Ref: what, Signer: of})
	}
	slices.SortFunc(p.Overrides, func(a, b session.Override) int {
		return cmp.Or(strings.Compare(a.Ref, b.Ref), strings.Compare(a.Signer, b.Signer))
	})
	if slices.Equal(p.Overrides, alone.Project.Overrides) {
		return nil
	}
	return p.Write(s.ProjectDir)
}

// overridesByOwn lets each of the user's keys in use override an item.
func overridesByOwn(st *trust.Store, at trust.Site, ref objects.Ref) []trust.Grant {
	var all []trust.Grant
	for _, o := range st.Own() {
		if o.Retired == "" {
			all = append(all, at.Override(ref, o.Key.Fingerprint()))
		}
	}
	return all
}

func forgetOverride(st *trust.Store, at trust.Site, ref objects.Ref) error {
	n := st.Ungrant(func(g trust.Grant) bool {
		what, _ := g.Cut()
		return g.Site == at && g.Kind == trust.GrantOverride && what == ref.String()
	})
	if n == 0 {
		return fault.New(fault.NotFound, "override %s: this directory does not override it", ref).Advise("rye trust list shows the grants")
	}
	return nil
}

// Forget takes grants back. These are the grants to a key, in every directory; a part of this
// directory's statement, named by its digest; or all grants to a project, in each directory
// that has its id. The project is a genesis id, a directory, or "" for this one.
func Forget(h *session.Host, q rye.TrustForgetRequest) (*rye.TrustChange, error) {
	match, subject, err := forgotten(h, q.Subject)
	if err != nil {
		return nil, err
	}
	c := &rye.TrustChange{Status: "forgotten", Subject: subject, DryRun: q.DryRun}
	return c, update(h, q.DryRun, func(st *trust.Store) error {
		n := st.Ungrant(match)
		if n == 0 {
			return fault.New(fault.NotFound, "forget %s: it has no grant", words.Brief(subject)).Advise("rye trust list shows the grants")
		}
		c.Detail = fmt.Sprintf("%s removed", words.Plural(n, "grant"))
		return nil
	})
}

// forgotten returns the grants that a person means.
func forgotten(h *session.Host, subject string) (match func(trust.Grant) bool, name string, err error) {
	if fp, err := objects.ParseFingerprint(subject); err == nil {
		return func(g trust.Grant) bool { return grantedTo(g, fp) }, subject, nil
	}
	if d, err := objects.ParseDigest(subject); err == nil {
		return forgottenPart(h, d)
	}
	id, err := projectID(h, subject)
	return func(g trust.Grant) bool { return g.Project == id }, id, err
}

// grantedTo reports whether a grant trusts a key with something.
func grantedTo(g trust.Grant, fp objects.Fingerprint) bool {
	_, of := g.Cut()
	switch g.Kind {
	case trust.GrantSigner:
		k, err := trust.ParsePublicKey(of)
		return err == nil && k.Fingerprint() == fp
	case trust.GrantOverride:
		return of == fp.String()
	case trust.GrantPatch:
		c, ok := g.Contribution()
		return ok && c.Key.Fingerprint() == fp
	}
	return false
}

// forgottenPart finds the part of this directory's statement that has a digest. The digest of
// the whole statement stands for all grants here.
func forgottenPart(h *session.Host, d objects.Digest) (func(trust.Grant) bool, string, error) {
	s, err := h.OfAnyOwner().OpenProject()
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	a, err := readAsking(s, nil)
	if err != nil {
		return nil, "", err
	}
	var grants []trust.Grant
	for _, p := range a.parts {
		if p.Digest() == d {
			grants = p.Grants(s.Site())
		}
	}
	return func(g trust.Grant) bool {
		g.At = time.Time{} // equal grants are equal without it
		return d == a.statement.Digest() && g.Site == s.Site() || slices.Contains(grants, g)
	}, d.String(), nil
}

func projectID(h *session.Host, project string) (string, error) {
	if len(project) == 32 && strings.Trim(project, "0123456789abcdef") == "" {
		return project, nil
	}
	dir := h.ProjectDir
	if project != "" {
		dir = filepath.Clean(project)
	}
	if dir == "" {
		return "", fault.New(fault.Usage, "forget: no project named").Advise("rye trust forget <project>")
	}
	c, err := session.ReadProject(dir)
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "forget %q: not a digest, a fingerprint, a project's id or its directory", words.Brief(dir)).
			Advise("rye trust list, or rye trust forget without an argument for the present project")
	}
	if err != nil {
		return "", err
	}
	return c.Project, nil
}

// where lists the places in which a key is to be trusted.
type where struct {
	user bool        // the user space
	site *trust.Site // this project's directory; nil for no project
}

// whereIn parses a space: user, project, or "" for both, as far as there is a project here.
func whereIn(s *session.Session, space string) (where, error) {
	w := where{user: space != "project"}
	switch {
	case space != "" && space != "user" && space != "project":
		return w, fault.New(fault.Usage, "space %q: want user or project", words.Brief(space))
	case space == "user", space == "" && s.Project == nil:
		return w, nil
	case s.Project == nil:
		return w, s.NoProject()
	}
	at := s.Site()
	w.site = &at
	return w, nil
}

// pin trusts a key in these places, in addition to its other namespaces.
func (w where) pin(s *session.Session, st *trust.Store, p trust.Pin) error {
	if w.user {
		if err := st.PinMore(p); err != nil {
			return err
		}
	}
	if w.site == nil {
		return nil
	}
	if st.IsOwn(p.Key) {
		return fault.New(fault.Usage, "pin %s: it is your own key", p.Key)
	}
	var grants []trust.Grant
	for _, ns := range p.Namespaces {
		grants = append(grants, w.site.Signer(ns, p.Key))
	}
	return st.GrantAgain(s.Now(), s.Stack.Declared, grants...)
}

// declare lists the key in the project. Only declared keys are trusted there.
func (w where) declare(s *session.Session, p trust.Pin) error {
	if w.site == nil {
		return nil
	}
	return NoteSigner(s.Host, p.Key, p.Namespaces...)
}

// places names these places for people.
func (w where) places() []string {
	var all []string
	if w.user {
		all = append(all, "user space")
	}
	if w.site != nil {
		all = append(all, "project "+w.site.Project)
	}
	return all
}

// unpin takes back a key's grants for namespaces in a directory, all of them if none is given,
// and returns the namespaces.
func unpin(st *trust.Store, at trust.Site, fp objects.Fingerprint, namespaces []string) (had []string) {
	st.Ungrant(func(g trust.Grant) bool {
		ns, text := g.Cut()
		if g.Site != at || g.Kind != trust.GrantSigner || len(namespaces) > 0 && !slices.Contains(namespaces, ns) {
			return false
		}
		k, err := trust.ParsePublicKey(text)
		if err != nil || k.Fingerprint() != fp {
			return false
		}
		had = append(had, ns)
		return true
	})
	return had
}

package rye

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// AllowedSigners returns the text for git's gpg.ssh.allowedSignersFile: every key
// that this machine believes, so that git verify-commit agrees with rye.
func (r *Rye) AllowedSigners(ctx context.Context) (string, error) {
	st, err := trust.LoadStore(r.trustPath())
	if err != nil {
		return "", err
	}
	keys := map[string]trust.PublicKey{}
	note := func(k trust.PublicKey) {
		if keyState(st, k) != "denied" {
			keys[author(k).Email] = k
		}
	}
	for _, k := range st.Own() {
		note(k.Key)
	}
	for _, p := range st.Pins() {
		note(p.Key)
	}
	for _, b := range st.Bindings() {
		for _, k := range b.Keys {
			if k.State != trust.Revoked {
				note(k.Key)
			}
		}
	}
	return trust.AllowedSigners(keys), nil
}

// TrustList lists everything that the trust store believes or denies.
func (r *Rye) TrustList(ctx context.Context) ([]TrustEntry, error) {
	st, err := trust.LoadStore(r.trustPath())
	if err != nil {
		return nil, err
	}
	return beliefs(st), nil
}

// beliefs lists a trust store for people, in the order in which it is written.
func beliefs(st *trust.Store) []TrustEntry {
	var all []TrustEntry
	add := func(kind, subject, detail string, namespaces ...string) {
		all = append(all, TrustEntry{Kind: kind, Subject: subject, Detail: detail, Namespaces: namespaces})
	}
	for _, k := range st.Own() {
		add("own", k.Key.String(), k.Name, k.Namespaces...)
	}
	for _, p := range st.Pins() {
		where := p.Projects
		if p.User {
			where = append([]string{"user space"}, where...)
		}
		add("key", p.Key.String(), strings.TrimSpace(p.Name+" in "+strings.Join(where, ", ")), p.Namespaces...)
	}
	for _, p := range st.Projects() {
		add("project", p, "accepted")
	}
	for _, r := range st.Registries() {
		add("registry", r.ID, r.URL)
	}
	for _, b := range st.Bindings() {
		add("namespace", b.Namespace, fmt.Sprintf("bound to registry %s, %s", b.Registry, plural(len(b.Keys), "key")), b.Namespace)
	}
	for _, d := range st.Denials() {
		subject := d.Digest.String()
		if !d.Key.IsZero() {
			subject = d.Key.String()
		}
		add("deny", subject, d.Reason)
	}
	for _, o := range st.Overrides() {
		add("override", o.Ref.String(), "in project "+o.Project)
	}
	return all
}

// changeTrust changes the trust store, or only tries to.
func (r *Rye) changeTrust(dryRun bool, change func(*trust.Store) error) error {
	if !dryRun {
		return trust.Update(r.trustPath(), change)
	}
	st, err := trust.LoadStore(r.trustPath()) // a copy in memory, never saved
	if err != nil {
		return err
	}
	return change(st)
}

// TrustDeny refuses a key (SHA256:...) or the file with a digest (sha256:...) from
// now on, wherever it comes from.
func (r *Rye) TrustDeny(ctx context.Context, subject, reason string, dryRun bool) (*TrustChange, error) {
	fp, d, err := keyOrDigest("deny", subject)
	if err != nil {
		return nil, err
	}
	c := &TrustChange{Status: "denied", Subject: subject, Detail: reason, DryRun: dryRun}
	return c, r.changeTrust(dryRun, func(st *trust.Store) error {
		if fp.IsZero() {
			return st.DenyDigest(d, reason)
		}
		c.Name, c.Namespaces = holderOf(st, fp)
		return st.DenyKey(fp, reason)
	})
}

// TrustAllow takes TrustDeny back.
func (r *Rye) TrustAllow(ctx context.Context, subject string, dryRun bool) (*TrustChange, error) {
	fp, d, err := keyOrDigest("allow", subject)
	if err != nil {
		return nil, err
	}
	c := &TrustChange{Status: "allowed", Subject: subject, DryRun: dryRun}
	return c, r.changeTrust(dryRun, func(st *trust.Store) error {
		i := slices.IndexFunc(st.Denials(), func(x trust.Denial) bool { return x.Key == fp && x.Digest == d })
		if i < 0 {
			return fault.New(fault.NotFound, "allow %s: it was not denied", subject).Mend("rye trust list")
		}
		c.Detail = st.Denials()[i].Reason
		st.Allow(fp, d)
		return nil
	})
}

func keyOrDigest(verb, subject string) (fp objects.Fingerprint, d objects.Digest, err error) {
	if fp, err = objects.ParseFingerprint(subject); err == nil {
		return fp, d, nil
	}
	if d, err = objects.ParseDigest(subject); err == nil {
		return fp, d, nil
	}
	return fp, d, fault.New(fault.Usage, "%s %q: want a key's SHA256:... or a file's sha256:...", verb, clipText(subject))
}

// TrustOverride lets this project replace an item of a reserved or bound
// namespace by its own. Only the user's trust store can say so. remove takes it back.
func (r *Rye) TrustOverride(ctx context.Context, ref string, remove, dryRun bool) (*TrustChange, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rf, err := objects.ParseRef(ref)
	if err != nil {
		return nil, err
	}
	c := &TrustChange{Status: "may override", Subject: rf.String(), Where: []string{"project " + s.project.Project}, DryRun: dryRun}
	if remove {
		c.Status = "may no longer override"
	}
	return c, r.changeTrust(dryRun, func(st *trust.Store) error {
		if !remove {
			return st.Override(s.project.Project, rf)
		}
		if !slices.Contains(st.Overrides(), trust.Override{Project: s.project.Project, Ref: rf}) {
			return fault.New(fault.NotFound, "override %s: this project does not override it", rf).Mend("rye trust list")
		}
		st.RemoveOverride(s.project.Project, rf)
		return nil
	})
}

// TrustForget takes back that a project was accepted, with its overrides and what
// keys were pinned for there. The project is a genesis id, a directory, or "" for
// this one.
func (r *Rye) TrustForget(ctx context.Context, project string, dryRun bool) (*TrustChange, error) {
	id, err := r.projectID(project)
	if err != nil {
		return nil, err
	}
	c := &TrustChange{Status: "forgotten", Subject: id, DryRun: dryRun}
	return c, r.changeTrust(dryRun, func(st *trust.Store) error {
		if !st.Accepted(id) {
			return fault.New(fault.NotFound, "forget project %s: it was not accepted", clipText(id)).Mend("rye trust list")
		}
		before := len(st.Overrides()) + len(st.Pins())
		st.ForgetProject(id)
		c.Detail = fmt.Sprintf("with %s that counted only there", plural(before-len(st.Overrides())-len(st.Pins()), "entry"))
		return nil
	})
}

func (r *Rye) projectID(project string) (string, error) {
	if len(project) == 32 && strings.Trim(project, "0123456789abcdef") == "" {
		return project, nil
	}
	dir := r.o.Project
	if project != "" {
		dir = filepath.Clean(project)
	}
	if dir == "" {
		return "", fault.New(fault.Usage, "forget: which project?").Advise("rye trust forget <project>")
	}
	c, err := readProject(dir)
	if err != nil {
		return "", err
	}
	return c.Project, nil
}

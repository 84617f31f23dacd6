package custody

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// AllowedSigners returns the text for git's gpg.ssh.allowedSignersFile: every key that this
// machine trusts, so that git verify-commit agrees with rye.
func AllowedSigners(h *session.Host) (string, error) {
	st, err := trust.LoadStore(h.TrustPath())
	if err != nil {
		return "", err
	}
	keys := map[string]trust.PublicKey{}
	note := func(k trust.PublicKey) {
		if !isDenied(st, k) {
			keys[Author(k).Email] = k
		}
	}
	for _, k := range st.Own() {
		note(k.Key)
	}
	for _, p := range st.Pins() {
		note(p.Key)
	}
	for _, g := range st.Grants() {
		_, of := g.Cut()
		if k, err := trust.ParsePublicKey(of); g.Kind == trust.GrantSigner && err == nil {
			note(k)
		}
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

// Beliefs lists every entry of the trust store, in the order of the file.
func Beliefs(h *session.Host) ([]rye.TrustEntry, error) {
	st, err := trust.LoadStore(h.TrustPath())
	if err != nil {
		return nil, err
	}
	var all []rye.TrustEntry
	add := func(kind, subject, detail string, namespaces ...string) {
		all = append(all, rye.TrustEntry{Kind: kind, Subject: subject, Detail: detail, Namespaces: namespaces})
	}
	for _, k := range st.Own() {
		add("own", k.Key.String(), k.Name, k.Namespaces...)
	}
	for _, p := range st.Pins() {
		add("key", p.Key.String(), strings.TrimSpace(p.Name+" in the user space"), p.Namespaces...)
	}
	all = append(all, grantEntries(h, st)...)
	for _, r := range st.Registries() {
		add("registry", r.ID, r.URL)
	}
	for _, b := range st.Bindings() {
		add("namespace", b.Namespace, fmt.Sprintf("bound to registry %s, %s", b.Registry, words.Plural(len(b.Keys), "key")), b.Namespace)
	}
	for _, d := range st.Denials() {
		subject := d.Digest.String()
		if !d.Key.IsZero() {
			subject = d.Key.String()
		}
		if d.Registry != "" {
			add("deny", subject, fmt.Sprintf("by registry %s: %s", d.Registry, d.Reason), d.Namespace)
			continue
		}
		add("deny", subject, d.Reason)
	}
	return all, nil
}

// update changes the trust store, or with dryRun a copy in memory.
func update(h *session.Host, dryRun bool, change func(*trust.Store) error) error {
	if !dryRun {
		return trust.Update(h.TrustPath(), change)
	}
	st, err := trust.LoadStore(h.TrustPath())
	if err != nil {
		return err
	}
	return change(st)
}

// Deny denies a key (SHA256:...) or the file with a digest (sha256:...) from now on, from any
// source.
func Deny(h *session.Host, q rye.TrustDenyRequest) (*rye.TrustChange, error) {
	fp, d, err := keyOrDigest("deny", q.Subject)
	if err != nil {
		return nil, err
	}
	c := &rye.TrustChange{Status: "denied", Subject: q.Subject, Detail: q.Reason, DryRun: q.DryRun}
	return c, update(h, q.DryRun, func(st *trust.Store) error {
		if fp.IsZero() {
			return st.DenyDigest(d, q.Reason)
		}
		c.Name, c.Namespaces = holderOf(st, fp)
		return st.DenyKey(fp, q.Reason)
	})
}

// Allow takes a denial back, and forgets earlier contents of .ai/denied about the digest, or
// of .ai/denied-keys about the key. A missing denial is fault.NotFound.
func Allow(ctx context.Context, h *session.Host, q rye.TrustAllowRequest) (*rye.TrustChange, error) {
	fp, d, err := keyOrDigest("allow", q.Subject)
	if err != nil {
		return nil, err
	}
	kept, listed, file := false, false, objects.TakenFile
	if !d.IsZero() && h.ProjectDir != "" {
		if kept, listed, err = h.TakenBack(ctx, d, !q.DryRun); err != nil {
			return nil, err
		}
	}
	if !fp.IsZero() && h.ProjectDir != "" {
		file = objects.DeniedKeysFile
		if kept, listed, err = h.ForgetKeyDenials(ctx, fp, !q.DryRun); err != nil {
			return nil, err
		}
	}
	c := &rye.TrustChange{Status: "allowed", Subject: q.Subject, DryRun: q.DryRun}
	err = update(h, q.DryRun, func(st *trust.Store) error {
		i := slices.IndexFunc(st.Denials(), func(x trust.Denial) bool { return x.Key == fp && x.Digest == d && x.Registry == "" })
		if i < 0 && !kept && !listed {
			return fault.New(fault.NotFound, "allow %s: it was not denied", q.Subject).Advise("rye trust list")
		}
		if i >= 0 {
			c.Detail = st.Denials()[i].Reason
			st.Allow(fp, d)
		}
		return nil
	})
	if err == nil && listed {
		c.Status, c.Detail = "still denied", ".ai/"+file+" lists it; remove its line there"
	}
	return c, err
}

func keyOrDigest(verb, subject string) (fp objects.Fingerprint, d objects.Digest, err error) {
	if fp, err = objects.ParseFingerprint(subject); err == nil {
		return fp, d, nil
	}
	if d, err = objects.ParseDigest(subject); err == nil {
		return fp, d, nil
	}
	return fp, d, fault.New(fault.Usage, "%s %q: want a key's SHA256:... or a file's sha256:...", verb, words.Brief(subject))
}

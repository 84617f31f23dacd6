package author

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Unpin takes back a key's pins in the user space and its grants in this project, for all or
// some namespaces. In a project it also removes the signer for everyone, as far as the
// user's key owns the namespaces: by signed lines in .ai/allowed_signers.
func Unpin(ctx context.Context, s *custody.Desk, q rye.TrustUnpinRequest) (*rye.TrustChange, error) {
	c, fp, err := custody.Unpin(ctx, s.Session, q)
	if s.Project == nil || fp.IsZero() || err != nil && !fault.Is(err, fault.NotFound) {
		return c, err
	}
	signers, rerr := custody.Signers(s.Host)
	if rerr != nil {
		return c, cmpNotFound(err, c, rerr)
	}
	namespaces := countsFor(s, signers, fp, q.Namespaces)
	if len(namespaces) == 0 {
		return c, err
	}
	c.Subject, c.Namespaces = fp.String(), slices.Compact(slices.Sorted(slices.Values(append(c.Namespaces, namespaces...))))
	lines, why := dismiss(ctx, s, objects.SignerRemoved, fp, namespaces)
	if len(lines) == 0 {
		return c, cmpNotFound(err, c, why)
	}
	c.Where = []string{".ai/" + session.SignersFile}
	if q.DryRun {
		return c, nil
	}
	for _, l := range lines {
		signers.Remove(l)
	}
	if err := custody.WriteSigners(s.Host, signers); err != nil {
		return c, err
	}
	s.Remember(ctx, lines...)
	if why != nil {
		c.Detail = why.Error()
	}
	return c, nil
}

// cmpNotFound returns err, or notes in c why the signer was removed for this user only.
func cmpNotFound(err error, c *rye.TrustChange, why error) error {
	if err == nil && why != nil {
		c.Detail = "for you only: " + why.Error()
	}
	if err != nil && why != nil {
		return why
	}
	return err
}

// countsFor returns the namespaces that a key is declared for in the project, was granted
// here, or is bound to. Only namespaces in asked are returned; nil asks for all.
func countsFor(s *custody.Desk, signers *trust.Signers, fp objects.Fingerprint, asked []string) (all []string) {
	if k, ok := signers.Key(fp); ok {
		all = signers.Of(k)
	}
	for _, g := range s.Site().Among(s.Trust.Grants()) {
		ns, of := g.Cut()
		if k, err := trust.ParsePublicKey(of); g.Kind == trust.GrantSigner && err == nil && k.Fingerprint() == fp {
			all = append(all, ns)
		}
	}
	for _, b := range s.Trust.Bindings() {
		if s.Site().RegistryOf(s.Trust, b.Namespace) == b.Registry && slices.ContainsFunc(b.Keys, func(k trust.BoundKey) bool { return k.Key.Fingerprint() == fp }) {
			all = append(all, b.Namespace)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(ns string) bool {
		return trust.Reserved(ns) || len(asked) > 0 && !slices.Contains(asked, ns)
	})
}

// dismiss signs lines against a key, for the namespaces from which the user's key may remove
// it. The error names the other namespaces; it is returned beside the lines.
func dismiss(ctx context.Context, s *custody.Desk, kind objects.DismissalKind, fp objects.Fingerprint, namespaces []string) (lines []objects.Dismissal, err error) {
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, ns := range namespaces {
		if !s.Trust.MayDismiss(key.Public(), kind, ns, fp, s.Site()) {
			others = append(others, ns+"/")
			continue
		}
		l, err := trust.Dismiss(ctx, key, kind, ns, fp, s.Project.Project, s.Now())
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	if len(others) > 0 {
		err = fault.New(fault.Untrusted, "your key %s does not own %s here", key.Public(), strings.Join(others, ", "))
	}
	return lines, err
}

// denyKeyShared denies a key for the user, and for everyone in namespaces that the user's key
// owns: by signed lines in .ai/denied-keys.
func denyKeyShared(ctx context.Context, s *custody.Desk, fp objects.Fingerprint, q rye.TrustDenyRequest) (*rye.TrustChange, error) {
	signers, err := custody.Signers(s.Host)
	if err != nil {
		return nil, err
	}
	namespaces := q.Namespaces
	if len(namespaces) == 0 {
		namespaces = countsFor(s, signers, fp, nil)
	}
	for _, ns := range namespaces {
		if err := session.CheckNamespace(ns); err != nil {
			return nil, err
		}
	}
	if len(namespaces) == 0 {
		return nil, fault.New(fault.NotFound, "deny %s: it is trusted for no namespace in this project", fp).Advise("rye trust deny %s --share --namespace <name>", fp)
	}
	lines, err := dismiss(ctx, s, objects.KeyDenied, fp, namespaces)
	if err != nil && (len(lines) == 0 || len(q.Namespaces) > 0) {
		return nil, fault.Wrap(err, "deny %s", fp).With(fault.CommandOf("rye", "trust", "deny", fp.String()))
	}
	q.Share = false
	c, err := custody.Deny(s.Host, q)
	if err != nil {
		return nil, err
	}
	c.Where, c.Namespaces = []string{".ai/" + objects.DeniedKeysFile}, nil
	for _, l := range lines {
		c.Namespaces = append(c.Namespaces, l.Namespace)
	}
	if q.DryRun {
		return c, nil
	}
	if err := s.DenyKeys(lines...); err != nil {
		return c, err
	}
	s.Remember(ctx, lines...)
	return c, nil
}

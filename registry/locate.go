package registry

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/registry/oplog"
)

// The root may locate a namespace in another repository, so that one repository need not
// hold all of them. That repository has the branches ns/<namespace> and content/<namespace>,
// and no say: who owns the namespace, and what its log must pass through, is the root's word
// as before. Where it is is the root's word, too, and a proposal: it is asked only after the
// user agreed to the address.

// A LocatedError says that the root locates a namespace at an address that the user did not
// agree to (code Untrusted). Show it to a person; with consent, open the registry with a
// MayAsk that allows it. Far says why consent alone is not enough: then the address has to be
// named by the user.
type LocatedError struct {
	Namespace string
	URL       string
	Since     uint64 // the operation of the root that said so
	Far       string
}

func (e *LocatedError) Error() string {
	text := fmt.Sprintf("namespace %s: the registry's root locates it at %s, an address that you did not agree to", e.Namespace, e.URL)
	if e.Far != "" {
		text += " (" + e.Far + ")"
	}
	return text
}

// writtenAt returns where a namespace ("": the root) is written: the first address, or where
// the root locates it.
func (r *Registry) writtenAt(ctx context.Context, namespace string) (*mirror, error) {
	if namespace == "" || r.o.To != "" {
		return r.mirrors[0], nil
	}
	_, root, err := r.known(ctx)
	if err != nil {
		return r.mirrors[0], nil // nothing is known of the root yet, or the cache is gone
	}
	g := root.Grant(namespace)
	if g == nil || g.Located == "" {
		return r.mirrors[0], nil
	}
	return r.located(g)
}

// located returns the repository that the root locates a namespace in.
func (r *Registry) located(g *oplog.Grant) (*mirror, error) {
	known := slices.Concat(r.mirrors, r.elsewhere)
	if i := slices.IndexFunc(known, func(m *mirror) bool { return m.url == g.Located }); i >= 0 {
		return known[i], nil
	}
	if r.o.MayAsk == nil || !r.o.MayAsk(g.Located) {
		e := &LocatedError{Namespace: g.Namespace, URL: g.Located, Since: g.Since, Far: tooFar(r.mirrors, g.Located)}
		return nil, fault.New(fault.Untrusted, "%w", e).Advise("rye fetch asks whether to")
	}
	m, err := dialMirror(g.Located, r.o.Transport)
	if err != nil {
		return nil, err
	}
	r.elsewhere = append(r.elsewhere, m)
	return m, nil
}

// tooFar says why an address that a root gives is none that a yes to a question should allow:
// whoever holds a registry on the network could have a reader open files, start ssh, or ask
// hosts inside of the reader's network. What is at a place that the user named already is
// fine, and so is https to a host with a name. "" is nothing.
func tooFar(agreed []*mirror, text string) string {
	there, err := url.Parse(text)
	if err != nil {
		return "it cannot be read"
	}
	for _, m := range agreed {
		if here := placeOf(m.url); here.scheme == there.Scheme && here.host == there.Host {
			return ""
		}
	}
	if there.Scheme != "https" {
		return "a root elsewhere may only name https://"
	}
	if kind := hosts.Inside(there.Hostname()); kind != "" {
		return "the host is not on the public network: " + kind
	}
	return ""
}

type whereabouts struct{ scheme, host string }

// placeOf returns the scheme and host, with its port, of an address that the user named, in
// the forms that transport.Dial takes.
func placeOf(text string) whereabouts {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return whereabouts{strings.ToLower(scheme), host[strings.LastIndexByte(host, '@')+1:]}
	}
	if at, _, ok := strings.Cut(text, ":"); ok && !strings.Contains(at, "/") && len(at) > 1 {
		return whereabouts{"ssh", at[strings.LastIndexByte(at, '@')+1:]} // git's short form
	}
	return whereabouts{"file", ""}
}

// Locates reports whether the root, as last synced, locates a namespace at an address.
func (r *Registry) Locates(ctx context.Context, url string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, root, err := r.known(ctx)
	return err == nil && root.Locates(url)
}

// MayLocate refuses to locate a namespace where its log is not: whoever follows the root
// there would be shown less than before. What nobody claimed may lie in any repository that
// answers. The namespace was synced.
func (r *Registry) MayLocate(ctx context.Context, namespace, url string) error {
	if err := oplog.CheckRepository(url); err != nil {
		return fault.New(fault.Usage, "locate %s: %w", namespace, err)
	}
	m, err := dialMirror(url, r.o.Transport)
	if err != nil {
		return err
	}
	defer m.remote.Close()
	refs, err := m.remote.Refs(ctx, branchOf(namespace), contentOf(namespace))
	if err != nil {
		return err
	}
	s, err := r.View(namespace)
	if fault.Is(err, fault.NotFound) || err == nil && s.Seq == 0 {
		return nil // nobody has claimed it
	}
	if err != nil {
		return err
	}
	if refs[branchOf(namespace)] != s.At || refs[contentOf(namespace)].IsZero() {
		return fault.New(fault.Rollback, "locate %s at %s: its log is not there as far as operation %d, with its content", namespace, url, s.Seq).
			Mend("rye registry mirror push --to %s --namespace %s", url, namespace)
	}
	return nil
}

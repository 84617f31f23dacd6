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

// The root may locate a namespace in another repository, so that one repository need not hold all
// of them. That repository has the branches ns/<namespace> and content/<namespace>, and no
// authority: the root still decides who owns the namespace and what its log must contain. Its
// address comes from the root too, as a proposal: rye contacts it only after the user agreed.

// A LocatedError reports that the root locates a namespace at an address that the user did not
// agree to (code Untrusted). Show it to a person; with consent, open the registry with a MayAsk
// that allows the address. A non-empty Far explains why consent is not enough: then the user has to
// name the address.
type LocatedError struct {
	Namespace string
	URL       string
	Since     uint64 // the root operation with the address
	Far       string
}

func (e *LocatedError) Error() string {
	text := fmt.Sprintf("namespace %s: the registry's root locates it at %s, an address that you have not accepted", e.Namespace, e.URL)
	if e.Far != "" {
		text += " (" + e.Far + ")"
	}
	return text
}

// writtenAt returns where a namespace ("": the root) is written: the first address, or the one
// where the root locates it.
func (r *Registry) writtenAt(ctx context.Context, namespace string) (*mirror, error) {
	if namespace == "" || r.o.To != "" || r.o.Copy != "" {
		return r.mirrors[0], nil
	}
	_, root, err := r.known(ctx)
	if err != nil {
		return r.mirrors[0], nil // the root is not known yet, or the cache is gone
	}
	g := root.Grant(namespace)
	if g == nil || g.Located == "" {
		return r.mirrors[0], nil
	}
	return r.located(g)
}

// located returns the repository in which the root locates a namespace.
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

// tooFar explains why a yes to a question must not allow an address given by a root; "" means that
// it may. Otherwise the holder of a remote registry could make readers open files, start ssh, or
// contact hosts inside their network. An address on a host that the user already named may be
// allowed, and so may https to a public host.
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

// placeOf returns the scheme and host, with port, of an address that the user named, in the forms
// that transport.Dial accepts.
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

// MayLocate refuses to locate a namespace where its log is incomplete, because readers who follow
// the root there would see less than before. An unclaimed namespace may be located in any
// repository that answers. The namespace must be synced.
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
		return nil // it is unclaimed
	}
	if err != nil {
		return err
	}
	if refs[branchOf(namespace)] != s.At || refs[contentOf(namespace)].IsZero() {
		return fault.New(fault.Rollback, "locate %s at %s: that address lacks its log up to operation %d, or its content", namespace, url, s.Seq).
			Mend("rye registry mirror push --to %s --namespace %s", url, namespace)
	}
	return nil
}

package origin

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive/web"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// maxRedirects bounds the redirects on the way to one file.
const maxRedirects = 5

// visitor fetches files from web sites, under the address rules of package web. It sends no
// credentials. It contacts only the hosts that a person agreed to, also by redirects, and reaches an
// address that is not public only where a person typed that host.
type visitor struct {
	d     *custody.Desk
	typed string          // host:port that a person typed
	agree map[string]bool // host:port

	// more asks whether rye may follow a redirect to another public host; nil follows none.
	more func(ctx context.Context, from, to *url.URL) error
}

// visit returns a visitor for the address of a site.
func visit(d *custody.Desk, address string, typed bool) (*visitor, error) {
	if d.Offline {
		return nil, fault.New(fault.Offline, "%s: it must be asked over the network", words.Brief(address)).Advise("leave out --offline")
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s is no URL", words.Quote(words.Brief(address)))
	}
	v := &visitor{d: d, agree: map[string]bool{hostPort(u): true}}
	if typed {
		v.typed = hostPort(u)
	}
	return v, v.check(u)
}

// hostPort names the server of a URL.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port)
}

// check refuses a URL that leads elsewhere than to a host that was agreed to, or unencrypted over a
// network.
func (v *visitor) check(u *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return fault.New(fault.Denied, "%s is not https", words.Quote(words.Brief(u.Scheme+":")))
	case u.User != nil:
		return fault.New(fault.Denied, "an address with credentials in it")
	case u.Scheme == "http" && !loopback(host):
		return fault.New(fault.Denied, "http://%s is not encrypted", words.Brief(u.Host)).Advise("use https")
	case hosts.Inside(host) != "" && hostPort(u) != v.typed:
		return fault.New(fault.Denied, "%s is not a public host (%s), and no person named it", words.Quote(words.Brief(u.Host)), hosts.Inside(host))
	case !v.agree[hostPort(u)]:
		return fault.New(fault.Denied, "%s is another host than those you agreed to", words.Quote(words.Brief(u.Host)))
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// page is a file that was fetched.
type page struct {
	body []byte
	url  string // after redirects
}

// get fetches a file of at most limit bytes. Errors are NotFound, Auth, Network, Denied and Limit.
func (v *visitor) get(ctx context.Context, address string, limit int64, whole time.Duration) (*page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s is no URL", words.Quote(words.Brief(address)))
	}
	from := u
	for range maxRedirects + 1 {
		if u != from {
			if err := v.follow(ctx, from, u); err != nil {
				return nil, err
			}
		} else if err := v.check(u); err != nil {
			return nil, err
		}
		res, err := web.Do(ctx, web.Request{Method: http.MethodGet, URL: u.String(), MaxBody: limit, Whole: whole, Idle: 20 * time.Second, First: 20 * time.Second}, v.options(u))
		if err != nil {
			return nil, fault.New(fault.CodeOf(err), "%s", err) // its hints are for tools
		}
		switch at := words.Brief(u.Host); {
		case res.Status >= 300 && res.Status < 400 && res.Header["location"] != "":
			to, err := url.Parse(res.Header["location"])
			if err != nil {
				return nil, fault.New(fault.Network, "%s redirects to an address that cannot be read", at)
			}
			if to = u.ResolveReference(to); u.Scheme == "https" && to.Scheme == "http" {
				return nil, fault.New(fault.Denied, "%s redirects from https to http", at)
			}
			to.Fragment, to.RawFragment = "", ""
			u = to
			continue
		case res.Status == http.StatusNotFound || res.Status == http.StatusGone:
			return nil, fault.New(fault.NotFound, "%s: %s", words.Brief(u.String()), res.Says())
		case res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden:
			return nil, fault.New(fault.Auth, "%s: %s", words.Brief(u.String()), res.Says())
		case res.Status != http.StatusOK:
			return nil, fault.New(fault.Network, "%s: %s", words.Brief(u.String()), res.Says())
		case res.Truncated:
			return nil, fault.New(fault.Limit, "%s: more than %d bytes", words.Brief(u.String()), limit)
		}
		return &page{res.Body, u.String()}, nil
	}
	return nil, fault.New(fault.Limit, "%s: more than %d redirects", words.Brief(from.String()), maxRedirects)
}

// follow refuses a redirect that leads elsewhere, unless a person agrees to another public host.
func (v *visitor) follow(ctx context.Context, from, to *url.URL) error {
	err := v.check(to)
	if err == nil {
		return nil
	}
	at := hostPort(to)
	if v.more == nil || v.agree[at] || to.Scheme != "https" {
		return v.elsewhere(from, to, err)
	}
	v.agree[at] = true
	if err = v.check(to); err == nil { // nothing but the host was wrong
		if err = v.more(ctx, from, to); err == nil {
			return nil
		}
		delete(v.agree, at)
		return err
	}
	delete(v.agree, at)
	return v.elsewhere(from, to, err)
}

// elsewhere refuses a redirect. A public host can be named instead.
func (v *visitor) elsewhere(from, to *url.URL, why error) error {
	err := fault.New(fault.Denied, "%s redirects to %s: %w", words.Brief(from.Host), words.Quote(words.Brief(to.Host)), why)
	if src, perr := objects.ParseSource(to.String()); perr == nil && (src.Kind == objects.SourceSite || src.Kind == objects.SourceArchive) && to.Scheme == "https" && hosts.Inside(to.Hostname()) == "" {
		return err.With(fault.CommandOf("rye", "add", src.Address))
	}
	return err
}

// options lets the exchange reach an inside address only for the host that a person typed, and for
// the user's own proxy.
func (v *visitor) options(u *url.URL) web.Options {
	proxy := ""
	if v.d.Proxy != nil {
		if p, err := v.d.Proxy(&http.Request{URL: u}); err == nil && p != nil {
			proxy = p.Hostname()
		}
	}
	return web.Options{Now: v.d.Now, Roots: v.d.Roots, Proxy: v.d.Proxy, Allow: func(host string, to netip.AddrPort) bool {
		return proxy != "" && host == proxy || hostPort(u) == v.typed && hosts.Inside(u.Hostname()) != ""
	}}
}

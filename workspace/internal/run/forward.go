package run

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/network/forward"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/internal/ports"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// forward prepares the ways out of a program's own network, to the hosts that its needs name and to
// the user's mirrors. nil is none: the program has no network, or the machine's. The caller closes
// it.
func (j *job) forward(s *custody.Desk, call *primitive.Call) (*forward.Forwarder, error) {
	box := &call.Sandbox
	if box.Tier < primitive.S3 || !box.Own && (box.Net || len(box.Listen) == 0) {
		return nil, nil
	}
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	o := forward.Options{Needs: j.plan.Net(), Allow: rules.Net.Allows, Deny: rules.Net.Denies, Upstream: j.upstream(s), Roots: s.Roots, Publish: box.Listen,
		Ours: func(port uint16) bool { return ports.Claimed(s.StateDir, port) }}
	for _, set := range j.networkOf(s).Admitted(o.Needs) {
		o.Mirrors = append(o.Mirrors, set.Hosts...)
	}
	f, err := forward.New(o)
	if err != nil {
		return nil, fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	for name, value := range f.Env() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(call.Env)), func(set string) bool { return strings.EqualFold(set, name) }) {
			if call.Network == nil {
				call.Network = map[string]string{}
			}
			call.Network[name] = value
		}
	}
	if err := f.Publish(); err != nil {
		f.Close()
		return nil, fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	call.Doors = primitive.Doors{Listen: f.Listen(), Serve: f.Serve, Tunnel: f.Proxy(), Names: f.Names()}
	if len(box.Listen) > 0 {
		call.Doors.Enter = f.Enter
		s.Tell(publishedAt(box.Listen))
	}
	return f, nil
}

// publishedAt says where a run's server is reached.
func publishedAt(ports []uint16) string {
	var all []string
	for _, p := range ports {
		all = append(all, "localhost:"+strconv.Itoa(int(p)))
	}
	return "this run serves at " + strings.Join(all, ", ") + ", for every program of this machine, until it ends"
}

// upstream returns the user's proxies: those of the environment, or else the first one that a file of
// the user's sets. Files set none for hosts of this network.
func (j *job) upstream(s *custody.Desk) func(host string, port uint16) *url.URL {
	found := j.settings(s)
	first, err := url.Parse(found.Upstream())
	if err != nil || first.Host == "" {
		return nil
	}
	environment := slices.ContainsFunc(s.Env, func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && (strings.EqualFold(name, "http_proxy") || strings.EqualFold(name, "https_proxy"))
	})
	return func(host string, port uint16) *url.URL {
		if !environment || s.Proxy == nil {
			if hosts.Inside(host) != "" {
				return nil
			}
			return first
		}
		to := &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}
		if port == 80 {
			to.Scheme = "http"
		}
		via, _ := s.Proxy(&http.Request{URL: to})
		return via
	}
}

// usesOf lists the hosts that a run reached. It is complete after the forwarder's end.
func usesOf(f *forward.Forwarder) (all []rye.HostUse) {
	if f == nil {
		return nil
	}
	for _, u := range f.Uses() {
		all = append(all, rye.HostUse(u))
	}
	return all
}

// unchecked says, for a run that made them, that the user's proxy resolved the names of hosts.
func (j *job) unchecked(s *custody.Desk, f *forward.Forwarder) []string {
	if !f.Proxied() {
		return nil
	}
	if named := j.unforeseen(s); named != nil {
		return named
	}
	return []string{"addresses of hosts: your proxy resolves the names of your mirrors, so rye cannot check where they lead"}
}

// unforeseen says before a run that the user's proxy will resolve the names of some of its hosts. It
// names the first proxy, without user and password. A pattern counts as a host that it covers.
func (j *job) unforeseen(s *custody.Desk) []string {
	via := j.upstream(s)
	if via == nil {
		return nil
	}
	for _, need := range j.plan.Net() {
		host, port := need, uint16(443)
		if i := strings.LastIndexByte(need, ':'); i > strings.LastIndexByte(need, ']') {
			n, _ := strconv.ParseUint(need[i+1:], 10, 16)
			host, port = need[:i], uint16(n)
		}
		if host == "*" {
			host = "*.example.org"
		}
		host = strings.Replace(strings.Trim(host, "[]"), "*", "x", 1)
		if to := via(host, port); need != "unix" && hosts.Inside(host) == "" && to != nil {
			return []string{"addresses of hosts: your proxy " + words.Quote((&url.URL{Scheme: to.Scheme, Host: to.Host}).String()) + " resolves their names, so rye cannot check where they lead"}
		}
	}
	return nil
}

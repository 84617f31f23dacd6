package run

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/primitive/web"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// For a caller other than a person, requests go only to agreed hosts. The tool's signer agrees
// by naming the host in the tool, or the user agrees once for each host and project. Text that
// a model reads can make it send its knowledge anywhere.

// meetHost asks about the first host of a request, unless it was agreed to before.
func (j *job) meetHost(ctx context.Context, s *custody.Desk) error {
	if j.caller.IsPerson() || j.plan.Primitive() != chain.HTTP || signedHost(j.plan) {
		return nil
	}
	r, _, err := j.exchange(s)
	if err != nil {
		return err
	}
	host, port, err := hostOf(r.URL)
	if err != nil {
		return fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	a, err := agreed(s)
	if thing := hostThing(s, host); err != nil || web.Covers(named(r.Hosts), withoutPort(host), port) || a.Covers(thing) {
		return err
	}
	if err := j.ask(ctx, s, j.hostQuestion(&r, host)); err != nil || j.q.DryRun {
		return err
	}
	return remember(ctx, s, func(a consent.Agreed) consent.Agreed { return withAll(a, []consent.Thing{hostThing(s, host)}) })
}

// holdToHosts limits a request, redirects included, to agreed hosts.
func (j *job) holdToHosts(s *custody.Desk, r *web.Request) error {
	names := named(r.Hosts)
	if j.caller.IsPerson() || len(names) == len(r.Hosts) {
		return nil
	}
	a, err := agreed(s)
	if err != nil {
		return err
	}
	host, _, err := hostOf(r.URL)
	if err != nil {
		return fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	thing := hostThing(s, host)
	r.Hosts = append(append(names, host), a.Paths(consent.Host, thing.For, thing.In)...)
	return nil
}

// named are the entries for a single host, without wildcards.
func named(hosts []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return strings.Contains(h, "*") })
}

func (j *job) hostQuestion(r *web.Request, host string) rye.Question {
	ref := j.plan.Tool().Ref
	return rye.Question{
		Topic: "execute " + ref.String(),
		Text:  "It sends a request to a new host for this project: " + host + ". Allow this request and later ones to the host?",
		Lines: []string{r.Method + " " + r.URL, "asked by " + j.caller.Who(), "the request sends everything in the address; a yes covers every request of this project to that host"},
		Mend:  fault.Command("rye policy allow %s --host %s", ref, host),
	}
}

// hostThing is a host in the form of this project's agreements.
func hostThing(s *custody.Desk, host string) consent.Thing {
	return consent.Thing{What: consent.Host, Path: host, For: s.Place.Key, In: placeOf(s, s.ProjectDir), Sum: objects.DigestOf([]byte(host))}
}

// signedHost reports whether the signed text of the chain alone determines the host of its
// request.
func signedHost(plan *chain.Plan) bool {
	tmpl, declared := plan.Asks()
	if declared == nil {
		return true // without hosts of its own a tool lets no one choose one
	}
	_, rest, ok := strings.Cut(tmpl, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return ok && rest != "" && !strings.ContainsAny(tmpl[:len(tmpl)-len(rest)], "{$") && !strings.ContainsAny(rest, "{$")
}

// hostOf returns the host of a URL with its port, in lower case: "example.org:443".
func hostOf(text string) (host string, port uint16, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", 0, fault.New(fault.Usage, "%q is not a web address", text)
	}
	number := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if u.Port() != "" {
		number = u.Port()
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fault.New(fault.Usage, "%q has no valid port", text)
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return name + ":" + number, uint16(n), nil
}

func withoutPort(host string) string {
	return strings.Trim(host[:strings.LastIndexByte(host, ':')], "[]")
}

// namedHosts parses a person's hosts: with or without a port, or a whole address.
func namedHosts(s *custody.Desk, list []string) (all []consent.Thing, err error) {
	for _, text := range list {
		whole := text
		if !strings.Contains(text, "://") {
			whole = "https://" + text
		}
		host, _, err := hostOf(whole)
		if err != nil || !strings.Contains(text, "://") && strings.ContainsAny(text, "/?#@*") {
			return nil, fault.New(fault.Usage, "%q: want a host, with or without :port", text)
		}
		all = append(all, hostThing(s, host))
	}
	return all, nil
}

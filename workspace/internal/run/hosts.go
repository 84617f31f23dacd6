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
)

// For a caller that is no person a request goes to hosts that somebody agreed to: whoever
// signed the tool, by naming the host in it, or the user, once for each host and project.
// What a model reads can tell it to send what it knows anywhere.

// meetHosts holds a request to such hosts, redirects included, and asks about a new one.
func meetHosts(ctx context.Context, s *Desk, j *job, r *web.Request) error {
	if j.caller.IsPerson() {
		return nil
	}
	a, err := agreed(s)
	if err != nil {
		return err
	}
	host, port, err := hostOf(r.URL)
	if err != nil {
		return fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	named := slices.DeleteFunc(slices.Clone(r.Hosts), func(h string) bool { return strings.Contains(h, "*") })
	thing := hostThing(s, host)
	if !signedHost(j.plan) && !web.Covers(named, withoutPort(host), port) && !a.Covers(thing) {
		if err := s.Ask(ctx, hostQuestion(j, r, host)); err != nil {
			return err
		}
		if !j.q.DryRun {
			if err := remember(ctx, s, func(a consent.Agreed) consent.Agreed { return withAll(a, []consent.Thing{thing}) }); err != nil {
				return err
			}
		}
	}
	if len(named) < len(r.Hosts) { // every host, of which those are left that were agreed to
		r.Hosts = append(append(named, host), a.Paths(consent.Host, thing.For, thing.In)...)
	}
	return nil
}

func hostQuestion(j *job, r *web.Request, host string) rye.Question {
	ref := j.plan.Tool().Ref
	return rye.Question{
		Topic: "execute " + ref.String(),
		Text:  "It sends a request to a host that nobody agreed to in this project: " + host + ". Send it, and later ones?",
		Lines: []string{r.Method + " " + r.URL, "asked by " + j.caller.Name(), "what the address holds is sent along; agreed to is every request of this project to that host"},
		Mend:  fault.Command("rye policy allow %s --host %s", ref, host),
	}
}

// hostThing is a host as an agreement of this project names it.
func hostThing(s *Desk, host string) consent.Thing {
	return consent.Thing{What: consent.Host, Path: host, For: s.Place.Key, In: placeOf(s, s.ProjectDir), Sum: objects.DigestOf([]byte(host))}
}

// signedHost reports whether the signed text of the chain alone says to which host its
// request goes.
func signedHost(plan *chain.Plan) bool {
	tmpl, declared := plan.Asks()
	if declared == nil {
		return true // without hosts of its own a tool cannot let anybody choose one
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
		return "", 0, fault.New(fault.Usage, "%q is not the address of a page", text)
	}
	number := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if u.Port() != "" {
		number = u.Port()
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fault.New(fault.Usage, "%q has no port that can be asked", text)
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

// namedHosts reads hosts as a person names them: with or without a port, or a whole address.
func namedHosts(s *Desk, list []string) (all []consent.Thing, err error) {
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

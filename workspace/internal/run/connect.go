package run

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// A person agrees once to each host that a program of another signer connects to. The agreement is for
// one tool with its present plan, one host and one project. A signature with the user's own key agrees to
// the hosts of a tool.

// anyHost is the need of every host. It is also the limit on a system that cannot hold a program to
// the hosts in its needs.
const anyHost = "*"

// ways are the hosts that a program's needs name, and the ones without an agreement.
type ways struct {
	named []string // as host:port
	bind  bool     // the program is held to them here
	unmet []consent.Thing
}

// hostsIn returns the hosts in needs, each with its port. Sockets of this machine are no hosts.
func hostsIn(n objects.Needs) (all []string) {
	for _, h := range n.Net {
		switch {
		case h == "unix":
			continue
		case h != anyHost && (strings.HasSuffix(h, "]") || !strings.Contains(h, ":")):
			h += ":443"
		}
		if h = strings.ToLower(h); !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

// connects reports whether a plan's own program, and not rye, makes its connections.
func connects(plan *chain.Plan) bool { return plan.Primitive() == chain.Subprocess || plan.Starts() }

// loose returns the hosts that a program's needs name where this system cannot hold it to them: then
// it reaches every host. nil is a program that is held to its hosts, or that names none.
func loose(s *custody.Desk, plan *chain.Plan) ([]string, error) {
	named := hostsIn(plan.Needs())
	if len(named) == 0 || !connects(plan) {
		return nil, nil
	}
	least, err := tier(s, plan)
	if err != nil || plan.Own(least) {
		return nil, err
	}
	return named, nil
}

// waysOf returns the hosts of a run, compared with the user's agreements, with approvals of the whole
// run, and with net.allow of the policy. Agreements to every host count for the person alone: for
// other callers "*" is a matter of the tier, each time.
func (j *job) waysOf(s *custody.Desk) (w ways, err error) {
	if w.named = hostsIn(j.plan.Needs()); len(w.named) == 0 || !connects(j.plan) || !byOthers(s, j.plan) {
		return ways{}, nil
	}
	open, err := loose(s, j.plan)
	if err != nil {
		return w, err
	}
	want := w.named
	if w.bind = open == nil; !w.bind {
		want = []string{anyHost}
	}
	now, _, err := subjectOf(s, j.plan, j.params)
	if err != nil {
		return w, err
	}
	rules, err := s.Rules()
	if err != nil {
		return w, err
	}
	ref, least := j.plan.Tool().Ref, command.T2 // of every host
	if w.bind {
		least = command.T0
	}
	if rules.Remembers(ref, policy.Subject(now), least) { // the approval is for the same plan, with its hosts
		return w, nil
	}
	a, err := agreed(s)
	if err != nil {
		return w, err
	}
	for _, host := range want {
		t := connectThing(s, ref, host, now.Plan)
		if a.Covers(t) && (w.bind || j.caller.IsPerson()) || allowed(rules.Net, host) {
			continue
		}
		w.unmet = append(w.unmet, t)
	}
	return w, nil
}

// byOthers reports whether a link of the chain has another signer than the user and the standard
// library.
func byOthers(s *custody.Desk, plan *chain.Plan) bool {
	return slices.ContainsFunc(plan.Links, func(l chain.Link) bool {
		return l.Space != objects.System && !s.Trust.IsOwn(l.Verified.Key())
	})
}

// connectThing is a host in the form of the agreements about one tool, in this project.
func connectThing(s *custody.Desk, ref objects.Ref, host string, plan objects.Digest) consent.Thing {
	return consent.Thing{What: consent.Connect, Path: host, For: ref.String(), In: placeOf(s, s.ProjectDir), Sum: plan}
}

// allowed reports whether net.allow of the policy names a host with its port.
func allowed(n policy.Net, host string) bool {
	i := strings.LastIndexByte(host, ':')
	if i < 0 {
		return false
	}
	port, err := strconv.ParseUint(host[i+1:], 10, 16)
	if err != nil || strings.Contains(host[:i], "*") {
		return false
	}
	name := strings.Trim(host[:i], "[]")
	addr, _ := netip.ParseAddr(name) // the zero one is in no range
	return n.Allows(name, netip.AddrPortFrom(addr, uint16(port)))
}

// meetWays asks about the hosts without an agreement, in one question. At a terminal a yes is for this
// run, and "always" is remembered. A yes for another caller is remembered where the hosts bind. A run
// that a person just agreed to, with its hosts shown, is not asked about again.
func (j *job) meetWays(ctx context.Context, s *custody.Desk) error {
	if j.verdict != nil && j.verdict.Asked {
		return nil
	}
	w, err := j.waysOf(s)
	if err != nil || len(w.unmet) == 0 {
		return err
	}
	keep := w.bind && !j.caller.IsPerson()
	q := rye.Question{Text: w.question(), Lines: w.lines(j), Mend: w.mend(j.plan.Tool().Ref)}
	switch {
	case j.q.DryRun:
	case j.caller.IsPerson():
		q.Standing = "this tool until it changes, " + strings.Join(pathsOf(w.unmet), " and ") + ", in this project"
		if w.bind {
			q.Standing += "; also for clients and threads"
		}
		q.Always = func() { keep = true }
	case keep:
		q.Lines = append(q.Lines, "a yes        also covers later calls of this tool in this project, until it changes")
	}
	if err := j.ask(ctx, s, q); err != nil || !keep || j.q.DryRun {
		return err
	}
	return remember(ctx, s, func(a consent.Agreed) consent.Agreed { return withAll(a, w.unmet) })
}

func (w ways) question() string {
	named := strings.Join(w.named, " and ")
	switch {
	case w.bind:
		return "It connects to " + strings.Join(pathsOf(w.unmet), " and ") + ". Allow this?"
	case slices.Contains(w.named, anyHost):
		return "It connects to any host. Allow this?"
	}
	return "Its needs name " + named + ". On this system the limit is any host. Allow any host?"
}

// lines are what a question about the hosts shows beside the run itself.
func (w ways) lines(j *job) (lines []string) {
	for _, t := range w.unmet {
		host := t.Path
		if host == anyHost {
			host = "any"
		}
		lines = append(lines, "host         "+host)
	}
	if about := j.plan.Tool().Meta.Description; about != "" {
		lines = append(lines, "purpose      "+quoted(words.Clip(about, 300))+", as its signer states it")
	}
	return lines
}

// limitLine says that named hosts do not bind here; "" where they do.
func limitLine(named []string) string {
	if len(named) == 0 || slices.Contains(named, anyHost) {
		return ""
	}
	return "limit        any host: this system cannot hold a program to " + strings.Join(named, ", ")
}

// mend is the command that agrees for good.
func (w ways) mend(ref objects.Ref) fault.Hint {
	typed := []string{"rye", "policy", "allow", ref.String()}
	for _, t := range w.unmet {
		typed = append(typed, "--host", t.Path)
	}
	return fault.CommandOf(typed...)
}

func pathsOf(things []consent.Thing) (all []string) {
	for _, t := range things {
		if t.Path == anyHost {
			t.Path = "any host"
		}
		all = append(all, t.Path)
	}
	return all
}

// connectThings returns the agreements for the hosts that a person names on the command line, as far
// as the tool connects to them itself. rest are the other ones.
func connectThings(s *custody.Desk, plan *chain.Plan, list []string) (things []consent.Thing, rest []string, err error) {
	if !connects(plan) {
		return nil, list, nil
	}
	open, err := loose(s, plan)
	if err != nil {
		return nil, nil, err
	}
	named := hostsIn(plan.Needs())
	if open != nil {
		named = []string{anyHost}
	}
	with, err := runsWith(s, plan)
	if err != nil {
		return nil, nil, err
	}
	sum := chain.DigestOf(plan, with)
	for _, host := range list {
		is := hostsIn(objects.Needs{Net: []string{host}})
		if len(is) == 0 || !slices.Contains(named, is[0]) {
			if open != nil {
				return nil, nil, fault.New(fault.NotFound, "%s: this system cannot hold it to %q: the limit is any host", plan.Tool().Ref, host).
					Mend("rye policy allow %s --host '*'", plan.Tool().Ref)
			}
			return nil, nil, fault.New(fault.NotFound, "%s: its needs do not name %q, but [%s]", plan.Tool().Ref, host, strings.Join(named, " "))
		}
		things = append(things, connectThing(s, plan.Tool().Ref, is[0], sum))
	}
	return things, nil, nil
}

// agreedHosts returns the agreements of a tool to the hosts that a person names on the command line.
// rest are the hosts without one.
func agreedHosts(s *custody.Desk, q rye.PolicyConsentRequest) (things []consent.Thing, rest []string, err error) {
	a, err := agreed(s)
	if err != nil {
		return nil, nil, err
	}
	all, here := a.All(consent.Connect), placeOf(s, s.ProjectDir)
	for _, host := range q.Hosts {
		i := slices.IndexFunc(all, func(t consent.Thing) bool {
			return t.For == q.Ref.String() && t.In.Key == here.Key && slices.Contains(hostsIn(objects.Needs{Net: []string{host}}), t.Path)
		})
		if i < 0 {
			rest = append(rest, host)
			continue
		}
		things = append(things, all[i])
	}
	return things, rest, nil
}

// connections returns the remembered hosts of tools, of every directory.
func connections(s *custody.Desk) (all []rye.ApprovalInfo, err error) {
	a, err := agreed(s)
	for _, t := range a.All(consent.Connect) {
		all = append(all, connectionInfo(s, t))
	}
	return all, err
}

func connectionInfo(s *custody.Desk, t consent.Thing) rye.ApprovalInfo {
	info := rye.ApprovalInfo{Ref: t.For, Plan: t.Sum.String(), Host: t.Path}
	info.Status, info.Directory = standsIn(s, t.In)
	return info
}

// forgetConnections takes back the hosts of one tool, in this project or everywhere.
func forgetConnections(ctx context.Context, s *custody.Desk, q rye.ForgetRequest) (gone []rye.ApprovalInfo, err error) {
	here := placeOf(s, s.ProjectDir)
	is := func(t consent.Thing) bool { return t.For == q.Ref.String() && (q.Everywhere || t.In.Key == here.Key) }
	a, err := agreed(s)
	if err != nil || !slices.ContainsFunc(a.All(consent.Connect), is) {
		return nil, err
	}
	err = remember(ctx, s, func(a consent.Agreed) consent.Agreed {
		gone = nil
		for _, t := range a.All(consent.Connect) {
			if !is(t) {
				continue
			}
			info := connectionInfo(s, t)
			info.Status = "forgotten"
			a, gone = a.Without(t), append(gone, info)
		}
		return a
	})
	return gone, err
}

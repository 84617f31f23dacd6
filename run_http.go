package rye

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/chain/primitive/web"
	"github.com/rye-os/rye/fault"
)

// runHTTP makes the one exchange that the plan asks for. Events of a stream go to
// the caller as they come, one JSON value a line.
func (s *session) runHTTP(ctx context.Context, plan *chain.Plan, params chain.Params, q ExecuteRequest, w *stopwatch) (deed, error) {
	r, o, err := s.exchange(plan, params)
	if err != nil {
		return deed{}, err
	}
	if s.r.o.Offline {
		return deed{}, fault.New(fault.Offline, "execute %s: it asks %s, and rye was told to stay offline", plan.Tool().Ref, r.URL)
	}
	if q.Stdout != nil {
		o.Event = func(ev web.Event) error {
			line, err := json.Marshal(ev)
			q.Stdout(append(line, '\n'))
			return err
		}
	}
	w.lap(&w.parts.Rest)
	res, err := web.Do(ctx, r, o)
	w.lap(&w.parts.Run)
	if err != nil {
		return deed{}, fault.Wrap(err, "execute %s", plan.Tool().Ref)
	}
	d := deed{Outcome: chain.ReadResponse(res), Truncated: res.Truncated}
	if !d.OK {
		d.Exit = 1
	}
	return d, nil
}

// exchange turns a plan into a request, and says what that may reach.
func (s *session) exchange(plan *chain.Plan, params chain.Params) (web.Request, web.Options, error) {
	rules, err := s.rules()
	if err != nil {
		return web.Request{}, web.Options{}, err
	}
	in := chain.Inputs{Params: params, ProjectPath: s.r.o.Project, UserSpace: s.r.o.User}
	in.Vars, in.Weak = s.named()
	r, err := plan.Request(in)
	o := s.reach(rules.Net)
	o.Secrets = in.Vars
	return r, o, err
}

// named fills the variables that a request may name: from the user's environment
// as far as that was agreed to, else from the files that were.
func (s *session) named() (vars map[string]string, weak map[string]bool) {
	vars, weak = maps.Clone(s.outside.vars), maps.Clone(s.outside.weak)
	if vars == nil {
		vars = map[string]string{}
	}
	for _, kv := range s.outside.env {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
		delete(weak, name)
	}
	return vars, weak
}

// reach is what the policy lets requests of rye reach.
func (s *session) reach(n policy.Net) web.Options {
	o := web.Options{Now: s.r.o.Now, Roots: s.r.o.Roots,
		Allow: func(host string, to netip.AddrPort) bool { return n.Allows(host, to) },
		Deny:  func(host string, to netip.AddrPort) bool { return n.Denies(host, to) },
	}
	if n.Proxy {
		o.Proxy = s.r.o.Proxy
	}
	return o
}

// rehearse is a run that stops before the deed: every check is made, nothing is
// sent or started, and the answer says what would be.
func (s *session) rehearse(plan *chain.Plan, params chain.Params, locked bool, w *stopwatch) (*ExecuteResult, error) {
	res := s.planned(plan, locked, w)
	if plan.Primitive() != chain.HTTP {
		return res, nil
	}
	r, o, err := s.exchange(plan, params)
	if err == nil {
		err = web.Check(r, o)
	}
	if err != nil {
		return nil, fault.Wrap(err, "execute %s", plan.Tool().Ref)
	}
	res.Data, err = json.Marshal(sketch(r))
	return res, err
}

// sketch shows a request, secrets as their names.
func sketch(r web.Request) map[string]any {
	m := map[string]any{"method": r.Method, "url": r.URL}
	show := func(key string, list []web.Field) {
		out := map[string]string{}
		for _, f := range list {
			out[f.Name] = f.Value.String()
		}
		if len(out) > 0 {
			m[key] = out
		}
	}
	show("query", r.Query)
	show("headers", r.Header)
	if r.Body != nil {
		m["body"] = r.Body.String()
	}
	return m
}

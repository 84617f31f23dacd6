package run

import (
	"context"
	"encoding/json"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/primitive/web"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// runHTTP makes the plan's one exchange. It passes events of a stream to the caller as they
// arrive, one JSON value a line.
func (j *job) runHTTP(ctx context.Context, s *custody.Desk) (outcome, error) {
	r, o, err := j.exchange(s)
	if err == nil {
		err = j.holdToHosts(s, &r)
	}
	if err != nil {
		return outcome{}, err
	}
	if s.Offline {
		return outcome{}, fault.New(fault.Offline, "execute %s: it needs %s, and rye is offline (--offline)", j.plan.Tool().Ref, r.URL)
	}
	if j.q.Stdout != nil {
		o.Event = func(ev web.Event) error {
			line, err := json.Marshal(ev)
			j.q.Stdout(append(line, '\n'))
			return err
		}
	}
	j.watch.lap(&j.watch.parts.Rest)
	res, err := web.Do(ctx, r, o)
	j.watch.lap(&j.watch.parts.Run)
	if err != nil {
		return outcome{}, fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	done := outcome{Outcome: chain.ReadResponse(res), Truncated: res.Truncated}
	if !done.OK {
		done.Exit = 1
	}
	return done, nil
}

// exchange turns a plan into a request, with the policy's limits on its hosts.
func (j *job) exchange(s *custody.Desk) (web.Request, web.Options, error) {
	rules, err := s.Rules()
	if err != nil {
		return web.Request{}, web.Options{}, err
	}
	in := chain.Inputs{Params: j.params, ProjectPath: s.ProjectDir, UserSpace: s.UserDir}
	in.Vars, in.Weak = j.unsigned.named()
	o := web.Options{Now: s.Now, Roots: s.Roots, Secrets: in.Vars, Allow: rules.Net.Allows, Deny: rules.Net.Denies}
	if s.Page != nil {
		o.Page = func(ctx context.Context, p web.Page) ([]byte, error) { return s.Page(ctx, rye.WebPage(p)) }
	}
	if rules.Net.Proxy {
		o.Proxy = s.Proxy
	}
	r, err := j.plan.Request(in)
	return r, o, err
}

// rehearse ends a dry run: it makes every check, sends and starts nothing, and returns the
// planned result.
func (j *job) rehearse(s *custody.Desk) (*rye.ExecuteResult, error) {
	res := j.planned()
	reach, err := j.reachOf(s)
	if err != nil {
		return nil, err
	}
	res.Metadata.Reach = &reach
	if j.plan.Primitive() != chain.HTTP {
		return res, nil
	}
	r, o, err := j.exchange(s)
	if err == nil {
		err = web.Check(r, o)
	}
	if err == nil {
		err = j.holdToHosts(s, &r)
	}
	if err != nil {
		return nil, fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	res.Data, err = json.Marshal(sketch(r))
	return res, err
}

// sketch shows a request, with secrets as their names.
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

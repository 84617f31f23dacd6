package run

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Execute runs a tool exactly as signed, or returns what a directive or a
// knowledge entry says. The gates stand in one order for every caller: integrity,
// capability, parameters, lock, policy (tier, commands, approval), consent to what
// nobody signed (.env, a project's interpreter), sandbox, run.
// A dry run passes every gate but the last.
func (r *Runner) Execute(ctx context.Context, c rye.Caller, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
	w := newStopwatch()
	ctx, err := r.turns.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer r.turns.Give()
	w.lap(&w.parts.Rest) // others had their turn
	seen, err := r.host.Open()
	if err != nil {
		return nil, err
	}
	defer seen.Close()
	found, err := find(ctx, r.At(seen), c, q)
	if err != nil {
		return nil, err
	}
	if err := seen.Allow(c, "execute", q.Ref); err != nil {
		return nil, err
	}
	if q.Ref.Kind != objects.Tool {
		w.lap(&w.parts.Verify)
		return instruct(found, q, w)
	}
	seen, lib, err := library(seen, q)
	if err != nil {
		return nil, err
	}
	s, j := r.At(seen), &job{q: q, w: w}
	if j.plan, err = chain.Resolve(ctx, lib, q.Ref); err != nil {
		return nil, err
	}
	w.lap(&w.parts.Verify)
	if j.params, err = j.plan.Check(q.Params); err != nil {
		return nil, err
	}
	if j.locked, err = matchLock(s.Session, j.plan, q); err != nil {
		return nil, err
	}
	if j.verdict, err = decide(ctx, s, c, j.plan, j.params, q.DryRun); err != nil {
		return nil, err
	}
	if j.unsigned, err = takeUnsigned(ctx, s, j.plan); err != nil {
		return nil, err
	}
	w.lap(&w.parts.Gate)
	if q.DryRun {
		return rehearse(s, j)
	}
	return run(ctx, s, j)
}

// job is one tool on its way to run: what was asked, what would run, and what every
// gate said of it.
type job struct {
	q        rye.ExecuteRequest
	plan     *chain.Plan
	params   chain.Params
	locked   bool         // the lock pins exactly this
	verdict  *rye.Verdict // of the policy
	unsigned unsigned     // what it takes from files that nobody signed
	w        *stopwatch
}

// outcome is what a primitive did, in words that all of them share.
type outcome struct {
	chain.Outcome
	Exit      int
	Sandbox   string   // the tier that bound it; "" where nothing was started
	Unbound   []string // limits that did not hold
	Truncated bool
}

// run lets the primitive of the chain do the work and turns what it did into a result.
func run(ctx context.Context, s *Desk, j *job) (*rye.ExecuteResult, error) {
	var d outcome
	var err error
	switch j.plan.Primitive() {
	case chain.Subprocess:
		d, err = runSubprocess(ctx, s, j)
	case chain.HTTP:
		d, err = runHTTP(ctx, s, j)
	case chain.Builtin:
		d, err = runBuiltin(ctx, s, j)
	default:
		err = fault.New(fault.Malformed, "execute %s: unknown primitive %s", j.plan.Tool().Ref, j.plan.Primitive())
	}
	if err != nil {
		return nil, err
	}
	res := planned(j)
	res.Metadata.Sandbox, res.Metadata.Unbound, res.Metadata.Truncated = d.Sandbox, d.Unbound, d.Truncated
	res.Status, res.Data, res.Error, res.Exit = "success", d.Data, d.Error, d.Exit
	if !d.OK {
		res.Status = "error"
	}
	return res, nil
}

// planned describes a plan in the words of an execute result.
func planned(j *job) *rye.ExecuteResult {
	res := &rye.ExecuteResult{Status: "validation_passed", Type: "tool", ItemID: string(j.plan.Tool().Ref.ID), Metadata: rye.ExecuteMeta{Verdict: j.verdict}}
	for _, l := range j.plan.Links {
		it := l.Verified.Item()
		res.Chain = append(res.Chain, rye.ChainLink{ItemID: string(it.Ref.ID), Space: l.Space.String(), ToolType: it.Meta.ToolType,
			Executor: string(it.Meta.Executor), Integrity: it.Sum.String(), Signer: l.Verified.Key().Fingerprint().String()})
	}
	res.Metadata.Locked = j.locked
	res.Metadata.DurationMS, res.Metadata.Timings = j.w.read()
	return res
}

// instruct returns the text of a directive, its inputs filled in, or of a
// knowledge entry: what a model is to follow or to know.
func instruct(f space.Found, q rye.ExecuteRequest, w *stopwatch) (*rye.ExecuteResult, error) {
	it := f.Item()
	params := map[string]any{}
	if len(q.Params) > 0 {
		if err := objects.DecodeJSON(q.Params, chain.MaxParams, &params); err != nil {
			return nil, fault.New(fault.Usage, "parameters of %s: %w", it.Ref, err)
		}
	}
	res := &rye.ExecuteResult{Status: "success", Type: string(it.Ref.Kind), ItemID: string(it.Ref.ID)}
	data := map[string]any{"name": it.Meta.Name, "version": it.Meta.Version, "description": it.Meta.Description, "category": it.Meta.Category}
	switch it.Ref.Kind {
	case objects.Directive:
		inputs, err := fillInputs(it, params)
		if err != nil {
			return nil, err
		}
		res.Inputs = inputs
		res.Instructions = "Execute the directive as specified now."
		data["body"], data["permissions"], data["limits"] = interpolate(it.Meta.Prose, inputs), it.Meta.Permissions, it.Meta.Limits
		data["actions"] = it.Meta.Actions
	case objects.Knowledge:
		res.Instructions = "Use this knowledge to inform your decisions."
		data["title"], data["entry_type"], data["tags"], data["body"] = it.Meta.Title, it.Meta.EntryType, it.Meta.Tags, it.Meta.Prose
	default:
		return nil, fault.New(fault.Usage, "execute %s: config items drive rye and do not run", it.Ref).Mend("rye load %s", it.Ref)
	}
	if q.DryRun {
		res.Status, res.Instructions = "validation_passed", ""
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	res.Data = raw
	res.Chain = []rye.ChainLink{{ItemID: string(it.Ref.ID), Space: f.Space.String(), Integrity: it.Sum.String(), Signer: f.Key().Fingerprint().String()}}
	res.Metadata.DurationMS, res.Metadata.Timings = w.read()
	return res, nil
}

// fillInputs checks a directive's parameters against what it declares.
func fillInputs(it *objects.Item, got map[string]any) (map[string]any, error) {
	declared := map[string]bool{}
	inputs := map[string]any{}
	var names, missing []string
	for _, in := range it.Meta.Inputs {
		declared[in.Name] = true
		names = append(names, in.Name)
		v, ok := got[in.Name]
		switch {
		case ok:
			inputs[in.Name] = v
		case in.HasDefault:
			inputs[in.Name] = in.Default
		case in.Required:
			missing = append(missing, in.Name)
		}
	}
	for name := range got {
		if !declared[name] {
			return nil, fault.New(fault.Usage, "%s: unknown parameter %q", it.Ref, name).Advise("its inputs are: %s", strings.Join(names, ", "))
		}
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.Usage, "%s: missing required inputs: %s", it.Ref, strings.Join(missing, ", ")).Advise("rye execute %s -p %s=...", it.Ref, missing[0])
	}
	return inputs, nil
}

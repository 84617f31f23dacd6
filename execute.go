package rye

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Execute runs a tool exactly as signed, or returns what a directive or a
// knowledge entry says. The gates stand in one order for every caller: integrity,
// capability, parameters, lock, policy (tier, commands, approval), sandbox, run.
// A dry run passes every gate but the last.
func (r *Rye) Execute(ctx context.Context, c Caller, q ExecuteRequest) (*ExecuteResult, error) {
	start := time.Now()
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ref, err := s.ref(q.Ref)
	if err != nil {
		return nil, err
	}
	found, err := s.stack.Find(ctx, ref)
	if err != nil {
		if found, err = s.offer(ctx, c, ref, err); err != nil {
			return nil, err
		}
	}
	if err := s.allow(c, "execute", ref); err != nil {
		return nil, err
	}
	if ref.Kind != objects.Tool {
		return instruct(found, q, start)
	}
	plan, err := chain.Resolve(ctx, finder{s}, ref)
	if err != nil {
		return nil, err
	}
	params, err := plan.Check(q.Params)
	if err != nil {
		return nil, err
	}
	locked, err := s.matchLock(plan, q)
	if err != nil {
		return nil, err
	}
	if err := s.decide(ctx, c, plan, params); err != nil {
		return nil, err
	}
	if q.DryRun {
		return planned(plan, locked, start), nil
	}
	return s.run(ctx, plan, params, q, locked, start)
}

// run materialises the verified bytes, starts the primitive and reads its answer.
func (s *session) run(ctx context.Context, plan *chain.Plan, params chain.Params, q ExecuteRequest, locked bool, start time.Time) (*ExecuteResult, error) {
	runs := s.r.runsDir()
	if _, err := primitive.Sweep(runs); err != nil { // what killed runs left behind
		return nil, err
	}
	dir, err := primitive.Materialise(runs, plan.Files())
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	in, err := s.inputs(plan, params, dir)
	if err != nil {
		return nil, err
	}
	call, err := plan.Call(in)
	if err != nil {
		return nil, err
	}
	out, err := primitive.Run(ctx, call, sink(q.Stdout), sink(q.Stderr))
	if err != nil {
		return nil, err
	}
	answer := chain.Read(out)
	res := planned(plan, locked, start)
	res.Metadata.Sandbox, res.Metadata.Unbound, res.Metadata.Truncated = out.Tier.String(), out.Unbound, out.Truncated
	res.Status, res.Data, res.Error, res.Exit = "success", answer.Data, answer.Error, out.Exit
	if !answer.OK {
		res.Status = "error"
	}
	return res, nil
}

// sink turns a callback into a writer; nil stays nil.
func sink(f func([]byte)) io.Writer {
	if f == nil {
		return nil
	}
	return sinkFunc(f)
}

type sinkFunc func([]byte)

func (f sinkFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// inputs finds out what the call depends on besides the plan.
func (s *session) inputs(plan *chain.Plan, params chain.Params, dir *primitive.RunDir) (chain.Inputs, error) {
	tier, err := s.tier()
	if err != nil {
		return chain.Inputs{}, err
	}
	in := chain.Inputs{
		Params: params, RunDir: dir.Files, Temp: dir.Temp, ProjectPath: s.r.o.Project, UserSpace: s.r.o.User,
		Tier: tier, Protect: s.protected(), Hide: []string{s.r.o.ConfigDir, s.r.o.StateDir},
	}
	spec, ok := plan.Interpreter()
	if !ok {
		return in, nil
	}
	in.Interpreter, err = primitive.Interpreter(spec, s.r.search())
	if err != nil {
		return in, fault.New(fault.CodeOf(err), "execute %s: %w", plan.Tool().Ref, err).Mend("%s", fault.HintOf(err))
	}
	return in, nil
}

// protected lists what no tool may write, whatever it needs.
func (s *session) protected() []string {
	all := []string{s.r.o.CacheDir}
	for _, l := range s.stack.Layers() {
		all = append(all, l.Dir)
	}
	if s.r.o.Project != "" {
		all = append(all, filepath.Join(s.r.o.Project, ".git"))
	}
	return all
}

// search says where interpreters are looked for.
func (r *Rye) search() primitive.Search {
	return primitive.Search{Project: r.o.Project, Vars: r.o.Interpreters, Path: r.o.Path, Home: r.o.Home}
}

func (r *Rye) interpreter(name string) (string, error) {
	vars := map[string]string{"python3": "RYE_PYTHON", "node": "RYE_NODE", "bash": "RYE_BASH"}
	p, err := primitive.Interpreter(primitive.Spec{Type: "system_binary", Binary: name, Var: vars[name]}, r.search())
	return p.Path, err
}

// planned describes a plan in the words of an execute result.
func planned(plan *chain.Plan, locked bool, start time.Time) *ExecuteResult {
	res := &ExecuteResult{Status: "validation_passed", Type: "tool", ItemID: string(plan.Tool().Ref.ID)}
	for _, l := range plan.Links {
		it := l.Verified.Item()
		res.Chain = append(res.Chain, ChainLink{ItemID: string(it.Ref.ID), Space: l.Space.String(), ToolType: it.Meta.ToolType,
			Executor: string(it.Meta.Executor), Integrity: it.Sum.String(), Signer: l.Verified.Key().Fingerprint().String()})
	}
	res.Metadata.Locked, res.Metadata.DurationMS = locked, ms(start)
	return res
}

func ms(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

// instruct returns the text of a directive, its inputs filled in, or of a
// knowledge entry: what a model is to follow or to know.
func instruct(f space.Found, q ExecuteRequest, start time.Time) (*ExecuteResult, error) {
	it := f.Item()
	params := map[string]any{}
	if len(q.Params) > 0 {
		if err := objects.DecodeJSON(q.Params, chain.MaxParams, &params); err != nil {
			return nil, fault.New(fault.Usage, "parameters of %s: %w", it.Ref, err)
		}
	}
	res := &ExecuteResult{Status: "success", Type: string(it.Ref.Kind), ItemID: string(it.Ref.ID)}
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
	res.Chain = []ChainLink{{ItemID: string(it.Ref.ID), Space: f.Space.String(), Integrity: it.Sum.String(), Signer: f.Key().Fingerprint().String()}}
	res.Metadata.DurationMS = ms(start)
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
			return nil, fault.New(fault.Usage, "%s: unknown parameter %q", it.Ref, name).Mend("its inputs are: %s", strings.Join(names, ", "))
		}
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.Usage, "%s: missing required inputs: %s", it.Ref, strings.Join(missing, ", ")).Mend("rye execute %s -p %s=...", it.Ref, missing[0])
	}
	return inputs, nil
}

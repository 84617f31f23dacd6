package rye

import (
	"context"
	"io"
	"path/filepath"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
)

// runSubprocess materialises the verified bytes, starts the program in its sandbox
// and reads its answer.
func (s *session) runSubprocess(ctx context.Context, plan *chain.Plan, params chain.Params, q ExecuteRequest, w *stopwatch) (deed, error) {
	runs := s.r.runsDir()
	if _, err := primitive.Sweep(runs); err != nil { // what killed runs left behind
		return deed{}, err
	}
	dir, err := primitive.Materialise(runs, plan.Files())
	if err != nil {
		return deed{}, err
	}
	defer dir.Remove()
	w.lap(&w.parts.Materialise)
	in, err := s.inputs(plan, params, dir)
	if err != nil {
		return deed{}, err
	}
	call, err := plan.Call(in)
	if err != nil {
		return deed{}, err
	}
	call.Mark = dir.Mark
	w.lap(&w.parts.Rest)
	out, err := primitive.Run(ctx, call, sink(q.Stdout), sink(q.Stderr))
	w.ran(out)
	if err != nil {
		return deed{}, err
	}
	return deed{Outcome: chain.Read(out), Exit: out.Exit, Sandbox: out.Tier.String(), Unbound: out.Unbound, Truncated: out.Truncated}, nil
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
	tier, err := s.tier(plan)
	if err != nil {
		return chain.Inputs{}, err
	}
	project := s.r.o.Project
	if project != "" { // the kernel's rules are about real paths
		if project, err = filepath.EvalSymlinks(project); err != nil {
			return chain.Inputs{}, fault.New(fault.NotFound, "execute %s: the project: %w", plan.Tool().Ref, err)
		}
	}
	in := chain.Inputs{
		Params: params, RunDir: dir.Files, Temp: dir.Temp, ProjectPath: project, UserSpace: s.r.o.User,
		Tier: tier, Protect: s.protected(), Hide: []string{s.r.o.ConfigDir, s.r.o.StateDir},
		Vars: s.outside.vars, Interpreter: s.outside.interpreter,
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

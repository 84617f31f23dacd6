package run

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
func runSubprocess(ctx context.Context, s *Desk, j *job) (outcome, error) {
	runs := s.RunsDir()
	if _, err := primitive.Sweep(runs); err != nil { // what killed runs left behind
		return outcome{}, err
	}
	dir, err := primitive.Materialise(runs, j.plan.Files())
	if err != nil {
		return outcome{}, err
	}
	defer dir.Remove()
	j.w.lap(&j.w.parts.Materialise)
	in, err := inputs(s, j, dir)
	if err != nil {
		return outcome{}, err
	}
	call, err := j.plan.Call(in)
	if err != nil {
		return outcome{}, err
	}
	call.Mark = dir.Mark
	j.w.lap(&j.w.parts.Rest)
	out, err := primitive.Run(ctx, call, sink(j.q.Stdout), sink(j.q.Stderr))
	j.w.ran(out)
	if err != nil {
		return outcome{}, err
	}
	return outcome{Outcome: chain.Read(out), Exit: out.Exit, Sandbox: out.Tier.String(), Unbound: out.Unbound, Truncated: out.Truncated}, nil
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
func inputs(s *Desk, j *job, dir *primitive.RunDir) (chain.Inputs, error) {
	tier, err := tier(s, j.plan)
	if err != nil {
		return chain.Inputs{}, err
	}
	project := s.ProjectDir
	if project != "" { // the kernel's rules are about real paths
		if project, err = filepath.EvalSymlinks(project); err != nil {
			return chain.Inputs{}, fault.New(fault.NotFound, "execute %s: the project: %w", j.plan.Tool().Ref, err)
		}
	}
	in := chain.Inputs{
		Params: j.params, RunDir: dir.Files, Temp: dir.Temp, ProjectPath: project, UserSpace: s.UserDir,
		Tier: tier, Protect: protected(s), Hide: []string{s.ConfigDir, s.StateDir},
		Vars: j.unsigned.vars, Interpreter: j.unsigned.interpreter,
	}
	return in, nil
}

// protected lists what no tool may write, whatever it needs.
func protected(s *Desk) []string {
	all := []string{s.CacheDir}
	for _, l := range s.Stack.Layers() {
		all = append(all, l.Dir)
	}
	if s.ProjectDir != "" {
		all = append(all, filepath.Join(s.ProjectDir, ".git"))
	}
	return all
}

// search says where interpreters are looked for.
func (r *Runner) search() primitive.Search {
	return primitive.Search{Project: r.host.ProjectDir, Vars: r.Interpreters, Path: r.Path, Home: r.Home}
}

func (r *Runner) interpreter(name string) (string, error) {
	vars := map[string]string{"python3": "RYE_PYTHON", "node": "RYE_NODE", "bash": "RYE_BASH"}
	p, err := primitive.Interpreter(primitive.Spec{Type: "system_binary", Binary: name, Var: vars[name]}, r.search())
	return p.Path, err
}

package run

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// runSubprocess starts a program on its verified files, in its sandbox, and reads its
// answer.
func (r *Runner) runSubprocess(ctx context.Context, s *custody.Desk, j *job) (outcome, error) {
	in, err := j.inputs(s)
	if err != nil {
		return outcome{}, err
	}
	call, err := j.plan.Call(in)
	if err != nil {
		return outcome{}, err
	}
	call.Mark, call.Input = j.dir.Mark, j.inputOf(call.Stdin)
	if call.Sandbox.Tier >= primitive.S3 {
		call.Files = append(j.plan.Files(), j.plan.NetworkFiles(in.Network)...)
	}
	j.line, err = openLine(ctx, called{verbs: r.verbs, caller: j.caller, tool: j.plan.Tool().Ref, needs: j.plan.Needs().Rye, asked: &j.q, now: s.Now(), self: s.Self, run: j.ward.id}, &call)
	if err != nil {
		return outcome{}, err
	}
	defer j.line.end()
	o, err := j.start(ctx, s, &call, sink(j.q.Stdout), sink(j.q.Stderr))
	o.Denied = j.denials(in, &call, &o)
	return o, err
}

// start runs a program to its end and reads its answer.
func (j *job) start(ctx context.Context, s *custody.Desk, call *primitive.Call, stdout, stderr io.Writer) (outcome, error) {
	defer primitive.AtWork(ctx)()
	if err := j.ward.protect(j, &call.Sandbox); err != nil {
		return outcome{}, err
	}
	if s.ProjectDir != "" {
		call.Sandbox.Owner, call.Sandbox.OwnerGroup = primitive.OwnerOf(s.ProjectDir)
	}
	ways, err := j.forward(s, call)
	if err != nil {
		return outcome{}, err
	}
	defer ways.Close()
	tier, open := primitive.Foresee(call.Sandbox)
	unlooked, err := j.ward.unseen()
	if err != nil {
		return outcome{}, err
	}
	open = append(open, unlooked...)
	if ways != nil {
		open = append(open, j.unforeseen(s)...)
	}
	tellOpen(s, j, open) // before the run, while it can still be stopped
	j.watch.lap(&j.watch.parts.Rest)
	call.Caller = j.caller.Name()
	defer j.ward.begin(ctx, s, j, &call.Sandbox, tier)()
	j.ward.remember(ctx, j, tier)
	res, err := primitive.Run(ctx, *call, stdout, stderr)
	j.line.end() // before the look at its files
	ways.Close()
	hosts := usesOf(ways)
	s.RecordHosts(j.verdict, hosts) // of failed runs, too
	j.watch.ran(res)
	found := j.ward.after(ctx, s, j, res)
	for _, what := range found.unseen {
		if slices.Contains(open, what) {
			continue
		}
		s.Tell("not limited here: " + what)
	}
	if err != nil || res.Reached != "" {
		for _, t := range found.taken { // there is no result to name it in
			s.Tell("appeared during the run, and moved away: " + words.Quote(t.Path) + " (" + t.How + ", " + t.Kind + "); rye restore --taken shows it")
		}
	}
	if err != nil {
		return outcome{}, err
	}
	if res.Reached != "" {
		return outcome{}, fault.New(fault.Limit, "execute %s: stopped at its limit of %s", j.plan.Tool().Ref, res.Reached).
			Advise("review the tool; its author can set another limits.%s", res.Reached)
	}
	o := outcome{Near: res.Near, Outcome: chain.Read(res), Exit: res.Exit, Sandbox: res.Tier.String(), Unbound: append(res.Unbound, found.unseen...), Truncated: res.Truncated, Taken: found.taken, Left: found.left, Stderr: res.Stderr}
	if ways != nil {
		o.Unbound, o.Missed, o.Hosts = append(o.Unbound, j.unchecked(s, ways)...), ways.Misses(), hosts
	}
	return o, nil
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

// inputs returns a call's inputs besides the plan.
func (j *job) inputs(s *custody.Desk) (chain.Inputs, error) {
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
	dir := j.dir
	if dir == nil {
		dir = &primitive.RunDir{} // nothing is written yet: this is only for the reach
	}
	return chain.Inputs{
		Params: j.params, RunDir: dir.Files, Temp: dir.Temp, ProjectPath: project, UserSpace: s.UserDir,
		Tier: tier, Protect: protected(s), Hide: known(s.ConfigDir, s.StateDir, s.Records.Dir(), transcripts(s)),
		Open: j.open, Git: gitDirs(project), Vars: j.unsigned.vars, Interpreter: j.unsigned.interpreter,
		Network: j.networkOf(s),
	}, nil
}

// gitDirs returns the git directories of a project in a linked worktree or a submodule.
func gitDirs(project string) chain.GitDirs {
	g, ok := session.GitDirsOf(project)
	if project == "" || !ok {
		return chain.GitDirs{}
	}
	links, _, _ := primitive.Way(g.Pointer)
	return chain.GitDirs{File: g.File, Dirs: g.Dirs, Links: links, Write: g.Write}
}

// known returns the directories that are set.
func known(dirs ...string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
}

// transcripts returns the directory of threads' transcripts, if there is one: the tools of a
// thread read no other thread's.
func transcripts(s *custody.Desk) string {
	if s.ProjectDir == "" {
		return ""
	}
	dir := filepath.Join(s.AIDir(), "threads")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// protected lists directories that no tool may write, whatever its needs.
func protected(s *custody.Desk) []string {
	all := known(s.CacheDir)
	for _, l := range s.Stack.Layers() {
		all = append(all, l.Dir)
	}
	return all
}

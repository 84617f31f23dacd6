package run

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/builtin"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// runBuiltin starts rye itself, in the tool's sandbox, to carry out the function in the chain.
// It gets no files: the verified text of the tool only names the function, whose code is in
// the program.
func (r *Runner) runBuiltin(ctx context.Context, s *custody.Desk, j *job) (outcome, error) {
	if _, ok := j.plan.Served(); ok {
		return r.answer(ctx, j)
	}
	if s.Self == nil {
		return outcome{}, fault.New(fault.Failed, "execute %s: the path of the rye program, which runs %s, is unknown", j.plan.Tool().Ref, j.plan.Function())
	}
	program, build, err := s.Self()
	if err != nil {
		return outcome{}, fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	in, err := j.inputs(s)
	if err != nil {
		return outcome{}, err
	}
	call, err := j.plan.BuiltinCall(in, program, build)
	if err != nil {
		return outcome{}, err
	}
	if call.Sandbox.Tier < primitive.S3 {
		narrow(&call.Sandbox, in.ProjectPath, builtin.Targets(j.plan.Function(), j.params.JSON))
	} else if in.RunDir != "" {
		call.Files = j.plan.NetworkFiles(in.Network)
	}
	o, err := j.start(ctx, s, &call, nil, nil)
	o.Denied = j.denials(in, &call, &o)
	return o, err
}

// narrow reduces the right to write the whole project to the directories right below it that a
// call is about. A file in the project's own directory, or below a missing one, needs a right
// on the project. The kernel extends that right to .ai and .git, so then the function's own
// checks protect those.
func narrow(b *primitive.Sandbox, project string, targets []string) {
	if len(targets) == 0 || !slices.Contains(b.Write, project) {
		return
	}
	keep := slices.DeleteFunc(slices.Clone(b.Write), func(p string) bool { return p == project })
	for _, t := range targets {
		if filepath.IsAbs(t) {
			rel, err := filepath.Rel(project, t)
			if err != nil {
				continue
			}
			t = rel
		}
		t = path.Clean(filepath.ToSlash(t))
		if t == ".." || strings.HasPrefix(t, "../") {
			continue // refused by the function
		}
		top, _, deeper := strings.Cut(t, "/")
		at := filepath.Join(project, top)
		info, err := os.Lstat(at)
		switch {
		case err == nil && info.Mode()&os.ModeSymlink != 0:
			keep = append(keep, project) // it leads elsewhere in the project
		case err == nil && deeper && info.IsDir():
			keep = append(keep, at)
		default:
			b.Create = []string{project}
		}
	}
	if b.Create != nil {
		keep = slices.DeleteFunc(keep, func(p string) bool { return p == project || filepath.Dir(p) == project })
	}
	slices.Sort(keep)
	b.Write = slices.Compact(keep)
}

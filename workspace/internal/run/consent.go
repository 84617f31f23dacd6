package run

import (
	"context"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// unsigned holds the unsigned things that a run uses because the user agreed to them.
type unsigned struct {
	envFiles
	env         []string // NAME=value of the user's environment, for a request
	interpreter primitive.Program
}

// consentTo finds the unsigned things that a plan uses, and asks the user about new or changed
// ones. Without an agreement it uses nothing.
func (j *job) consentTo(ctx context.Context, s *custody.Desk) (u unsigned, err error) {
	plan := j.plan
	if u.envFiles, err = readEnvFiles(s, plan); err != nil {
		return unsigned{}, err
	}
	things := u.things
	p, thing, err := interpreterOf(s, plan)
	if err != nil {
		return unsigned{}, err
	}
	if thing != nil {
		things = append(things, *thing)
	}
	if t := secretsOf(s, plan, u.vars); t != nil {
		things = append(things, *t)
	}
	if err := j.agree(ctx, s, things); err != nil {
		return unsigned{}, err
	}
	u.env, u.interpreter = fromEnv(s, plan), p
	return u, nil
}

// checkVersion refuses an interpreter that is too old. Asking for its version runs it, so this
// comes after the user's consent, and after the check that it is unchanged.
func (j *job) checkVersion(ctx context.Context) error {
	spec, ok := j.plan.Interpreter()
	if !ok {
		return nil
	}
	if err := primitive.CheckVersion(ctx, spec, j.unsigned.interpreter); err != nil {
		return fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	return nil
}

// agree asks about each thing without an agreement to its present content, and remembers the
// answer.
func (j *job) agree(ctx context.Context, s *custody.Desk, things []consent.Thing) error {
	if len(things) == 0 {
		return nil
	}
	a, err := agreed(s)
	if err != nil {
		return err
	}
	var fresh []consent.Thing
	for _, t := range things {
		if a.Covers(t) {
			continue
		}
		if err := j.ask(ctx, s, questionAbout(s, j.plan, t, a.Changed(t))); err != nil {
			return err
		}
		fresh = append(fresh, t)
	}
	if len(fresh) == 0 {
		return nil
	}
	return remember(ctx, s, func(a consent.Agreed) consent.Agreed { return withAll(a, fresh) })
}

// describe describes the thing to agree to: names of variables, never values.
func describe(s *custody.Desk, plan *chain.Plan, t consent.Thing) (text string, lines []string) {
	lines = []string{t.Path, t.Sum.String()}
	switch t.What {
	case consent.Env:
		return "It takes variables from an unsigned file: " + inProject(s, t.Path) + ". Use it?", append(lines, "it sets "+t.Names())
	case consent.Interpreter:
		program, _, _ := strings.Cut(string(t.Parts["program"]), "\n")
		return "It runs with an unsigned interpreter in the project: " + inProject(s, t.Path) + ". Use it?", append(lines,
			"the program is "+program,
			"you approve the program and its start-up files ("+t.Names()+"), but not its packages: rye uses those there at run time")
	}
	return describeSecrets(s, plan, t)
}

// interpreterOf finds the plan's interpreter. One in the project needs the user's consent,
// unless the user named it in a variable of rye's.
func interpreterOf(s *custody.Desk, plan *chain.Plan) (p primitive.Program, t *consent.Thing, err error) {
	spec, ok := plan.Interpreter()
	if !ok {
		return p, nil, nil
	}
	in := searchOf(s.Host, s.Options)
	in.Consented = true // to find it; agree decides on its use
	if p, err = primitive.Interpreter(spec, in); err != nil {
		return p, nil, fault.Wrap(err, "execute %s", plan.Tool().Ref)
	}
	if !p.Project || in.Vars[spec.Var] != "" {
		return p, nil, nil
	}
	parts, err := p.Identity()
	if err != nil {
		return p, nil, err
	}
	return p, &consent.Thing{What: consent.Interpreter, Path: p.Path, For: onlyFor(plan), In: placeOf(s, s.ProjectDir),
		Sum: sumOf(parts), Parts: parts}, nil
}

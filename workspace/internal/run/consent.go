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

// unsigned is what a run uses although it is unsigned, because the user agreed to it.
type unsigned struct {
	envFiles
	env         []string // NAME=value of the user's environment, for a request
	interpreter primitive.Program
}

// consentTo finds what a plan uses that is unsigned, and asks the user about what is new
// or changed. Without an agreement nothing is used.
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

// checkVersion refuses an interpreter that is too old. To ask for its version is to run it,
// so this comes after the user agreed to it, and after it was found to be the same still.
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

// agree asks about each thing that the user has not agreed to as it is now, and
// remembers the answer.
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

// describe says what is being agreed to: names of variables, never values.
func describe(s *custody.Desk, plan *chain.Plan, t consent.Thing) (text string, lines []string) {
	lines = []string{t.Path, t.Sum.String()}
	switch t.What {
	case consent.Env:
		return "It takes variables from a file that nobody signed: " + inProject(s, t.Path) + ". Use it?", append(lines, "it sets "+t.Names())
	case consent.Interpreter:
		program, _, _ := strings.Cut(string(t.Parts["program"]), "\n")
		return "It runs with an interpreter in the project, which nobody signed: " + inProject(s, t.Path) + ". Use it?", append(lines,
			"the program is "+program,
			"agreed to are the program and what it runs at its start ("+t.Names()+"); not its packages: what lies there when it runs is used")
	}
	return describeSecrets(s, plan, t)
}

// interpreterOf finds the plan's interpreter. One in the project comes with what the user
// has to agree to, unless the user named it in a variable of rye's.
func interpreterOf(s *custody.Desk, plan *chain.Plan) (p primitive.Program, t *consent.Thing, err error) {
	spec, ok := plan.Interpreter()
	if !ok {
		return p, nil, nil
	}
	in := searchOf(s.Host, s.Options)
	in.Consented = true // to find it; whether it is used is decided by agree
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

package run

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// unsigned is what a run uses although it is unsigned, because the user agreed to it.
type unsigned struct {
	envFiles
	env         []string // NAME=value of the user's environment, for a request
	interpreter primitive.Program
}

// consentTo finds what a plan uses that is unsigned, and asks the user about what is new
// or changed. Without an agreement nothing is used.
func consentTo(ctx context.Context, s *Desk, plan *chain.Plan) (u unsigned, err error) {
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
	if err := agree(ctx, s, plan, things); err != nil {
		return unsigned{}, err
	}
	if spec, ok := plan.Interpreter(); ok { // asked only now: to ask for its version is to run it
		if err := primitive.CheckVersion(ctx, spec, p); err != nil {
			return unsigned{}, fault.Wrap(err, "execute %s", plan.Tool().Ref)
		}
	}
	u.env, u.interpreter = fromEnv(s, plan), p
	return u, nil
}

// agree asks about each thing that the user has not agreed to as it is now, and
// remembers the answer.
func agree(ctx context.Context, s *Desk, plan *chain.Plan, things []consent.Thing) error {
	if len(things) == 0 {
		return nil
	}
	a, err := agreed(s)
	if err != nil {
		return err
	}
	ref := plan.Tool().Ref
	var fresh []consent.Thing
	for _, t := range things {
		if a.Covers(t) {
			continue
		}
		q := rye.Question{Topic: "execute " + ref.String(), Mend: fault.Command("rye policy allow %s --env", ref)}
		switch t.What {
		case consent.Interpreter:
			q.Mend = fault.Command("rye policy allow %s --interpreter", ref)
		case consent.Secrets:
			q.Mend = fault.Command("rye policy allow %s --secrets", ref)
		}
		q.Text, q.Lines = describe(s, plan, t)
		if changed := a.Changed(t); changed != nil {
			q.Text = "Changed since you agreed. " + q.Text
			q.Lines = append(q.Lines, changed...)
		}
		if err := s.Ask(ctx, q); err != nil {
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
func describe(s *Desk, plan *chain.Plan, t consent.Thing) (text string, lines []string) {
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
func interpreterOf(s *Desk, plan *chain.Plan) (p primitive.Program, t *consent.Thing, err error) {
	spec, ok := plan.Interpreter()
	if !ok {
		return p, nil, nil
	}
	in := s.search(s.ProjectDir)
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
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		text.WriteString(name + " " + objects.DigestOf(parts[name]).Hex() + "\n")
	}
	return p, &consent.Thing{What: consent.Interpreter, Path: p.Path, For: onlyFor(plan), In: placeOf(s, s.ProjectDir),
		Sum: objects.DigestOf([]byte(text.String())), Parts: parts}, nil
}

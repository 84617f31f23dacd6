package run

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// unsigned is what a run takes from outside of what was verified, agreed to.
type unsigned struct {
	vars        map[string]string
	weak        map[string]bool // those of vars that a file of the project filled
	env         []string        // NAME=value of the user's environment, for a request
	interpreter primitive.Program
}

// takeUnsigned finds what a plan takes from files that nobody signed, and asks the
// user about what is new or changed. Without an agreement nothing is used.
func takeUnsigned(ctx context.Context, s *Desk, plan *chain.Plan) (u unsigned, err error) {
	vars, weak, things, err := envFiles(s, plan)
	if err != nil {
		return u, err
	}
	p, thing, err := interpreterOf(s, plan)
	if err != nil {
		return u, err
	}
	if thing != nil {
		things = append(things, *thing)
	}
	if t := secretsOf(s, plan, vars); t != nil {
		things = append(things, *t)
	}
	if err := agree(ctx, s, plan, things); err != nil {
		return u, err
	}
	if spec, ok := plan.Interpreter(); ok { // asked only now: to ask is to run it
		if err := primitive.CheckVersion(ctx, spec, p); err != nil {
			return u, fault.Wrap(err, "execute %s", plan.Tool().Ref)
		}
	}
	return unsigned{vars, weak, fromEnv(s, plan), p}, nil
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
		q.Text, q.Lines = describeThing(s, plan, t, a)
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

func withAll(a consent.Agreed, things []consent.Thing) consent.Agreed {
	for _, t := range things {
		var salt [16]byte
		rand.Read(salt[:])
		a = a.With(t, salt)
	}
	return a
}

// describeThing says what is being agreed to: names of variables, never values.
func describeThing(s *Desk, plan *chain.Plan, t consent.Thing, a consent.Agreed) (text string, lines []string) {
	lines = []string{t.Path, t.Sum.String()}
	switch t.What {
	case consent.Env:
		text = "It takes variables from a file that nobody signed: " + short(s, t.Path) + ". Use it?"
		lines = append(lines, "it sets "+t.Names())
	case consent.Interpreter:
		text = "It runs with an interpreter in the project, which nobody signed: " + short(s, t.Path) + ". Use it?"
		program, _, _ := strings.Cut(string(t.Parts["program"]), "\n")
		lines = append(lines, "the program is "+program,
			"agreed to are the program and what it runs at its start ("+t.Names()+"); not its packages: what lies there when it runs is used")
	case consent.Secrets:
		text, lines = describeSecrets(s, plan, t)
	}
	if changed := a.Changed(t); changed != nil {
		text = "Changed since you agreed. " + text
		lines = append(lines, changed...)
	}
	return text, lines
}

func short(s *Desk, path string) string {
	if rel, err := filepath.Rel(s.ProjectDir, path); s.ProjectDir != "" && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// envFiles reads the .env files that set something which the plan declares, in
// the ancestor's order, the later over the earlier. Others are not even agreed to.
func envFiles(s *Desk, plan *chain.Plan) (vars map[string]string, weak map[string]bool, things []consent.Thing, err error) {
	declared := plan.Declares()
	if len(declared) == 0 {
		return nil, nil, nil, nil
	}
	vars, weak = map[string]string{}, map[string]bool{}
	for _, f := range []struct{ base, name string }{
		{s.UserDir, ".ai/.env"}, {s.ProjectDir, ".ai/.env"}, {s.ProjectDir, ".env"}, {s.ProjectDir, ".env.local"},
	} {
		if f.base == "" {
			continue
		}
		path := filepath.Join(f.base, filepath.FromSlash(f.name))
		raw, err := readWithin(f.base, f.name)
		if err != nil {
			return nil, nil, nil, fault.Wrap(err, "read %s", short(s, path)).Advise("make %s a plain file of the project, or move it away", path)
		}
		if raw == nil {
			continue
		}
		all, err := consent.ParseEnv(raw.data)
		if err != nil {
			return nil, nil, nil, fault.Wrap(err, "read %s", short(s, path)).Advise("correct %s, or move it away", path)
		}
		if !overlap(declared, all) {
			continue
		}
		t := consent.Thing{What: consent.Env, Path: path, For: forOnly(s, plan), Sum: objects.DigestOf(raw.data), Parts: map[string][]byte{}}
		for name, v := range all {
			t.Parts[name] = []byte(v)
		}
		things = append(things, t)
		maps.Copy(vars, all)
		for name := range all {
			weak[name] = f.base != s.UserDir || f.name != ".ai/.env"
		}
	}
	return vars, weak, things, nil
}

func overlap(declared []string, vars map[string]string) bool {
	return slices.ContainsFunc(declared, func(name string) bool { _, ok := vars[name]; return ok })
}

// forOnly is the tool that an agreement is bound to: what a registry published
// gets nothing because the user agreed for items of their own.
func forOnly(s *Desk, plan *chain.Plan) string {
	if plan.Links[0].Verified.Scope().Registry != "" {
		return plan.Tool().Ref.String()
	}
	return ""
}

// content keeps an empty file apart from none.
type content struct{ data []byte }

// readWithin reads a file below base, following no link that leads out of it; a
// missing one is nil. Only plain files are opened: a pipe would wait for ever.
func readWithin(base, name string) (*content, error) {
	root, err := os.OpenRoot(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Denied, "%w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fault.New(fault.Malformed, "not a plain file")
	}
	data, err := io.ReadAll(io.LimitReader(f, consent.MaxEnv+1))
	return &content{data}, err
}

// interpreterOf finds the plan's interpreter. One in the project comes with what
// has to be agreed to, unless the user named it in a variable of rye's.
func interpreterOf(s *Desk, plan *chain.Plan) (p primitive.Program, t *consent.Thing, err error) {
	spec, ok := plan.Interpreter()
	if !ok {
		return p, nil, nil
	}
	in := s.search()
	in.Consented = true // to find it; whether it is used is decided below
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
	h := ""
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		h += name + " " + objects.DigestOf(parts[name]).Hex() + "\n"
	}
	return p, &consent.Thing{What: consent.Interpreter, Path: p.Path, For: forOnly(s, plan), Sum: objects.DigestOf([]byte(h)), Parts: parts}, nil
}

package run

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// envFiles holds a plan's variables from .env files.
type envFiles struct {
	vars   map[string]string
	weak   map[string]bool // variables whose value comes from a file of the project
	things []consent.Thing // the files, for consent
}

// readEnvFiles reads the .env files that set a declared variable of the plan, in the order of
// RYE OS; later files override earlier ones. The user is not even asked about other files.
func readEnvFiles(s *custody.Desk, plan *chain.Plan) (e envFiles, err error) {
	declared := plan.Declares()
	if len(declared) == 0 {
		return e, nil
	}
	e.vars, e.weak = map[string]string{}, map[string]bool{}
	for _, f := range []struct{ base, name string }{
		{s.UserDir, ".ai/.env"}, {s.ProjectDir, ".ai/.env"}, {s.ProjectDir, ".env"}, {s.ProjectDir, ".env.local"},
	} {
		if f.base == "" {
			continue
		}
		path := filepath.Join(f.base, filepath.FromSlash(f.name))
		raw, err := readWithin(f.base, f.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return e, fault.Wrap(err, "read %s", inProject(s, path)).Advise("make %s a plain file of the project, or move it away", path)
		}
		all, err := consent.ParseEnv(raw)
		if err != nil {
			return e, fault.Wrap(err, "read %s", inProject(s, path)).Advise("correct %s, or move it away", path)
		}
		if !slices.ContainsFunc(declared, func(name string) bool { _, ok := all[name]; return ok }) {
			continue
		}
		t := consent.Thing{What: consent.Env, Path: path, For: onlyFor(plan), In: placeOf(s, f.base), Sum: objects.DigestOf(raw), Parts: map[string][]byte{}}
		for name, value := range all {
			t.Parts[name] = []byte(value)
			e.vars[name], e.weak[name] = value, f.base != s.UserDir || f.name != ".ai/.env"
		}
		e.things = append(e.things, t)
	}
	return e, nil
}

// readWithin reads a file below base, following no link that leads out of it. A missing
// one is fs.ErrNotExist. Only plain files are opened: reading a pipe would never end.
func readWithin(base, name string) ([]byte, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fault.New(fault.Denied, "%w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fault.New(fault.Malformed, "not a plain file")
	}
	return io.ReadAll(io.LimitReader(f, consent.MaxEnv+1))
}

// inProject shortens a path of the project for a message.
func inProject(s *custody.Desk, path string) string {
	if rel, err := filepath.Rel(s.ProjectDir, path); s.ProjectDir != "" && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// fromEnv returns a request's variables from the user's environment, as NAME=value: the
// declared ones that are set.
func fromEnv(s *custody.Desk, plan *chain.Plan) (pairs []string) {
	if !takesEnv(plan) {
		return nil
	}
	declared := plan.Declares()
	for _, kv := range s.Env {
		if name, value, _ := strings.Cut(kv, "="); value != "" && slices.Contains(declared, name) {
			pairs = append(pairs, kv)
		}
	}
	return pairs
}

// takesEnv reports whether a plan may take variables of the user's environment, with or without
// consent: HTTP chains may, except published ones.
func takesEnv(plan *chain.Plan) bool { return plan.Primitive() == chain.HTTP && !published(plan) }

// published reports whether a registry published the tool.
func published(plan *chain.Plan) bool { return plan.Links[0].Verified.Scope().Registry != "" }

// onlyFor is the tool that an agreement is bound to, "" for none. An agreement for the user's
// own items does not extend to published ones.
func onlyFor(plan *chain.Plan) string {
	if published(plan) {
		return plan.Tool().Ref.String()
	}
	return ""
}

// named returns the variables that a request may name, from the user's environment and from
// .env files, as far as the user agreed to them.
func (u unsigned) named() (vars map[string]string, weak map[string]bool) {
	vars, weak = maps.Clone(u.vars), maps.Clone(u.weak)
	if vars == nil {
		vars = map[string]string{}
	}
	for _, kv := range u.env {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
		delete(weak, name)
	}
	return vars, weak
}

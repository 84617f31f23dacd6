package session

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
)

// settingNamespace is the only setting of a project that a person sets by its name: the others
// are agreed to, or follow from additions.
const settingNamespace = "namespace"

// Settings lists the project's settings; nothing outside of one.
func Settings(_ context.Context, s *Session, _ struct{}) (all []rye.Setting, err error) {
	if s.Project == nil {
		return nil, nil
	}
	file := filepath.Join(s.ProjectDir, ".ai", ProjectFile)
	all = append(all,
		rye.Setting{Name: settingNamespace, Value: s.Project.Namespace, Origin: file, Change: fault.Command("rye config %s %s", settingNamespace, s.Project.Namespace)},
		rye.Setting{Name: "project", Value: s.Project.Project, Origin: file, Change: fault.Advice("it never changes")})
	for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
		all = append(all, rye.Setting{Name: "registry." + name, Value: s.Project.Registries[name].URL, Origin: file, Change: fault.Advice("rye registry add <url> --name %s", name)})
	}
	for _, scope := range slices.Sorted(maps.Keys(s.Project.Scopes)) {
		all = append(all, rye.Setting{Name: "scope." + scope, Value: s.Project.Scopes[scope], Origin: file, Change: fault.Advice("rye registry add <url> --scope %s", scope)})
	}
	for _, dep := range slices.Sorted(maps.Keys(s.Project.Deps)) {
		all = append(all, rye.Setting{Name: "dep." + dep, Value: s.Project.Deps[dep], Origin: file, Change: fault.Advice("rye add %s@<range>", dep)})
	}
	return all, nil
}

// Set changes a setting of the project, and returns the new value.
func Set(ctx context.Context, s *Session, q rye.SetRequest) (*rye.Setting, error) {
	if q.Name != settingNamespace {
		return nil, fault.New(fault.Usage, "config: this command cannot set %q", words.Brief(q.Name)).Advise("rye config")
	}
	if err := CheckNamespace(q.Value); err != nil {
		return nil, err
	}
	if trust.Reserved(q.Value) {
		return nil, fault.New(fault.Usage, "namespace %q is reserved", q.Value).Advise("rye config namespace <yours>")
	}
	s, release, err := s.Alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	project := s.Project.Edit()
	project.Namespace = q.Value
	if project.Namespace != s.Project.Namespace {
		if err := project.Write(s.ProjectDir); err != nil {
			return nil, err
		}
	}
	return &rye.Setting{Name: q.Name, Value: q.Value, Origin: filepath.Join(s.ProjectDir, ".ai", ProjectFile)}, nil
}

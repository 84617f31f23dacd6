package look

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/program"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Program describes a file of a bundle that can run: a program, or a tool of the bundle. ok is false
// for every other file.
func Program(m *objects.Manifest, f objects.File, data []byte) (p rye.BundleProgram, ok bool) {
	kind, why := program.Judge(f.Path, data, f.Executable)
	p = rye.BundleProgram{Path: f.Path, Kind: string(kind), Why: why}
	if ref, tool := toolAt(m, f.Path, data); tool {
		p.Kind, p.Why, p.Run = rye.ToolOfBundle, "it is a tool of the bundle", ref.String()
	} else if m.IsProgram(f) {
		if _, err := m.Program(f.Path, data); err == nil {
			p.Run = string(m.Ref().ID) + "/" + f.Path
		}
	}
	return p, p.Kind != ""
}

// toolAt returns the ref of a file of a bundle that is a tool which can be asked for.
func toolAt(m *objects.Manifest, path string, data []byte) (objects.Ref, bool) {
	dir, err := objects.BundleDir(m.ID)
	if err != nil {
		return objects.Ref{}, false
	}
	it, err := objects.Parse(dir+"/"+path, data)
	if err != nil || it.Ref.Kind != objects.Tool || it.Meta.Part || len(it.Validate()) > 0 {
		return objects.Ref{}, false
	}
	return it.Ref, true
}

// programsBeside lists the programs of the bundle whose entry a finding is; nil for every other item. A
// bundle that cannot be read shows none, and its own verification says why.
func programsBeside(ctx context.Context, s *session.Session, f space.Finding) []rye.BundleProgram {
	of, in := f.Ref.Package()
	if !in || f.Bundle == "" || of.ID != f.Ref.ID {
		return nil
	}
	if f.Registry != "" {
		return programsPinned(s.Stack.LockedPackage(of))
	}
	l, err := s.Stack.Layer(f.Space)
	if err != nil {
		return nil
	}
	info, err := DescribeBundle(ctx, s, l, of.PackageDir())
	if err != nil {
		return nil
	}
	return info.Programs
}

// programsPinned lists the programs of a bundle that the lock pins.
func programsPinned(p *space.Package) (all []rye.BundleProgram) {
	if p == nil || p.Err != nil {
		return nil
	}
	for _, f := range p.Manifest().Files {
		data, err := p.File(f.Path)
		if err != nil {
			return all
		}
		if one, is := Program(p.Manifest(), f, data); is {
			all = append(all, one)
		}
	}
	return all
}

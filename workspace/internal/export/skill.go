package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// SkillFiles writes the files of a verified skill, without the manifest, byte for byte into a
// folder that does not exist yet or is empty.
func SkillFiles(ctx context.Context, s *session.Session, q rye.SkillExport) (*rye.SkillExported, error) {
	d, err := demands(ctx, s, false)
	if err != nil {
		return nil, err
	}
	files, err := skillOf(ctx, s, q.Ref)
	if err != nil {
		return nil, err
	}
	registry, ref := "", objects.BundleRef(files.ID())
	if s.Lock != nil && s.Lock.Items[ref].SHA256 == files.Digest() {
		registry = s.RegistryOf(ref)
	}
	if err := s.AdmitBundle(d, ref, files, registry); err != nil {
		return nil, err
	}
	rep := &rye.SkillExported{Ref: q.Ref.String()}
	rep.Dir, err = into(q.Dir, func(dir string) error {
		return files.Read(func(f objects.File, data []byte) error {
			rep.Files = append(rep.Files, f.Path)
			return writeOut(dir, f, data)
		})
	})
	return rep, err
}

// skillOf returns the files of a skill: the project's, a registry's, then the user's.
func skillOf(ctx context.Context, s *session.Session, ref rye.Ref) (none trust.Bundle, err error) {
	for _, l := range s.Stack.Layers() {
		p, err := l.Locate(ref)
		if err != nil {
			return none, err
		}
		if p != "" {
			return workingSkill(ctx, s, l, ref, p)
		}
		if l.Space != objects.Project {
			continue
		}
		if pack, err := space.PackageOf(s.Stack, ref); err != nil {
			return none, err
		} else if pack != nil {
			return lockedSkill(pack, ref)
		}
	}
	return none, fault.New(fault.NotFound, "export skill %s: no such skill here", ref).Advise("rye search --kind knowledge %s", ref.ID.Name())
}

// workingSkill returns the files of the skill whose entry lies at p.
func workingSkill(ctx context.Context, s *session.Session, l *space.Layer, ref rye.Ref, p string) (none trust.Bundle, err error) {
	dir, ok := objects.InBundles(p)
	if !ok || !objects.IsSkill(p) {
		return none, fault.New(fault.Usage, "export skill %s: .ai/%s is not a skill", ref, p).Advise("rye list bundle")
	}
	c, err := s.Stack.Cover(ctx, l, dir+"/"+objects.ManifestName, nil)
	if err != nil {
		return none, err
	}
	if c == nil {
		return none, fault.New(fault.Untrusted, "%s: .ai/%s is not signed yet", ref, dir).Mend("rye sign .ai/%s", dir)
	}
	return c.Bundle, c.Err
}

// lockedSkill returns the files of a bundle whose entry is a skill.
func lockedSkill(p *space.Package, ref rye.Ref) (none trust.Bundle, err error) {
	if p.Err != nil {
		return none, p.Err
	}
	if at, err := p.Manifest().Locate(ref); err != nil || !objects.IsSkill(p.Dir()+"/"+at) {
		return none, errors.Join(err, fault.New(fault.Usage, "export skill %s: %s of bundle %s is not a skill", ref, at, p.Ref.Published()))
	}
	return p.Bundle, nil
}

// vacant refuses a folder that is not empty: no command loses work.
func vacant(dir string) error {
	list, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.Conflict, "export to %s: %w", dir, err)
	case len(list) > 0:
		return fault.New(fault.Conflict, "export to %s: it exists and is not empty", dir).Advise("name a folder that does not exist yet")
	}
	return nil
}

func writeOut(dir string, f objects.File, data []byte) error {
	p := filepath.Join(dir, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	return os.WriteFile(p, data, mode)
}

package leave

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store/driver"
	"github.com/rye-os/rye/workspace/internal/session"
)

// repositories adds the merge drivers of all recorded projects and of the present one, the entries
// of MCP clients in these projects, and the projects themselves, which stay.
func (p *plan) repositories(ctx context.Context, h *session.Host, q rye.UninstallRequest) error {
	seen := map[string]bool{}
	at := func(dir string) {
		if !seen[dir] {
			seen[dir] = true
			p.repository(ctx, h, q, dir, seen)
		}
	}
	all, err := recorded(h)
	if err != nil {
		return err
	}
	for _, k := range all {
		switch {
		case k.Foreign:
			p.drivers = append(p.drivers, left(k.Path, "another machine or user recorded it"))
		case k.Gone:
			p.drivers = append(p.drivers, left(k.Path, "the directory is missing"))
		default:
			at(k.Path)
		}
	}
	if dir, err := filepath.EvalSymlinks(h.ProjectDir); h.ProjectDir != "" && err == nil {
		at(dir)
	}
	return nil
}

func left(path, why string) step {
	return stays(rye.UninstallPart{What: driverPart, Path: path, Status: rye.PartLeft, Text: why})
}

// directory is a recorded directory of a project.
type directory struct {
	Path          string
	Foreign, Gone bool
}

// recorded returns the directories of projects that this user's records name. Without a usable
// data directory there are none.
func recorded(h *session.Host) (list []directory, err error) {
	all, err := h.Records.All()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	here, err := h.Records.At(nil, string(filepath.Separator), "") // any place identifies this machine and user
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if k.Path != "" && k.Project != "" {
			list = append(list, directory{k.Path, k.Machine != here.Machine || k.UID != here.UID, k.Gone()})
		}
	}
	return list, nil
}

// repository adds one project's directory. seen holds the git directories so far: worktrees share
// one.
func (p *plan) repository(ctx context.Context, h *session.Host, q rye.UninstallRequest, dir string, seen map[string]bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil && real != dir {
		err = fault.New(fault.Malformed, "the path leads to %s now", real)
	}
	if err != nil {
		p.drivers = append(p.drivers, left(dir, err.Error()))
		return
	}
	if _, err := os.Lstat(filepath.Join(dir, ".ai", session.ProjectFile)); err == nil {
		p.kept = append(p.kept, stays(rye.UninstallPart{What: projectPart, Path: dir, Status: rye.PartKept, Text: ".ai with its items and rye.lock"}))
		if q.Clients != nil {
			p.shared = append(p.shared, q.Clients(ctx, dir, true)...)
		}
	}
	s, err := driver.Look(dir, h.Home)
	if fault.Is(err, fault.NotFound) { // in no repository
		return
	}
	if err == nil && seen[s.Repository.Common] {
		return
	}
	var list []driver.Change
	var remains string
	if err == nil {
		seen[s.Repository.Common] = true
		list, remains, err = s.Removal()
	}
	git := s.Repository.Common
	if err != nil {
		if git == "" {
			git = dir
		}
		p.drivers = append(p.drivers, left(git, err.Error()))
		return
	}
	if len(list) > 0 {
		p.drivers = append(p.drivers, step{rye.UninstallPart{What: driverPart, Path: git, Status: rye.PartRemoved}, func() error { return s.Remove(list) }})
	}
	if remains != "" {
		one := left(git, remains)
		one.Hint = fault.Advice("edit config and info/attributes there")
		p.drivers = append(p.drivers, one)
	}
}

// exists reports whether there is anything at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

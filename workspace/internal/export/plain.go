package export

import (
	"cmp"
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Plain writes the verified items of the project, without their signature lines, into a
// folder that does not exist yet or is empty. The files of bundles stay byte for byte, and the
// manifests stay behind. An item that does not verify is reported and not written; then the
// error is the first reason.
func Plain(ctx context.Context, s *session.Session, q rye.PlainExport) (*rye.PlainExported, error) {
	found, err := look.Scan(ctx, s, objects.Project, nil)
	if err != nil {
		return nil, err
	}
	rep := &rye.PlainExported{Files: []string{}}
	var first error
	rep.Dir, err = into(q.Dir, func(dir string) error {
		for _, f := range found {
			if f.Bundle != "" && !f.Manifest {
				continue // written with its bundle
			}
			err := f.Err
			if err == nil { // never before the check
				err = plainOf(f, func(file objects.File, data []byte) error {
					rep.Files = append(rep.Files, file.Path)
					return writeOut(dir, file, data)
				})
			}
			if err != nil {
				first = cmp.Or(first, err)
				rep.Refused = append(rep.Refused, rye.PlainRefused{Path: f.Path, Code: fault.CodeOf(err), Error: err.Error()})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(rep.Files)
	if first != nil {
		first = fault.New(fault.CodeOf(first), "export to %s: not written, after failed verification: %s", rep.Dir, words.Plural(len(rep.Refused), "item")).
			Advise("rye verify shows the reasons")
	}
	return rep, first
}

// plainOf passes the files of one verified finding to write: all of a bundle, or an item without
// its signature line. objects.Split found that line, so the same bytes were verified without it;
// no other line is left out, however it looks.
func plainOf(f space.Finding, write func(objects.File, []byte) error) error {
	if !f.Manifest {
		return write(objects.File{Path: f.Path, Executable: f.Item.Executable()}, f.Item.Body)
	}
	return f.Cover.Bundle.Read(func(file objects.File, data []byte) error {
		file.Path = f.Cover.Dir + "/" + file.Path
		return write(file, data)
	})
}

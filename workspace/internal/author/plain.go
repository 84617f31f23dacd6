package author

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// ExportPlain writes the verified items of the project, without their signature lines, into a
// folder that does not exist yet or is empty. The files of bundles stay byte for byte, and the
// manifests stay behind. An item that does not verify is reported and not written; then the
// error is the first reason.
func ExportPlain(ctx context.Context, s *session.Session, q rye.PlainExport) (*rye.PlainExported, error) {
	to, err := filepath.Abs(q.Dir)
	if err == nil {
		err = vacant(to)
	}
	if err != nil {
		return nil, err
	}
	found, err := look.Scan(ctx, s, objects.Project, nil)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), space.TempPrefix+"*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	rep := &rye.PlainExported{Dir: to, Files: []string{}}
	var first error
	for _, f := range found {
		if f.Bundle != "" && !f.Manifest {
			continue // written with its bundle
		}
		err := f.Err
		if err == nil { // never before the check
			err = plainOf(f, func(file objects.File, data []byte) error {
				rep.Files = append(rep.Files, file.Path)
				return writeOut(tmp, file, data)
			})
		}
		if err != nil {
			first = cmp.Or(first, err)
			rep.Refused = append(rep.Refused, rye.PlainRefused{Path: f.Path, Code: fault.CodeOf(err), Error: err.Error()})
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return nil, err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.Sort(rep.Files)
	if first != nil {
		first = fault.New(fault.CodeOf(first), "export to %s: not written, after failed verification: %s", to, words.Plural(len(rep.Refused), "item")).
			Advise("rye verify shows the reasons")
	}
	return rep, cmp.Or(os.Rename(tmp, to), first)
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

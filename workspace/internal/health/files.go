package health

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/rye-os/rye/chain/audit"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
)

// maxFiles bounds the number of files read in one project.
const maxFiles = 200_000

// source is one text: a file of the project, or the bytes of an item in the record.
type source struct {
	item string
	path string // below the project; "" for bytes
	name string // tells its format
	raw  []byte
}

// places are the read parts of a project: the directories of items, and files that start
// servers for a model.
var (
	places  = []string{".ai/directives", ".ai/tools", ".ai/knowledge", ".ai/config", ".ai/bundles"}
	servers = []string{".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".gemini/settings.json", ".codex/config.toml"}
)

// files lists the texts of a project. It does not follow links: their targets are not part of
// the project, and no items.
func files(ctx context.Context, dir string) (all []source, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, p := range places {
		err := fs.WalkDir(root.FS(), p, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				all = append(all, source{path: name, name: name}) // reading it reports the reason
				return nil
			case !d.Type().IsRegular():
				return ctx.Err()
			case len(all) >= maxFiles:
				return fault.New(fault.Limit, "audit: more than %d files below .ai", maxFiles)
			}
			s := source{path: name, name: name}
			if ref, _, err := objects.RefOfPath(name[len(".ai/"):]); err == nil {
				s.item = ref.String()
			}
			all = append(all, s)
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	for _, p := range servers {
		if st, err := root.Lstat(p); err == nil && st.Mode().IsRegular() {
			all = append(all, source{path: p, name: p})
		}
	}
	return all, nil
}

// outcome is the result of reading one text.
type outcome struct {
	rep audit.Report
	err error
}

// errGone reports that a file was removed meanwhile.
var errGone = errors.New("gone")

// readAll reads texts to their ends, on every processor.
func readAll(ctx context.Context, dir string, files []source) ([]outcome, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	all := make([]outcome, len(files))
	err = parallel.Each(ctx, len(files), func(i int) error {
		all[i].rep, all[i].err = files[i].read(ctx, root)
		return ctx.Err()
	})
	return all, err
}

func (s source) read(ctx context.Context, root *os.Root) (audit.Report, error) {
	if s.path == "" {
		return audit.Text(bytes.NewReader(s.raw), audit.FormOf(s.name, s.raw))
	}
	st, err := root.Lstat(s.path) // opening a pipe would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return audit.Report{}, errGone
	}
	if err != nil {
		return audit.Report{}, err
	}
	if !st.Mode().IsRegular() {
		return audit.Report{}, fault.New(fault.Malformed, "%s is not a regular file", path.Base(s.path))
	}
	f, err := root.Open(s.path)
	if err != nil {
		return audit.Report{}, err
	}
	defer f.Close()
	in := bufio.NewReader(reader{ctx, f})
	head, err := in.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return audit.Report{}, err
	}
	return audit.Text(in, audit.FormOf(s.name, head))
}

// reader stops when its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

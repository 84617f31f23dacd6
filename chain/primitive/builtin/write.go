package builtin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
)

// maxWriteFiles bounds the files of one call.
const maxWriteFiles = 100

type writeParams struct {
	Path    *string     `json:"path"`
	Content *string     `json:"content"`
	Files   []fileParam `json:"files"`
}

type fileParam struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

type writeAnswer struct {
	Success bool      `json:"success"`
	Files   []written `json:"files"`
	Made    []string  `json:"directories_made,omitempty"`
}

type written struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	Created bool   `json:"created"`
	Version string `json:"version"`
}

// list returns the files of a call, given in either form.
func (q *writeParams) list() ([]fileParam, error) {
	one := q.Path != nil || q.Content != nil
	switch {
	case one && q.Files != nil, !one && len(q.Files) == 0:
		return nil, fault.New(fault.Usage, "parameters: want path and content, or files")
	case one && (q.Path == nil || q.Content == nil):
		return nil, fault.New(fault.Usage, "parameters: path and content belong together")
	case one:
		return []fileParam{{*q.Path, q.Content}}, nil
	case len(q.Files) > maxWriteFiles:
		return nil, fault.New(fault.Limit, "parameters: %d files, at most %d in one call", len(q.Files), maxWriteFiles)
	}
	for _, f := range q.Files {
		if f.Content == nil {
			return nil, fault.New(fault.Usage, "parameters: %q has no content", f.Path)
		}
	}
	return q.Files, nil
}

// write puts whole files in place. Each is complete beside its place before the first rename, so
// a failure of one stops all.
func write(ctx context.Context, in Input) (any, error) {
	var q writeParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	files, err := q.list()
	if err != nil {
		return nil, err
	}
	t, err := openTree(in, true)
	if err != nil {
		return nil, err
	}
	s := &staging{t: t}
	defer s.clean()
	for _, f := range files {
		if err := s.add(f.Path, []byte(*f.Content), nil); err != nil {
			return nil, err
		}
	}
	if err := s.commit(ctx); err != nil {
		return nil, err
	}
	return writeAnswer{Success: true, Files: s.done, Made: s.made}, nil
}

// staging is a set of files that must change together.
type staging struct {
	t      *tree
	staged []staged
	made   []string // directories, outermost first
	done   []written
}

type staged struct {
	at  *place
	tmp string
	out written
}

// add writes data beside the place of path. If unchanged is given, the place must still hold that
// file.
func (s *staging) add(path string, data []byte, unchanged fs.FileInfo) error {
	p, err := s.t.find(path, &s.made)
	if err != nil {
		return err
	}
	if p.info != nil && !p.info.Mode().IsRegular() {
		p.close()
		return fault.New(fault.Denied, "%s: it is a %s, not a file", path, kind(p.info.Mode()))
	}
	for _, o := range s.staged {
		if o.out.Path == p.rel {
			p.close()
			return fault.New(fault.Usage, "parameters: %q is written twice", p.rel)
		}
	}
	if unchanged != nil && (p.info == nil || !os.SameFile(p.info, unchanged)) {
		p.close()
		return stale(path)
	}
	f := staged{at: p, tmp: tempName(), out: written{Path: p.rel, Bytes: len(data), Created: p.info == nil, Version: version(data)}}
	s.staged = append(s.staged, f)
	return s.fill(path, &f, data)
}

func (s *staging) fill(path string, f *staged, data []byte) error {
	mode := fs.FileMode(0o644)
	if old := f.at.info; old != nil {
		if mode = old.Mode().Perm(); mode&0o200 == 0 {
			return fault.New(fault.Denied, "%s: it is read-only", path).Mend("chmod u+w %s", path)
		}
	}
	w, err := f.at.dir.OpenFile(f.tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return s.because(path, err)
	}
	_, err = w.Write(data)
	if err == nil && f.at.info != nil {
		err = w.Chmod(mode) // the umask may have removed bits
	}
	if err == nil {
		err = w.Sync()
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err == nil && f.at.info != nil {
		keepOwner(f.at.dir, f.tmp, f.at.info)
	}
	return s.because(path, err)
}

// commit renames everything into place. Only a failure between two renames can leave some files
// new and some old; then the error names the new ones.
func (s *staging) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range s.staged {
		f := &s.staged[i]
		if err := f.at.dir.Rename(f.tmp, f.at.name); err != nil {
			err = s.because(f.out.Path, err)
			if len(s.done) > 0 {
				var names []string
				for _, d := range s.done {
					names = append(names, d.Path)
				}
				return fault.New(fault.CodeOf(err), "%w; written before that: %s", err, strings.Join(names, ", "))
			}
			return err
		}
		f.tmp = ""
		s.done = append(s.done, f.out)
	}
	return nil
}

// clean removes uncommitted files, and the directories made for them.
func (s *staging) clean() {
	for _, f := range s.staged {
		if f.tmp != "" {
			f.at.dir.Remove(f.tmp)
		}
		f.at.close()
	}
	if len(s.done) > 0 {
		return
	}
	root, err := os.OpenRoot(s.t.base)
	if err != nil {
		return
	}
	defer root.Close()
	for i := len(s.made) - 1; i >= 0; i-- {
		root.Remove(filepath.FromSlash(s.made[i])) // removes only empty directories
	}
}

func (s *staging) because(path string, err error) error {
	if err == nil {
		return nil
	}
	return denied(err, "write %s", path)
}

func tempName() string {
	var b [8]byte
	rand.Read(b[:])
	return ".rye-" + hex.EncodeToString(b[:]) + ".tmp"
}

// Targets returns the paths that a call of a function would change, as given; nil for a function
// that only reads. The sandbox is limited to them. They may be incomplete, because the function
// checks again.
func Targets(function string, raw json.RawMessage) []string {
	var q struct {
		Path  string `json:"path"`
		Files []struct {
			Path string `json:"path"`
		} `json:"files"`
	}
	if function != "write" && function != "edit_lines" || json.Unmarshal(raw, &q) != nil {
		return nil
	}
	var out []string
	if q.Path != "" {
		out = append(out, q.Path)
	}
	for _, f := range q.Files {
		out = append(out, f.Path)
	}
	return out
}

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/place"
)

// file is the file of a client in one scope. rye reads and writes it at name below base, a
// path without links. Links of the user, as with a repository of dotfiles, were followed
// inside the home directory or the project.
type file struct {
	client clients.Client
	scope  clients.Scope
	path   string // the path that the client uses
	base   string
	name   string
}

// file finds the client's file in a scope: the first that exists, or the first possible one.
func (h *Host) file(c clients.Client, scope clients.Scope) (file, error) {
	paths := c.Paths(scope, h.Machine)
	switch {
	case !c.Has(scope):
		return file{}, fault.New(fault.Usage, "%s reads no file of a project", c.Title).Advise("rye mcp install %s --scope user", c.Name)
	case scope == clients.Project && h.Project == "":
		return file{}, fault.New(fault.NotFound, "there is no project here").Mend("rye init")
	case len(paths) == 0:
		return file{}, fault.New(fault.NotFound, "the path of %s's file is unknown: HOME is not set", c.Title)
	}
	for i, path := range paths {
		if scope == clients.Project {
			paths[i] = filepath.Join(h.Project, filepath.FromSlash(path))
		}
	}
	f := file{client: c, scope: scope, path: paths[0]}
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			f.path = path
			break
		}
	}
	return h.settled(f)
}

// settled follows the links on the way to a file.
func (h *Host) settled(f file) (file, error) {
	top := h.Project
	if f.scope == clients.User {
		if top = h.Home; top == "" || !within(top, f.path) {
			top = filepath.Dir(f.path) // a variable of the environment names it
		}
	}
	base, err := place.Resolve(top)
	if err != nil {
		return file{}, fault.New(fault.Failed, "look at %s: %w", top, err)
	}
	if err := place.Mine(base); f.scope == clients.User && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return file{}, err // under sudo the new file in a user's home would belong to root
	}
	real, err := place.Resolve(f.path)
	if err != nil {
		return file{}, fault.New(fault.Malformed, "look at %s: %w", f.path, err)
	}
	if !within(base, real) {
		return file{}, fault.New(fault.Malformed, "%s leads to %s, outside of %s", f.path, real, top).
			Advise("remove the link, or write the entry there by hand")
	}
	for at := real; within(base, at); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return file{}, fault.New(fault.Malformed, "%s leads to %s, a broken link", f.path, at).Advise("remove the link")
		}
	}
	f.base = base
	f.name, err = filepath.Rel(base, real)
	return f, err
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// read returns the bytes of the file; nil when there is none. A file of another user is
// fault.Auth, one that is too large is fault.Limit, and anything but a regular file is
// fault.Malformed.
func (f file) read() ([]byte, error) {
	path := filepath.Join(f.base, f.name)
	raw, err := place.Read(path, clients.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = place.Mine(path)
	}
	if err == nil && raw == nil {
		raw = []byte{}
	}
	return raw, err
}

// write replaces the file's text, or makes the file. Mode, owner and group stay; with secret
// set, no other user can read the file. It never writes outside base, even if another process
// adds links meanwhile.
func (f file) write(text []byte, secret bool) error {
	root, err := os.OpenRoot(f.base)
	if err == nil {
		defer root.Close()
		err = f.replace(root, text, secret)
	}
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", f.path, err)
	}
	return place.Sync(filepath.Join(f.base, filepath.Dir(f.name)))
}

func (f file) replace(root *os.Root, text []byte, secret bool) error {
	mode := fs.FileMode(0o644)
	if f.scope == clients.User {
		mode = 0o600
	}
	old, err := root.Stat(f.name)
	switch {
	case err == nil:
		mode = old.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		dirs := fs.FileMode(0o755)
		if f.scope == clients.User {
			dirs = 0o700
		}
		if err := root.MkdirAll(filepath.Dir(f.name), dirs); err != nil {
			return err
		}
	}
	if secret {
		mode &^= 0o077
	}
	tmp := filepath.Join(filepath.Dir(f.name), tempName)
	if err := writeNew(root, tmp, text, mode, old); err != nil {
		root.Remove(tmp)
		return err
	}
	if err := root.Rename(tmp, f.name); err != nil {
		root.Remove(tmp)
		return err
	}
	return nil
}

// tempName is the temporary name of a new text. There is only one, so that the next process
// removes the rest of a killed one.
const tempName = ".rye-tmp-client"

func writeNew(root *os.Root, name string, text []byte, mode fs.FileMode, like fs.FileInfo) error {
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // left by a killed process: under the lock no other one uses it
		if err = root.Remove(name); err == nil {
			out, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	if err == nil {
		err = keepGroup(out, like)
	}
	if err == nil {
		err = out.Chmod(mode)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// remove removes the file, and then its directory if that is empty.
func (f file) remove() error {
	root, err := os.OpenRoot(f.base)
	if err == nil {
		defer root.Close()
		err = root.Remove(f.name)
	}
	if err != nil {
		return fault.New(fault.Failed, "remove %s: %w", f.path, err)
	}
	if dir := filepath.Dir(f.name); dir != "." {
		root.Remove(dir) // fails if it is not empty
	}
	return place.Sync(f.base)
}

// inRepository returns the repository that has the file in its working tree, or "". A push
// would publish a token in such a file.
func (f file) inRepository() string {
	for dir := filepath.Dir(filepath.Join(f.base, f.name)); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) || !strings.HasPrefix(dir, f.base) {
			return ""
		}
	}
}

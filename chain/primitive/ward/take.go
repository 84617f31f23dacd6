package ward

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/rye-os/rye/fault"
)

// Bounds of a copy to another file system. A larger thing stays in its directory, under another
// name, and without permissions.
const (
	maxCopied = 1 << 30 // bytes
	maxCopies = 100_000 // files and directories
)

// A taker moves things out of the project.
type taker struct {
	ctx    context.Context
	d      *disk
	to     string
	taken  []Taken
	failed []error
}

// away moves the entry at a path, of any type.
func (t *taker) away(rel, kind, how, need string) bool {
	where, err := t.move(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, gone := t.d.stat(rel); gone != nil {
			return false // another process took it first
		}
	case err == nil:
		t.taken = append(t.taken, Taken{Path: rel, Kind: kind, How: how, Where: where, Need: need})
		return true
	}
	t.failed = append(t.failed, fault.New(fault.Denied, "%s (%s) is %s and could not be removed: %w", printable(rel), kind, how, err).
		Advise("look at %s, and remove it", printable(rel)))
	return false
}

// move moves rel below t.to and returns its new path.
func (t *taker) move(rel string) (string, error) {
	if st, err := t.d.stat(rel); err == nil && st.mode&fs.ModeIrregular != 0 {
		return "", t.d.root.Remove(local(rel)) // a pipe or socket has no content
	}
	where, err := t.room(rel)
	if err != nil {
		return "", err
	}
	err = t.d.move(rel, where)
	if errors.Is(err, fs.ErrPermission) { // a directory that its owner may not write
		dir, _ := split(rel)
		_ = t.d.widen(dir, 0o700)
		if st, err := t.d.stat(rel); err == nil && st.dir() {
			_ = t.d.widen(rel, 0o700)
		}
		err = t.d.move(rel, where)
	}
	if crossed(err) {
		return t.across(rel, where)
	}
	return where, err
}

// room returns a free path below t.to and makes the directories above it.
func (t *taker) room(rel string) (string, error) {
	where := filepath.Join(t.to, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(where), 0o700); err != nil {
		return "", err
	}
	free := where
	for n := 1; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free, nil
		} else if err != nil {
			return "", err
		}
		free = where + "." + strconv.Itoa(n)
	}
}

// across moves a thing from another file system: it copies the thing, and then removes it.
func (t *taker) across(rel, where string) (string, error) {
	c := &copier{ctx: t.ctx, root: t.d.root, bytes: maxCopied, files: maxCopies}
	if err := c.copy(local(rel), where); err != nil {
		os.RemoveAll(where)
		return t.shut(rel)
	}
	if err := t.d.root.RemoveAll(local(rel)); err != nil {
		return "", err
	}
	return where, nil
}

// shut renames a thing that cannot be copied, and removes its permissions.
func (t *taker) shut(rel string) (string, error) {
	for n := 0; n < 1000; n++ {
		to := rel + ".taken-by-rye"
		if n > 0 {
			to += "." + strconv.Itoa(n)
		}
		if _, err := t.d.root.Lstat(local(to)); err == nil {
			continue
		}
		if err := t.d.root.Rename(local(rel), local(to)); err != nil {
			return "", err
		}
		if st, err := t.d.root.Lstat(local(to)); err == nil && st.Mode()&fs.ModeSymlink == 0 {
			if err := t.d.root.Chmod(local(to), 0); err != nil {
				return "", err
			}
		}
		return t.d.abs(to), nil
	}
	return "", fs.ErrExist
}

// put writes a file in place of one that was moved.
func (t *taker) put(rel, text string) {
	if f, err := t.d.root.OpenFile(local(rel), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
		_, err = io.WriteString(f, text)
		if cerr := f.Close(); err == nil && cerr == nil {
			return
		}
		_ = t.d.root.Remove(local(rel)) // git works without it
	}
}

// A copier copies a tree out of the project. It follows no link and opens neither pipes nor
// devices.
type copier struct {
	ctx   context.Context
	root  *os.Root
	bytes int64
	files int
}

var errTooMuch = errors.New("more than rye copies")

func (c *copier) copy(from, to string) error {
	if c.files--; c.files < 0 {
		return errTooMuch
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	st, err := c.root.Lstat(from)
	if err != nil {
		return err
	}
	switch st.Mode().Type() {
	case fs.ModeDir:
		return c.dir(from, to, st.Mode().Perm())
	case 0:
		return c.file(from, to, st)
	case fs.ModeSymlink:
		target, err := c.root.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	return nil // a pipe or socket has no content
}

func (c *copier) dir(from, to string, perm fs.FileMode) error {
	if perm&0o700 != 0o700 {
		if err := c.root.Chmod(from, perm|0o700); err != nil {
			return err
		}
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	f, err := c.root.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(1000)
		for _, e := range entries {
			if err := c.copy(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copier) file(from, to string, st fs.FileInfo) error {
	if c.bytes -= st.Size(); c.bytes < 0 {
		return errTooMuch
	}
	in, err := c.root.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		if err = c.root.Chmod(from, st.Mode().Perm()|0o400); err == nil {
			in, err = c.root.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		}
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if is, err := in.Stat(); err != nil || !os.SameFile(is, st) {
		return fs.ErrInvalid
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, st.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, st.Size()))
	if err == nil {
		err = out.Sync() // the original will be removed next
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

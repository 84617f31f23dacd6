package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rye-os/rye/internal/fault"
)

// loosePath returns where id lies as a file of its own, below objects.
func loosePath(objects string, id OID) string {
	s := id.String()
	return filepath.Join(objects, s[:2], s[2:])
}

// maxLooseHeader is the longest header: "commit", a blank, 19 digits, a NUL.
const maxLooseHeader = 32

// readLooseHeader reads "type size\0" from the inflated stream.
func readLooseHeader(in *inflater) (Type, int64, error) {
	var head [maxLooseHeader]byte
	for i := range head {
		if _, err := io.ReadFull(in.z, head[i:i+1]); err != nil {
			return 0, 0, fault.New(fault.Integrity, "loose object header: %w", err)
		}
		if head[i] == 0 {
			return parseLooseHeader(head[:i])
		}
	}
	return 0, 0, fault.New(fault.Integrity, "loose object header: longer than %d bytes", maxLooseHeader)
}

// parseLooseHeader splits "type size" and accepts only what git writes.
func parseLooseHeader(head []byte) (Type, int64, error) {
	name, digits, _ := bytes.Cut(head, []byte{' '})
	t, err := ParseType(string(name))
	if err != nil {
		return 0, 0, fault.New(fault.Integrity, "loose object header: %w", err)
	}
	size, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != string(digits) {
		return 0, 0, fault.New(fault.Integrity, "loose object header: size %q", digits)
	}
	return t, size, nil
}

// readLoose reads one loose object from r, which must hold nothing else. With
// statOnly it stops after the header and data is nil. The id is not compared.
func readLoose(r io.Reader, limit int64, statOnly bool) (t Type, size int64, data []byte, err error) {
	in := newInflater(r)
	defer in.free()
	if err := in.start(); err != nil {
		return 0, 0, nil, err
	}
	t, size, err = readLooseHeader(in)
	if err != nil || statOnly {
		return t, size, nil, err
	}
	if size > limit {
		return 0, 0, nil, tooLarge(size, limit)
	}
	if data, err = in.exactly(size); err != nil {
		return 0, 0, nil, err
	}
	if _, err := in.buf.ReadByte(); err != io.EOF {
		return 0, 0, nil, fault.New(fault.Integrity, "loose object: bytes after its end")
	}
	return t, size, data, nil
}

func tooLarge(size, limit int64) error {
	return fault.New(fault.Limit, "%d bytes, at most %d are read", size, limit)
}

// object is one object about to be written.
type object struct {
	id   OID
	t    Type
	data []byte
}

// Put writes one object durably, as a loose file. A loose file that is there is
// verified and synced, not rewritten. An object that only a pack has is written
// again: git repack may be dropping that pack for being unreachable.
func (r *Repo) Put(ctx context.Context, t Type, data []byte) (OID, error) {
	nest, err := r.ownNest(ctx)
	if err != nil {
		return OID{}, err
	}
	id := r.format.Hash(t, data)
	return id, r.disk.putLoose(nest, []object{{id, t, data}})
}

// putLoose writes objects as loose files: all are written and synced, at the same
// time, then named, then their directories are synced. Ones that are there as
// loose files are synced and left. nest is where temporary files go.
func (d *diskObjects) putLoose(nest string, objs []object) error {
	temps := make([]string, len(objs))
	defer func() {
		for _, t := range temps {
			if t != "" {
				os.Remove(t)
			}
		}
	}()
	err := parallel(len(objs), func(i int) (err error) {
		temps[i], err = d.looseTemp(nest, objs[i])
		return err
	})
	if err != nil {
		return fault.New(fault.Failed, "write objects: %w", err)
	}
	var dirs []string
	for i, o := range objs {
		if temps[i] == "" {
			continue
		}
		more, err := d.nameLoose(temps[i], o.id)
		if err != nil {
			return fault.New(fault.Failed, "write object %s: %w", o.id, err)
		}
		temps[i] = ""
		dirs = append(dirs, more...)
	}
	if err := syncDirs(unique(dirs)...); err != nil {
		return fault.New(fault.Failed, "write objects: %w", err)
	}
	return nil
}

// looseTemp writes one object, synced, to a temporary file and returns its path;
// "" when the object is a loose file already.
func (d *diskObjects) looseTemp(nest string, o object) (string, error) {
	if d.hasLoose(o.id) {
		if _, _, err := d.loadLoose(o.id, int64(len(o.data))); err == nil {
			return "", d.freshen(o.id)
		} // else it is torn or rotten, and replaced
	}
	var head [maxLooseHeader]byte
	var b bytes.Buffer
	if err := deflate(&b, appendHeader(head[:0], o.t, int64(len(o.data))), o.data); err != nil {
		return "", err
	}
	path := filepath.Join(nest, randomName())
	f, err := writeTemp(path, b.Bytes(), permObject)
	if err != nil {
		return "", err
	}
	err = syncFile(f)
	return path, errors.Join(err, f.Close())
}

// nameLoose gives a temporary file the name of its object and returns the
// directories to sync.
func (d *diskObjects) nameLoose(temp string, id OID) ([]string, error) {
	path := loosePath(d.dir, id)
	dir := filepath.Dir(path)
	dirs := []string{dir}
	for range 5 { // git prune may remove the directory between our two steps
		err := rename(temp, path)
		if err == nil {
			return dirs, nil
		}
		if !isMissing(err) {
			if _, _, there := d.loadLoose(id, DefaultLimit); there == nil {
				os.Remove(temp) // Windows does not replace a read-only file
				return dirs, nil
			}
			return nil, err
		}
		changed, err := mkdirs(d.dir, dir)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, changed...)
	}
	return nil, notFound("directory %s", dir)
}

// freshen syncs an object's file, which git may have written without, and makes
// it young, so that git prune does not take it for garbage.
func (d *diskObjects) freshen(id OID) error {
	path := loosePath(d.dir, id)
	f, err := os.Open(path)
	if err != nil {
		return nil // in a pack, which whoever made it synced
	}
	defer f.Close()
	now := time.Now()
	os.Chtimes(path, now, now) // best effort: the file may be another user's
	if err := syncFile(f); err != nil {
		return fault.New(fault.Failed, "sync object %s: %w", id, err)
	}
	return syncDirs(filepath.Dir(path))
}

// unique returns a copy of list with each element once, the first where it was.
func unique[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	out := make([]T, 0, len(list))
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

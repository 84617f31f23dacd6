package store

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
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

// deflaters hold writers of level 1: git's content is read far more often than
// it is kept small, and level 1 costs half the time of the default.
var deflaters = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	return z
}}

// maxStored is up to how many bytes deflating is not worth it: trees of one or two
// entries are mostly hash, shrink by less than a header, and cost 20 µs each.
const maxStored = 96

// deflate writes parts as one zlib stream.
func deflate(w io.Writer, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size <= maxStored {
		return storeZlib(w, parts)
	}
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(w)
	for _, p := range parts {
		if _, err := z.Write(p); err != nil {
			return err
		}
	}
	return z.Close()
}

// storeZlib writes a few bytes as a zlib stream of one stored block (RFC 1950,
// RFC 1951 §3.2.4).
func storeZlib(w io.Writer, parts [][]byte) error {
	var buf [2 + 5 + maxStored + 4]byte
	b := append(buf[:0], 0x78, 0x01, 1, 0, 0, 0, 0) // level 0; the last block, stored
	for _, p := range parts {
		b = append(b, p...)
	}
	n := uint16(len(b) - 7)
	binary.LittleEndian.PutUint16(b[3:], n)
	binary.LittleEndian.PutUint16(b[5:], ^n)
	b = binary.BigEndian.AppendUint32(b, adler32.Checksum(b[7:]))
	_, err := w.Write(b)
	return err
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

func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	out := list[:0:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

package store

import (
	"bytes"
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/rye-os/rye/fault"
)

// loosePath returns the path of a loose object below objects.
func loosePath(objects string, id OID) string {
	s := id.String()
	return path.Join(objects, s[:2], s[2:])
}

// maxLooseHeader is the longest header: "commit", a blank, 19 digits, a NUL.
const maxLooseHeader = 32

// readLooseHeader reads "type size\0" from the inflated stream.
func (in *inflater) readLooseHeader() (Type, int64, error) {
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

// parseLooseHeader splits "type size" and accepts only the form that git writes.
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
	t, size, err = in.readLooseHeader()
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

// object is an object to be written.
type object struct {
	id   OID
	t    Type
	data []byte
}

// Put writes one object durably, as a loose file. It verifies and syncs an existing loose file
// and does not rewrite it. It writes an object again that only a pack has: git repack may be
// dropping it because it is unreachable.
func (r *Repo) Put(ctx context.Context, t Type, data []byte) (OID, error) {
	nest, err := r.ownNest(ctx)
	if err != nil {
		return OID{}, err
	}
	id := r.format.Hash(t, data)
	return id, r.disk.putLoose(nest, []object{{id, t, data}})
}

// putLoose writes objects as loose files: it writes and syncs all at the same time, then names
// them, then syncs their directories. It syncs existing loose files and leaves them. temp is a
// directory for temporary files.
func (d *diskObjects) putLoose(temp string, objs []object) error {
	w, err := d.stageLoose(temp, objs)
	defer w.close()
	if err == nil {
		err = d.wait.syncFiles(w.files)
	}
	if err == nil {
		err = w.name()
	}
	if err != nil {
		return fault.New(fault.Failed, "write objects: %w", err)
	}
	return nil
}

// looseWrite writes objects as loose files: written, then synced by the caller, then named.
type looseWrite struct {
	d     *diskObjects
	objs  []object
	temps []string   // parallel to objs; "" if the loose file exists, or the temporary file is named
	files []*os.File // to be synced
	dirs  []string   // to be synced when all are named
}

// wideStage is the number of bytes above which objects are deflated and written on all
// processors. Below it, that costs more than it saves.
const wideStage = 64 << 10

// stageLoose writes objects to temporary files in the directory temp. It does not sync them.
// The caller must close the result, even after an error.
func (d *diskObjects) stageLoose(temp string, objs []object) (*looseWrite, error) {
	w := &looseWrite{d: d, objs: objs, temps: make([]string, len(objs)), files: make([]*os.File, len(objs))}
	size := 0
	for _, o := range objs {
		size += len(o.data)
	}
	stage := func(i int) (err error) {
		w.temps[i], w.files[i], err = d.looseTemp(temp, objs[i])
		return err
	}
	var err error
	if size > wideStage {
		err = atOnce(len(objs), stage)
	} else {
		for i := 0; i < len(objs) && err == nil; i++ {
			err = stage(i)
		}
	}
	w.files = slices.DeleteFunc(w.files, func(f *os.File) bool { return f == nil })
	return w, err
}

// name gives the synced objects their names and syncs the directories.
func (w *looseWrite) name() error {
	w.closeFiles() // Windows does not rename open files
	for i, o := range w.objs {
		if w.temps[i] == "" {
			w.dirs = append(w.dirs, path.Dir(w.d.loose(o.id)))
			continue
		}
		dirs, err := w.d.nameLoose(w.temps[i], o.id)
		if err != nil {
			return err
		}
		w.temps[i] = ""
		w.dirs = append(w.dirs, dirs...)
	}
	return w.d.wait.syncDirs(w.d.files, unique(w.dirs)...)
}

// close closes the files and removes the files without a name.
func (w *looseWrite) close() {
	w.closeFiles()
	for _, t := range w.temps {
		if t != "" {
			w.d.files.unlink(t)
		}
	}
}

func (w *looseWrite) closeFiles() {
	for _, f := range w.files {
		f.Close()
	}
	w.files = nil
}

// looseTemp writes one object to a temporary file in the directory temp. For an existing loose
// object, name is "" and f is the existing file.
func (d *diskObjects) looseTemp(temp string, o object) (name string, f *os.File, err error) {
	if d.hasLoose(o.id) {
		if _, _, err := d.loadLoose(o.id, int64(len(o.data))); err == nil {
			return "", d.freshen(o.id), nil
		} // otherwise it is damaged, and replaced
	}
	b, err := looseBytes(o)
	if err != nil {
		return "", nil, err
	}
	name = path.Join(temp, randomName())
	if f, err = d.files.writeTemp(name, b, permObject); err != nil {
		return "", nil, err
	}
	return name, f, nil
}

// maxLooseStored is the size up to which deflating saves no disk space: one block of most file
// systems.
const maxLooseStored = 4096 - zlibOver - maxLooseHeader

// looseBytes returns the content of an object's loose file. Trees are stored, however large:
// they consist mostly of ids, which do not deflate. For a thousand entries, deflating the rest
// and inflating it for the next edit took longer than the whole commit does now. Packing
// deflates them once.
func looseBytes(o object) ([]byte, error) {
	var head [maxLooseHeader]byte
	h := appendHeader(head[:0], o.t, int64(len(o.data)))
	if o.t == TypeTree || len(o.data) <= maxLooseStored {
		size := len(h) + len(o.data)
		return storeZlib(make([]byte, 0, size+size/zlibBlock*5+zlibOver), append(h, o.data...)), nil
	}
	var b bytes.Buffer
	b.Grow(len(o.data) / 2)
	err := deflate(&b, h, o.data)
	return b.Bytes(), err
}

// nameLoose renames a temporary file to the name of its object and returns the directories to
// sync.
func (d *diskObjects) nameLoose(temp string, id OID) ([]string, error) {
	name := d.loose(id)
	dir := path.Dir(name)
	dirs := []string{dir}
	for range 5 { // git prune may remove the directory between mkdirs and rename
		err := d.files.rename(temp, name)
		if err == nil {
			return dirs, nil
		}
		if !isMissing(err) {
			if _, _, there := d.loadLoose(id, DefaultLimit); there == nil {
				d.files.unlink(temp) // Windows does not replace a read-only file
				return dirs, nil
			}
			return nil, err
		}
		changed, err := d.files.mkdirs(dir)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, changed...)
	}
	return nil, notFound("directory %s", dir)
}

// freshen opens a loose object, which git may have written without a sync, and updates its
// time, so that git prune keeps it. Nil means that the object is in a pack now; the process
// that made the pack synced it.
func (d *diskObjects) freshen(id OID) *os.File {
	f, err := d.files.open(d.loose(id))
	if err != nil {
		return nil
	}
	d.files.setTime(d.loose(id), time.Now()) // best effort: the file may belong to another user
	return f
}

// unique returns a copy of list with each element once, at its first position.
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

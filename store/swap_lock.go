package store

import (
	"errors"
	"os"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
)

// prepareLock writes the file that becomes a lock. A lock without content is never renamed to
// a ref. So it is just another name of the first file: creating and removing a file costs more
// than all names. If it is the first itself, it gets random content, by which it is
// recognised.
func (tx *refTx) prepareLock(path, content string) error {
	if content == "" && len(tx.locks) > 0 {
		first := tx.locks[0]
		tx.temps = append(tx.temps, tx.temps[0])
		tx.locks = append(tx.locks, refLock{path, first.content, first.mtime})
		return nil
	}
	if content == "" {
		content = "rye " + randomName() + "\n"
	}
	temp := deskName()
	f, err := tx.r.files.writeTemp(temp, []byte(content), permFile)
	if err != nil {
		return fault.Wrap(err, "prepare %s", path)
	}
	tx.temps, tx.files = append(tx.temps, temp), append(tx.files, f)
	fi, err := f.Stat()
	if err != nil {
		return fault.New(fault.Failed, "prepare %s: %w", path, err)
	}
	tx.locks = append(tx.locks, refLock{path, content, fi.ModTime().UnixNano()})
	return nil
}

// holdFiles creates lock files for files that are not refs.
func (tx *refTx) holdFiles(files ...string) error {
	for _, file := range files {
		if err := tx.prepareLock(file+".lock", ""); err != nil {
			return err
		}
	}
	if err := tx.r.recordRefLocks(tx.locks); err != nil {
		return err
	}
	if err := tx.sync(nil); err != nil {
		return err
	}
	return tx.lockAll()
}

// end closes tx. It sets *err to the error of close, unless *err is set already.
func (tx *refTx) end(err *error) {
	if cerr := tx.close(); *err == nil {
		*err = cerr
	}
}

// sync syncs the record, the prepared files, and others at the same time.
func (tx *refTx) sync(others []*os.File) error {
	files := append(append(others[:len(others):len(others)], tx.files...), tx.r.write.file)
	err := tx.r.disk.wait.syncFiles(files)
	for _, f := range tx.files {
		f.Close() // Windows does not rename open files
	}
	if tx.files = nil; err != nil {
		return fault.New(fault.Failed, "prepare ref locks: %w", err)
	}
	return nil
}

// lockAll gives the prepared files the names of git's lock files. A hard link never replaces a
// file, so the first process has the lock.
func (tx *refTx) lockAll() error {
	for i, l := range tx.locks {
		if err := tx.lockOne(l.path, tx.temps[i]); err != nil {
			return err
		}
		tx.held++
	}
	return nil
}

func (tx *refTx) lockOne(lock, temp string) error {
	for range 10 { // git may remove an empty directory between mkdirs and makeLock
		err := tx.r.disk.wait.makeLock(tx.r.files, temp, lock)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, os.ErrExist):
			return &foreignLock{tx.r.files.path(lock)}
		case isNotDir(err):
			return tx.blocked(lock)
		case !isMissing(err):
			return fault.Wrap(err, "lock a ref")
		}
		dirs, err := tx.r.files.mkdirs(path.Dir(lock))
		if err != nil {
			if isNotDir(err) {
				return tx.blocked(lock)
			}
			return fault.Wrap(err, "lock a ref")
		}
		tx.dirs = append(tx.dirs, dirs...)
	}
	if _, err := tx.r.files.lstat(temp); err != nil {
		return fault.Wrap(err, "lock a ref")
	}
	return tx.blocked(lock)
}

// makeLock gives the prepared file temp the name lock, which must be free.
func (w waiting) makeLock(f *files, temp, lock string) error {
	err := f.link(temp, lock)
	if err == nil || errors.Is(err, os.ErrExist) || isMissing(err) || isNotDir(err) || fault.Is(err, fault.Malformed) {
		return err
	}
	return w.copyLock(f, temp, lock)
}

// copyLock is makeLock for file systems without hard links. A process that is killed within it
// may leave a lock file that only a person can remove.
func (w waiting) copyLock(f *files, temp, lock string) error {
	content, err := f.read(temp, maxRefFile)
	if err != nil {
		return err
	}
	i, err := f.lstat(temp)
	if err != nil {
		return err
	}
	file, err := f.writeTemp(lock, content, permFile)
	if err != nil {
		return err
	}
	if err = w.syncClose(file); err == nil {
		err = f.setTime(lock, i.mtime)
	}
	if err != nil {
		f.unlink(lock)
	}
	return err
}

// blocked returns the error for a ref in the place of a needed directory.
func (tx *refTx) blocked(lock string) error {
	name := strings.TrimSuffix(lock, ".lock")
	for up := path.Dir(name); up != "refs" && up != "."; up = path.Dir(up) {
		if id, _, err := tx.r.looseRef(up); err == nil && !id.IsZero() {
			return nested(name, up)
		}
	}
	return &foreignLock{tx.r.files.path(lock)} // it existed a moment ago
}

func nested(name, other string) error {
	return fault.New(fault.Conflict, "cannot make ref %s: ref %s exists, and one would be a directory of the other", name, other)
}

// Package place replaces whole files durably, one process at a time. Readers see the old
// bytes or the new ones, acknowledged bytes survive a power cut, and a lock ends with the
// process that held it, however that ends.
//
// # Reasons
//
// The lock is the kernel's, not a file's existence: a process killed before it removed its
// lock file would block everyone. OnWait is one function for the process, because the
// trust store is changed where there is no context to carry it. The owner of a directory
// is looked at once: the walk takes 28 µs of a start of 4 ms, and only root can change it
// under a running server.
package place

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
)

// File replaces the file at path, or makes it, durably and as a whole. It writes a
// temporary file in the same directory, syncs it, renames it, and syncs the directory.
// It makes missing directories, with 0700 when mode keeps other users out and
// otherwise with 0755.
func File(path string, data []byte, mode os.FileMode) error { return file(path, data, mode, true) }

// Cache is File for data that can be made again. The file is complete or absent, but a
// power cut may damage it, because Cache does not wait for the disk.
func Cache(path string, data []byte, mode os.FileMode) error { return file(path, data, mode, false) }

func file(path string, data []byte, mode os.FileMode, durable bool) error {
	dir := filepath.Dir(path)
	if err := mkdirs(dir, mode, durable); err != nil {
		return wrote(path, err)
	}
	tmp, err := temp(dir, data, mode, durable)
	if err == nil {
		if err = rename(tmp, path); err != nil {
			os.Remove(tmp)
		}
	}
	if err != nil {
		return wrote(path, err)
	}
	if durable {
		return Sync(dir)
	}
	return nil
}

// Draft is a file to be written by Ready.Files.
type Draft struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Ready holds drafts that are on disk under temporary names, in the directories of their files.
// The zero value holds none.
type Ready struct{ made []made }

type made struct {
	Draft
	temp string
}

// Prepare writes drafts for a later call of Files and waits for the disk. It skips what it cannot
// write. The caller calls Files once, or Discard.
func Prepare(list ...Draft) Ready {
	var r Ready
	temps := make([]string, len(list))
	_ = together(len(list), func(i int) (err error) {
		temps[i], err = Temp(filepath.Dir(list[i].Path), list[i].Data, list[i].Mode)
		return err
	})
	for i, t := range temps {
		if t != "" {
			r.made = append(r.made, made{list[i], t})
		}
	}
	return r
}

// take returns the temporary file of a draft, which is then the caller's; "" if there is none.
func (r *Ready) take(d Draft) string {
	for i, m := range r.made {
		if m.temp != "" && m.Path == d.Path && m.Mode == d.Mode && bytes.Equal(m.Data, d.Data) {
			r.made[i].temp = ""
			return m.temp
		}
	}
	return ""
}

// Discard removes the drafts that got no name.
func (r Ready) Discard() {
	for i, m := range r.made {
		if m.temp != "" {
			os.Remove(m.temp)
			r.made[i].temp = ""
		}
	}
}

// Files is File for several files in existing directories. It waits for the disk once for all
// of them, and writes only the drafts that are not ready in the same words. They get their names in the
// order of the list. After a power cut each of them may be old or new, independently of the others.
func (r Ready) Files(list ...Draft) error {
	defer r.Discard()
	temps := make([]string, len(list))
	for i, d := range list {
		temps[i] = r.take(d)
	}
	err := together(len(list), func(i int) (err error) {
		if temps[i] == "" {
			temps[i], err = Temp(filepath.Dir(list[i].Path), list[i].Data, list[i].Mode)
		}
		return wrote(list[i].Path, err)
	})
	var dirs []string
	for i, d := range list {
		if err == nil {
			err = wrote(d.Path, rename(temps[i], d.Path))
		}
		if err != nil && temps[i] != "" {
			os.Remove(temps[i])
		}
		dirs = append(dirs, filepath.Dir(d.Path))
	}
	if err != nil {
		return err
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	return together(len(dirs), func(i int) error { return Sync(dirs[i]) })
}

// wrote adds the path to err; nil stays nil.
func wrote(path string, err error) error {
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", path, err)
	}
	return nil
}

// together calls do for 0 to n-1 at the same time.
func together(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Temp writes data to a new temporary file in dir, syncs it, and returns its path. The
// caller gives it its final name. On an error there is no file.
func Temp(dir string, data []byte, mode os.FileMode) (path string, err error) {
	return temp(dir, data, mode, true)
}

func temp(dir string, data []byte, mode os.FileMode, durable bool) (path string, err error) {
	f, err := os.CreateTemp(dir, ".rye-tmp-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// Replace renames a file over another, durably.
func Replace(from, to string) error {
	if err := rename(from, to); err != nil {
		return fault.New(fault.Failed, "replace %s: %w", to, err)
	}
	return Sync(filepath.Dir(to))
}

// Sync makes the names in dir durable, if the system can.
func Sync(dir string) error {
	if err := syncDir(dir); err != nil {
		return fault.New(fault.Failed, "sync %s: %w", dir, err)
	}
	return nil
}

// mkdirs makes dir and the missing directories above it, and makes their names durable if
// durable is set.
func mkdirs(dir string, mode os.FileMode, durable bool) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	up := filepath.Dir(dir)
	if up != dir {
		if err := mkdirs(up, mode, durable); err != nil {
			return err
		}
	}
	perm := os.FileMode(0o755)
	if mode&0o077 == 0 {
		perm = 0o700
	}
	if err := os.Mkdir(dir, perm); err != nil && !os.IsExist(err) {
		return err
	}
	if !durable {
		return nil
	}
	return syncDir(up)
}

// The pauses between two tries for a lock.
const (
	firstPause = time.Millisecond
	maxPause   = 20 * time.Millisecond
)

package primitive

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// File is one verified file of a run.
type File struct {
	Path string // slash path below the run's directory
	Data []byte
	Exec bool // 0555 instead of 0444
}

// RunDir is a new directory with the exact bytes of one run. It is private to this user. Its
// files cannot be written: by their mode, and under S2 by the kernel's rules, because a run
// directory is only ever in Sandbox.Exec.
type RunDir struct {
	Files string // absolute; the directory of the files, at their own paths
	Temp  string // absolute; empty, writable: HOME and TMPDIR of the program
	Mark  Mark   // for the run's Call

	root string
	lock *os.File // held during the run, so that Sweep skips it
}

// Materialise writes files into a new directory below dir, which it creates if necessary. It
// syncs nothing, because a run directory has no use after a crash. The caller must call Remove.
func Materialise(dir string, files []File) (*RunDir, error) {
	root, err := freshDir(dir)
	if err != nil {
		return nil, diskFault("make a run directory", err)
	}
	r := &RunDir{root: root, Files: filepath.Join(root, "files"), Temp: filepath.Join(root, "tmp"), Mark: newMark()}
	if err := r.fill(files); err != nil {
		r.Remove()
		return nil, err
	}
	return r, nil
}

// freshDir resolves links in dir, because Landlock's rules need real paths.
func freshDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	var name [12]byte
	rand.Read(name[:])
	root := filepath.Join(dir, runPrefix+hex.EncodeToString(name[:]))
	return root, os.Mkdir(root, 0o700)
}

// InMemory returns the directory of a run under S3, which is in no file system: its files are the
// Call's. Remove does nothing for it.
func InMemory() *RunDir {
	return &RunDir{Files: RunFiles, Temp: RunTemp, Mark: newMark()}
}

const (
	runPrefix = "run-"
	lockName  = "lock"
)

func (r *RunDir) fill(files []File) (err error) {
	// A sweep in another process may be testing the lock at this moment.
	for tries := 0; ; tries++ {
		if r.lock, err = lockFile(filepath.Join(r.root, lockName)); err == nil {
			break
		}
		if tries == 1000 || full(err) || errors.Is(err, fs.ErrPermission) {
			return diskFault("lock run directory", err)
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := r.lock.WriteString(r.Mark.String() + "\n"); err != nil {
		return diskFault("lock run directory", err)
	}
	for _, d := range []string{r.Files, r.Temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return diskFault("make a run directory", err)
		}
	}
	for _, f := range files {
		if err := r.write(f); err != nil {
			return err
		}
	}
	return seal(r.Files)
}

// write makes one file. O_EXCL refuses two files with one path. This package made every directory
// on the way, so no link can lead out.
func (r *RunDir) write(f File) error {
	if !fs.ValidPath(f.Path) || f.Path == "." || strings.Contains(f.Path, `\`) {
		return fault.New(fault.Malformed, "materialise %q: not a clean relative path", f.Path)
	}
	to := filepath.Join(r.Files, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return diskFault(fmt.Sprintf("materialise %q", f.Path), err)
	}
	mode := os.FileMode(0o444)
	if f.Exec {
		mode = 0o555
	}
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return diskFault(fmt.Sprintf("materialise %q", f.Path), err)
	}
	_, err = w.Write(f.Data)
	if err == nil && f.Exec {
		err = w.Chmod(mode) // the umask may have removed the bits
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return diskFault(fmt.Sprintf("materialise %q", f.Path), err)
	}
	return nil
}

// seal removes the right to create files in the directories below top.
func seal(top string) error {
	return walkDirs(top, 0o555)
}

func walkDirs(top string, mode os.FileMode) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			if err := os.Chmod(path, mode); err != nil {
				return err
			}
		}
		return err
	})
}

// Remove deletes the directory with all its content, including everything that the program left
// in Temp. It may be called more than once, and on nil.
func (r *RunDir) Remove() error {
	if r == nil || r.root == "" {
		return nil
	}
	err := removeAll(r.root)
	if r.lock != nil {
		r.lock.Close()
		r.lock = nil
	}
	if err != nil {
		// Windows does not delete an open lock file; now it is closed.
		err = removeAll(r.root)
	}
	return err
}

// removeAll deletes trees with write-protected directories. It makes a directory writable before
// it lists it, so one pass from the top is enough.
func removeAll(root string) error {
	err := os.RemoveAll(root)
	if err == nil {
		return nil
	}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
			if err != nil { // it could not be listed before
				return walkDirs(path, 0o700)
			}
		}
		return nil
	})
	return os.RemoveAll(root)
}

// Sweep deletes the run directories below dir whose process has ended, and returns their number.
// It first kills the remaining processes of such a run. It never touches a run in progress, in
// any process. A missing dir counts as empty.
func Sweep(dir string) (int, error) {
	left, err := Leftovers(dir)
	n := 0
	for _, path := range left {
		endMarked(leftMark(path), time.Second)
		if removeAll(path) == nil {
			n++
		}
	}
	return n, err
}

// Leftovers lists the directories that Sweep would delete.
func Leftovers(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "sweep run directories: %w", err)
	}
	var left []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), runPrefix) && abandoned(path, e) {
			left = append(left, path)
		}
	}
	return left, nil
}

// InProgress returns the number of runs below dir whose process still runs.
func InProgress(dir string) (n int) {
	entries, _ := os.ReadDir(dir) // a missing directory holds none
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		lock, err := os.Lstat(filepath.Join(path, lockName))
		if e.IsDir() && strings.HasPrefix(e.Name(), runPrefix) && err == nil && lock.Size() > 0 && !abandoned(path, e) {
			n++
		}
	}
	return n
}

// diskFault separates a full disk from other failures.
func diskFault(what string, err error) error {
	if full(err) {
		return fault.New(fault.Limit, "%s: %w", what, err).Advise("make room in the cache directory, or set XDG_CACHE_HOME to another disk")
	}
	return fault.New(fault.Failed, "%s: %w", what, err)
}

// abandoned reports whether no process holds the run's lock. A directory with a missing or empty
// lock is just being made, or was left at that moment; its age decides.
func abandoned(path string, e fs.DirEntry) bool {
	if lock, err := os.Lstat(filepath.Join(path, lockName)); err != nil || lock.Size() == 0 {
		info, err := e.Info()
		return err == nil && time.Since(info.ModTime()) > time.Hour
	}
	f, err := lockFile(filepath.Join(path, lockName))
	if err != nil {
		return false
	}
	f.Close()
	return true
}

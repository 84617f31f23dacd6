package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"golang.org/x/sync/errgroup"
)

const (
	inboxDir     = "inbox"
	artifactsDir = "artifacts"
	tempName     = ".rye-tmp-" // also known to place and to rye gc
	tempAge      = time.Hour
)

// threadOf returns the thread of a directory, whose name is the thread's id.
func threadOf(dir string) (string, error) {
	id := filepath.Base(dir)
	if !ValidID(id) {
		return "", fault.New(fault.Malformed, "%s is not the directory of a thread: its name is not an id", dir)
	}
	return id, nil
}

// Make makes the directory of a thread and the directories in it, durably and for the user alone.
// Its name is the thread's id (ValidID), and its parent directory must exist. Existing directories
// stay.
func Make(dir string) error {
	if _, err := threadOf(dir); err != nil {
		return err
	}
	for _, at := range []string{dir, filepath.Join(dir, inboxDir), filepath.Join(dir, artifactsDir)} {
		if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fault.New(fault.Failed, "make the directory of a thread: %w", err)
		}
	}
	root, err := openDir(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var g errgroup.Group // so that the disk does both syncs together
	g.Go(func() error { return syncRoot(root) })
	g.Go(func() error { return place.Sync(filepath.Dir(dir)) })
	return g.Wait()
}

// openDir opens the directory of a thread. Its name must be an id. It must be no link, belong to
// this user, and be closed to other users.
func openDir(dir string) (*os.Root, error) {
	if _, err := threadOf(dir); err != nil {
		return nil, err
	}
	return openPrivate(dir)
}

func openPrivate(dir string) (*os.Root, error) {
	root, err := place.Tree(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "there is no directory %s", dir)
	}
	if err != nil {
		return nil, err
	}
	if err := private(dir, root); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func private(dir string, root *os.Root) error {
	if err := place.Mine(dir); err != nil {
		return err
	}
	st, err := root.Stat(".")
	if err != nil {
		return fault.New(fault.Failed, "look at %s: %w", dir, err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		return fault.New(fault.Auth, "other users can enter %s (mode %04o)", dir, st.Mode().Perm()).Mend("chmod 700 %s", dir)
	}
	return nil
}

// openSub opens the inbox or the artifacts of a thread.
func openSub(dir, name string) (*os.Root, error) {
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openPrivate(filepath.Join(dir, name))
}

// openPlain opens a regular file of a directory. It refuses links, pipes, and a file that was
// replaced meanwhile. A missing file is fault.NotFound.
func openPlain(root *os.Root, name string, flag int) (*os.File, error) {
	st, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "there is no %s in %s", name, root.Name())
	}
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, fault.New(fault.Malformed, "open %s in %s: %w", name, root.Name(), err)
	}
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fault.New(fault.Failed, "open %s in %s: %w", name, root.Name(), err)
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(st, is) {
		f.Close()
		return nil, fault.New(fault.Malformed, "open %s in %s: it was replaced meanwhile", name, root.Name())
	}
	return f, nil
}

func syncRoot(root *os.Root) error { return place.Sync(root.Name()) }

// tidy removes temporary files that a crash left.
func tidy(root *os.Root, now time.Time) {
	d, err := root.Open(".")
	if err != nil {
		return
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			if st, serr := root.Lstat(e.Name()); strings.HasPrefix(e.Name(), tempName) && serr == nil && now.Sub(st.ModTime()) > tempAge {
				root.Remove(e.Name()) // a failure leaves it for the next call
			}
		}
		if err != nil {
			return
		}
	}
}

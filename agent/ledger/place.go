package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// checkPlace makes the directory of a ledger. It refuses a directory that other users can enter,
// and a path that is no regular file: SQLite would follow a link and make its other files beside
// the target.
func checkPlace(path string) error {
	if !filepath.IsAbs(path) {
		return fault.New(fault.Usage, "open the ledger %q: want an absolute path", path)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.Failed, "make the directory of the ledger: %w", err)
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return fault.New(fault.Failed, "look at the directory of the ledger: %w", err)
	}
	if !st.IsDir() {
		return fault.New(fault.Auth, "the ledger's directory %s is a link, or not a directory", dir).Advise("put a directory there")
	}
	if err := place.Owned(dir); err != nil {
		return err
	}
	if private(st.Mode()) != nil {
		return fault.New(fault.Auth, "other users can enter the ledger's directory %s (mode %04o)", dir, st.Mode().Perm()).Mend("chmod 700 %s", dir)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		if err := checkFile(name); err != nil {
			return err
		}
	}
	return nil
}

// checkFile refuses an existing file that is not regular, or that other users own or can read.
func checkFile(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Failed, "look at %s: %w", path, err)
	}
	if !st.Mode().IsRegular() {
		return fault.New(fault.Auth, "%s is a link, or not a regular file", path).Advise("move it away; rye does not follow a link to a ledger")
	}
	if err := place.Mine(path); err != nil {
		return err
	}
	if private(st.Mode()) != nil {
		return fault.New(fault.Auth, "other users can read %s (mode %04o)", path, st.Mode().Perm()).Mend("chmod 600 %s", path)
	}
	return nil
}

//go:build !windows

package trust

import (
	"io/fs"
	"os"

	"github.com/rye-os/rye/fault"
)

// checkPrivate refuses a private file that other users may access.
func checkPrivate(path string, st fs.FileInfo) error {
	if m := st.Mode().Perm(); m&0o077 != 0 {
		return fault.New(fault.Auth, "load key %s: others may read it (mode %04o)", path, m).Mend("chmod 600 %s", path)
	}
	return nil
}

// checkKeyDir refuses a directory where other users could replace a key.
func checkKeyDir(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return fault.New(fault.Failed, "save key: %w", err)
	}
	if m := st.Mode(); m.Perm()&0o022 != 0 && m&fs.ModeSticky == 0 {
		return fault.New(fault.Auth, "save key in %s: others may write there (mode %04o)", dir, m.Perm()).Mend("chmod 700 %s", dir)
	}
	return nil
}

// checkUnwritable refuses a file that other users may write.
func checkUnwritable(path string, m fs.FileMode) error {
	if m&0o022 != 0 {
		return fault.New(fault.Auth, "read %s: others may write it (mode %04o)", path, m).Mend("chmod 600 %s", path)
	}
	return nil
}

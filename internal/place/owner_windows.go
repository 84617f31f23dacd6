package place

import "os"

// Owned returns nil: the access list of the user's profile directory protects the files
// there, and the modes that Go reports on Windows do not show it.
func Owned(string) error { return nil }

// Owned is the function Owned.
func (l *Look) Owned(string) error { return nil }

// Trusted returns nil, for the same reason.
func Trusted(string) error { return nil }

// Trusted is the function Trusted.
func (l *Look) Trusted(string) error { return nil }

// OwnerOf returns the user that the file or directory at path belongs to. Windows has no
// numbers for users, so this is always the user of this process.
func OwnerOf(path string) (uid int, err error) {
	_, err = os.Lstat(path)
	return os.Geteuid(), err
}

// Writable returns nil: on Windows only a write shows whether it is allowed.
func Writable(string) error { return nil }

// ActFor does nothing: Windows has no numbers for users.
func ActFor(int) {}

// IsUser returns true, for the same reason.
func IsUser(int) bool { return true }

// Mine returns nil when path exists; see Owned.
func Mine(path string) error {
	_, err := os.Lstat(path)
	return err
}

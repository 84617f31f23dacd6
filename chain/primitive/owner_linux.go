package primitive

import "golang.org/x/sys/unix"

// OwnerOf returns whom a directory belongs to, for Sandbox.Owner; the superuser where that
// cannot be seen.
func OwnerOf(dir string) (uid, gid uint32) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return 0, 0
	}
	return st.Uid, st.Gid
}

package primitive

import "golang.org/x/sys/unix"

// OwnerOf returns the owner of a directory, for Sandbox.Owner; the superuser if the owner is
// unknown.
func OwnerOf(dir string) (uid, gid uint32) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return 0, 0
	}
	return st.Uid, st.Gid
}

package place

import "golang.org/x/sys/unix"

// KeepsModes reports whether the file system of a directory keeps the executable bit of each
// file. FAT and shared folders give all files one mode.
func KeepsModes(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	switch unix.ByteSliceToString(st.Fstypename[:]) {
	case "apfs", "hfs", "nfs":
		return true
	}
	return false
}

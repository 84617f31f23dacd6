package place

import "golang.org/x/sys/unix"

// KeepsModes reports whether the file system of a directory keeps the executable bit of each
// file. FAT and shared folders give all files one mode.
func KeepsModes(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && keepsModes[int64(st.Type)]
}

// keepsModes lists the types of such file systems, from statfs(2); the last two are from their
// sources.
var keepsModes = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.F2FS_SUPER_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true, unix.NFS_SUPER_MAGIC: true,
	0x2fc12fc1: true /* ZFS */, 0xca451a4e: true, /* bcachefs */
}

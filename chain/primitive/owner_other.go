//go:build !linux

package primitive

// OwnerOf returns the superuser: nobody acts as somebody else here.
func OwnerOf(string) (uid, gid uint32) { return 0, 0 }

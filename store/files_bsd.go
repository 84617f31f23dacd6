//go:build unix && !linux

package store

import "golang.org/x/sys/unix"

// searchOnly opens a directory only to look up names in it.
const searchOnly = unix.O_RDONLY

// openBeneath opens name below the directory top. It follows no links.
func openBeneath(top int, name string, flags int, perm uint32) (int, error) {
	return openComponents(top, name, flags, perm)
}

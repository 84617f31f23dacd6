package app

import (
	"path"
	"path/filepath"
	"strconv"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/merging"
	"github.com/rye-os/rye/internal/place"
)

// The answers of a merge driver on standard output. git's configuration holds a line that
// waits for one of these words (DriverLine), so that no other program at rye's path, nor a rye
// that was killed, seems to have merged a file.
const (
	DriverMerged   = "merged"
	DriverConflict = "conflict"
)

// MergeDriver merges one file for git: args are %O %A %B %L %P of gitattributes(5). It replaces
// the file %A, last of all, and returns its answer. It reads no other file, not even a
// configuration, because it runs in the directory of a clone.
func MergeDriver(args []string) (answer string, err error) {
	size, err := strconv.Atoi(args[3])
	if err != nil || size < 1 || size > 1000 {
		return "", fault.New(fault.Usage, "merge-driver: %q is no length of a conflict mark", args[3])
	}
	var sides [3][]byte
	for i := range sides {
		if sides[i], err = place.Read(args[i], MaxMerged); err != nil {
			return "", fault.Wrap(err, "merge-driver")
		}
	}
	r := merging.Merge(path.Clean(filepath.ToSlash(args[4])), merging.Sides{Base: sides[0], Ours: sides[1], Theirs: sides[2]},
		diff.Marks{Ours: "ours", Theirs: "theirs", Size: size})
	if err := place.File(args[1], r.Text, 0o644); err != nil {
		return "", fault.Wrap(err, "merge-driver")
	}
	if r.Conflicts > 0 {
		return DriverConflict, nil
	}
	return DriverMerged, nil
}

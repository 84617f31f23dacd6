package registry

import (
	"slices"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// contentLimits fit one item with the trees above it; packageLimits fit one bundle.
var (
	contentLimits = store.Limits{Objects: 64, Bytes: oplog.MaxItemSize + 1<<20, Object: oplog.MaxItemSize, Total: oplog.MaxItemSize + 1<<20}
	packageLimits = store.Limits{Objects: oplog.MaxPackageObjects, Bytes: objects.MaxPackageBytes + oplog.MaxItemSize,
		Object: oplog.MaxItemSize, Total: objects.MaxPackageBytes + 2*oplog.MaxItemSize}
)

// packagesAtOnce is how many bundles one fetch asks for: the largest possible bundles still fit
// the limit of a fetch.
const packagesAtOnce = 4

// together splits a list of versions into groups, one for each fetch.
func together(list []*oplog.Entry, most int) (all [][]*oplog.Entry) {
	var files, packages []*oplog.Entry
	for _, e := range list {
		if e.Ref.Kind == objects.Bundle {
			packages = append(packages, e)
		} else {
			files = append(files, e)
		}
	}
	return append(slices.Collect(slices.Chunk(files, most)), slices.Collect(slices.Chunk(packages, packagesAtOnce))...)
}

func limitsOf(e *oplog.Entry) store.Limits {
	if e.Ref.Kind == objects.Bundle {
		return packageLimits
	}
	return contentLimits
}

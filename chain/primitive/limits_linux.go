package primitive

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// The default limits: enough for a build on a laptop, and safe for a laptop.
const (
	defaultTemp  = 2 << 30 // bytes of temporary files in memory, at most a quarter of it
	defaultProcs = 4096    // under S3, where they are counted by namespace
	defaultFile  = 4 << 30 // bytes
	defaultFiles = 1024    // open descriptors
)

// rlimits converts Limits for setrlimit(2). mark, unless it is 0, identifies the run's processes.
func rlimits(l *Limits, mark Mark) []cage.Limit {
	all := []struct {
		name     string
		resource int
		value    int64
		def      int64
	}{
		{"cpu", unix.RLIMIT_CPU, l.CPU, 0},
		{"memory", unix.RLIMIT_DATA, l.Memory, 3 * share(math.MaxInt64, 4)},
		{"file", unix.RLIMIT_FSIZE, l.File, defaultFile},
		{"open files", unix.RLIMIT_NOFILE, l.Files, defaultFiles},
		{"processes", unix.RLIMIT_NPROC, l.Procs, 0},
	}
	if mark != 0 { // in a namespace of its own
		all[4].def = defaultProcs
	}
	out := []cage.Limit{{Name: "core dumps", Resource: unix.RLIMIT_CORE}}
	for _, r := range all {
		if r.value == 0 {
			r.value = r.def
		}
		if r.value > 0 && mark != 0 {
			r.value = withFirst(r.resource, r.value)
		}
		if r.value > 0 {
			out = append(out, cage.Limit{Name: r.name, Resource: r.resource, Max: uint64(r.value)})
		}
	}
	if mark != 0 {
		out = append(out, cage.Limit{Name: "mark", Resource: unix.RLIMIT_RTTIME, Max: uint64(mark)})
	}
	return out
}

// withFirst adds the needs of the namespace's first process, which has the same limits.
func withFirst(resource int, value int64) int64 {
	switch resource {
	case unix.RLIMIT_DATA:
		return max(value, 64<<20)
	case unix.RLIMIT_NPROC:
		return value + 16 // its threads
	}
	return value
}

// temp returns the most bytes of temporary files under S3.
func (l *Limits) temp() int64 {
	switch {
	case l.Temp > 0:
		return l.Temp
	case l.Temp < 0:
		return 0 // the system's own: half of the memory
	}
	return share(defaultTemp, 4)
}

// share returns want, or the given part of the machine's memory if that is less.
func share(want int64, part int64) int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return want
	}
	if have := int64(info.Totalram) * int64(info.Unit) / part; have > 0 && have < want {
		return have
	}
	return want
}

package primitive

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// mount is one entry of a program's view under S3.
type mount struct {
	cage.Mount
	rank int // of several at one path, the highest wins
}

// Ranks of mounts.
const (
	shown = iota
	given // writable
	kept  // protected: read-only inside any other mount
	gone  // hidden
)

// view returns the program's file system, parents before their content.
func view(c *Call) []cage.Mount {
	s := &c.Sandbox
	all := systemView(s.Limits.temp())
	if s.doors() {
		all = append(all, bind(resolve(hostNames), shown)...)
	}
	if c.tunnel() {
		all = append(all, mount{cage.Mount{Kind: cage.Shown, Path: cage.ConnectPath, Source: resolve(cageProgram())}, shown})
	}
	for _, p := range append(append([]string{c.Argv[0]}, s.Exec...), s.Read...) {
		all = append(all, bind(p, shown)...)
	}
	for _, p := range append(slices.Clone(s.Write), c.Temp) {
		all = append(all, bind(p, given)...)
	}
	for _, p := range canonical(s.Protect) {
		if p != c.Temp {
			all = append(all, mount{cage.Mount{Kind: cage.Kept, Path: p}, kept})
		}
	}
	for _, p := range canonical(s.Hide) {
		all = append(all, mount{cage.Mount{Kind: cage.Gone, Path: p}, gone})
	}
	if slices.ContainsFunc(all, func(m mount) bool { return within(m.Path, cage.SharedDir) && m.rank < kept }) {
		all = append(all, mount{cage.Mount{Kind: cage.Tmpfs, Path: cage.SharedDir, Size: s.Limits.temp()}, shown})
	}
	var out []cage.Mount
	for _, m := range arrange(all, c.Temp) {
		out = append(out, m.Mount)
	}
	for _, p := range []string{otherTemp, cage.SharedDir} {
		if !slices.ContainsFunc(out, func(m cage.Mount) bool { return within(m.Path, p) || p == otherTemp && within(p, m.Path) }) {
			out = append(out, cage.Mount{Kind: cage.Link, Path: p, Source: cage.TempDir})
		}
	}
	return out
}

// otherTemp is where programs put temporary files that survive a restart. Here they vanish after
// the run, as all temporary files do.
const otherTemp = "/var/tmp"

// systemView returns the mounts that every program needs to start.
func systemView(temp int64) []mount {
	all := []mount{
		{cage.Mount{Kind: cage.Proc, Path: "/proc"}, shown},
		{cage.Mount{Kind: cage.Dev, Path: "/dev"}, shown},
		{cage.Mount{Kind: cage.Tmpfs, Path: cage.TempDir, Size: temp}, shown},
	}
	for _, p := range append(slices.Clone(systemPaths), "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage") {
		all = append(all, bind(p, shown)...)
		if real := resolve(p); real != p && !within(real, "/usr") {
			all = append(all, bind(real, shown)...)
		}
	}
	return append(all, bind(resolve(nameServers), shown)...)
}

// nameServers is a link on many systems, to a file of the service that updates it.
const nameServers = "/etc/resolv.conf"

// bind shows a path. A link is shown as a link, and a link on the way gives nothing, as in S2.
func bind(p string, rank int) []mount {
	if p == "" || p == cage.TempDir || within(p, cage.FilesDir) {
		return nil
	}
	if p = filepath.Clean(p); p == "/" {
		return bindAll(rank)
	}
	info, err := os.Lstat(p)
	if err != nil || resolve(filepath.Dir(p)) != filepath.Dir(p) {
		return nil
	}
	kind := cage.Shown
	if rank == given {
		kind = cage.Given
	}
	if info.Mode()&os.ModeSymlink == 0 {
		return []mount{{cage.Mount{Kind: kind, Path: p, Source: p}, rank}}
	}
	to, err := os.Readlink(p)
	if err != nil || rank != shown {
		return nil
	}
	return []mount{{cage.Mount{Kind: cage.Link, Path: p, Source: straight(p, to)}, shown}}
}

// straight returns the text of a link without steps back out of a directory, because the view may
// not have that directory.
func straight(link, to string) string {
	inner := strings.TrimLeft(strings.TrimPrefix(to, "/"), "./")
	if !strings.Contains("/"+inner+"/", "/../") {
		return to
	}
	return resolve(link)
}

// bindAll shows everything in the root, except the parts that the view makes itself.
func bindAll(rank int) (all []mount) {
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if p := "/" + e.Name(); p != "/proc" && p != "/dev" && p != "/run" {
			all = append(all, bind(p, rank)...)
		}
	}
	return all
}

// arrange puts parents before their content and drops mounts without effect: paths that a parent
// already shows, and protection of paths that are not in view.
func arrange(all []mount, temp string) []mount {
	slices.SortStableFunc(all, func(a, b mount) int {
		return cmp.Or(strings.Compare(a.Path+"/", b.Path+"/"), b.rank-a.rank)
	})
	var out, hidden []mount
	// around returns the innermost mount that contains path.
	around := func(path string) (m mount, ok bool) {
		for i := len(out) - 1; i >= 0; i-- {
			if within(path, out[i].Path) {
				return out[i], true
			}
		}
		return m, false
	}
	for _, m := range all {
		in, ok := around(m.Path)
		if m.rank == gone {
			hidden = append(hidden, m)
		}
		switch {
		case ok && in.Path == m.Path, // a higher rank was first
			m.rank >= kept && !ok,                     // not in view at all
			m.rank == kept && ok && in.rank == shown,  // read-only already
			m.rank == given && ok && in.rank == given, // writable already
			m.rank == shown && ok && in.binds(),       // shown already, or more
			m.rank < kept && m.Path != temp && slices.ContainsFunc(hidden, func(h mount) bool { return within(m.Path, h.Path) }), // hidden means hidden
			m.rank == given && ok && in.rank == kept && m.Path != temp:                                                           // protected means protected
			continue
		}
		out = append(out, m)
	}
	return out
}

// binds reports whether m shows the files of a place, and hides none.
func (m mount) binds() bool {
	return m.Kind == cage.Shown || m.Kind == cage.Given || m.Kind == cage.Kept
}

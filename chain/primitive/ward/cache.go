package ward

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/table"
)

// The cache of a project is one file. All numbers are little endian:
//
//	"rye ward 1\n"
//	u32   CRC-32C of all that follows
//	u64   checksum of the table in names.go
//	u64   device, u64 inode of the project
//	u32   the most directories to search
//	names of git directories that were found, by path
//	directories, as the walk meets them, the project first
//
//	directory: u64 inode, i64 ctime, u8 marks, u8 1 if it held more than was read,
//	           names in the table that are not directories, names of directories,
//	           and a u8 for each of these: 1 if it follows as a directory itself
//	names:     u32 count, then u16 length and bytes of each, ascending
//
// An entry is used only if its inode and ctime agree with the disk. A torn file, a file of
// another project or table, and every other invalid file are ignored and written again.

const (
	cacheMagic = "rye ward 1\n"
	maxCache   = 8 << 20 // bytes
	maxFound   = 1000    // git directories that are remembered
)

// memory is the content of the cache.
type memory struct {
	tree  *node
	found []string
}

// loadCache returns the remembered content of a project, or one empty node.
func loadCache(path string, d *disk, most int) memory {
	if path != "" && d.trusted {
		if raw, err := place.Read(path, maxCache); err == nil {
			if m, err := decode(raw, d.id, most); err == nil {
				return m
			}
		}
	}
	return memory{tree: newNode(nil, "")}
}

// saveCache writes the cache. Nothing depends on it, so errors are ignored.
func saveCache(path string, d *disk, most int, m memory) {
	if path == "" || !d.trusted {
		return
	}
	if raw := encode(m, d.id, most); len(raw) <= maxCache {
		_ = place.Cache(path, raw, 0o600)
	}
}

// foundBefore returns the git directories among things, by path.
func foundBefore(things []thing) []string {
	var out []string
	for _, t := range things {
		if t.kind == gitDirectory && len(out) < maxFound {
			out = append(out, t.path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func encode(m memory, id info, most int) []byte {
	le := binary.LittleEndian
	out := make([]byte, len(cacheMagic)+4, 64<<10)
	copy(out, cacheMagic)
	out = le.AppendUint64(out, rules().sum)
	out = le.AppendUint64(out, id.dev)
	out = le.AppendUint64(out, id.ino)
	out = le.AppendUint32(out, uint32(most))
	out = appendNames(out, len(m.found), func(i int) string { return m.found[i] })
	for queue := []*node{m.tree}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		out = le.AppendUint64(out, n.ino)
		out = le.AppendUint64(out, uint64(n.ctime))
		out = append(out, byte(n.marks), bit(n.more))
		out = appendNames(out, len(n.found), func(i int) string { return n.found[i].name })
		out = appendNames(out, len(n.kids), func(i int) string { _, name := split(n.kids[i].path); return name })
		for _, k := range n.kids {
			out = append(out, bit(k.seen))
			if k.seen {
				queue = append(queue, k)
			}
		}
	}
	le.PutUint32(out[len(cacheMagic):], table.Sum(out[len(cacheMagic)+4:]))
	return out
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendNames(out []byte, n int, name func(int) string) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(n))
	for i := range n {
		s := name(i)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(s)))
		out = append(out, s...)
	}
	return out
}

var errCache = errors.New("not the cache of this project")

// decode is strict: it accepts only bytes that encode writes.
func decode(raw []byte, id info, most int) (memory, error) {
	r := reader{table.NewCursor(raw)}
	if r.Text(len(cacheMagic)) != cacheMagic {
		return memory{}, errCache
	}
	if sum := r.Uint32(); r.Bad() || table.Sum(r.Rest()) != sum {
		return memory{}, errCache
	}
	if r.Uint64() != rules().sum || r.Uint64() != id.dev || r.Uint64() != id.ino || r.Uint32() != uint32(most) {
		return memory{}, errCache
	}
	m := memory{found: r.names(maxFound, isPath), tree: newNode(nil, "")}
	for queue := []*node{m.tree}; len(queue) > 0 && !r.Bad(); queue = queue[1:] {
		most--
		r.Need(most >= 0)
		queue = append(queue, r.node(queue[0])...)
	}
	if !r.Done() {
		return memory{}, errCache
	}
	return m, nil
}

// reader decodes directories from the front of a cache.
type reader struct{ *table.Cursor }

// names reads names in ascending order.
func (r reader) names(most int, ok func(string) bool) []string {
	n := r.Uint32()
	if n > uint32(min(most, r.Len()/3)) {
		r.Fail()
		return nil
	}
	var out []string
	for range n {
		name := r.Text(r.Uint16())
		if r.Need(ok(name) && (len(out) == 0 || name > out[len(out)-1])); r.Bad() {
			return nil
		}
		out = append(out, name)
	}
	return out
}

// node reads one directory into n, and returns its subdirectories that follow.
func (r reader) node(n *node) []*node {
	n.ino, n.ctime, n.marks, n.more, n.seen = r.Uint64(), int64(r.Uint64()), marks(r.Byte()), r.Bit(), true
	above := n.above()
	for _, name := range r.names(maxWide, isName) {
		rule := ruleFor(above, name)
		r.Need(rule != nil)
		n.found = append(n.found, named{name, rule})
	}
	for _, name := range r.names(maxWide, isName) {
		n.kids = append(n.kids, newNode(n, name))
	}
	var follow []*node
	for _, k := range n.kids {
		if k.seen = r.Bit(); k.seen {
			follow = append(follow, k)
		}
	}
	if !r.Bad() {
		n.sort()
	}
	return follow
}

func isName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 255 && !strings.ContainsAny(s, "/\x00")
}

func isPath(s string) bool {
	for name := range strings.SplitSeq(s, "/") {
		if !isName(name) {
			return false
		}
	}
	return true
}

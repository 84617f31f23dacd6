package store

import (
	"context"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// MaxNameLength bounds a name in content from outside, in bytes.
const MaxNameLength = 128

// CheckName is the rule for names in content from outside:
// [A-Za-z0-9_][A-Za-z0-9._-]*, at most MaxNameLength bytes, no trailing dot, no
// ".lock" ending, no device name of Windows. Errors are fault.Malformed.
func CheckName(name string) error {
	if name == "" || len(name) > MaxNameLength {
		return fault.New(fault.Malformed, "name %q: want 1 to %d bytes", words.Brief(name), MaxNameLength)
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case i > 0 && (c == '.' || c == '-'):
		default:
			return fault.New(fault.Malformed, "name %q: want [A-Za-z0-9_][A-Za-z0-9._-]*", words.Brief(name))
		}
	}
	lower := strings.ToLower(name)
	stem, _, _ := strings.Cut(lower, ".")
	switch {
	case strings.HasSuffix(name, "."):
		return fault.New(fault.Malformed, "name %q: ends in a dot", name)
	case strings.HasSuffix(lower, ".lock"):
		return fault.New(fault.Malformed, "name %q: ends in .lock", name)
	case isDevice(stem):
		return fault.New(fault.Malformed, "name %q: a device on Windows", name)
	}
	return nil
}

// isDevice reports whether Windows reads the lower-case stem as a device name.
func isDevice(stem string) bool {
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt")) &&
		stem[3] >= '0' && stem[3] <= '9'
}

// CheckTree is the rule for one tree from outside: regular files and directories only, every
// name valid by CheckName, and unique when case is ignored. The entries must come from
// ParseTree, which checks their order. Errors are fault.Malformed.
func CheckTree(entries []Entry) error {
	seen := make(map[string]string, len(entries))
	for _, e := range entries {
		if !e.IsDir() && !e.Mode.IsFile() {
			return fault.New(fault.Malformed, "tree entry %q: mode %o; only regular files and directories are accepted", words.Brief(e.Name), uint32(e.Mode))
		}
		if err := CheckName(e.Name); err != nil {
			return err
		}
		lower := strings.ToLower(e.Name)
		if other, ok := seen[lower]; ok {
			return fault.New(fault.Malformed, "tree entries %q and %q differ only in case", other, e.Name)
		}
		seen[lower] = e.Name
	}
	return nil
}

// ContentLimits bounds a whole tree from outside. Zero fields mean the values in
// DefaultContentLimits.
type ContentLimits struct {
	Depth   int   // nested directories, the root being 1
	Entries int   // files and directories together, counted once per place
	Blob    int64 // bytes of one file
	Total   int64 // bytes of all files together, counted once per place
}

// DefaultContentLimits fits a registry item and a namespace's state.
var DefaultContentLimits = ContentLimits{Depth: 16, Entries: 100_000, Blob: 8 << 20, Total: 1 << 30}

func (l ContentLimits) orDefault() ContentLimits {
	d := DefaultContentLimits
	return ContentLimits{Depth: given(l.Depth, d.Depth), Entries: given(l.Entries, d.Entries), Blob: given(l.Blob, d.Blob), Total: given(l.Total, d.Total)}
}

// given returns n, or d if n is not positive.
func given[T int | int64](n, d T) T {
	if n > 0 {
		return n
	}
	return d
}

// CheckContent walks the tree id and refuses it unless every tree in it passes CheckTree and
// everything stays within lim. Every object must exist and have the type that its entry says.
// Equal subtrees count each time but are read once, so a tree that unfolds to millions of
// files is refused at once.
func (r *Reader) CheckContent(ctx context.Context, tree OID, lim ContentLimits) error {
	c := contentCheck{r: r, lim: lim.orDefault(), done: map[OID]contentSum{}}
	_, err := c.tree(ctx, tree, 1)
	return err
}

type contentSum struct {
	depth, entries int
	bytes          int64
}

type contentCheck struct {
	r    *Reader
	lim  ContentLimits
	done map[OID]contentSum
}

func (c *contentCheck) tree(ctx context.Context, id OID, depth int) (contentSum, error) {
	if s, ok := c.done[id]; ok {
		return s, c.fits(s, depth)
	}
	sum := contentSum{depth: 1}
	if err := c.fits(sum, depth); err != nil {
		return sum, err
	}
	if err := ctx.Err(); err != nil {
		return sum, err
	}
	entries, err := c.r.Tree(id)
	if err != nil {
		return sum, err
	}
	if err := CheckTree(entries); err != nil {
		return sum, err
	}
	for _, e := range entries {
		add, err := c.entry(ctx, e, depth)
		if err != nil {
			return sum, err
		}
		sum.depth = max(sum.depth, add.depth+1)
		sum.entries += 1 + add.entries
		sum.bytes += add.bytes
		if err := c.fits(sum, depth); err != nil {
			return sum, err
		}
	}
	c.done[id] = sum
	return sum, nil
}

func (c *contentCheck) entry(ctx context.Context, e Entry, depth int) (contentSum, error) {
	if e.IsDir() {
		return c.tree(ctx, e.ID, depth+1)
	}
	t, size, err := c.r.Stat(e.ID)
	if err != nil {
		return contentSum{}, err
	}
	if t != TypeBlob {
		return contentSum{}, fault.New(fault.Malformed, "tree entry %q: its mode names a file, its object is a %s", e.Name, t)
	}
	if size > c.lim.Blob {
		return contentSum{}, fault.New(fault.Limit, "file %q: %d bytes, at most %d are accepted", e.Name, size, c.lim.Blob)
	}
	return contentSum{bytes: size}, nil
}

func (c *contentCheck) fits(s contentSum, depth int) error {
	switch {
	case depth+s.depth-1 > c.lim.Depth:
		return fault.New(fault.Limit, "tree deeper than %d directories", c.lim.Depth)
	case s.entries > c.lim.Entries:
		return fault.New(fault.Limit, "tree of more than %d entries", c.lim.Entries)
	case s.bytes > c.lim.Total:
		return fault.New(fault.Limit, "tree of more than %d bytes", c.lim.Total)
	}
	return nil
}

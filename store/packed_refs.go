package store

import (
	"bytes"
	"io"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

const (
	packedRefsName = "packed-refs"
	maxPackedRefs  = 1 << 30 // bytes
)

// packedRef is one entry of packed-refs. lines are its exact bytes, with the line of the
// peeled tag if it has one.
type packedRef struct {
	id    OID
	name  string
	lines []byte
}

// parsePackedRefs splits a packed-refs file into its header and its entries.
// Joining them again gives the same bytes.
func parsePackedRefs(data []byte) (header []byte, refs []packedRef, err error) {
	rest := data
	for len(rest) > 0 && rest[0] == '#' {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return nil, nil, fault.New(fault.Integrity, "%s: header cut off", packedRefsName)
		}
		rest = rest[i+1:]
	}
	header = data[:len(data)-len(rest)]
	for len(rest) > 0 {
		r, n, err := nextPackedRef(rest)
		if err != nil {
			return nil, nil, err
		}
		refs, rest = append(refs, r), rest[n:]
	}
	return header, refs, nil
}

// nextPackedRef reads "<id> <name>\n", and the "^<id>\n" that may follow.
func nextPackedRef(b []byte) (packedRef, int, error) {
	bad := func(line []byte) (packedRef, int, error) {
		return packedRef{}, 0, fault.New(fault.Integrity, "%s: line %q", packedRefsName, words.Brief(string(line)))
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return bad(b)
	}
	hex, name, ok := bytes.Cut(b[:end], []byte{' '})
	if !ok || len(name) == 0 {
		return bad(b[:end])
	}
	id, ok := parseHex(hex)
	if !ok || id.IsZero() {
		return bad(b[:end])
	}
	n := end + 1
	if n < len(b) && b[n] == '^' {
		end := bytes.IndexByte(b[n:], '\n')
		if end < 0 {
			return bad(b[n:])
		}
		if _, ok := parseHex(b[n+1 : n+end]); !ok {
			return bad(b[n : n+end])
		}
		n += end + 1
	}
	return packedRef{id: id, name: string(name), lines: b[:n]}, n, nil
}

// readPackedRefs reads the whole file; a missing file is empty.
func (r *Repo) readPackedRefs() (header []byte, refs []packedRef, err error) {
	b, err := r.files.read(packedRefsName, maxPackedRefs)
	if isMissing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fault.New(fault.Integrity, "read refs: %w", err)
	}
	return parsePackedRefs(b)
}

// packedRefID looks up one name. It bisects a sorted file, which git writes, so that many
// packed refs cost no more than a few.
func (r *Repo) packedRefID(name string) (OID, error) {
	f, err := r.files.open(packedRefsName)
	if isMissing(err) {
		return OID{}, nil
	}
	if err != nil {
		return OID{}, fault.New(fault.Integrity, "read refs: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return OID{}, fault.New(fault.Integrity, "read refs: %w", err)
	}
	return findPackedRef(f, fi.Size(), name)
}

// packedBlock is the number of bytes read at a time. A part of this size is read linearly.
const packedBlock = 8192

// findPackedRef returns the zero OID for a name that is not in the file.
func findPackedRef(f io.ReaderAt, size int64, name string) (OID, error) {
	if size > maxPackedRefs {
		return OID{}, fault.New(fault.Limit, "%s: %d bytes", packedRefsName, size)
	}
	lo, hi := int64(0), size
	if sorted, err := isSorted(f, size); err != nil {
		return OID{}, err
	} else if sorted {
		for hi-lo > packedBlock {
			at, key, err := lineNear(f, lo+(hi-lo)/2, hi)
			if err != nil {
				return OID{}, err
			}
			if at < 0 {
				break // a line is longer than a block: read the rest linearly
			}
			if key <= name {
				lo = at
			} else {
				hi = at
			}
		}
	}
	part := make([]byte, hi-lo)
	if _, err := f.ReadAt(part, lo); err != nil && err != io.EOF {
		return OID{}, fault.New(fault.Integrity, "read refs: %w", err)
	}
	_, refs, err := parsePackedRefs(part)
	if err != nil {
		return OID{}, err
	}
	for _, p := range refs {
		if p.name == name {
			return p.id, nil
		}
	}
	return OID{}, nil
}

// isSorted reports whether the header promises the order of names.
func isSorted(f io.ReaderAt, size int64) (bool, error) {
	head := make([]byte, min(size, 256))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return false, fault.New(fault.Integrity, "read refs: %w", err)
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	return bytes.HasPrefix(line, []byte("# pack-refs with:")) && bytes.Contains(append(line, ' '), []byte(" sorted ")), nil
}

// lineNear finds the first entry that begins after from, and before hi. If a block holds none,
// at is -1.
func lineNear(f io.ReaderAt, from, hi int64) (at int64, name string, err error) {
	b := make([]byte, min(packedBlock, hi-from))
	if _, err := f.ReadAt(b, from); err != nil && err != io.EOF {
		return 0, "", fault.New(fault.Integrity, "read refs: %w", err)
	}
	for i := 0; ; {
		nl := bytes.IndexByte(b[i:], '\n')
		if nl < 0 {
			return -1, "", nil
		}
		i += nl + 1
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 {
			return -1, "", nil
		}
		line := b[i : i+end]
		if len(line) > 0 && line[0] == '^' {
			continue
		}
		_, key, ok := bytes.Cut(line, []byte{' '})
		if !ok {
			return 0, "", fault.New(fault.Integrity, "%s: line %q", packedRefsName, words.Brief(string(line)))
		}
		return from + int64(i), string(key), nil
	}
}

// withoutRefs returns the bytes of packed-refs without the names in gone.
func withoutRefs(header []byte, refs []packedRef, gone map[string]bool) []byte {
	out := bytes.Clone(header)
	for _, p := range refs {
		if !gone[p.name] {
			out = append(out, p.lines...)
		}
	}
	return out
}

// packedUnder returns a packed ref whose name begins with prefix; "" for none.
func packedUnder(refs []packedRef, prefix string) string {
	i := sort.Search(len(refs), func(i int) bool { return refs[i].name >= prefix })
	if i < len(refs) && strings.HasPrefix(refs[i].name, prefix) {
		return refs[i].name
	}
	for _, p := range refs { // the file need not be sorted
		if strings.HasPrefix(p.name, prefix) {
			return p.name
		}
	}
	return ""
}

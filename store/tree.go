package store

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Mode is the mode of a tree entry, as git writes it.
type Mode uint32

// The modes that git knows. Only ModeDir, ModeFile and ModeExec may come from outside.
const (
	ModeDir     Mode = 0o040000
	ModeFile    Mode = 0o100644
	ModeExec    Mode = 0o100755
	ModeSymlink Mode = 0o120000
	ModeGitlink Mode = 0o160000
)

// IsFile reports whether m is a regular file, executable or not.
func (m Mode) IsFile() bool { return m == ModeFile || m == ModeExec }

// Entry is one name in a tree.
type Entry struct {
	Name string
	Mode Mode
	ID   OID
}

// IsDir reports whether the entry is a subtree.
func (e Entry) IsDir() bool { return e.Mode == ModeDir }

// Type returns the type of the entry's object.
func (e Entry) Type() Type {
	switch e.Mode {
	case ModeDir:
		return TypeTree
	case ModeGitlink:
		return TypeCommit
	}
	return TypeBlob
}

// Bounds of a tree object.
const (
	MaxTreeSize    = 64 << 20 // bytes
	MaxTreeEntries = 1 << 20
	maxName        = 4096 // bytes of one name that git may have written
)

// ParseTree reads a tree in git's form: the five modes without leading zero, names without "/"
// and NUL, sorted, each once. CheckTree checks the names further. EncodeTree gives the same
// bytes back, unless it refuses a name. Errors are fault.Malformed, or fault.Limit for too
// many bytes or entries.
func ParseTree(f Format, raw []byte) ([]Entry, error) {
	if len(raw) > MaxTreeSize {
		return nil, fault.New(fault.Limit, "parse tree: %d bytes, at most %d are read", len(raw), MaxTreeSize)
	}
	entries := make([]Entry, 0, min(len(raw)/(f.size()+8)+1, 4096))
	text := string(raw) // all names are slices of it: one allocation for all
	for len(raw) > 0 {
		e, rest, err := nextEntry(f, raw, text)
		if err != nil {
			return nil, err
		}
		if n := len(entries); n > 0 && !less(entries[n-1], e) {
			return nil, fault.New(fault.Malformed, "parse tree: %q does not sort after %q", words.Brief(e.Name), words.Brief(entries[n-1].Name))
		}
		if len(entries) == MaxTreeEntries {
			return nil, fault.New(fault.Limit, "parse tree: more than %d entries", MaxTreeEntries)
		}
		entries, raw, text = append(entries, e), rest, text[len(text)-len(rest):]
	}
	if err := checkUnique(entries); err != nil {
		return nil, err
	}
	return entries, nil
}

// checkUnique refuses a file and a directory of one name, which do not sort together. It
// searches only for the counterparts of the rarer kind.
func checkUnique(entries []Entry) error {
	dirs := 0
	for i := range entries {
		if entries[i].IsDir() {
			dirs++
		}
	}
	if dirs == 0 || dirs == len(entries) {
		return nil
	}
	fewDirs, other := 2*dirs <= len(entries), Entry{Mode: ModeDir}
	if fewDirs {
		other.Mode = ModeFile
	}
	for i := range entries {
		e := &entries[i]
		if e.IsDir() != fewDirs {
			continue
		}
		other.Name = e.Name
		at := sort.Search(len(entries), func(i int) bool { return !less(entries[i], other) })
		if at < len(entries) && entries[at].Name == e.Name && entries[at].IsDir() != fewDirs {
			return fault.New(fault.Malformed, "parse tree: %q twice", words.Brief(e.Name))
		}
	}
	return nil
}

// nextEntry splits the first entry off raw. It cuts the name from text, which holds the same
// bytes.
func nextEntry(f Format, raw []byte, text string) (Entry, []byte, error) {
	mode, name, id, rest, ok := splitEntry(f, raw)
	if !ok {
		return Entry{}, nil, fault.New(fault.Malformed, "parse tree: entry cut off, or without mode or name")
	}
	end := len(raw) - len(rest) - len(id) - 1
	e := Entry{Name: text[end-len(name) : end], Mode: mode, ID: oidOf(id)}
	switch {
	case len(name) > maxName:
		return e, nil, fault.New(fault.Malformed, "parse tree: name of %d bytes", len(name))
	case bytes.IndexByte(name, '/') >= 0:
		return e, nil, fault.New(fault.Malformed, "parse tree: name %q holds a slash", words.Brief(e.Name))
	case e.ID.IsZero():
		return e, nil, fault.New(fault.Malformed, "parse tree: %q has no object", words.Brief(e.Name))
	}
	switch mode {
	case ModeDir, ModeFile, ModeExec, ModeSymlink, ModeGitlink:
		return e, rest, nil
	}
	return e, nil, fault.New(fault.Malformed, "parse tree: %q has mode %o", words.Brief(e.Name), uint32(mode))
}

// splitEntry cuts "<octal mode> <name>\0<id>" without checking it.
func splitEntry(f Format, raw []byte) (mode Mode, name, id, rest []byte, ok bool) {
	sp := 0
	for sp < len(raw) && sp < 7 && raw[sp] >= '0' && raw[sp] <= '7' {
		mode = mode<<3 | Mode(raw[sp]-'0')
		sp++
	}
	if sp == 0 || raw[0] == '0' || sp >= len(raw) || raw[sp] != ' ' {
		return 0, nil, nil, nil, false
	}
	raw = raw[sp+1:]
	nul := bytes.IndexByte(raw, 0)
	if nul <= 0 || len(raw) < nul+1+f.size() {
		return 0, nil, nil, nil, false
	}
	end := nul + 1 + f.size()
	return mode, raw[:nul], raw[nul+1 : end], raw[end:], true
}

// replaced is an entry of a tree whose object differs from an older tree's.
type replaced struct {
	entry []byte
	was   OID
}

// replacedIn compares a tree with an older one that has the same names and modes, and returns
// the entries with other objects. ok is false for trees with different names or modes. Two
// states of a wide folder mostly differ in one entry, so it skips equal bytes.
func replacedIn(f Format, raw, old []byte) (found []replaced, ok bool) {
	for len(raw) == len(old) {
		same := common(raw, old)
		for {
			mode, name, id, rest, ok := splitEntry(f, raw)
			if !ok {
				return found, len(raw) == 0
			}
			n := len(raw) - len(rest)
			if n > same {
				m, as, was, _, ok := splitEntry(f, old)
				if !ok || m != mode || !bytes.Equal(as, name) {
					return nil, false
				}
				if !bytes.Equal(id, was) {
					found = append(found, replaced{raw[:n], oidOf(was)})
				}
				raw, old = rest, old[n:]
				break
			}
			raw, old, same = rest, old[n:], same-n
		}
	}
	return nil, false
}

// findEntry looks for one name without allocating the others.
func findEntry(f Format, raw []byte, name string) (Entry, bool, error) {
	for len(raw) > 0 {
		mode, n, id, rest, ok := splitEntry(f, raw)
		if !ok {
			return Entry{}, false, fault.New(fault.Malformed, "parse tree: entry cut off, or without mode or name")
		}
		if string(n) == name {
			return Entry{Name: name, Mode: mode, ID: oidOf(id)}, true, nil
		}
		raw = rest
	}
	return Entry{}, false, nil
}

// less is git's order of tree entries: by bytes, a directory as if its name ended in "/".
func less(a, b Entry) bool {
	n := min(len(a.Name), len(b.Name))
	if c := strings.Compare(a.Name[:n], b.Name[:n]); c != 0 {
		return c < 0
	}
	return tail(a, n) < tail(b, n)
}

func tail(e Entry, n int) int {
	switch {
	case n < len(e.Name):
		return int(e.Name[n])
	case e.IsDir():
		return '/'
	}
	return 0
}

// EncodeTree sorts entries in place and returns the bytes of their tree. It
// refuses names and modes that git fsck would refuse.
func EncodeTree(entries []Entry) ([]byte, error) {
	slices.SortFunc(entries, func(a, b Entry) int {
		if less(a, b) {
			return -1
		}
		return 1 // equal entries are refused below
	})
	size := 0
	for _, e := range entries {
		size += len(e.Name) + 8 + int(e.ID.n)
	}
	b := make([]byte, 0, size)
	for i, e := range entries {
		if err := checkEncodable(e); err != nil {
			return nil, err
		}
		if e.ID.n != entries[0].ID.n {
			return nil, fault.New(fault.Malformed, "encode tree: %q is of another object format", words.Brief(e.Name))
		}
		if i > 0 && !less(entries[i-1], e) {
			return nil, fault.New(fault.Malformed, "encode tree: %q twice", words.Brief(e.Name))
		}
		b = appendOctal(b, e.Mode)
		b = append(b, ' ')
		b = append(b, e.Name...)
		b = append(b, 0)
		b = append(b, e.ID.b[:e.ID.n]...)
	}
	return b, checkUnique(entries)
}

func appendOctal(b []byte, m Mode) []byte {
	if m == ModeDir {
		return append(b, "40000"...)
	}
	for shift := 15; shift >= 0; shift -= 3 {
		b = append(b, '0'+byte(m>>shift)&7)
	}
	return b
}

func checkEncodable(e Entry) error {
	switch e.Mode {
	case ModeDir, ModeFile, ModeExec, ModeSymlink, ModeGitlink:
	default:
		return fault.New(fault.Malformed, "encode tree: %q has mode %o", words.Brief(e.Name), uint32(e.Mode))
	}
	if e.ID.IsZero() {
		return fault.New(fault.Malformed, "encode tree: %q has no object", words.Brief(e.Name))
	}
	return checkLocalName(e.Name)
}

// checkLocalName is the rule for names that rye itself writes for its user: all names that
// git, in strict mode, and the file systems of Unix can hold. It allows much more than CheckName.
func checkLocalName(name string) error {
	if isPlainName(name) {
		return nil
	}
	lower := strings.ToLower(name)
	switch {
	case name == "", name == ".", name == "..":
		return fault.New(fault.Malformed, "a tree cannot have the name %q", name)
	case len(name) > 255:
		return fault.New(fault.Malformed, "name %q: longer than 255 bytes", words.Brief(name))
	case !utf8.ValidString(name):
		return fault.New(fault.Malformed, "name %q: not UTF-8", words.Brief(name))
	case strings.ContainsAny(name, "/\\\x7f") || strings.IndexFunc(name, func(r rune) bool { return r < ' ' }) >= 0:
		return fault.New(fault.Malformed, "name %q: holds a slash, backslash or control character", words.Brief(name))
	case strings.HasPrefix(lower, "git~"), isDotGit(strings.SplitN(lower, ":", 2)[0]): // a colon begins a stream of NTFS
		return fault.New(fault.Malformed, "name %q: means git's own directory on some file systems", words.Brief(name))
	}
	return nil
}

// isPlainName quickly recognises names that pass every rule of checkLocalName. Most names do,
// and an edit checks every name of a large folder.
func isPlainName(name string) bool {
	if name == "" || name[0] == '.' || len(name) > 255 {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// isDotGit recognises .git as NTFS and HFS+ do: with trailing dots and blanks, and with
// characters that they ignore.
func isDotGit(lower string) bool {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, lower)
	return strings.TrimRight(kept, ". ") == ".git"
}

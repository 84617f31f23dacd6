package objects

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

const maxMemberName = 255 // bytes, the limit of most file systems

// CheckMember is the rule for paths in a manifest of format 2. It accepts files that other
// programs made: every name that git and the systems of Unix can hold, in Unicode's form NFC, so
// that two names which look alike are one. It refuses control characters, the marks that reverse
// text, and names that lead into git's own directory on some system.
func CheckMember(path string) error {
	bad := func(why string) error { return fault.New(fault.Malformed, "path %q: %s", words.Brief(path), why) }
	if path == "" || len(path) > maxPathLength {
		return bad("want 1 to " + strconv.Itoa(maxPathLength) + " bytes")
	}
	if strings.Count(path, "/") >= maxPathDepth {
		return bad("more than " + strconv.Itoa(maxPathDepth) + " levels")
	}
	for name := range strings.SplitSeq(path, "/") {
		if why := checkMemberName(name); why != "" {
			return bad(why)
		}
	}
	return nil
}

func checkMemberName(n string) string {
	switch {
	case n == "" || n == "." || n == "..":
		return "a name is empty, . or .."
	case len(n) > maxMemberName:
		return "a name is longer than " + strconv.Itoa(maxMemberName) + " bytes"
	case !utf8.ValidString(n):
		return "a name is not UTF-8"
	case strings.ContainsFunc(n, unprintable):
		return "a name has a control character"
	case !norm.NFC.IsNormalString(n):
		return "a name is not in Unicode's form NFC"
	case strings.ContainsRune(n, '\\'):
		return "a name has a backslash, which separates names on Windows"
	case meansGit(n):
		return "a name means git's own directory on some systems"
	}
	return ""
}

// unprintable reports characters that a name, in YAML or on a screen, must not have: control
// characters, line and paragraph separators, the byte order mark, noncharacters, and the marks
// that change the direction of text.
func unprintable(c rune) bool {
	switch {
	case unicode.IsControl(c), c == '\u2028', c == '\u2029', c == '\ufeff', c&0xfffe == 0xfffe, c >= 0xfdd0 && c <= 0xfdef:
		return true
	case c >= '\u202a' && c <= '\u202e', c >= '\u2066' && c <= '\u2069':
		return true
	}
	return false
}

// meansGit reports whether some file system reads a name as git's own directory: with other
// case, trailing dots and blanks, a stream behind a colon, ignored characters, or by its short
// name.
func meansGit(n string) bool {
	n = strings.ToLower(n)
	if strings.HasPrefix(n, "git~") {
		return true
	}
	n, _, _ = strings.Cut(n, ":")
	n = strings.Map(func(c rune) rune {
		if c >= 0x200c && c <= 0x200f || c >= 0x206a && c <= 0x206f {
			return -1
		}
		return c
	}, n)
	return strings.TrimRight(n, ". ") == ".git"
}

// OnWindows says why Windows cannot hold a slash path, "" when it can.
func OnWindows(path string) string {
	for name := range strings.SplitSeq(path, "/") {
		stem, _, _ := strings.Cut(strings.ToLower(name), ".")
		switch {
		case strings.ContainsAny(name, `<>:"|?*\`):
			return strconv.Quote(name) + ` has one of < > : " | ? * \`
		case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
			return strconv.Quote(name) + " ends in a dot or a blank"
		case deviceName(strings.TrimRight(stem, " ")):
			return strconv.Quote(name) + " is a device"
		}
	}
	return ""
}

// fold returns one spelling for all names that differ only in case.
func fold(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i] >= utf8.RuneSelf {
			return strings.Map(smallest, name)
		}
	}
	return strings.ToLower(name)
}

// smallest returns the first character of those that Unicode's simple folding makes equal to c,
// in lower case where that is ASCII.
func smallest(c rune) rune {
	least := c
	for o := unicode.SimpleFold(c); o != c; o = unicode.SimpleFold(o) {
		least = min(least, o)
	}
	return unicode.ToLower(least)
}

// Litter reports whether rye ignores a path in the directory of a bundle. Editors and
// interpreters leave names that begin with a dot or end with ~, and __pycache__. They count only
// where the manifest lists them, or a file below. A nil manifest lists none.
func (m *Manifest) Litter(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if name == "" || name[0] != '.' && name[len(name)-1] != '~' && name != "__pycache__" {
		return false
	}
	return !m.listsBelow(path)
}

// listsBelow reports whether the manifest lists a path or a file below it.
func (m *Manifest) listsBelow(path string) bool {
	if m == nil {
		return false
	}
	if _, ok := m.File(path); ok {
		return true
	}
	dir := path + "/"
	i := m.search(dir)
	return i < len(m.Files) && strings.HasPrefix(m.Files[i].Path, dir)
}

// NormalMember returns the name that a bundle has for a path: the same characters in Unicode's form
// NFC. Bytes that are not UTF-8 stay, and CheckMember refuses them.
func NormalMember(path string) string { return norm.NFC.String(path) }

// Fold returns one spelling for all paths that some systems take for the same.
func Fold(path string) string { return fold(path) }

package objects

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Version is a semantic version (semver.org 2.0.0). The zero value is 0.0.0.
// Build metadata is kept for String and ignored by Compare.
type Version struct {
	Major, Minor, Patch uint32
	Pre                 string // "rc.1"; "" for a release
	Build               string
}

// ParseVersion accepts "1.2.3", "1.2.3-rc.1" and "1.2.3+build", without a "v".
func ParseVersion(s string) (Version, error) {
	v, ok := parseVersion(s)
	if !ok {
		return Version{}, fault.New(fault.Malformed, "version %q: want three numbers like 1.4.0, optionally -pre and +build", words.Brief(s))
	}
	return v, nil
}

func parseVersion(s string) (v Version, ok bool) {
	if len(s) > 128 {
		return v, false
	}
	s, build, hasBuild := strings.Cut(s, "+")
	s, pre, hasPre := strings.Cut(s, "-")
	p := strings.Split(s, ".")
	if len(p) != 3 || hasBuild && !identifiers(build, false) || hasPre && !identifiers(pre, true) {
		return v, false
	}
	for i, into := range []*uint32{&v.Major, &v.Minor, &v.Patch} {
		if *into, ok = parseNumber(p[i]); !ok {
			return Version{}, false
		}
	}
	v.Pre, v.Build = pre, build
	return v, true
}

// parseNumber reads a decimal number below 10^9 without a leading zero.
func parseNumber(s string) (uint32, bool) {
	if s == "" || len(s) > 9 || len(s) > 1 && s[0] == '0' || !digits(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// identifiers reports whether s is dot-separated [0-9A-Za-z-]+; numbers may not
// begin with 0 in a pre-release.
func identifiers(s string, pre bool) bool {
	for _, id := range strings.Split(s, ".") {
		if id == "" || pre && len(id) > 1 && id[0] == '0' && digits(id) {
			return false
		}
		if strings.IndexFunc(id, func(c rune) bool {
			return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}) >= 0 {
			return false
		}
	}
	return true
}

// String returns the version as it was parsed.
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	if v.Build != "" {
		s += "+" + v.Build
	}
	return s
}

// Compare returns -1, 0 or +1 by the precedence rules of semver §11.
func (v Version) Compare(w Version) int {
	if c := cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch)); c != 0 {
		return c
	}
	switch {
	case v.Pre == w.Pre:
		return 0
	case v.Pre == "":
		return 1
	case w.Pre == "":
		return -1
	}
	return comparePre(strings.Split(v.Pre, "."), strings.Split(w.Pre, "."))
}

func comparePre(a, b []string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		x, y := a[i], b[i]
		c := 0
		switch dx, dy := digits(x), digits(y); {
		case dx && dy:
			c = cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		case dx:
			c = -1
		case dy:
			c = 1
		default:
			c = cmp.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

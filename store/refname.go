package store

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// MaxRefName bounds the name of a ref, in bytes. One component must fit a file name with
// ".lock".
const (
	MaxRefName      = 1024
	maxRefComponent = 250
)

// CheckRefName is rye's own grammar of refs, narrower than git check-ref-format: printable
// ASCII below "refs/", components that neither begin with "." or "-" nor end in "." or
// ".lock", no "..", no "@{", and no characters with a meaning in git, in shell quoting or in
// Windows. Errors are fault.Usage.
func CheckRefName(name string) error {
	bad := func(why string) error {
		return fault.New(fault.Usage, "ref %q: %s", words.Brief(name), why)
	}
	rest, ok := strings.CutPrefix(name, "refs/")
	switch {
	case !ok:
		return bad("does not begin with refs/")
	case len(name) > MaxRefName:
		return bad("longer than 1024 bytes")
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return bad("holds .. or @{")
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`~^:?*[\"'<>|`, c) >= 0 {
			return bad("holds a character that refs cannot have")
		}
	}
	for _, part := range strings.Split(rest, "/") {
		switch {
		case part == "" || len(part) > maxRefComponent:
			return bad("has an empty or too long component")
		case part[0] == '.' || part[0] == '-':
			return bad("has a component that begins with . or -")
		case strings.HasSuffix(part, ".") || strings.HasSuffix(strings.ToLower(part), ".lock"):
			return bad("has a component that ends in . or .lock")
		}
	}
	return nil
}

package journal

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of a payload.
const (
	maxDepth   = 128
	maxMembers = 64 // of the payload itself
)

// member is one member of a payload.
type member struct {
	name  string
	kind  byte // s string, i integer, n other number, b boolean, z null, o object, a array
	value []byte
}

// rules are the rules for a payload. Levels of nesting count from the payload's members on.
var rules = strict.Rules{Size: math.MaxInt, Depth: maxDepth + 1, Leaves: true, Twice: true, Compact: true}

// kindOf maps the byte that strict.Reader.Kind returns to the kind of a member.
var kindOf = map[byte]byte{'"': 's', '0': 'n', 't': 'b', 'f': 'b', 'n': 'z', '{': 'o', '[': 'a'}

// members checks that b is one JSON object in UTF-8 without spaces, and returns its members. Their
// names must follow isName and be unique. Deeper names may be anything and may repeat: they come
// from models and tools, and their reader decides.
func members(b []byte) ([]member, error) {
	r, err := strict.NewReader(b, rules)
	var all []member
	if err == nil && r.Kind() != '{' {
		return nil, malformed("it is not an object")
	}
	if err == nil {
		err = r.Object(func(name string) error {
			m, err := readMember(r, name, all)
			all = append(all, m)
			return err
		})
	}
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, malformed("%s", err)
	}
	return all, nil
}

// readMember reads the next member, after the members before.
func readMember(r *strict.Reader, name string, before []member) (m member, err error) {
	if !isName(name) || len(r.Last()) != len(name)+2 { // an escape would be another spelling
		return m, malformed("its member %q has an invalid name", words.Brief(name))
	}
	for _, other := range before {
		if other.name == name {
			return m, malformed("its member %s is given twice", name)
		}
	}
	if len(before) == maxMembers {
		return m, malformed("it has more than %d members", maxMembers)
	}
	m = member{name: name, kind: kindOf[r.Kind()]}
	if m.value, err = r.Skip(); m.kind == 'n' && bytes.IndexAny(m.value, ".eE") < 0 {
		m.kind = 'i'
	}
	return m, err
}

// quote appends a text in the form of RFC 8785.
func quote(b []byte, text string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		default:
			switch c {
			case '\b':
				b = append(b, `\b`...)
			case '\t':
				b = append(b, `\t`...)
			case '\n':
				b = append(b, `\n`...)
			case '\f':
				b = append(b, `\f`...)
			case '\r':
				b = append(b, `\r`...)
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
	}
	return append(b, '"')
}

// payload returns a payload without spaces, and its members. Most payloads have no spaces and are
// not copied.
func payload(data []byte) ([]byte, []member, error) {
	if all, err := members(data); err == nil {
		return data, all, nil
	}
	var b bytes.Buffer
	b.Grow(len(data))
	if err := json.Compact(&b, data); err != nil {
		return nil, nil, malformed("%w", err)
	}
	all, err := members(b.Bytes())
	return b.Bytes(), all, err
}

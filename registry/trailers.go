package registry

import (
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of a log message, in bytes.
const (
	maxMessage = 1 << 20
	maxSubject = 400
	maxValue   = 4096
	maxCount   = 1<<53 - 1 // positions fit every JSON reader
)

// A message is a subject, an empty line, and trailers; nothing else.
type message struct {
	subject  string
	trailers []trailer
}

type trailer struct{ key, value string }

// parseMessage takes a commit message apart. The grammar has one spelling:
// encoding the result gives the same bytes.
func parseMessage(s string) (message, error) {
	var m message
	if len(s) > maxMessage {
		return m, fault.New(fault.Malformed, "message of %d bytes: want at most %d", len(s), maxMessage)
	}
	subject, rest, ok := strings.Cut(s, "\n\n")
	if !ok || subject == "" || len(subject) > maxSubject || !printable(subject) {
		return m, fault.New(fault.Malformed, "message %q: want one subject line of ASCII, an empty line, and trailers", words.Brief(s))
	}
	m.subject = subject
	m.trailers = make([]trailer, 0, strings.Count(rest, "\n"))
	for rest != "" {
		line, after, ok := strings.Cut(rest, "\n")
		t, err := parseTrailer(line)
		if err != nil {
			return m, err
		}
		if !ok {
			return m, fault.New(fault.Malformed, "trailer %q: no line feed at the end", words.Brief(line))
		}
		m.trailers = append(m.trailers, t)
		rest = after
	}
	return m, nil
}

func parseTrailer(line string) (trailer, error) {
	key, value, ok := strings.Cut(line, ": ")
	name, isRye := strings.CutPrefix(key, "Rye-")
	if !ok || !isRye || name == "" || len(key) > 40 || !validKey(name) {
		return trailer{}, fault.New(fault.Malformed, "trailer %q: want Rye-Name: value", words.Brief(line))
	}
	if value == "" || len(value) > maxValue || !printable(value) || value[0] == ' ' || value[len(value)-1] == ' ' {
		return trailer{}, fault.New(fault.Malformed, "trailer %s: want 1 to %d printable ASCII characters", key, maxValue)
	}
	return trailer{key, value}, nil
}

func validKey(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

func (m *message) add(key, value string) { m.trailers = append(m.trailers, trailer{key, value}) }

func (m *message) String() string {
	n := len(m.subject) + 2
	for _, t := range m.trailers {
		n += len(t.key) + len(t.value) + 3
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(m.subject)
	b.WriteString("\n\n")
	for _, t := range m.trailers {
		b.WriteString(t.key)
		b.WriteString(": ")
		b.WriteString(t.value)
		b.WriteByte('\n')
	}
	return b.String()
}

// fields reads trailers in their fixed order. The first error stays.
type fields struct {
	list []trailer
	err  error
}

func (f *fields) fail(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

// next reports whether the next trailer has this key.
func (f *fields) next(key string) bool {
	return f.err == nil && len(f.list) > 0 && f.list[0].key == key
}

// opt takes the next trailer when it has this key, else "".
func (f *fields) opt(key string) string {
	if !f.next(key) {
		return ""
	}
	v := f.list[0].value
	f.list = f.list[1:]
	return v
}

// need takes the next trailer, which must have this key.
func (f *fields) need(key string) string {
	v := f.opt(key)
	if v == "" && f.err == nil {
		got := "the end"
		if len(f.list) > 0 {
			got = f.list[0].key
		}
		f.fail(fault.New(fault.Malformed, "trailers: want %s, got %s", key, got))
	}
	return v
}

// count takes a number of canonical decimal digits.
func (f *fields) count(key string) uint64 {
	v := f.need(key)
	if f.err != nil {
		return 0
	}
	n, err := parseCount(v)
	if err != nil {
		f.fail(fault.New(fault.Malformed, "trailer %s: %w", key, err))
	}
	return n
}

// end refuses trailers that nobody asked for.
func (f *fields) end() error {
	if f.err == nil && len(f.list) > 0 {
		f.fail(fault.New(fault.Malformed, "trailers: %s is unknown here, repeated or out of order", f.list[0].key))
	}
	return f.err
}

func parseCount(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > maxCount || strconv.FormatUint(n, 10) != s {
		return 0, fault.New(fault.Malformed, "number %q: want canonical decimal digits up to 2^53-1", words.Brief(s))
	}
	return n, nil
}

func formatCount(n uint64) string { return strconv.FormatUint(n, 10) }

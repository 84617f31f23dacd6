package oplog

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Bounds of a log message, in bytes.
const (
	maxMessage = 1 << 20
	maxSubject = 512 // of the longest name, with its operation and a count
	maxValue   = 4096
	maxCount   = 1<<53 - 1 // positions fit every JSON reader
)

type trailer struct{ key, value string }

// parseMessage returns the trailers of a commit message. A message consists of a subject, an empty
// line and trailers.
func parseMessage(s string) ([]trailer, error) {
	if len(s) > maxMessage {
		return nil, fault.New(fault.Malformed, "message of %d bytes: want at most %d", len(s), maxMessage)
	}
	subject, rest, ok := strings.Cut(s, "\n\n")
	if !ok || subject == "" || len(subject) > maxSubject || !printable(subject) {
		return nil, fault.New(fault.Malformed, "message %q: want one subject line of ASCII, an empty line, and trailers", words.Brief(s))
	}
	list := make([]trailer, 0, strings.Count(rest, "\n"))
	for rest != "" {
		line, after, ok := strings.Cut(rest, "\n")
		t, err := parseTrailer(line)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fault.New(fault.Malformed, "trailer %q: no line feed at the end", words.Brief(line))
		}
		list = append(list, t)
		rest = after
	}
	return list, nil
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
	return !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	})
}

// printable reports whether s is ASCII without controls.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c > 0x7e })
}

// A message is the content of a commit in a log: an operation, written in trailers.
type message interface {
	Subject() string
	// trailers carries the operation to or from its trailers.
	trailers(f *fields)
	// Label names the operation in errors: "operation 3 of acme".
	Label() string
}

// encodeMessage returns the canonical text of a message.
func encodeMessage(m message) string {
	f := fields{writing: true}
	m.trailers(&f)
	b := []byte(m.Subject() + "\n\n")
	for _, t := range f.list {
		b = append(b, t.key+": "+t.value+"\n"...)
	}
	return string(b)
}

// decodeMessage reads a message into m. It accepts only the output of encodeMessage.
func decodeMessage(text string, m message) error {
	list, err := parseMessage(text)
	if err != nil {
		return err
	}
	f := fields{list: list}
	m.trailers(&f)
	if err := f.end(); err != nil {
		return err
	}
	if encodeMessage(m) != text {
		return fault.New(fault.Malformed, "%s: message is not in canonical form", m.Label())
	}
	return nil
}

// fields carries values to or from trailers in their fixed order, so that one function describes
// both how an operation is written and how it is read. It keeps the first error while reading;
// writing has no errors.
type fields struct {
	writing bool
	list    []trailer // reading: trailers left to read; writing: trailers written so far
	err     error
}

func (f *fields) fail(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

// next reports whether the next trailer to read has this key.
func (f *fields) next(key string) bool {
	return !f.writing && f.err == nil && len(f.list) > 0 && f.list[0].key == key
}

// need takes the next trailer, which must have this key.
func (f *fields) need(key string) string {
	if f.next(key) {
		v := f.list[0].value
		f.list = f.list[1:]
		return v
	}
	got := "the end"
	if len(f.list) > 0 {
		got = f.list[0].key
	}
	f.fail(fault.New(fault.Malformed, "trailers: want %s, got %s", key, got))
	return ""
}

// end refuses trailers that are left over.
func (f *fields) end() error {
	if f.err == nil && len(f.list) > 0 {
		f.fail(fault.New(fault.Malformed, "trailers: %s is unknown here, repeated or out of order", f.list[0].key))
	}
	return f.err
}

// A codec writes a value as text and reads it back.
type codec struct {
	text func() string
	read func(string) error
}

// value carries the next trailer: one value, or several separated by spaces.
func (f *fields) value(key string, parts ...codec) {
	if f.writing {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.text()
		}
		f.list = append(f.list, trailer{key, strings.Join(texts, " ")})
		return
	}
	text := f.need(key)
	if f.err != nil {
		return
	}
	texts := []string{text}
	if len(parts) > 1 {
		texts = strings.Split(text, " ")
	}
	if len(texts) != len(parts) {
		f.fail(fault.New(fault.Malformed, "trailer %s: %d fields, want %d", key, len(texts), len(parts)))
		return
	}
	for i, p := range parts {
		f.fail(p.read(texts[i]))
	}
}

// each carries a list whose elements begin with the trailer key.
func each[T any](f *fields, key string, list *[]T, one func(*T)) {
	for i := 0; f.writing && i < len(*list) || f.next(key); i++ {
		if !f.writing {
			*list = append(*list, *new(T))
		}
		one(&(*list)[i])
	}
}

// as is the codec of a value with a String method.
func as[T fmt.Stringer](v *T, parse func(string) (T, error)) codec {
	return codec{func() string { return (*v).String() }, func(s string) (err error) {
		*v, err = parse(s)
		return err
	}}
}

func digest(d *objects.Digest) codec { return as(d, objects.ParseDigest) }

func fingerprint(fp *objects.Fingerprint) codec { return as(fp, objects.ParseFingerprint) }

func address(id *store.OID) codec { return as(id, store.ParseOID) }

// moment is the codec of a non-zero time.
func moment(t *time.Time) codec {
	return codec{func() string { return t.UTC().Format(TimeLayout) }, func(s string) (err error) {
		if *t, err = ParseTime(s); err == nil && t.IsZero() {
			err = fault.New(fault.Malformed, "time %q: is not a time", words.Brief(s))
		}
		return err
	}}
}

// word is the codec of text that is checked elsewhere.
func word[T ~string](v *T) codec {
	return codec{func() string { return string(*v) }, func(s string) error {
		*v = T(s)
		return nil
	}}
}

// namespace is the codec of a namespace's name.
func namespace(ns *string) codec {
	return codec{func() string { return *ns }, func(s string) error {
		*ns = s
		return CheckNamespace(s)
	}}
}

// number is the codec of canonical decimal digits.
func number[T int | int64 | uint64](n *T) codec {
	return codec{func() string { return strconv.FormatUint(uint64(*n), 10) }, func(s string) error {
		v, err := parseCount(s)
		*n = T(v)
		return err
	}}
}

// count carries a trailer that is one number.
func count[T int | int64 | uint64](f *fields, key string, n *T) {
	c := number(n)
	f.value(key, codec{c.text, func(s string) error {
		if err := c.read(s); err != nil {
			return fault.New(fault.Malformed, "trailer %s: %w", key, err)
		}
		return nil
	}})
}

// text carries a trailer that is one quoted text: an ASCII JSON string.
func (f *fields) text(key string, v *string, limit int) {
	f.value(key, codec{func() string { return string(appendQuoted(nil, *v)) }, func(s string) error {
		if err := json.Unmarshal([]byte(s), v); err != nil || string(appendQuoted(nil, *v)) != s {
			return fault.New(fault.Malformed, "trailer %s: want one quoted string of ASCII", key)
		}
		return checkText(key, *v, limit)
	}})
}

// format carries the version of the format, which must be FormatVersion.
func (f *fields) format() {
	v := uint64(FormatVersion)
	count(f, "Rye-Format", &v)
	if v != FormatVersion {
		f.fail(newerFormat(v))
	}
}

// position carries an operation's place in its log. Only an operation of kind first may be the
// first, and it may be nothing else.
func (f *fields) position(seq *uint64, kind, first OpKind) {
	count(f, "Rye-Seq", seq)
	if *seq == 0 || (*seq == 1) != (kind == first) {
		f.fail(fault.New(fault.Malformed, "%s at position %d: a %s must be the first operation", words.Brief(string(kind)), *seq, first))
	}
}

// publicKey is the codec of a public key.
func publicKey(k *trust.PublicKey) codec {
	return codec{func() string { return k.Authorized() }, func(s string) (err error) {
		*k, err = trust.ParsePublicKey(s)
		return err
	}}
}

// signature is the codec of a signature; want is the error for a malformed one.
func signature(sig *[]byte, want string) codec {
	return codec{func() string { return base64.RawURLEncoding.EncodeToString(*sig) }, func(s string) (err error) {
		if *sig, err = base64.RawURLEncoding.Strict().DecodeString(s); err != nil || len(*sig) != 64 {
			return fault.New(fault.Malformed, "%s", want)
		}
		return nil
	}}
}

// checkKeys refuses an empty list of keys or too many.
func (f *fields) checkKeys(n int) {
	if n == 0 || n > maxKeys {
		f.fail(fault.New(fault.Malformed, "%d keys: want 1 to %d", n, maxKeys))
	}
}

func parseCount(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > maxCount || strconv.FormatUint(n, 10) != s {
		return 0, fault.New(fault.Malformed, "number %q: want canonical decimal digits up to 2^53-1", words.Brief(s))
	}
	return n, nil
}

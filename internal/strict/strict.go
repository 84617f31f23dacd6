// Package strict reads JSON in such a way that no other reader of the same bytes can see
// another document in them.
//
// It refuses bytes that are no UTF-8, a byte order mark, more bytes or more nesting than
// its caller allows, a name twice in one object, and anything behind the value. Decode
// also refuses members that the Go type does not name in exactly that case. An escaped
// surrogate without its other half is valid JSON: it is read as U+FFFD.
//
// A format with one spelling is written again by its own package after it was read, and compared.
//
// # Reasons
//
// encoding/json takes NAME for name and the last of two members, so every parser of
// outside bytes would have to check for that first. The tokens come from
// go-json-experiment/json, which becomes encoding/json/v2. Its default refuses half of a
// surrogate pair; models that are cut off in an emoji write one. The messages are rye's
// own, since the module's change with its version.
package strict

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	v2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// MaxDepth bounds the nesting of a document for Decode and Value.
const MaxDepth = 64

// Rules are the demands of a Reader in addition to valid JSON in UTF-8.
type Rules struct {
	Size    int  // bytes of the whole text
	Depth   int  // nesting of objects and arrays
	Leaves  bool // plain values are a level of the nesting
	Twice   bool // an object may repeat a name
	Fold    bool // names that encoding/json treats as the same are the same
	Finite  bool // numbers must fit a float64
	Compact bool // no blanks outside strings
}

// documents are the rules of Decode and Value.
func documents(limit int) Rules {
	return Rules{Size: limit, Depth: MaxDepth, Fold: true, Finite: true}
}

// Decode reads a document of at most limit bytes into a Go value. Numbers in an any become
// float64. Two names in one object must not differ only by case, because encoding/json treats
// them as one. Errors are fault.Limit for a long text, and otherwise fault.Malformed with an
// *Error in it.
func Decode(raw []byte, limit int, into any) error {
	r, err := check(raw, documents(limit))
	if err == nil {
		err = r.decode(into)
	}
	return err
}

// Value is Decode into an any whose numbers are json.Number, with their original digits.
func Value(raw []byte, limit int) (any, error) {
	r, err := NewReader(raw, documents(limit))
	if err != nil {
		return nil, err
	}
	v, err := r.Value()
	if err != nil {
		return nil, err
	}
	return v, r.End()
}

// Object is Value for an object. It also returns the offset in raw of each name. A value of
// another kind gives nil maps.
func Object(raw []byte, limit int) (values map[string]any, at map[string]int, err error) {
	r, err := NewReader(raw, documents(limit))
	if err != nil {
		return nil, nil, err
	}
	if r.Kind() != '{' {
		if _, err := r.Value(); err != nil {
			return nil, nil, err
		}
		return nil, nil, r.End()
	}
	values, at = map[string]any{}, map[string]int{}
	err = r.Object(func(name string) error {
		at[name] = r.at
		v, err := r.Value()
		values[name] = v
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return values, at, r.End()
}

// check reads a whole text by the rules.
func check(raw []byte, rules Rules) (*Reader, error) {
	r, err := NewReader(raw, rules)
	if err != nil {
		return nil, err
	}
	if _, err := r.Skip(); err != nil {
		return nil, err
	}
	return r, r.End()
}

// Reader reads one JSON text, piece by piece. Its methods refuse a text that breaks the rules;
// the Reader must not be used after an error. It is not safe for concurrent use.
type Reader struct {
	raw   []byte
	rules Rules
	in    *jsontext.Decoder
	depth int
	at    int // offset of the last token
}

// NewReader returns a Reader at the beginning of raw. The caller must not change raw while it
// uses the Reader.
func NewReader(raw []byte, rules Rules) (*Reader, error) {
	switch {
	case len(raw) > rules.Size:
		return nil, fault.New(fault.Limit, "json: %d bytes, at most %d are allowed", len(raw), rules.Size)
	case !utf8.Valid(raw):
		return nil, bad(0, 0, "json: not UTF-8")
	case bytes.HasPrefix(raw, []byte("\ufeff")):
		return nil, bad(1, 1, "json: a byte order mark")
	}
	// The Reader finds repeated names itself, so that an error has the place of the second. The
	// text is UTF-8, so the second option only admits surrogates in escapes.
	in := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &Reader{raw: raw, rules: rules, in: in}, nil
}

// Kind returns the kind of the next token: one of {}[]"0tfn, with '0' for every number. It is
// the byte 0 when no valid token follows.
func (r *Reader) Kind() byte {
	k := byte(r.in.PeekKind())
	if strings.IndexByte(`{}[]"0tfn`, k) < 0 {
		return 0
	}
	return k
}

// Last returns the bytes of the last token, as a part of raw. A string has its quotation marks
// and escapes.
func (r *Reader) Last() []byte { return r.Since(r.at) }

// Since returns the bytes from an offset that Next returned to the end of the last token, as a
// part of raw.
func (r *Reader) Since(from int) []byte {
	to := int(r.in.InputOffset())
	return r.raw[from:to:to]
}

// Object reads an object. It calls each with every name; each must read the value.
func (r *Reader) Object(each func(name string) error) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	var seen names
	for r.Kind() != '}' {
		t, err := r.token()
		if err != nil {
			return err
		}
		name := t.String()
		key := name
		if r.rules.Fold {
			key = fold(name)
		}
		if !r.rules.Twice && !seen.add(key) {
			return badAt(r.raw, r.at, "key %q is given twice", words.Brief(name))
		}
		if err := each(name); err != nil {
			return err
		}
	}
	return r.shut()
}

// Array reads an array. It calls each for every element; each must read the element.
func (r *Reader) Array(each func() error) error {
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	for r.Kind() != ']' {
		if err := each(); err != nil {
			return err
		}
	}
	return r.shut()
}

// Scalar returns a string as string, true and false as bool, null as nil, and a number as
// json.Number.
func (r *Reader) Scalar() (any, error) {
	if k := r.Kind(); k == '{' || k == '[' {
		return nil, badAt(r.raw, r.Next(), "an object or an array, want a plain value")
	}
	t, err := r.plain()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	}
	return json.Number(t.String()), nil
}

// Value returns one value, numbers as json.Number.
func (r *Reader) Value() (any, error) {
	switch r.Kind() {
	case '{':
		m := map[string]any{}
		return m, r.Object(func(name string) error {
			v, err := r.Value()
			m[name] = v
			return err
		})
	case '[':
		l := []any{}
		return l, r.Array(func() error {
			v, err := r.Value()
			l = append(l, v)
			return err
		})
	}
	return r.Scalar()
}

// Skip skips one value and returns its bytes, as a part of raw.
func (r *Reader) Skip() ([]byte, error) {
	if r.rules.Twice && !r.rules.Finite {
		return r.pass()
	}
	from, err := r.Next(), error(nil)
	switch r.Kind() {
	case '{':
		err = r.Object(func(string) error { _, err := r.Skip(); return err })
	case '[':
		err = r.Array(func() error { _, err := r.Skip(); return err })
	default:
		_, err = r.plain()
	}
	if err != nil {
		return nil, err
	}
	return r.Since(from), nil
}

// pass is Skip for rules without checks of names and numbers. The decoder reads the value
// alone.
func (r *Reader) pass() ([]byte, error) {
	before, from := int(r.in.InputOffset()), r.Next()
	if _, err := r.in.ReadValue(); err != nil {
		return nil, syntax(r.raw, err)
	}
	r.at = from
	if r.rules.Compact && !isCompact(r.raw[before:from]) {
		return nil, badAt(r.raw, before, "blanks outside of texts")
	}
	return r.Last(), r.measure(r.Last())
}

// measure checks the nesting and the blanks of a value, which must be valid JSON.
func (r *Reader) measure(value []byte) error {
	depth := r.depth
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '}', ']':
			depth--
			continue
		case '{', '[':
			depth++
		case ' ', '\t', '\r', '\n':
			if r.rules.Compact {
				return badAt(r.raw, r.at+i, "blanks outside of texts")
			}
			continue
		case ',', ':':
			continue
		case '"':
			for i++; value[i] != '"'; i++ {
				if value[i] == '\\' {
					i++
				}
			}
		}
		if leaf := value[i] != '{' && value[i] != '['; depth > r.rules.Depth || leaf && r.rules.Leaves && depth == r.rules.Depth {
			return badAt(r.raw, r.at+i, "nested deeper than %d levels", r.rules.Depth)
		}
	}
	return nil
}

// End refuses anything after the value.
func (r *Reader) End() error {
	rest := r.raw[r.in.InputOffset():]
	more := bytes.TrimLeft(rest, " \t\r\n")
	switch at := len(r.raw) - len(more); {
	case len(more) > 0:
		return badAt(r.raw, at, "%q after the value", words.Brief(string(more[:1])))
	case r.rules.Compact && len(rest) > 0:
		return badAt(r.raw, at, "blanks after the value")
	}
	return nil
}

func (r *Reader) open(kind byte, want string) error {
	if k := r.Kind(); k != kind && k != 0 {
		return badAt(r.raw, r.Next(), "want %s", want)
	}
	if _, err := r.token(); err != nil {
		return err
	}
	if r.depth++; r.depth > r.rules.Depth {
		return badAt(r.raw, r.at, "nested deeper than %d levels", r.rules.Depth)
	}
	return nil
}

// plain reads one token that is neither an object nor an array.
func (r *Reader) plain() (jsontext.Token, error) {
	t, err := r.token()
	if err == nil && r.rules.Leaves && r.depth >= r.rules.Depth {
		err = badAt(r.raw, r.at, "nested deeper than %d levels", r.rules.Depth)
	}
	return t, err
}

func (r *Reader) shut() error {
	_, err := r.token()
	r.depth--
	return err
}

// token reads one token, and sets at to its offset.
func (r *Reader) token() (jsontext.Token, error) {
	before := int(r.in.InputOffset())
	t, err := r.in.ReadToken()
	if err != nil {
		return t, syntax(r.raw, err)
	}
	r.at = skipBlanks(r.raw, before)
	if r.rules.Compact && !isCompact(r.raw[before:r.at]) {
		return t, badAt(r.raw, before, "blanks outside of texts")
	}
	if t.Kind() == '0' && r.rules.Finite && !isFinite(r.Last()) {
		return t, badAt(r.raw, r.at, "the number %.40s is too large", r.Last())
	}
	return t, nil
}

// Next returns the offset of the next token.
func (r *Reader) Next() int { return skipBlanks(r.raw, int(r.in.InputOffset())) }

// skipBlanks skips the bytes between two tokens: blanks, and a comma or a colon that the
// decoder checks.
func skipBlanks(raw []byte, at int) int {
	for at < len(raw) && strings.IndexByte(" \t\r\n,:", raw[at]) >= 0 {
		at++
	}
	return at
}

// isCompact reports whether the bytes between two tokens are at most one delimiter.
func isCompact(gap []byte) bool {
	return len(gap) == 0 || len(gap) == 1 && (gap[0] == ',' || gap[0] == ':')
}

// isFinite reports whether a number fits a float64. Every number with few digits and without
// an exponent does.
func isFinite(number []byte) bool {
	if len(number) < 300 && bytes.IndexAny(number, "eE") < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err == nil
}

// names are the names in one object. A few names need no map.
type names struct {
	few  []string
	many map[string]bool
}

func (n *names) add(name string) (isNew bool) {
	if n.many == nil {
		for _, had := range n.few {
			if had == name {
				return false
			}
		}
		if n.few = append(n.few, name); len(n.few) < 16 {
			return true
		}
		n.many = make(map[string]bool, 2*len(n.few))
		for _, had := range n.few {
			n.many[had] = true
		}
		return true
	}
	if n.many[name] {
		return false
	}
	n.many[name] = true
	return true
}

// fold maps names that encoding/json treats as the same to the same text. It compares like
// bytes.EqualFold, which treats K and the Kelvin sign as one.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u212a': // the sign for kelvin
			return 'k'
		case 'ſ':
			return 's'
		}
		return r
	}, strings.ToLower(name))
}

// decode reads the checked text into a Go value.
func (r *Reader) decode(into any) error {
	err := v2.Unmarshal(r.raw, into, v2.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return semantic(r.raw, err)
	}
	return nil
}

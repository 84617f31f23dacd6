// Package strict reads JSON in such a way that no other reader of the same bytes can see
// another document in them.
//
// It refuses what is not UTF-8, a byte order mark, more bytes or more nesting than its caller
// allows, a name twice in one object, and anything behind the value. Decode also refuses
// members that the Go type does not name in exactly that case. An escaped surrogate without
// its other half is valid JSON: it is read as U+FFFD.
//
// A format with one spelling is written again by its own package after it was read, and compared.
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

// MaxDepth is how deep a document may nest that Decode or Value reads.
const MaxDepth = 64

// Rules are what a Reader demands besides valid JSON in UTF-8.
type Rules struct {
	Size    int  // bytes of the whole text
	Depth   int  // nesting of objects and arrays
	Leaves  bool // plain values count as a level of the nesting
	Twice   bool // a name may stand in one object twice
	Fold    bool // names that encoding/json takes for the same count as the same
	Finite  bool // numbers fit a float64
	Compact bool // no blanks outside of texts
}

// documents are the rules of Decode and Value.
func documents(limit int) Rules {
	return Rules{Size: limit, Depth: MaxDepth, Fold: true, Finite: true}
}

// Decode reads a document of at most limit bytes into a Go value: numbers in an any become
// float64. Names that differ by case only are one name, as encoding/json has it. Errors are
// fault.Limit for a long text, and otherwise fault.Malformed with an *Error in it.
func Decode(raw []byte, limit int, into any) error {
	r, err := check(raw, documents(limit))
	if err == nil {
		err = r.decode(into)
	}
	return err
}

// Value is Decode into an any whose numbers are json.Number, with the digits that stand there.
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

// Object is Value for an object, and tells where in raw each of its names begins.
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

// check goes through a whole text.
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

// Reader goes through one JSON text, piece by piece. Its methods refuse what breaks its rules,
// and after an error it is of no more use. It is not safe for concurrent use.
type Reader struct {
	raw   []byte
	rules Rules
	in    *jsontext.Decoder
	depth int
	at    int // where the last token begins
}

// NewReader returns a Reader at the beginning of raw, which nobody may change meanwhile.
func NewReader(raw []byte, rules Rules) (*Reader, error) {
	switch {
	case len(raw) > rules.Size:
		return nil, fault.New(fault.Limit, "json: %d bytes, at most %d are allowed", len(raw), rules.Size)
	case !utf8.Valid(raw):
		return nil, bad(0, 0, "json: not UTF-8")
	case bytes.HasPrefix(raw, []byte("\ufeff")):
		return nil, bad(1, 1, "json: a byte order mark")
	}
	// Names twice are found here, so that a refusal shows where the second stands. The text is
	// UTF-8, so the second option only admits surrogates in escapes.
	in := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &Reader{raw: raw, rules: rules, in: in}, nil
}

// Kind returns the first byte of what comes next, with 0 for every number: one of {}[]"0tfn.
// It is 0 where nothing valid comes.
func (r *Reader) Kind() byte {
	k := byte(r.in.PeekKind())
	if strings.IndexByte(`{}[]"0tfn`, k) < 0 {
		return 0
	}
	return k
}

// Last returns the bytes of the last token, which are part of the text: a text with its quotation
// marks and escapes.
func (r *Reader) Last() []byte { return r.Since(r.at) }

// Since returns the bytes from a place that Next returned to the end of the last token. They are
// part of the text.
func (r *Reader) Since(from int) []byte {
	to := int(r.in.InputOffset())
	return r.raw[from:to:to]
}

// Object goes through an object. each gets every name, and reads its value.
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

// Array goes through an array. each reads one element.
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

// Scalar returns a text as string, true and false as bool, null as nil, and a number as
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

// Skip passes over one value and returns its bytes, which are part of the text.
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

// pass is Skip where neither names nor numbers matter: the decoder goes through the value alone.
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

// measure holds a value, which is valid JSON, to the rules of nesting and of blanks.
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

// End refuses anything behind the value.
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

// token reads one token. at is then where it begins.
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

// Next returns where the next token begins.
func (r *Reader) Next() int { return skipBlanks(r.raw, int(r.in.InputOffset())) }

// skipBlanks passes over what stands between two tokens: blanks, and a comma or a colon that
// the decoder checks.
func skipBlanks(raw []byte, at int) int {
	for at < len(raw) && strings.IndexByte(" \t\r\n,:", raw[at]) >= 0 {
		at++
	}
	return at
}

// isCompact reports whether only a delimiter stands between two tokens.
func isCompact(gap []byte) bool {
	return len(gap) == 0 || len(gap) == 1 && (gap[0] == ',' || gap[0] == ':')
}

// isFinite reports whether a number fits a float64. Those of few digits do.
func isFinite(number []byte) bool {
	if len(number) < 300 && bytes.IndexAny(number, "eE") < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err == nil
}

// names are those of one object; few of them need no map.
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

// fold maps names that encoding/json takes for the same to the same text: it compares like
// bytes.EqualFold, under which K and the Kelvin sign are one.
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

// decode reads the text, which was checked, into a Go value.
func (r *Reader) decode(into any) error {
	err := v2.Unmarshal(r.raw, into, v2.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return semantic(r.raw, err)
	}
	return nil
}

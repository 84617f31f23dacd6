package clients

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/rye-os/rye/fault"
)

// MaxFile bounds the file of a client, in bytes. Files that people and clients write stay far
// below it.
const MaxFile = 8 << 20

// format is a text format for values. Its other methods get only text that values has read
// without an error. Their callers read the result again.
type format interface {
	// values reads a text. An empty one has no members.
	values(raw []byte) (map[string]any, error)
	// set sets the member at path to v. It makes missing members on the way.
	set(raw []byte, path []string, v any) ([]byte, error)
	// cut removes an existing member.
	cut(raw []byte, path []string) ([]byte, error)
}

// Entry returns the server with the name rye in the text of the client's file; found is false
// when there is none. A text that does not parse is fault.Malformed.
func (c Client) Entry(raw []byte) (s Server, found bool, err error) {
	_, entry, err := c.open(raw)
	if entry == nil || err != nil {
		return Server{}, false, err
	}
	return c.read(entry), true, nil
}

// open reads a text. It also returns the entry, or nil when there is none.
func (c Client) open(raw []byte) (values, entry map[string]any, err error) {
	if len(raw) > MaxFile {
		return nil, nil, fault.New(fault.Limit, "%d bytes, at most %d", len(raw), MaxFile)
	}
	if values, err = c.format.values(raw); err != nil {
		return nil, nil, err
	}
	servers, ok := values[c.servers].(map[string]any)
	if _, there := values[c.servers]; there && !ok && values[c.servers] != nil {
		return nil, nil, fault.New(fault.Malformed, "%s is not a list of named servers", c.servers)
	}
	held, there := servers[Name]
	if entry, ok = held.(map[string]any); there && !ok {
		return nil, nil, fault.New(fault.Malformed, "%s.%s is not an entry", c.servers, Name)
	}
	return values, entry, nil
}

// With returns the text with s as its entry. An existing entry keeps its other members
// (variables, time limits, disabled features), unless replace is set or the entry has a form
// that cannot be amended. A text that already has s is returned unchanged.
func (c Client) With(raw []byte, s Server, replace bool) ([]byte, error) {
	before, entry, err := c.open(raw)
	if err != nil {
		return nil, err
	}
	if entry != nil && !replace {
		if same(c.read(entry), s) {
			return raw, nil
		}
		if next, err := c.amend(raw, entry, c.entry(s)); err == nil && c.holds(next, s, before) {
			return next, nil
		}
	}
	next := raw
	if entry != nil {
		if next, err = c.format.cut(raw, c.at()); err != nil {
			return nil, err
		}
	}
	if next, err = c.format.set(next, c.at(), c.entry(s)); err != nil {
		return nil, err
	}
	if !c.holds(next, s, before) {
		return nil, c.unable()
	}
	return next, nil
}

// holds reports whether a text has s as its entry, and the rest has its values from before.
func (c Client) holds(next []byte, s Server, before map[string]any) bool {
	after, entry, err := c.open(next)
	return err == nil && entry != nil && same(c.read(entry), s) && c.restIsSame(before, after)
}

// Without returns the text without the entry. A text that has none is returned unchanged.
func (c Client) Without(raw []byte) ([]byte, error) {
	before, entry, err := c.open(raw)
	if err != nil || entry == nil {
		return raw, err
	}
	next, err := c.format.cut(raw, c.at())
	if err != nil {
		return nil, err
	}
	after, entry, err := c.open(next)
	if err != nil || entry != nil || !c.restIsSame(before, after) {
		return nil, c.unable()
	}
	return next, nil
}

func (c Client) at(more ...string) []string { return append([]string{c.servers, Name}, more...) }

func (c Client) unable() error {
	return fault.New(fault.Malformed, "rye cannot change the entry %s.%s alone in this layout", c.servers, Name).
		Advise("edit %s.%s by hand", c.servers, Name)
}

// amend changes the members of an entry that differ.
func (c Client) amend(raw []byte, entry map[string]any, want object) (next []byte, err error) {
	next = raw
	for _, m := range want {
		old, there := entry[m.name]
		if there && (m.usual || reflect.DeepEqual(generic(old), generic(m.value))) {
			continue
		}
		if next, err = c.format.set(next, c.at(m.name), m.value); err != nil {
			return nil, err
		}
	}
	for _, name := range launching {
		_, there := entry[name]
		if !there || slices.ContainsFunc(want, func(m member) bool { return m.name == name }) {
			continue
		}
		if next, err = c.format.cut(next, c.at(name)); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// restIsSame reports whether two readings differ only in the entry.
func (c Client) restIsSame(a, b map[string]any) bool { return reflect.DeepEqual(c.rest(a), c.rest(b)) }

// rest returns a reading without the entry. A missing list of servers equals an empty one.
func (c Client) rest(values map[string]any) map[string]any {
	rest := maps.Clone(values)
	servers, _ := values[c.servers].(map[string]any)
	others := maps.Clone(servers)
	delete(others, Name)
	if rest[c.servers] = others; len(others) == 0 {
		delete(rest, c.servers)
	}
	return rest
}

// generic returns a value as if it were read from JSON, so that values from all formats and
// from the table can be compared.
func generic(v any) (out any) {
	if json.Unmarshal(encode(v), &out) != nil {
		return v
	}
	return out
}

// encode writes a value as JSON in one line. Members of objects keep their order.
func encode(v any) []byte {
	var b bytes.Buffer
	if o, ok := v.(object); ok {
		b.WriteByte('{')
		for i, m := range o {
			if i > 0 {
				b.WriteString(", ")
			}
			b.Write(encode(m.name))
			b.WriteString(": ")
			b.Write(encode(m.value))
		}
		b.WriteByte('}')
		return b.Bytes()
	}
	if all, ok := v.([]string); ok {
		b.WriteByte('[')
		for i, text := range all {
			if i > 0 {
				b.WriteString(", ")
			}
			b.Write(encode(text))
		}
		b.WriteByte(']')
		return b.Bytes()
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	// TOML and YAML accept DEL only as an escape; JSON accepts the escape, too.
	return bytes.ReplaceAll(bytes.TrimSpace(b.Bytes()), []byte{0x7f}, []byte(`\u007f`))
}

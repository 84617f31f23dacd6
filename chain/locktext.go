package chain

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// A YAML library takes a tenth of a second for a lock of a thousand items, and every command that
// resolves a name reads the lock. In docs/format/lock.md each value has its own line, so the lock
// is read line by line. ParseLock encodes the result again and compares the bytes. That refuses
// every error that this reader overlooks.

// scanLock reads the lines of a lock.
func scanLock(raw []byte) (*lockFile, error) {
	s := &lockScanner{f: &lockFile{}}
	s.fields = map[string][]field{"registries": s.reg.fields(), "namespaces": s.ns.fields(), "items": s.item.fields(), "origins": s.origin.fields()}
	for n := 1; len(raw) > 0; n++ {
		line, rest, found := bytes.Cut(raw, []byte("\n"))
		if !found || !s.line(string(line)) {
			return nil, fault.New(fault.Malformed, "lock: line %d: %q is not what rye writes there", n, words.Brief(string(line))).Mend("rye lock")
		}
		raw = rest
	}
	s.close()
	return s.f, nil
}

// lockScanner is the position of the reader: its section, entry and list.
type lockScanner struct {
	f       *lockFile
	section string
	name    string // of the entry
	reg     registryFile
	ns      namespaceFile
	item    itemFile
	origin  originFile
	list    *[]string          // of the current "- x" lines
	fields  map[string][]field // of reg, ns, item and origin, by section
}

func (s *lockScanner) line(text string) bool {
	body := strings.TrimLeft(text, " ")
	indent := len(text) - len(body)
	if item, isList := strings.CutPrefix(body, "- "); isList {
		text, ok := unquote(item)
		if s.list == nil || !ok {
			return false
		}
		*s.list = append(*s.list, text)
		return true
	}
	s.list = nil
	if indent == 2 && s.section != "stdlib" {
		name, ok := strings.CutSuffix(body, ":")
		s.close()
		s.name, _ = unquote(name)
		return ok && s.name != ""
	}
	key, value, _ := strings.Cut(body, ":")
	if value != "" && value[0] != ' ' {
		return false
	}
	value = strings.TrimPrefix(value, " ")
	if value != "" && value != "[]" {
		var ok bool
		if value, ok = unquote(value); !ok {
			return false
		}
	}
	switch {
	case indent == 0:
		return s.top(key, value)
	case indent == 2:
		return set(s.f.Stdlib.fields(), key, value)
	case s.name == "":
		return false
	case indent == 4:
		return s.field(key, value)
	case indent == 6 && s.item.Needs != nil:
		return s.need(key, value)
	}
	return false
}

func (s *lockScanner) top(key, value string) bool {
	s.close()
	s.section = key
	switch key {
	case "lock":
		n, err := strconv.Atoi(value)
		s.f.Lock = n
		return err == nil
	case "stdlib":
		s.f.Stdlib = &stdlibFile{}
	case "registries":
		s.f.Registries = map[string]registryFile{}
	case "namespaces":
		s.f.Namespaces = map[string]namespaceFile{}
	case "items":
		s.f.Items = map[string]itemFile{}
	case "origins":
		s.f.Origins = map[string]originFile{}
	default:
		return false
	}
	return value == ""
}

func (s *lockScanner) field(key, value string) bool {
	switch s.section + " " + key {
	case "namespaces seq":
		n, err := strconv.ParseUint(value, 10, 64)
		s.ns.Seq = n
		return err == nil
	case "items chain":
		s.list = &s.item.Chain
		return value == ""
	case "items needs":
		s.item.Needs = &needsFile{}
		return value == ""
	}
	return set(s.fields[s.section], key, value)
}

func (s *lockScanner) need(key, value string) bool {
	n := s.item.Needs
	to, ok := map[string]*[]string{"read": &n.Read, "write": &n.Write, "net": &n.Net, "listen": &n.Listen, "rye": &n.Rye}[key]
	if !ok || value != "" && value != "[]" {
		return false
	}
	*to = []string{}
	if value == "" {
		s.list = to
	}
	return true
}

// unquote is the inverse of quote. It may accept more than quote writes; the comparison of the
// whole file refuses the rest.
func unquote(s string) (string, bool) {
	if s == "" || s[0] != '"' {
		return s, s != ""
	}
	var text string
	err := json.Unmarshal([]byte(s), &text)
	return text, err == nil
}

// set stores a value in the field named key.
func set(fields []field, key, value string) bool {
	for _, f := range fields {
		if f.key == key && value != "" && value != "[]" {
			*f.at = value
			return true
		}
	}
	return false
}

// close stores the current entry, if there is one.
func (s *lockScanner) close() {
	if s.name != "" {
		switch s.section {
		case "registries":
			s.f.Registries[s.name] = s.reg
		case "namespaces":
			s.f.Namespaces[s.name] = s.ns
		case "items":
			s.f.Items[s.name] = s.item
		case "origins":
			s.f.Origins[s.name] = s.origin
		}
	}
	s.name, s.reg, s.ns, s.item, s.origin, s.list = "", registryFile{}, namespaceFile{}, itemFile{}, originFile{}, nil
}

package chain

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// lockWriter writes the form of docs/format/lock.md, line by line.
type lockWriter struct {
	b          []byte
	it         itemFile // the entry being written
	itemFields []field  // of it
}

// text returns the file in its only valid form.
func (f *lockFile) text() []byte {
	w := &lockWriter{}
	w.itemFields = w.it.fields()
	w.b = append(w.b, "lock: "+strconv.Itoa(f.Lock)+"\n"...)
	if s := f.Stdlib; s != nil {
		w.head("", "stdlib")
		w.fields("  ", s.fields())
	}
	section(w, "registries", f.Registries, func(in string, r registryFile) {
		w.fields(in, r.fields())
	})
	section(w, "namespaces", f.Namespaces, func(in string, n namespaceFile) {
		all := n.fields()
		w.fields(in, all[:1])
		w.b = append(w.b, in+"seq: "+strconv.FormatUint(n.Seq, 10)+"\n"...)
		w.fields(in, all[1:])
	})
	section(w, "items", f.Items, w.item)
	section(w, "origins", f.Origins, func(in string, o originFile) { w.fields(in, o.fields()) })
	return w.b
}

// section writes a mapping by name, sorted, unless it is empty.
func section[T any](w *lockWriter, title string, all map[string]T, entry func(in string, v T)) {
	if len(all) > 0 {
		w.head("", title)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w.head("  ", quote(name))
		entry("    ", all[name])
	}
}

func (w *lockWriter) item(in string, i itemFile) {
	w.it = i
	all := w.itemFields
	needs := slices.IndexFunc(all, func(f field) bool { return f.key == "capability" })
	w.fields(in, all[:needs])
	if n := i.Needs; n != nil {
		w.head(in, "needs")
		w.list(in+"  ", "read", n.Read)
		w.list(in+"  ", "write", n.Write)
		w.list(in+"  ", "net", n.Net)
		if len(n.Listen) > 0 {
			w.list(in+"  ", "listen", n.Listen)
		}
		if len(n.Rye) > 0 {
			w.list(in+"  ", "rye", n.Rye)
		}
	}
	w.fields(in, all[needs:needs+1])
	if len(i.Chain) > 0 {
		w.list(in, "chain", i.Chain)
	}
	w.fields(in, all[needs+1:])
}

func (w *lockWriter) head(in, key string) { w.b = append(w.b, in+key+":\n"...) }

func (w *lockWriter) fields(in string, all []field) {
	for _, f := range all {
		if f.must || *f.at != "" {
			w.b = append(w.b, in+f.key+": "+quote(*f.at)+"\n"...)
		}
	}
}

func (w *lockWriter) list(in, key string, all []string) {
	if len(all) == 0 {
		w.b = append(w.b, in+key+": []\n"...)
		return
	}
	w.head(in, key)
	for _, x := range all {
		w.b = append(w.b, in+"  - "+quote(x)+"\n"...)
	}
}

// quote writes a text so that YAML reads the same text: bare when that is certain, else as a JSON
// string, which YAML also reads.
func quote(s string) string {
	if plain(s) {
		return s
	}
	raw, err := encodeJSON(s)
	if err != nil {
		panic("chain: " + err.Error()) // texts always encode
	}
	return string(raw)
}

// plain reports whether YAML certainly reads a bare text as a text. It accepts letters, digits
// and a few signs. It refuses every text that could be a number, a date, a truth value or null.
func plain(s string) bool {
	if s == "" || strings.HasSuffix(s, ":") || numeric(s) {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte("./:-_+@", c) >= 0:
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return false
	}
	return true
}

// numeric reports texts that begin like a number or a date, and that have no letter to rule both
// out. Three numbers joined by dots are a version, and not numeric.
func numeric(s string) bool {
	if s[0] < '0' || s[0] > '9' {
		return false
	}
	if len(s) > 1 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		return true
	}
	if len(s) > 4 && s[4] == '-' {
		return true
	}
	if strings.Count(s, ".") == 2 && strings.Trim(s, "0123456789.") == "" {
		return false
	}
	return strings.Trim(s, "0123456789._:eE+-") == ""
}

package objects

import (
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// A field that limits a tool has no effect under a misspelt name. Its author would rely on a
// limit that does not exist, so rye does not sign an item with such a field.

// lawWords are common names for the limits of an item, each with the correct spelling in a
// tool. A name that is close to one of them is treated as that one.
var lawWords = []struct{ word, write string }{
	{"tier", "tier"},
	{"needs", "needs"},
	{"limits", "limits"},
	{"sandbox", "sandbox in needs"},
	{"capabilities", "needs"},
	{"permissions", "needs"},
}

// lawParts are common names for the fields inside needs and limits. A field at the top with
// exactly such a name is treated as that field.
var lawParts = map[string]string{
	"net": "net in needs", "listen": "listen in needs", "network": "net in needs", "read": "read in needs", "write": "write in needs",
	"memory": "memory in limits", "processes": "processes in limits", "cpu": "cpu in limits", "temp": "temp in limits",
	"max_memory": "memory in limits", "max_output": "output in limits", "timeout": "time in limits",
}

// meant returns the correct spelling for an unknown field that looks like a limit, or "".
func meant(field string) string {
	field = strings.ToLower(strings.Trim(field, "_"))
	if part := lawParts[field]; part != "" {
		return part
	}
	for _, l := range lawWords {
		if looksLike(field, l.word) {
			return l.write
		}
	}
	return ""
}

// looksLike reports whether name is word, is a prefix of it, continues it with _, or is a typo
// of it. Typos in the first letter are so rare that "feeds" is not treated as "needs".
func looksLike(name, word string) bool {
	if name == "" || name[0] != word[0] {
		return false
	}
	begins := strings.HasPrefix(name, word+"_") || strings.HasPrefix(name, strings.TrimSuffix(word, "s")+"_")
	if begins || len(name) >= 4 && strings.HasPrefix(word, name) {
		return true
	}
	mistakes, near := words.Near(name, word)
	return near && mistakes <= len(word)/4
}

// pythonLaw maps fields that a Python tool cannot set as __name__ to the correct name.
var pythonLaw = map[string]string{
	"config": "CONFIG", "config_schema": "CONFIG_SCHEMA", "env_config": "ENV_CONFIG", "anchor": "ANCHOR", "verify_deps": "VERIFY_DEPS",
}

// misspelt returns the name inside a __name__ that looks like a field of a Python tool but
// fills none. It returns "" for any other name.
func misspelt(name string) string {
	if pythonNames[name] != "" || !strings.HasPrefix(name, "__") || !strings.HasSuffix(name, "__") || len(name) < 5 {
		return ""
	}
	if f := name[2 : len(name)-2]; pythonLaw[f] != "" || meant(f) != "" && !strings.Contains(pythonOwn, " "+f+" ") {
		return f
	}
	return ""
}

// mistaken reports the unknown fields that look like a limit.
func (v *validator) mistaken() {
	if k := v.it.Ref.Kind; k != Tool && k != Directive || k == Tool && v.it.inert() {
		return
	}
	for _, field := range v.it.Meta.Unknown {
		write := meant(field)
		switch {
		case v.it.dialect == dialectPython && pythonLaw[field] != "":
			v.add(field, strconv.Quote(words.Brief(field))+" is not read: a Python tool spells it "+pythonLaw[field], pythonLaw[field]+" = {…}")
		case write == "":
		case v.it.Ref.Kind == Directive:
			v.add(field, strconv.Quote(words.Brief(field))+" is not a field, so it limits nothing", "limits or permissions")
		default:
			v.add(field, strconv.Quote(words.Brief(field))+" is not a field, so it limits nothing", write)
		}
	}
}

// inert reports whether a tool is data: nothing executes it, and it executes nothing.
func (it *Item) inert() bool {
	return inert(it.Meta.Fields, &it.Meta)
}

// inert reports whether a tool with these fields is data: its executor_id is present and
// empty, and its tool_type is not "primitive".
func inert(fields map[string]any, m *Meta) bool {
	_, stated := fields["executor_id"]
	return stated && m.Executor == "" && m.ToolType != "" && m.ToolType != "primitive"
}

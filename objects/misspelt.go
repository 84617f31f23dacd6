package objects

import (
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// A field that limits a tool does nothing under another name. Whoever wrote it believes in
// a limit that is not there, so an item with such a field cannot be signed.

// lawWords are the words that people use for what limits an item, with what to write
// instead in a tool. What is near to one of them is taken for it.
var lawWords = []struct{ word, write string }{
	{"tier", "tier"},
	{"needs", "needs"},
	{"limits", "limits"},
	{"sandbox", "sandbox in needs"},
	{"capabilities", "needs"},
	{"permissions", "needs"},
}

// lawParts are the names of what stands inside of needs and limits; exactly these, in
// the wrong place, are taken for them.
var lawParts = map[string]string{
	"net": "net in needs", "network": "net in needs", "read": "read in needs", "write": "write in needs",
	"memory": "memory in limits", "processes": "processes in limits", "cpu": "cpu in limits", "temp": "temp in limits",
	"max_memory": "memory in limits", "max_output": "output in limits", "timeout": "time in limits",
}

// meant returns what somebody meant by a field that no rule knows, where it looks like a
// limit; "" is nothing.
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

// looksLike reports whether a name is a word, begins it or goes on with _, or is mistyped:
// people err in the first letter so rarely that "feeds" is not taken for "needs".
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

// pythonLaw are the fields of a Python tool that __name__ looks like and does not fill.
var pythonLaw = map[string]string{
	"config": "CONFIG", "config_schema": "CONFIG_SCHEMA", "env_config": "ENV_CONFIG", "anchor": "ANCHOR", "verify_deps": "VERIFY_DEPS",
}

// misspelt returns the name inside of a __name__ that fills no field of a Python tool and
// looks as if it did; "" is none.
func misspelt(name string) string {
	if pythonNames[name] != "" || !strings.HasPrefix(name, "__") || !strings.HasSuffix(name, "__") || len(name) < 5 {
		return ""
	}
	if f := name[2 : len(name)-2]; pythonLaw[f] != "" || meant(f) != "" && !strings.Contains(pythonOwn, " "+f+" ") {
		return f
	}
	return ""
}

// mistaken reports the fields that look like a limit and are none.
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
			v.add(field, strconv.Quote(words.Brief(field))+" is no field, so it limits nothing", "limits or permissions")
		default:
			v.add(field, strconv.Quote(words.Brief(field))+" is no field, so it limits nothing", write)
		}
	}
}

// inert reports whether a tool is data: it names what runs it, and that is nothing.
func (it *Item) inert() bool {
	_, said := it.Meta.Fields["executor_id"]
	return said && it.Meta.Executor == "" && it.Meta.ToolType != "" && it.Meta.ToolType != "primitive"
}

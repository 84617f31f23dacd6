package command

import (
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/objects"
)

// A rule describes one dangerous act. The table is in rulebook.go.
type rule struct {
	id     string // "delete-tree"; a finding has it
	label  string // the act, as people read it; several rules may share one
	class  string // the kind of harm, one of the classes of the corpora
	tier   Tier
	reason string // why a person should look at it
	when   string // rows, one on each line; any of them is enough; "" for an act that the walk itself sees
	bad    string // a line that has the act
	good   string // a line that resembles it, and has not
}

// A row is one line of a table: a program, an event or a role, and what must be true of it. The
// elements stand between spaces, and the alternatives of one between commas.
//
//	word        an operand; several stand in this order, with others between them; * is any text
//	^word       the subcommand
//	-x --long   an option, alone, bundled or abbreviated; --de* with any rest
//	-x=word     an option with this value, in the same word or the next
//	@class      an operand of a class, see classes.go; of=@class behind these letters
//	<origin     an input of this origin
//	~text       an input that a pattern of texts.go matches
//	!element    not so
//
// The program may be %role, for every program that has it. Events have names that no program has:
// ">" is a file that is written, "NAME=" an assignment, "run" and "pipe" a text that becomes a
// program, "code" a program in another language, "sql" a statement.
type row struct {
	elements []element
	plain    bool // about a program by its name; a dry run of that does nothing
	rule     *rule
	role     role
}

type element struct {
	alternatives []string
	not          bool
	word         bool // an operand, which has a place in the order
}

// A table finds the rows for a program by its name or role.
type table struct {
	byName map[string][]row
	byRole [32][]row
}

// add reads rows, and gives them a meaning.
func (t *table) add(rows string, meaning row) {
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		r := meaning
		for _, f := range fields[1:] {
			e := element{}
			f, e.not = strings.CutPrefix(f, "!")
			e.alternatives = strings.Split(f, ",")
			e.word = !e.not && !strings.ContainsAny(f[:1], "-<~") && !strings.Contains(f, "@")
			r.elements = append(r.elements, e)
		}
		for _, name := range strings.Split(fields[0], ",") {
			if role, ok := strings.CutPrefix(name, "%"); ok {
				i := slices.Index(roleNames, role)
				t.byRole[i] = append(t.byRole[i], r)
				continue
			}
			r.plain = strings.Trim(name, ">=.") == name && !events.has(name)
			t.byName[name] = append(t.byName[name], r)
		}
	}
}

const events names = "run pipe text code sql"

// The tables are read at their first use, because most starts of rye analyse nothing.
var (
	acts = sync.OnceValue(func() *table {
		t := &table{byName: map[string][]row{}}
		for i := range rulebook {
			t.add(rulebook[i].when, row{rule: &rulebook[i]})
		}
		return t
	})
	casts = sync.OnceValue(func() *table {
		t := &table{byName: map[string][]row{}}
		for _, r := range roleTable {
			t.add(r.rows, row{role: r.role})
		}
		return t
	})
	// cmdlets are the names with a row that PowerShell reads in either case.
	cmdlets = sync.OnceValue(func() map[string]string {
		out := map[string]string{}
		for _, t := range []*table{acts(), casts()} {
			for name := range t.byName {
				if strings.Contains(name, "-") && name != strings.ToLower(name) {
					out[strings.ToLower(name)] = name
				}
			}
		}
		return out
	})
	rulesByID = sync.OnceValue(func() map[string]*rule {
		all := map[string]*rule{}
		for i := range rulebook {
			all[rulebook[i].id] = &rulebook[i]
		}
		return all
	})
)

// A call is one program with its words and its input, or an event.
type call struct {
	*machine
	name  string // of the program, without directory
	args  []value
	in    value           // its input
	bare  string          // a program in another language, with blanks in its strings
	all   string          // the whole command, for a finding
	read  map[string]bool // which patterns match the input, as far as asked
	roles role
}

// cast sets the roles of a program.
func (c *call) cast() *call {
	if shells.has(c.name) {
		c.roles |= runsShell
	} else if interpreters.has(c.name) {
		c.roles |= runsCode
	}
	for _, r := range casts().byName[c.name] {
		if c.meets(r) {
			c.roles |= r.role
		}
	}
	return c
}

// is reports whether a program has one of some roles.
func (c *call) is(r role) bool { return c.roles&r != 0 }

// judge compares a call with the rules.
func (c *call) judge() {
	rehearsal := c.rehearses()
	rows := acts().byName[c.name]
	if strings.HasPrefix(c.name, "mkfs.") {
		rows = acts().byName["mkfs"]
	}
	for _, r := range rows {
		if !(r.plain && rehearsal) && c.meets(r) {
			c.report(r.rule, c.all)
		}
	}
	for i := range roleNames {
		if c.roles&(1<<i) == 0 {
			continue
		}
		for _, r := range acts().byRole[i] {
			if c.meets(r) {
				c.report(r.rule, c.all)
			}
		}
	}
}

// rehearses reports whether an option makes a dry run of a command. A program that starts others
// may have such a word for one of them.
func (c *call) rehearses() bool {
	if c.is(startsOthers) {
		return false
	}
	for _, v := range c.args {
		if v.text == "--" {
			return false
		}
		if dryRuns.has(v.text) {
			return true
		}
	}
	return false
}

// meets reports whether a call is what a row describes.
func (c *call) meets(r row) bool {
	at := 0
	for _, e := range r.elements {
		if !e.word {
			if slices.ContainsFunc(e.alternatives, c.has) == e.not {
				return false
			}
			continue
		}
		i := c.find(e.alternatives, at)
		if i < 0 {
			return false
		}
		at = i + 1
	}
	return true
}

// find returns the first word from a place on that one of the alternatives matches, or -1.
func (c *call) find(alternatives []string, at int) int {
	for i := at; i < len(c.args); i++ {
		for _, a := range alternatives {
			if first, ok := strings.CutPrefix(a, "^"); ok && (first != c.args[i].text || i != c.subcommand()) || !ok && !matches(a, c.args[i].text) {
				continue
			}
			return i
		}
	}
	return -1
}

// subcommand returns the place of the first operand, or -1.
func (c *call) subcommand() int {
	for i := 0; i < len(c.args); i++ {
		switch t := c.args[i].text; {
		case t == "" || t[0] != '-':
			return i
		case globalOptions.has(t):
			i++
		}
	}
	return -1
}

// has reports whether one alternative of an element is true of a call.
func (c *call) has(a string) bool {
	before, class, classed := strings.Cut(a, "@")
	switch name, want, valued := strings.Cut(a, "="); {
	case a == "<known":
		return c.in != value{}
	case a[0] == '<':
		return c.in.is(1 << slices.Index(originNames, a[1:]))
	case a[0] == '~':
		return c.reads(a[1:])
	case a[0] == '-' && strings.Contains(name, "*"):
		return slices.ContainsFunc(c.args, func(v value) bool { return matches(a, v.text) })
	case a[0] == '-' && valued:
		for _, v := range valueOf(bundled(c.args, name), names(name)) {
			if class, ok := strings.CutPrefix(want, "@"); ok && c.of(class, v) || !ok && matches(want, v.text) {
				return true
			}
		}
		return false
	case a[0] == '-' && len(a) == 2:
		return option(texts(c.args), a[1:], "")
	case a[0] == '-':
		return option(texts(c.args), "", a) || slices.ContainsFunc(c.args, func(v value) bool { return strings.EqualFold(v.text, a) })
	case classed && callClasses.has(class):
		return c.as(class)
	case classed:
		for _, v := range c.args {
			if text, ok := strings.CutPrefix(v.text, before); ok && (before != "" || !strings.HasPrefix(text, "-")) && c.of(class, value{text, v.from}) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(c.args, func(v value) bool { return matches(a, v.text) })
}

func matches(pattern, w string) bool {
	if pattern == "*" {
		return w != "" && w[0] != '-'
	}
	if !strings.Contains(pattern, "*") {
		return pattern == w
	}
	return len(w) < 4096 && objects.Covers(pattern, w)
}

// option reports whether args has one of the short options, alone or bundled, or the long one,
// abbreviated as getopt allows. Words after "--" are not options.
func option(args []string, short, long string) bool {
	for _, w := range args {
		switch {
		case w == "--":
			return false
		case strings.HasPrefix(w, "--"):
			if name, _, _ := strings.Cut(w, "="); len(name) > 4 && strings.HasPrefix(long, name) {
				return true
			}
		case len(w) > 1 && w[0] == '-' && strings.ContainsAny(w[1:], short) && !strings.Contains(w, "/"):
			return true
		}
	}
	return false
}

// operands returns the words that are neither options nor values of the options in valued.
func operands(args []value, valued names) (out []value) {
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case t == "--":
			return append(out, args[i+1:]...)
		case len(t) > 1 && t[0] == '-':
			if valued.has(t) {
				i++
			}
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// valueOf returns the words after any of the options, also in the same word: -ofile,
// --output=file.
func valueOf(args []value, options names) (out []value) {
	for i, v := range args {
		name, text, glued := strings.Cut(v.text, "=")
		switch {
		case options.has(v.text) && i+1 < len(args):
			out = append(out, args[i+1])
		case glued && len(name) > 2 && name[0] == '-' && options.has(name):
			out = append(out, value{text, v.from})
		case len(v.text) > 2 && v.text[0] == '-' && v.text[1] != '-' && options.has(v.text[:2]):
			out = append(out, value{strings.TrimPrefix(v.text[2:], "="), v.from})
		}
	}
	return out
}

// bundled splits bundled short options if the last one takes a value: -sSLo file.
func bundled(args []value, name string) []value {
	if len(name) != 2 {
		return args
	}
	out := make([]value, 0, len(args)+1)
	for _, v := range args {
		t := v.text
		if len(t) > 2 && t[0] == '-' && t[1] != '-' && t[len(t)-1] == name[1] && strings.Trim(t[1:], letters) == "" {
			out = append(out, value{text: t[:len(t)-1]}, value{text: name})
			continue
		}
		out = append(out, v)
	}
	return out
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

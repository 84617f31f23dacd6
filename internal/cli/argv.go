package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// invocation is a command line put in order.
type invocation struct {
	path  []*spec    // the command and its subcommands; empty for rye alone
	given []cli.Flag // the command's flags that were given
	argv  []string   // command, its flags, "--", arguments
	help  bool       // --help or -h was given
	json  bool       // --json was given, even when the rest is wrong

	passed []string // what stands behind "--", for a command that passes it on
	typed  []string // the command line as typed
}

// arrange puts a command line in the order that urfave/cli needs. That package reads
// flags only up to the first argument, and would silently treat the rest as arguments.
// Flags may be anywhere before "--"; the kind of a flag decides whether it has a value.
// arrange refuses an unknown flag, with a suggestion. It sets global flags at once.
func arrange(tree []*spec, global []cli.Flag, args []string) (invocation, error) {
	inv := invocation{json: wantsJSON(args), typed: args}
	words, err := split(tree, global, args)
	if err != nil {
		return inv, err
	}
	rest, err := inv.descend(tree, words)
	if err != nil {
		return inv, err
	}
	if len(inv.path) == 0 {
		words = inv.versionFlag(tree, words)
	}
	var own []string
	for _, w := range words {
		if w.flag == "" {
			continue
		}
		if w.flag == "help" || w.flag == "h" {
			inv.help = true
			continue
		}
		if f := flagNamed(inv.flags(), w.flag); f != nil {
			own = append(own, w.normal())
			if !slices.Contains(inv.given, f) {
				inv.given = append(inv.given, f)
			}
		} else if f := flagNamed(global, w.flag); f == nil {
			return inv, unknownFlag(inv, global, w)
		} else if err := w.set(f); err != nil {
			return inv, err
		}
	}
	if inv.help && len(rest) > 0 { // help for an unknown command
		if s := inv.path[len(inv.path)-1]; len(s.subs) > 0 {
			if err := s.checkArgs(inv.path, rest); err != nil {
				return inv, err
			}
		}
	}
	for _, s := range inv.path {
		inv.argv = append(inv.argv, s.name)
	}
	inv.argv = append(append(append(inv.argv, own...), "--"), rest...)
	if n := len(inv.path); n > 0 && inv.path[n-1].passed != nil {
		*inv.path[n-1].passed = inv.passed
	}
	return inv, nil
}

// versionFlag treats --version and -V, which people try on every program, as the command.
func (inv *invocation) versionFlag(tree []*spec, words []word) []word {
	for i, w := range words {
		if (w.flag == "version" || w.flag == "V") && !w.valued {
			inv.path = []*spec{find(tree, "version")}
			return append(words[:i:i], words[i+1:]...)
		}
	}
	return words
}

// word is one argument: a flag with its value, or plain text.
type word struct {
	flag   string // name without dashes; "" for plain text
	value  string
	valued bool
	text   string // as typed
	last   bool   // plain text after "--"
}

func (w word) normal() string {
	if w.valued {
		return "--" + w.flag + "=" + w.value
	}
	return "--" + w.flag
}

// set sets a global flag: a switch, a text, or a list to append to.
func (w word) set(f cli.Flag) error {
	switch f := f.(type) {
	case *cli.BoolFlag:
		on, err := !w.valued, error(nil)
		if w.valued {
			on, err = strconv.ParseBool(w.value)
		}
		if err != nil {
			return fault.New(fault.Usage, "invalid boolean value %q for --%s", words.Brief(w.value), f.Name).Advise("rye help")
		}
		*f.Destination = on
	case *cli.StringFlag:
		*f.Destination = w.value
	case *cli.GenericFlag:
		return f.Value.Set(w.value)
	}
	return nil
}

// split splits a command line into words. To know whether a flag has a value, it looks at
// the command before the flag and then at the whole tree, because a flag may precede its
// command. A test checks that the whole tree agrees about each flag name.
func split(tree []*spec, global []cli.Flag, args []string) ([]word, error) {
	var words []word
	level := tree
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			for _, rest := range args[i+1:] {
				words = append(words, word{text: rest, last: true})
			}
			return words, nil
		case len(a) < 2 || a[0] != '-':
			words = append(words, word{text: a})
			if s := find(level, a); s != nil {
				global, level = slices.Concat(s.flags, global), s.subs
			} else {
				level = nil
			}
		default:
			got, err := splitFlag(tree, global, a, args)
			if err != nil {
				return nil, err
			}
			if w := &got[len(got)-1]; !w.valued && takesValue(lookup(tree, global, w.flag)) && !asksVersion(a, args[i+1:]) {
				if everywhere(a, words, args[i+1:]) {
					w.value, w.valued = everyRegistry, true
					words = append(words, got...)
					continue
				}
				if i++; i == len(args) {
					return nil, fault.New(fault.Usage, "flag %s: a value is missing", a).Advise("rye help")
				}
				w.value, w.valued = args[i], true
			}
			words = append(words, got...)
		}
	}
	return words, nil
}

// asksVersion reports whether a is --version without a value, which is the flag of the
// program. Some commands have --version with a value, which never begins with a dash.
func asksVersion(a string, next []string) bool {
	return a == "--version" && (len(next) == 0 || strings.HasPrefix(next[0], "-"))
}

// everywhere reports whether a is the --registry of a search, without a value: it is the last
// word, or a flag follows.
func everywhere(a string, before []word, next []string) bool {
	isSearch := func(w word) bool { return w.flag == "" && (w.text == "search" || w.text == "find") }
	first := slices.IndexFunc(before, func(w word) bool { return w.flag == "" })
	return a == "--registry" && first >= 0 && isSearch(before[first]) && (len(next) == 0 || strings.HasPrefix(next[0], "-"))
}

// splitFlag splits "--name", "--name=value", "-x", "-xvalue", "-x=value" or bundled
// "-xyz". Only its last word may lack a value that it needs.
func splitFlag(tree []*spec, global []cli.Flag, a string, line []string) ([]word, error) {
	if long, ok := strings.CutPrefix(a, "--"); ok {
		name, value, valued := strings.Cut(long, "=")
		return []word{{flag: name, value: value, valued: valued, text: a}}, nil
	}
	var words []word
	for rest := a[1:]; rest != ""; {
		name := rest[:1]
		rest = rest[1:]
		f := lookup(tree, global, name)
		if f == nil {
			if lookup(tree, global, strings.SplitN(a[1:], "=", 2)[0]) != nil {
				return nil, fault.New(fault.Usage, "flag %q: long names take two dashes", a).Advise("did you mean rye %s?", strings.Join(quoted(replaced(line, a, "-"+a)), " "))
			}
			return append(words, word{flag: name, text: a}), nil // arrange refuses it
		}
		w := word{flag: name, text: a}
		if rest != "" && (takesValue(f) || rest[0] == '=') {
			w.value, w.valued, rest = strings.TrimPrefix(rest, "="), true, ""
		}
		words = append(words, w)
	}
	return words, nil
}

// replaced returns a command line with the word new instead of old.
func replaced(line []string, old, new string) []string {
	line = slices.Clone(line)
	line[slices.Index(line, old)] = new
	return line
}

// descend follows plain words to a command and returns the rest as arguments.
func (inv *invocation) descend(tree []*spec, words []word) ([]string, error) {
	level := tree
	var rest []string
	for _, w := range words {
		if w.flag != "" {
			continue
		}
		if len(rest) == 0 && !w.last && len(level) > 0 {
			if s := find(level, w.text); s != nil {
				inv.path = append(inv.path, s)
				level = s.subs
				continue
			}
			if len(inv.path) == 0 {
				return nil, unknownCommand(nil, w.text, level, inv.after(w.text))
			}
		}
		if n := len(inv.path); w.last && len(rest) > 0 && n > 0 && inv.path[n-1].passed != nil {
			inv.passed = append(inv.passed, w.text)
			continue
		}
		rest = append(rest, w.text)
	}
	return rest, nil
}

// after returns the typed words after a word.
func (inv *invocation) after(word string) []string {
	return inv.typed[slices.Index(inv.typed, word)+1:]
}

// with returns the typed words with the flag w replaced by another.
func (inv *invocation) with(w word, flag string) (all []string) {
	for _, a := range inv.typed {
		if name, value, valued := strings.Cut(a, "="); name == "--"+w.flag || a == "-"+w.flag {
			if a = flag; valued {
				a += "=" + value
			}
		}
		all = append(all, a)
	}
	return all
}

func (inv *invocation) flags() []cli.Flag {
	if len(inv.path) == 0 {
		return nil
	}
	return inv.path[len(inv.path)-1].flags
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if isNamed(f, name) {
			return f
		}
	}
	return nil
}

// isNamed reports whether a flag has a name. The method Names of urfave/cli runs a regular
// expression over each name, which takes a hundredth of a start for all flags.
func isNamed(f cli.Flag, name string) bool {
	switch f := f.(type) {
	case *cli.BoolFlag:
		return f.Name == name || has(f.Aliases, name)
	case *cli.StringFlag:
		return f.Name == name || has(f.Aliases, name)
	case *cli.GenericFlag:
		return f.Name == name || has(f.Aliases, name)
	default:
		return has(f.Names(), name)
	}
}

// lookup finds a flag of any command.
func lookup(tree []*spec, global []cli.Flag, name string) cli.Flag {
	if f := flagNamed(global, name); f != nil {
		return f
	}
	for _, s := range tree {
		if f := flagNamed(s.flags, name); f != nil {
			return f
		}
		if f := lookup(s.subs, nil, name); f != nil {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	if f == nil {
		return false
	}
	_, isBool := f.(*cli.BoolFlag)
	return !isBool
}

func wantsJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

func unknownFlag(inv invocation, global []cli.Flag, w word) error {
	path := inv.path
	full := commandName(path)
	flags, prefix := global, ""
	if len(path) > 0 {
		prefix = subject(full) + ": "
		flags = append(append([]cli.Flag(nil), path[len(path)-1].flags...), global...)
	}
	var all []string
	for _, f := range flags {
		all = append(all, f.Names()...)
	}
	err := fault.New(fault.Usage, "%sunknown flag %q", prefix, words.Brief(w.text))
	if near := nearest(w.flag, all); len(near) > 1 {
		return err.Advise("did you mean rye %s?", strings.Join(quoted(inv.with(w, "--"+near)), " "))
	}
	return err.With(helpFor(full))
}

// nearest returns the candidate that name is probably a typo of, or "". It allows
// two mistakes, and one in short names.
func nearest(name string, candidates []string) string {
	if len(name) > 40 {
		return ""
	}
	limit := 2
	if len(name) <= 4 {
		limit = 1
	}
	best, at := "", limit+1
	for _, c := range candidates {
		if d := distance(name, c); d < at {
			best, at = c, d
		}
	}
	return best
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (optimal string alignment) over bytes.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}

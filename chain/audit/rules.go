package audit

import (
	"regexp"
	"slices"
	"sync"

	"github.com/rye-os/rye/chain/audit/builtin"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Rules are rules as data: signals, which are patterns with a name, and rules, which say what several
// signals near each other mean. They never change and are safe for concurrent use.
type Rules struct {
	signals []signal
	rules   []rule
	says    map[string]string // by rule; the first text wins
	find    *finder           // of the words that the patterns need

	byWord   [][]spot // patterns by the number of the word that they need, among several
	wordless []spot
	uses     [][]int // rules by signal
}

// spot is a pattern of a signal.
type spot struct{ signal, pattern int }

// signal is a group of patterns that mean the same act.
type signal struct {
	name     string
	patterns []patternOf
}

type patternOf struct {
	in forms
	re *regexp.Regexp
}

// rule says what signals near each other mean.
type rule struct {
	id       string
	severity Severity
	says     string
	in       forms
	single   bool  // of one line; in prose the others are of a paragraph
	aside    bool  // only in text that a screen does not show
	unfolded bool  // only in text that had to be decoded
	all      []int // signals that must all be there
	any      []int // signals of which count must be there
	count    int
	unless   []int // signals that end it
	milder   []int // signals that lower the severity by one
	within   int   // lines
}

// rulesFile is the form of a file of rules.
type rulesFile struct {
	Rules   int         `yaml:"rules"`
	Signals []signalDef `yaml:"signals"`
	List    []ruleDef   `yaml:"list"`
}

type signalDef struct {
	Name  string   `yaml:"name"`
	In    []string `yaml:"in,omitempty"`
	Match []string `yaml:"match"`
}

type ruleDef struct {
	ID       string   `yaml:"id"`
	Severity string   `yaml:"severity"`
	Says     string   `yaml:"says"`
	In       []string `yaml:"in,omitempty"`
	Aside    bool     `yaml:"aside,omitempty"`
	Unfolded bool     `yaml:"unfolded,omitempty"`
	Match    []string `yaml:"match,omitempty"` // patterns of one line, any of which is enough
	All      []string `yaml:"all,omitempty"`
	Any      []string `yaml:"any,omitempty"`
	Count    int      `yaml:"count,omitempty"`
	Unless   []string `yaml:"unless,omitempty"`
	Milder   []string `yaml:"milder,omitempty"`
	Within   int      `yaml:"within,omitempty"`
}

// The bounds of a file of rules.
const (
	MaxRules    = 256 << 10 // bytes
	maxPatterns = 2000
	maxPattern  = 4 << 10 // bytes of one pattern
	maxWithin   = 200     // lines
)

// Builtin returns the rules that rye brings along.
var Builtin = sync.OnceValue(func() *Rules {
	r, err := new(Rules).With(builtin.Rules)
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return r
})

// With returns r with the rules of a file added to it. The file can name signals of r in its own rules, and
// it can change or remove nothing of r: a name that r has is an error.
func (r *Rules) With(raw []byte) (*Rules, error) {
	var f rulesFile
	if err := objects.DecodeYAML(raw, MaxRules, &f); err != nil {
		return nil, err
	}
	if f.Rules != 1 {
		return nil, fault.New(fault.Malformed, "rules of an audit: format %d, this version of rye reads format 1", f.Rules).Advise("begin the file with rules: 1")
	}
	return r.add(f)
}

func (r *Rules) add(f rulesFile) (*Rules, error) {
	n := &Rules{signals: slices.Clone(r.signals), rules: slices.Clone(r.rules), says: map[string]string{}}
	for id, says := range r.says {
		n.says[id] = says
	}
	index := map[string]int{}
	for i, s := range r.signals {
		index[s.name] = i
	}
	for _, d := range f.Signals {
		if _, twice := index[d.Name]; twice || d.Name == "" {
			return nil, fault.New(fault.Malformed, "signal %q: want a name that no other signal has", words.Brief(d.Name))
		}
		s, err := d.read(d.Name)
		if err != nil {
			return nil, err
		}
		index[d.Name] = len(n.signals)
		n.signals = append(n.signals, s)
	}
	for _, d := range f.List {
		one, err := n.rule(d, index)
		if err != nil {
			return nil, err
		}
		if _, known := r.says[d.ID]; !known && n.says[d.ID] == "" {
			n.says[d.ID] = d.Says
		}
		n.rules = append(n.rules, one)
	}
	return n, n.prepare()
}

func (d signalDef) read(name string) (s signal, err error) {
	in, err := formsOf(d.In)
	if err != nil {
		return s, fault.Wrap(err, "signal %q", words.Brief(name))
	}
	if len(d.Match) == 0 {
		return s, fault.New(fault.Malformed, "signal %q: want a pattern", words.Brief(name))
	}
	s.name = name
	for _, text := range d.Match {
		if text == "" || len(text) > maxPattern {
			return s, fault.New(fault.Malformed, "signal %q: want patterns of 1 to %d bytes", words.Brief(name), maxPattern)
		}
		re, err := regexp.Compile(text)
		if err != nil || re.MatchString("") {
			return s, fault.New(fault.Malformed, "signal %q: %q is no pattern in RE2 syntax that needs some text", words.Brief(name), words.Brief(text))
		}
		s.patterns = append(s.patterns, patternOf{in, re})
	}
	return s, nil
}

func (r *Rules) rule(d ruleDef, index map[string]int) (one rule, err error) {
	bad := func(format string, args ...any) (rule, error) {
		return rule{}, fault.New(fault.Malformed, "rule %q: "+format, append([]any{words.Brief(d.ID)}, args...)...)
	}
	severity := slices.Index([]string{"low", "medium", "high"}, d.Severity) + 1
	switch {
	case !ruleID.get().MatchString(d.ID):
		return bad("want an id of small letters, digits and hyphens")
	case severity == 0:
		return bad("severity %q: want low, medium or high", words.Brief(d.Severity))
	case d.Says == "" || len(d.Says) > 200:
		return bad("want says, of at most 200 bytes")
	case d.Within < 0 || d.Within > maxWithin:
		return bad("within %d: want 1 to %d lines", d.Within, maxWithin)
	case len(d.All)+len(d.Any)+len(d.Match) == 0:
		return bad("want match, all or any")
	case d.Count < 0 || d.Count > len(d.Any):
		return bad("count %d of %d signals", d.Count, len(d.Any))
	}
	one = rule{id: d.ID, severity: Severity(severity), says: d.Says, single: len(d.Match) > 0 && len(d.All)+len(d.Any) == 0, aside: d.Aside, unfolded: d.Unfolded, within: max(d.Within, 1), count: d.Count}
	if one.in, err = formsOf(d.In); err != nil {
		return bad("%w", err)
	}
	if len(d.Any) > 0 {
		one.count = max(d.Count, 1)
	}
	if len(d.Match) > 0 {
		s, err := signalDef{In: d.In, Match: d.Match}.read(d.ID)
		if err != nil {
			return rule{}, err
		}
		one.all = append(one.all, len(r.signals))
		r.signals = append(r.signals, s)
	}
	for _, part := range []struct {
		names []string
		into  *[]int
	}{{d.All, &one.all}, {d.Any, &one.any}, {d.Unless, &one.unless}, {d.Milder, &one.milder}} {
		for _, name := range part.names {
			i, ok := index[name]
			if !ok {
				return bad("no signal is named %q", words.Brief(name))
			}
			*part.into = append(*part.into, i)
		}
	}
	return one, nil
}

var ruleID = &pattern{text: `^[a-z0-9][a-z0-9-]{0,63}$`}

// prepare makes the lists by which a line is matched.
func (r *Rules) prepare() error {
	number := map[string]int{}
	var list []string
	total := 0
	for s, sig := range r.signals {
		for p, pat := range sig.patterns {
			if total++; total > maxPatterns {
				return fault.New(fault.Limit, "rules of an audit: more than %d patterns", maxPatterns)
			}
			need := needed(pat.re.String())
			if need == nil {
				r.wordless = append(r.wordless, spot{s, p})
			}
			for _, w := range need {
				n, ok := number[w]
				if !ok {
					n = len(list)
					number[w], list = n, append(list, w)
					r.byWord = append(r.byWord, nil)
				}
				r.byWord[n] = append(r.byWord[n], spot{s, p})
			}
		}
	}
	r.find = newFinder(list)
	r.uses = make([][]int, len(r.signals))
	for i, one := range r.rules {
		for _, s := range slices.Concat(one.all, one.any) {
			r.uses[s] = append(r.uses[s], i)
		}
	}
	return nil
}

// Says returns what a rule of texts is about.
func (r *Rules) Says(id string) string { return r.says[id] }

// forms is a set of forms of text.
type forms uint16

func (f forms) has(x Form) bool { return f&(1<<x) != 0 }

const programs = 1<<Shell | 1<<Code | 1<<Python | 1<<JavaScript | 1<<PowerShell

// formsOf reads the names of forms. No name stands for all programs.
func formsOf(names []string) (all forms, err error) {
	if len(names) == 0 {
		return programs, nil
	}
	for _, name := range names {
		i := slices.Index(formNames[:], name)
		if i < 0 {
			return 0, fault.New(fault.Malformed, "in %q: want prose, shell, code, python, javascript or powershell", words.Brief(name))
		}
		all |= 1 << i
	}
	return all, nil
}

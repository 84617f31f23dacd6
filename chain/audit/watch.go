package audit

import (
	"slices"
	"strings"
)

// A watch remembers which signals a text has shown, and where.
type watch struct {
	rules    *Rules
	last     []int // line of each signal, 0 for none
	unfolded []int // the same, where it stood only in text that had to be decoded
	from     int   // the first line that counts: signals of another fence do not
	stamp    int
	tried    map[spot]int // the stamp at which a pattern was tried last
}

func newWatch(r *Rules) *watch {
	return &watch{rules: r, last: make([]int, len(r.signals)), unfolded: make([]int, len(r.signals)), tried: map[spot]int{}}
}

// reset forgets all signals, at the begin of another part of a text.
func (w *watch) reset(line int) { w.from = line }

// match calls found for each signal of a text in a form.
func (w *watch) match(text string, form Form, found func(signal int, p patternOf)) {
	r := w.rules
	w.stamp++
	try := func(a spot) {
		if w.tried[a] == w.stamp {
			return
		}
		w.tried[a] = w.stamp
		if p := r.signals[a.signal].patterns[a.pattern]; p.in.has(form) && p.re.MatchString(text) {
			found(a.signal, p)
		}
	}
	r.find.in(text, func(word int32) {
		for _, a := range r.byWord[word] {
			try(a)
		}
	})
	for _, a := range r.wordless {
		try(a)
	}
}

// line notes the signals of a line, and of the texts that are hidden in it, and returns the rules that are
// fulfilled with them.
func (w *watch) line(n int, form Form, raw string, hidden []string) (met []verdict) {
	var fresh []int
	w.match(raw, form, func(s int, _ patternOf) {
		if w.last[s] != n {
			w.last[s] = n
			fresh = append(fresh, s)
		}
	})
	for _, text := range hidden {
		for _, as := range []Form{form, Shell} {
			w.match(text, as, func(s int, _ patternOf) {
				if w.last[s] != n {
					w.last[s], w.unfolded[s] = n, n
					fresh = append(fresh, s)
				}
			})
		}
	}
	var done []int
	for _, s := range fresh {
		for _, i := range w.rules.uses[s] {
			if slices.Contains(done, i) {
				continue
			}
			done = append(done, i)
			one := w.rules.rules[i]
			if !one.aside && one.in.has(form) && (one.single || form != Prose) {
				at := w.last
				if one.unfolded {
					at = w.unfolded
				}
				if v, ok := w.judge(one, func(s int) bool { return at[s] > 0 && at[s] >= w.from && at[s] > n-one.within },
					func(s int) bool { return w.last[s] > 0 && w.last[s] >= w.from && w.last[s] > n-one.within }); ok {
					met = append(met, v)
				}
			}
		}
	}
	return met
}

// verdict is a rule that a text fulfils.
type verdict struct {
	rule     rule
	severity Severity
}

// judge applies one rule; met tells which signals are there, and near those that may end or soften it.
func (w *watch) judge(one rule, met, near func(signal int) bool) (verdict, bool) {
	not := func(s int) bool { return !met(s) }
	if slices.ContainsFunc(one.all, not) || slices.ContainsFunc(one.unless, near) {
		return verdict{}, false
	}
	count := 0
	for _, s := range one.any {
		if met(s) {
			count++
		}
	}
	if count < one.count {
		return verdict{}, false
	}
	v := verdict{one, one.severity}
	if slices.ContainsFunc(one.milder, near) {
		v.severity = max(v.severity-1, Low)
	}
	return v, true
}

// A paragraph is prose whose lines are read together.
type paragraph struct {
	lines []string
	at    []int // number of each line
	old   int   // the first lines, which stood before and count only beside later ones
	size  int
}

const (
	maxPara  = 8 << 10 // bytes of a paragraph that are read together
	maxLines = 40
	tailOf   = 3 // lines before a paragraph that are read with it
)

func (p *paragraph) add(n int, line string) (full bool) {
	p.lines, p.at = append(p.lines, line), append(p.at, n)
	p.size += len(line) + 1
	return p.size > maxPara || len(p.lines) > maxLines
}

// next begins the next paragraph with the last lines of this one.
func (p *paragraph) next() {
	from := max(0, len(p.lines)-tailOf)
	p.lines, p.at = slices.Clone(p.lines[from:]), slices.Clone(p.at[from:])
	p.old, p.size = len(p.lines), 0
	for i, l := range p.lines {
		if len(l) > overlap {
			p.lines[i] = l[len(l)-overlap:]
		}
		p.size += len(p.lines[i]) + 1
	}
}

// prose returns the rules that a text of several lines fulfils, each with the number of the line where the
// last of its signals stands. old lines do not count alone. aside is for text that a screen does not show.
func (w *watch) prose(lines []string, old int, aside bool) (met []verdict, at []int) {
	starts := make([]int, len(lines))
	var b strings.Builder
	for i, l := range lines {
		starts[i] = b.Len()
		b.WriteString(strings.TrimSpace(l))
		b.WriteByte(' ')
	}
	text := latin(b.String())
	last := map[int]int{} // line of each signal
	w.match(text, Prose, func(s int, p patternOf) {
		for _, m := range p.re.FindAllStringIndex(text, 8) {
			i, _ := slices.BinarySearch(starts, m[1])
			last[s] = max(last[s], max(i-1, 0))
		}
	})
	here := func(s int) bool { _, ok := last[s]; return ok }
	for _, one := range w.rules.rules {
		if !one.in.has(Prose) || one.aside && !aside || one.unfolded || one.single && !aside {
			continue
		}
		v, ok := w.judge(one, here, here)
		if !ok {
			continue
		}
		line := 0
		for _, s := range slices.Concat(one.all, one.any) {
			if here(s) {
				line = max(line, last[s])
			}
		}
		if line >= old {
			met, at = append(met, v), append(at, line)
		}
	}
	return met, at
}

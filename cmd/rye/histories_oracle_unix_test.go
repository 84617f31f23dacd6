//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An oracle knows the owners of namespaces and earlier answers. It shares no code with rye.
// It holds a history to two rules:
//
//   - No act of others lets bytes run that the reader's rye refused before with 11, 12 or 13. A
//     12 holds in every place of the project, the others in theirs.
//   - No act stops an item outside the namespaces that the actor owns.
type oracle struct {
	owners  map[string][]string       // of a namespace: who may sign in it and take versions back
	ran     map[string]bool           // place and digest
	refused map[string]map[string]int // by digest and place: the status
	reached map[string]bool           // refs and digests that their owners or the reader acted on
	granted map[string]bool           // place, namespace and person: signers that the reader added to the owners
}

func newOracle() *oracle {
	return &oracle{
		owners:  map[string][]string{"mine": {"me"}, "col": {"col"}, "acme": {"ann", "thief"}},
		ran:     map[string]bool{},
		refused: map[string]map[string]int{},
		reached: map[string]bool{},
		granted: map[string]bool{},
	}
}

// A sighting is an answer about one item in one place.
type sighting struct {
	place   *place
	of      *edition
	status  int
	because string // the reason for a refusal that lies in the branch alone
}

// acts notes that somebody acted on an edition, or without a digest on the whole item. The act
// has an effect where that person owns the namespace or signed the edition.
func (o *oracle) acts(by string, w *world, ref, digest string) {
	mine := by == "me" || slices.ContainsFunc(w.places, func(p *place) bool { return o.owns(p, namespaceOf(ref), by) })
	if e := w.digest[digest]; e != nil && e.by == by {
		mine = true
	}
	if !mine {
		return
	}
	if digest == "" {
		digest = ref
	}
	o.reached[digest] = true
	for _, e := range w.works[ref] { // which edition is the newest has changed
		for place, status := range o.refused[e.digest] {
			if status == 13 {
				delete(o.refused[e.digest], place)
			}
		}
	}
}

// owns reports whether a person may sign in a namespace, as the reader sees it in a place.
func (o *oracle) owns(p *place, ns, who string) bool {
	return slices.Contains(o.owners[ns], who) || o.granted[p.name+" "+ns+" "+who]
}

// actsOnAll notes that somebody acted on every item of a namespace, or on those by one key.
func (o *oracle) actsOnAll(by string, w *world, ns, whose string) {
	if by != "me" && by != whose && !slices.ContainsFunc(w.places, func(p *place) bool { return o.owns(p, ns, by) }) {
		return
	}
	for ref, all := range w.works {
		for _, e := range all {
			if namespaceOf(ref) == ns && (whose == "" || e.by == whose) {
				o.acts("me", w, ref, e.digest)
			}
		}
	}
}

// answered notes that the reader agreed to the questions of a place, and so to the signers
// that its branch declares.
func (o *oracle) answered(w *world, p *place) {
	p.answered = true
	for who := range w.people {
		for _, ns := range []string{"mine", "col", "acme"} {
			if w.declared(p, who, ns) {
				o.granted[p.name+" "+ns+" "+who] = true
			}
		}
	}
	for _, at := range o.refused {
		if at[p.name] == 11 {
			delete(at, p.name)
		}
	}
}

// sees returns the rule that a sighting breaks, "" for none.
func (o *oracle) sees(s sighting, w *world) string {
	at := s.place.name + " " + s.of.digest
	if s.status == 0 {
		o.ran[at] = true
		return o.mayRun(s)
	}
	why := o.mayStop(s, w)
	hard := s.status == 12 || s.status == 13 || s.status == 11 && s.because == ""
	if hard {
		if o.refused[s.of.digest] == nil {
			o.refused[s.of.digest] = map[string]int{}
		}
		o.refused[s.of.digest][s.place.name] = s.status
	}
	return why
}

func (o *oracle) mayRun(s sighting) string {
	what := fmt.Sprintf("%s@%s by %s runs in %s", s.of.ref, s.of.version, s.of.by, s.place.name)
	if !o.owns(s.place, namespaceOf(s.of.ref), s.of.by) && s.of.ref != "tool:acme/patched" {
		return "rule 1: " + what + "; its signer owns nothing there"
	}
	if !s.place.answered {
		return "rule 1: " + what + "; the reader agreed to nothing there"
	}
	for _, place := range slices.Sorted(maps.Keys(o.refused[s.of.digest])) {
		if status := o.refused[s.of.digest][place]; status != 11 || place == s.place.name {
			return fmt.Sprintf("rule 1: %s; it was refused with %d in %s", what, status, place)
		}
	}
	return ""
}

func (o *oracle) mayStop(s sighting, w *world) string {
	if s.status == 13 && o.older(s.of, w) {
		return ""
	}
	if !o.ran[s.place.name+" "+s.of.digest] || o.reached[s.of.digest] || o.reached[s.of.ref] || s.because != "" {
		return ""
	}
	return fmt.Sprintf("rule 2: %s@%s by %s ran in %s and is refused with %d", s.of.ref, s.of.version, s.of.by, s.place.name, s.status)
}

// older reports whether a later edition by the same person ran.
func (o *oracle) older(of *edition, w *world) bool {
	all := w.works[of.ref]
	return slices.ContainsFunc(all[slices.Index(all, of):], func(e *edition) bool {
		return e != of && e.by == of.by && slices.ContainsFunc(w.places, func(p *place) bool { return o.ran[p.name+" "+e.digest] })
	})
}

// excuse returns the reason in the branch of a place for refusing an edition, "" for none. The
// authors of a branch may give such a reason; on another branch the edition runs again.
func (w *world) excuse(p *place, e *edition) string {
	switch {
	case !strings.Contains(w.read(p.dir, ".ai/rye.yaml"), w.id):
		return "another project"
	case e.by == "col" && !w.declared(p, "col", namespaceOf(e.ref)):
		return "not declared"
	}
	return ""
}

// declared reports whether the branch of a place declares a person's key for a namespace.
func (w *world) declared(p *place, who, ns string) bool {
	key := strings.Fields(w.people[who].key.Public().Authorized())[1]
	return slices.ContainsFunc(strings.Split(w.read(p.dir, ".ai/allowed_signers"), "\n"), func(line string) bool {
		names, _, _ := strings.Cut(line, " ")
		return strings.Contains(line, key) && slices.Contains(strings.Split(names, ","), ns)
	})
}

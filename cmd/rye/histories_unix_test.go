//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHistories plays random histories of a reader among others, made from a seed, and holds
// them to the rules of an oracle. A history that breaks one is made as short as it gets and
// printed, first as RYE_HISTORY takes it, then as the commands that were run.
//
//	RYE_SOAK=1                  many seeds
//	RYE_HISTORY_SEEDS=7-9       these seeds
//	RYE_HISTORY='step; step'    this history
//	RYE_HISTORY_PROGRAM=path    another built rye
func TestHistories(t *testing.T) {
	t.Parallel()
	needBash(t)
	h2git(t)
	if given := os.Getenv("RYE_HISTORY"); given != "" {
		w := newWorld(t)
		if w.judge("RYE_HISTORY", strings.Split(given, "; ")); !t.Failed() {
			t.Log(strings.Join(w.script[w.made:], "\n"))
		}
		return
	}
	first, last := seeds(t, "RYE_HISTORY_SEEDS", 4, 400)
	workers := uint64(1) // a world costs as much as several histories
	if soak {
		workers = 2
	}
	for n := range workers {
		t.Run(fmt.Sprint("world ", n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for seed := first + n; seed <= last; seed += workers {
				w.judge(fmt.Sprint("seed ", seed), history(seed))
			}
		})
	}
}

// seeds returns the first and the last seed of a random test: from 1, or what a variable says.
func seeds(t *testing.T, variable string, few, many uint64) (first, last uint64) {
	first, last = 1, few
	if soak {
		last = many
	}
	if given := os.Getenv(variable); given != "" {
		a, b, is := strings.Cut(given, "-")
		if !is {
			b = a
		}
		var err, err2 error
		first, err = strconv.ParseUint(a, 10, 64)
		last, err2 = strconv.ParseUint(b, 10, 64)
		if err != nil || err2 != nil {
			t.Fatalf("%s=%s: want two numbers", variable, given)
		}
	}
	return first, last
}

// history makes the steps of a seed.
func history(seed uint64) (steps []string) {
	r := rand.New(rand.NewPCG(seed, 0))
	total := 0
	for _, a := range historyActs {
		total += a.weight
	}
	for range 5 + r.IntN(8) {
		n := r.IntN(total)
		for _, a := range historyActs {
			if n -= a.weight; n >= 0 {
				continue
			}
			words := []string{a.name}
			for _, list := range a.words {
				words = append(words, list[r.IntN(len(list))])
			}
			steps = append(steps, strings.Join(words, " "))
			break
		}
	}
	return steps
}

// judge plays a history. One that breaks a rule is reported in its shortest form.
func (w *world) judge(name string, steps []string) {
	w.t.Helper()
	wrong := w.play(steps)
	if wrong == "" {
		return
	}
	finding := cutAt(wrong, ", a") // without the moment
	for i := 0; i < len(steps); {
		shorter := slices.Delete(slices.Clone(steps), i, i+1)
		if is := w.play(shorter); cutAt(is, ", a") != finding {
			i++
			continue
		}
		steps, i = shorter, 0
	}
	wrong = w.play(steps)
	w.t.Errorf("%s: %s\nRYE_HISTORY='%s'\n\n%s\n", name, wrong, strings.Join(steps, "; "), strings.Join(w.script, "\n"))
}

// play plays a history in the world as it was at first and returns the first broken rule.
func (w *world) play(steps []string) (wrong string) {
	w.t.Helper()
	w.begin()
	o := newOracle()
	if wrong = w.look(o); wrong != "" {
		return wrong + ", at first"
	}
	for _, step := range steps {
		words := strings.Split(step, " ")
		i := slices.IndexFunc(historyActs, func(a historyAct) bool { return a.name == words[0] })
		if i < 0 {
			w.t.Fatalf("no act is called %q", words[0])
		}
		w.script = append(w.script, "\n# "+step)
		historyActs[i].do(w, o, words[1:])
		if wrong = w.look(o); wrong != "" {
			return wrong + ", after " + step
		}
	}
	return w.end(o)
}

// begin sets the world back.
func (w *world) begin() {
	w.t.Helper()
	w.disk.restore()
	w.places = w.places[:3]
	for _, p := range w.places {
		p.branch, p.answered = "main", true
	}
	w.script = w.script[:w.made]
}

// look asks about every item in every place. Asking must change no file.
func (w *world) look(o *oracle) (wrong string) {
	w.t.Helper()
	before := w.stamps()
	some := w.places[len(w.script)%len(w.places)].dir
	w.rye("me", some, "list", "--space", "project")
	w.rye("me", some, "status")
	for _, p := range w.places {
		all, code := w.sightings(p)
		if wrong == "" && len(all) == 0 && code != 0 {
			wrong = fmt.Sprintf("rule 2: rye verify answers %d for all of %s", code, p.name)
		}
		for _, s := range all {
			if why := o.sees(s, w); why != "" && wrong == "" {
				wrong = why
			}
		}
	}
	if list := changedStamps(before, w.stamps()); list != "" && wrong == "" {
		wrong = "rule 3: commands that look changed " + list
	}
	return wrong
}

// sightings asks rye verify about every item of a place, or some, and returns its exit status, too.
func (w *world) sightings(p *place, refs ...string) (all []sighting, code int) {
	w.t.Helper()
	out, code := w.rye("me", p.dir, append([]string{"verify", "--json"}, refs...)...)
	for line := range strings.Lines(out) {
		var v struct {
			Ref, SHA256, Code string
			OK                *bool
		}
		if json.Unmarshal([]byte(line), &v) != nil || v.OK == nil || v.Ref == historyNoteRef {
			continue
		}
		e := w.digest[v.SHA256]
		if e == nil {
			continue
		}
		status := 0
		if !*v.OK {
			status = statusOf[v.Code]
			if status == 0 {
				w.t.Fatalf("rye verify in %s: %s", p.name, line)
			}
		}
		all = append(all, sighting{p, e, status, w.excuse(p, e)})
	}
	return all, code
}

var statusOf = map[string]int{"not_found": 3, "integrity": 10, "untrusted": 11, "revoked": 12, "rollback": 13, "stale": 14, "denied": 16, "offline": 17,
	"drift": 18, "malformed": 19, "limit": 20}

// end compares rye verify with dry runs, and then brings every edition into every place, as a
// branch can do.
func (w *world) end(o *oracle) (wrong string) {
	w.t.Helper()
	w.script = append(w.script, "\n# at the end")
	first := w.places[0]
	all, _ := w.sightings(first)
	for _, s := range all {
		out, code := w.rye("me", first.dir, "execute", s.of.ref, "--dry-run")
		if s.status == 0 && code == 16 && strings.Contains(out, "It connects to any host. Allow this?") {
			continue // the bytes are good; the question is about what a stranger's tool may do
		}
		if code != s.status {
			return fmt.Sprintf("rule 4: rye verify answers %d for %s, and rye run %d\n%s", s.status, s.of.ref, code, out)
		}
	}
	for n := range 6 {
		for _, p := range w.places {
			var refs []string
			for _, ref := range treeRefs {
				if n < len(w.works[ref]) {
					w.put(p.dir, w.works[ref][n])
					refs = append(refs, ref)
				}
			}
			all, _ := w.sightings(p, refs...)
			for _, s := range all {
				if why := o.sees(s, w); strings.HasPrefix(why, "rule 1") {
					return why + ", at the end"
				}
			}
		}
	}
	return ""
}

// A stamp tells whether a file was written.
type stamp struct {
	size int64
	when int64
	mode fs.FileMode
}

// stamps returns those of all files of the reader.
func (w *world) stamps() map[string]stamp {
	w.t.Helper()
	all := map[string]stamp{}
	for _, dir := range []string{w.people["me"].dir, filepath.Join(w.top, "homes", "me")} {
		w.can(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == ".cache" { // it may go at any time, and looks fill it
				return fs.SkipDir
			}
			info, err := d.Info()
			if err == nil {
				all[path] = stamp{info.Size(), info.ModTime().UnixNano(), info.Mode()}
			}
			return err
		}))
	}
	return all
}

func changedStamps(before, after map[string]stamp) string {
	var list []string
	for path, s := range after {
		if before[path] != s {
			list = append(list, path)
		}
	}
	for path := range before {
		if _, is := after[path]; !is {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

package share

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/finder"
)

// offersOf returns the offers in the local catalogues, for a search. It uses no network, and
// writes nothing.
func offersOf(s *custody.Desk, only string) (*finder.Offers, error) {
	names, err := namesOf(s, only)
	if err != nil {
		return nil, err
	}
	o := &finder.Offers{Hint: fault.CommandOf("rye", "fetch", "--catalogue")}
	all := map[string][]*shelf{}
	for _, name := range names {
		var notes []string
		all[name], notes = shelves(s, name)
		o.Notes = append(o.Notes, notes...)
	}
	for _, name := range names {
		st, left := newStall(s, name, all)
		if left > 0 {
			o.Notes = append(o.Notes, fmt.Sprintf("%s: %s left out, because they belong to another registry here", name, words.Plural(left, "namespace")))
		}
		if len(all[name]) == 0 {
			o.Notes = append(o.Notes, name+": its catalogue has not been fetched")
			continue
		}
		o.Notes = append(o.Notes, ageOf(s, name, all[name]))
		o.Stalls = append(o.Stalls, st.stall())
	}
	if len(o.Stalls) > 0 {
		o.Hint = fault.Advice("rye fetch --catalogue fetches the newest")
	}
	return o, nil
}

// shelves reads the shelves of a registry, sorted by namespace. It skips damaged ones, and notes
// them.
func shelves(s *custody.Desk, name string) (all []*shelf, notes []string) {
	dir := filepath.Dir(shelfPath(s, s.Project.Registries[name].ID, "x"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil // there is none
	}
	for _, e := range entries {
		ns, ok := strings.CutSuffix(e.Name(), ".txt")
		if !ok || len(all) >= mostNamespaces {
			continue
		}
		sh, err := readShelf(filepath.Join(dir, e.Name()), ns)
		if err != nil {
			notes = append(notes, err.Error())
		} else if sh != nil {
			all = append(all, sh)
		}
	}
	slices.SortFunc(all, func(a, b *shelf) int { return strings.Compare(a.namespace+"/", b.namespace+"/") }) // so that the items of all are sorted
	return all, notes
}

// ageOf describes, once for a registry, the age and completeness of its catalogues.
func ageOf(s *custody.Desk, name string, all []*shelf) string {
	oldest, part := all[0].brought, 0
	for _, sh := range all {
		if sh.brought.Before(oldest) {
			oldest = sh.brought
		}
		if !sh.complete() {
			part++
		}
	}
	text := fmt.Sprintf("%s: catalogues of %s, fetched %s", name, words.Plural(len(all), "namespace"), Ago(s.Now(), oldest))
	if part > 0 {
		text += fmt.Sprintf("; %d of them partly", part)
	}
	return text
}

// Ago spells the time since t, in one unit.
func Ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero() || t.Unix() <= 0:
		return "at an unknown time"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return words.Plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return words.Plural(int(d/time.Hour), "hour") + " ago"
	}
	return words.Plural(int(d/(24*time.Hour)), "day") + " ago"
}

// stall holds the offers of one registry.
type stall struct {
	s     *custody.Desk
	name  string
	lines [][]byte
	of    []*shelfFacts // of each line
}

// shelfFacts are the facts that every offer of a namespace shares.
type shelfFacts struct {
	accepted, hidden bool
	shelfState
}

// newStall combines the shelves of a registry, and counts the hidden ones. A namespace is hidden
// if it was given to another registry by its name. It is also hidden if another registry serves
// all other namespaces here, and has it, too.
func newStall(s *custody.Desk, name string, all map[string][]*shelf) (st *stall, left int) {
	st = &stall{s: s, name: name}
	for _, sh := range all[name] {
		facts := &shelfFacts{shelfState: sh.shelfState, accepted: accepted(s, name, sh.namespace), hidden: elsewhere(s, name, sh.namespace)}
		if to, _, err := s.Project.RegistryFor(sh.namespace); err == nil && to != name && !facts.accepted {
			has := func(other *shelf) bool { return other.namespace == sh.namespace }
			facts.hidden = facts.hidden || slices.ContainsFunc(all[to], has)
		}
		if facts.hidden {
			left++
		}
		st.lines = append(st.lines, sh.lines...)
		st.of = append(st.of, slices.Repeat([]*shelfFacts{facts}, len(sh.lines))...)
	}
	return st, left
}

func (st *stall) stall() finder.Stall {
	return finder.Stall{Name: "the catalogues of registry " + st.name, Key: st.s.Project.Registries[st.name].ID, Len: len(st.lines),
		At:    func(i int) ([]byte, [32]byte) { return itemOf(st.lines[i]), sha256.Sum256(st.lines[i]) },
		Ref:   st.ref,
		Doc:   st.doc,
		Shown: func(i int) bool { return !st.of[i].hidden },
		Show:  st.show,
	}
}

func (st *stall) ref(i int) objects.Ref {
	ref, _ := objects.ParseRef(string(itemOf(st.lines[i])))
	return ref
}

// doc is the searched text of an offer: a catalogue has no more.
func (st *stall) doc(i int) *search.Doc {
	o, ref := parseOffer(st.lines[i]), st.ref(i)
	return &search.Doc{ID: ref.String(), Runs: ref.Kind == objects.Config, Fields: []search.Text{
		{Name: "name", Value: ref.ID.Name()}, {Name: "description", Value: o.description}, {Name: "category", Value: ref.ID.Category()}, {Name: "id", Value: string(ref.ID)}}}
}

func (st *stall) show(i int) rye.Hit {
	o, ref := parseOffer(st.lines[i]), st.ref(i)
	return rye.Hit{
		ItemInfo: rye.ItemInfo{Ref: ref.String(), Kind: string(ref.Kind), ID: string(ref.ID), Space: rye.SpaceRegistry, State: rye.Offered,
			Name: ref.ID.Name(), Version: o.version, Description: words.Printable(o.description)},
		Offer: &rye.Offer{Item: o.item, Registry: st.name, Status: o.status, Reason: words.Printable(o.reason), Published: timeText(o.published),
			Versions: o.versions, Locked: lockedVersion(st.s.Session, ref), Accepted: st.of[i].accepted,
			AsOf: timeText(st.of[i].brought), Partial: !st.of[i].complete()},
	}
}

// Search searches registries' offers.
func Search(ctx context.Context, s *custody.Desk, f *finder.Finder, c rye.Caller, q rye.SearchRequest) (*rye.SearchResult, error) {
	return f.Registries(ctx, s.Session, c, q, func(context.Context) (*finder.Offers, error) { return offersOf(s, q.Registry) })
}

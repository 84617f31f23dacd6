package transcript

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/search"
)

// Shelf is all turns of a project's threads, as they are now.
type Shelf struct {
	Notes []string // for the user: the parts that could not be read, and why

	ctx   context.Context // of the search that uses the shelf
	o     Options
	spots []spot
	paths []byte // of the spots, one after another
	terms search.Analyzer
}

// spot is one turn.
type spot struct {
	thread *Thread
	turn   *turn
	from   journal.Place // the place where it begins
	last   bool          // it is the last turn of its thread
}

// maxSpots bounds the searched turns; the oldest threads are left out first.
const maxSpots = 500_000

// pathSize is the length of a path: an id, and the number of a record with leading zeros.
const pathSize = 26 + 1 + 10

// Open looks at all journals, and reads their new parts. It keeps nothing open.
func Open(ctx context.Context, o Options) (*Shelf, error) {
	threads, notes, err := look(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Shelf{Notes: notes, ctx: ctx, o: o, terms: search.Analyzer{Stem: o.Stem, Weights: search.Weights{{Field: search.Body, Weight: 1}}}}
	first, n := len(threads), 0
	for first > 0 && n+len(threads[first-1].turns) <= maxSpots {
		first--
		n += len(threads[first].turns)
	}
	if first > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("the %d oldest threads are left out: at most %d turns are searched", first, maxSpots))
	}
	s.spots, s.paths = make([]spot, 0, n), make([]byte, 0, n*pathSize)
	for _, t := range threads[first:] {
		s.put(t)
	}
	return s, nil
}

// put adds the turns of a thread to the shelf.
func (s *Shelf) put(t *Thread) {
	at := journal.Place{Chain: journal.Chain{Thread: t.ID}}
	for i := range t.turns {
		one := &t.turns[i]
		s.spots = append(s.spots, spot{t, one, at, i == len(t.turns)-1})
		s.paths = digits(append(append(s.paths, t.ID...), '/'), at.Seq+1)
		at.Offset, at.Seq, at.Sum = at.Offset+one.bytes, at.Seq+one.records, one.sum
	}
}

// digits appends n in ten digits.
func digits(b []byte, n int64) []byte {
	for unit := int64(1e9); unit > 0; unit /= 10 {
		b = append(b, byte('0'+n/unit%10))
	}
	return b
}

// Listing is the shelf in the form of an index. The name of a turn is its thread and its first
// record, and its digest is the sum of its last record.
func (s *Shelf) Listing() *search.Listing {
	return &search.Listing{Name: "the threads", Key: layer + s.o.Dir, Len: len(s.spots), Say: s.o.Say,
		At: func(i int) ([]byte, [32]byte) { return s.path(i), s.spots[i].turn.sum },
		Terms: func(i int) ([]search.Term, bool, error) {
			x := s.spots[i].read(s.ctx, s.o.dir(s.spots[i].thread.ID))
			if err := s.ctx.Err(); err != nil {
				return nil, false, context.Cause(s.ctx)
			}
			return s.terms.Terms(&search.Doc{Body: x.body.String()}), x.whole, nil
		},
	}
}

func (s *Shelf) path(i int) []byte { return s.paths[i*pathSize : (i+1)*pathSize] }

// A View decides which turns of a shelf a user sees.
type View struct {
	Sees   func(t *Thread, open bool) bool // open means the turn that its thread is still in
	Status func(t *Thread) string
	Fields bool // the query names a field
}

// Layer is one part of the shelf in the form of the ranking.
func (s *Shelf) Layer(p search.Part, v View) search.Layer {
	at := func(doc int) *spot { return &s.spots[p.Entry[doc]] }
	seen := map[*Thread]bool{}
	sees := func(x *spot) bool {
		is, ok := seen[x.thread]
		if !ok {
			is = v.Sees(x.thread, false)
			seen[x.thread] = is
		}
		return is && (!x.last || v.Sees(x.thread, x.thread.State.End == None))
	}
	l := search.Layer{Source: p.Source,
		Visible: func(doc int) bool { return p.Entry[doc] >= 0 && sees(at(doc)) },
		Order:   func(doc int) int { return -int(p.Entry[doc]) }, // the newest first
		Head:    func(doc int) (*search.Doc, error) { return head(at(doc).thread, v), nil },
		Doc: func(doc int) (*search.Doc, error) {
			d := head(at(doc).thread, v)
			d.Body = at(doc).read(s.ctx, s.o.dir(at(doc).thread.ID)).body.String()
			return d, s.ctx.Err()
		},
	}
	if v.Fields {
		l.Source = s.withFields(p, v)
	}
	return l
}

// head returns the fields of a thread, without its text.
func head(t *Thread, v View) *search.Doc {
	d := &search.Doc{ID: "thread:" + t.ID}
	if v.Fields {
		d.Fields = []search.Text{{Name: "directive", Value: t.Directive}, {Name: "status", Value: v.Status(t)}, {Name: "thread", Value: t.ID}}
	}
	return d
}

// Found is one turn that a search found.
type Found struct {
	*Thread
	Turn  int
	Seq   int64 // of its first record
	Time  time.Time
	Lines []search.Line // Number is the number of the record
	Cut   bool          // only its beginning is searched
}

// Show returns the turn of an entry with the lines that best match the query; false if the turn has
// changed since the look.
func (s *Shelf) Show(entry int, r *search.Ranking) (f Found, ok bool) {
	p := &s.spots[entry]
	x := p.read(s.ctx, s.o.dir(p.thread.ID))
	f = Found{Thread: p.thread, Turn: p.turn.number, Seq: p.from.Seq + 1, Time: time.UnixMicro(p.turn.time).UTC(), Cut: x.cut}
	f.Lines = said(r).LinesOf(x.body.String(), s.o.Stem, linesOfHit)
	for i := range f.Lines {
		f.Lines[i].Number = int(x.seqs[f.Lines[i].Number-1])
	}
	return f, x.whole
}

// said returns the part of a ranking that is about texts: other fields say nothing about a line.
func said(r *search.Ranking) *search.Ranking {
	only := *r
	only.Groups = slices.DeleteFunc(slices.Clone(r.Groups), func(g search.Group) bool { return g.Field != "" && g.Field != search.Body })
	return &only
}

// linesOfHit is the number of lines shown of one turn.
const linesOfHit = 3

package finder

import (
	"strings"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// ground is the subject of one search: the present content of the spaces, and the wanted part.
type ground struct {
	*shape
	s       *session.Session
	weights *weighing
	an      map[objects.Kind]*search.Analyzer
}

func newGround(s *session.Session, w *weighing, sh *shape, stem func(string) string) *ground {
	g := &ground{shape: sh, s: s, weights: w, an: map[objects.Kind]*search.Analyzer{}}
	for k, of := range w.of {
		g.an[k] = &search.Analyzer{Stem: stem, Weights: of}
	}
	return g
}

// listing is a shelf as an index sees it.
func (g *ground) listing(b *shelf) *search.Listing {
	k := g.looks[b.look]
	return &search.Listing{Name: b.name, Key: b.key, Len: len(b.rows), Say: g.s.Say, Same: b,
		At: func(i int) ([]byte, [32]byte) {
			e := k.EntryOf(int(b.rows[i]))
			return e.Path, e.Sum
		},
		Terms: func(i int) ([]search.Term, bool, error) {
			t := g.text(spot{b.look, int(b.rows[i])})
			return g.an[t.row.Ref.Kind].Terms(t.doc()), t.there, nil
		},
	}
}

// layer is one part of a shelf as the ranking sees it.
func (g *ground) layer(b *shelf, p search.Part) search.Layer {
	k, wanted := g.looks[b.look], g.wanted[b.look]
	row := func(doc int) int { return int(b.rows[p.Entry[doc]]) }
	return search.Layer{Source: p.Source, Rank: b.look,
		Visible: func(doc int) bool { return p.Entry[doc] >= 0 && wanted[row(doc)] },
		Order:   row, // looks are sorted by ref
		Head: func(doc int) (*search.Doc, error) {
			t := text{row: k.Row(row(doc))}
			return t.doc(), nil
		},
		Doc: func(doc int) (*search.Doc, error) {
			return g.text(spot{b.look, row(doc)}).doc(), nil
		},
	}
}

// maxSearched is the number of bytes of one item's text that are searched.
const maxSearched = 4 << 20

// text is the searched text of one item.
type text struct {
	row   space.Row
	raw   []byte        // its file; nil where that could not be read as an item
	item  *objects.Item // its parts; nil where they were not asked for
	body  string        // the beginning of a longer text
	cut   bool
	there bool // false where the file changed since the look: then only its listed fields are searched
}

// text reads an item.
func (g *ground) text(at spot) *text {
	t := g.lines(at)
	it, err := objects.Parse(t.row.Path, t.raw)
	if t.raw == nil || err != nil {
		return t
	}
	t.item, t.cut = it, len(it.Body) > maxSearched
	t.body = string(it.Body[:min(len(it.Body), maxSearched)])
	return t
}

// lines is text for searches by line of the whole file, which includes the signature line.
func (g *ground) lines(at spot) *text {
	t := &text{row: g.looks[at.look].Row(at.row), there: true}
	if t.row.Sum == (objects.Digest{}) {
		return t
	}
	if t.raw, t.there = g.read(&t.row); !t.there {
		t.raw = nil
	}
	t.cut = len(t.raw) > maxSearched
	t.body = string(t.raw[:min(len(t.raw), maxSearched)])
	return t
}

// doc is the item's form for the ranking.
func (t *text) doc() *search.Doc {
	r := &t.row
	d := &search.Doc{ID: r.Ref.String(), Body: t.body, Fields: []search.Text{{Name: "name", Value: r.Name}, {Name: "title", Value: r.Title},
		{Name: "description", Value: r.Description}, {Name: "category", Value: r.Category}, {Name: "tags", Value: strings.Join(r.Tags, " ")}, {Name: "id", Value: string(r.Ref.ID)}}}
	for _, m := range r.More {
		d.Fields = append(d.Fields, search.Text(m))
	}
	d.Runs = r.Ref.Kind == objects.Config // is read by programs; the library's synonyms say every word
	if t.item != nil {
		switch t.item.Meta.ToolType {
		case "runtime", "primitive", "extractor", "provider", "loop":
			d.Runs = true
		}
		d.Runs = d.Runs || t.item.Meta.Part
	}
	return d
}

// read returns the bytes of a row, if they have not changed since the look.
func (g *ground) read(r *space.Row) (raw []byte, ok bool) {
	var err error
	switch {
	case r.Space == objects.System:
		system, serr := g.s.System()
		if serr != nil {
			return nil, false
		}
		raw, err = system.File(r.Path)
	case r.Registry != "":
		for _, f := range g.s.Stack.ScanLock([]objects.Ref{r.Ref}) {
			if f.Item != nil {
				raw = f.Item.Raw
			}
		}
	default:
		l, lerr := g.s.Stack.Layer(r.Space)
		if lerr != nil {
			return nil, false
		}
		raw, err = l.Read(r.Path)
	}
	return raw, err == nil && objects.DigestOf(raw) == r.Sum
}

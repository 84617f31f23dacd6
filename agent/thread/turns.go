package thread

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/transcript"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
)

// TurnsRequest asks for the turns of threads, for a search.
type TurnsRequest struct {
	Fields    bool                  // a turn has to have directive, status and thread
	Directive func(objects.ID) bool // whose threads are meant
	Stem      func(word string) string
	Say       func(text string)
}

// Turns are those that a caller may see, as a search wants them.
type Turns struct {
	Listing *search.Listing
	Layer   func(search.Part) search.Layer
	Show    func(entry int, r *search.Ranking) (rye.TurnHit, bool)
	Notes   []string
	Hint    func([]rye.TurnHit) fault.Hint
}

// seer is who looks at transcripts, for one search.
type seer struct {
	s        *Service
	c        rye.Caller
	top      string
	q        TurnsRequest
	statuses map[string]string
}

// OpenTurns returns the turns of the threads that a caller may see: a person those of the
// project, a thread its own and those that it started, another program those that it started.
// Whether it may search at all the policy has said.
func OpenTurns(ctx context.Context, s *Service, c rye.Caller, q TurnsRequest) (*Turns, error) {
	switch {
	case c.Thread() == "":
		if err := c.May("thread.follow", s.o.Now()); err != nil {
			return nil, err
		}
	case strings.Contains(c.Thread(), "/"):
		return nil, fault.New(fault.Denied, "search transcripts: %s is a tool of a thread, and tools cannot do this", c.Who())
	}
	top, err := s.o.Record.Threads(ctx, recorder)
	if err != nil {
		return nil, err
	}
	w := &seer{s: s, c: c, top: top, q: q, statuses: map[string]string{}}
	shelf, err := transcript.Open(ctx, transcript.Options{Dir: top, Cache: s.o.Cache, Stem: q.Stem, Say: q.Say, Begun: w.begun})
	if err != nil {
		return nil, err
	}
	view := transcript.View{Sees: w.sees, Status: w.status, Fields: q.Fields}
	return &Turns{Listing: shelf.Listing(), Notes: w.told(shelf.Notes), Hint: w.hint,
		Layer: func(p search.Part) search.Layer { return shelf.Layer(p, view) },
		Show: func(entry int, r *search.Ranking) (rye.TurnHit, bool) {
			f, ok := shelf.Show(entry, r)
			b, err := w.begun(ctx, w.dir(f.ID))
			if !ok || err != nil || !w.knows(f.ID, b) {
				return rye.TurnHit{}, false
			}
			return w.hit(f, b.Directive), true
		}}, nil
}

// sees reports whether a turn of a thread may be found. Of itself a thread finds what it did
// before: the turn that it is in has the words of its own search.
func (w *seer) sees(t *transcript.Thread, open bool) bool {
	if !w.q.Directive(refOf(t.Directive).ID) {
		return false
	}
	return w.knows(t.ID, t.Begun) && !(open && t.ID == w.c.Thread())
}

// knows is mayKnow, and lets a thread see those that it started.
func (w *seer) knows(id string, b transcript.Begun) bool {
	switch {
	case w.c.IsPerson():
		return true
	case w.c.Thread() != "":
		return id == w.c.Thread() || b.Parent == w.c.Thread()
	}
	return b.Starter == startedBy(w.c)
}

// begun is what a thread began with, by what is signed. It is asked for again of each hit that is
// shown: what is remembered of it lies in the cache, and a cache proves nothing.
func (w *seer) begun(ctx context.Context, dir string) (transcript.Begun, error) {
	d, err := readDescription(ctx, w.s.o.Record, dir)
	if err != nil {
		return transcript.Begun{}, err
	}
	return transcript.Begun{Directive: d.Directive, Parent: d.Parent, Starter: d.Starter}, nil
}

// told are the notes, which a person reads: they name threads of others.
func (w *seer) told(notes []string) []string {
	if w.c.IsPerson() {
		return notes
	}
	return nil
}

func (w *seer) dir(id string) string { return filepath.Join(w.top, id) }

// status says in a word what a thread is, as describe does.
func (w *seer) status(t *transcript.Thread) string {
	if s, ok := w.statuses[t.ID]; ok {
		return s
	}
	s := w.statusOf(t)
	w.statuses[t.ID] = s
	return s
}

func (w *seer) statusOf(t *transcript.Thread) string {
	switch t.State.End {
	case transcript.Completed:
		return Completed
	case transcript.Failed:
		return Failed
	case transcript.Cancelled:
		return Cancelled
	case transcript.Killed:
		return Killed
	}
	alive, _, err := journal.Alive(w.dir(t.ID))
	switch {
	case err == nil && alive && t.State.Asks:
		return Waiting
	case err == nil && alive:
		return Running
	case t.State.Suspended, t.Damage != "":
		return Suspended
	}
	return Interrupted
}

func (w *seer) hit(f transcript.Found, directive string) rye.TurnHit {
	h := rye.TurnHit{Kind: rye.KindThread, Thread: f.ID, Turn: f.Turn, Seq: f.Seq, Directive: directive,
		Status: w.status(f.Thread), Time: f.Time.Format(time.RFC3339), Partly: f.Cut}
	for _, l := range f.Lines {
		h.Lines = append(h.Lines, rye.Line{Number: l.Number, Text: l.Text})
	}
	return h
}

// hint says how to read on where the best hit is. A thread reads no transcript but its own.
func (w *seer) hint(found []rye.TurnHit) fault.Hint {
	if len(found) == 0 {
		if w.c.IsPerson() {
			return fault.Advice("rye thread list --all")
		}
		return fault.Hint{}
	}
	h := found[0]
	if w.c.Thread() != "" && w.c.Thread() != h.Thread {
		return fault.Hint{}
	}
	from := h.Seq
	if len(h.Lines) > 0 {
		from = int64(h.Lines[0].Number)
	}
	return fault.Advice("rye thread log %s --from %d", h.Thread, from)
}

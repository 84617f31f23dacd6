package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of a look.
const (
	maxNotes = 5        // threads that are named for what is wrong with them
	slow     = 64 << 20 // bytes from which on it is said that it takes long
)

// Further ones, that only tests change.
var (
	mostUnread = int64(256 << 20) // bytes of journals that one search reads anew; the next goes on behind them
	mostTurns  = 20_000           // of one thread; what follows counts as the last of them
)

// looker looks at all journals once.
type looker struct {
	o     Options
	known map[string]*Thread // by id, of the table

	mu       sync.Mutex
	all      []*Thread
	notes    []string
	troubles int  // threads that something is wrong with
	left     int  // that there is more to read of
	fresh    bool // something was read
}

// task is a thread with what is to be read of it.
type task struct {
	*Thread
	unread, most int64 // bytes
}

// look returns the threads, ascending by id, and what a person should know.
func look(ctx context.Context, o Options) (all []*Thread, notes []string, err error) {
	l := &looker{o: o, known: map[string]*Thread{}}
	l.remembered()
	unread, err := l.unread(ctx)
	if err == nil {
		err = l.readAll(ctx, unread)
	}
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(l.all, func(a, b *Thread) int { return strings.Compare(a.ID, b.ID) })
	l.tell()
	if file := o.place(); file != "" && (l.fresh || len(l.all) != len(l.known)) {
		_ = place.Cache(file, encodeTable(l.all), 0o600) // what cannot be kept is read again
	}
	return l.all, l.notes, nil
}

// remembered reads the table. One that is damaged is none.
func (l *looker) remembered() {
	if l.o.Cache == "" {
		return
	}
	raw, err := place.Read(l.o.place(), maxTable)
	if err != nil {
		return
	}
	threads, _ := parseTable(raw)
	for _, t := range threads {
		l.known[t.ID] = t
	}
}

// unread takes in the threads that are as they were, and returns the others, the newest first.
func (l *looker) unread(ctx context.Context) (todo []task, err error) {
	list, err := os.ReadDir(l.o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool { return !e.IsDir() || !journal.ValidID(e.Name()) })
	journals := make([]os.FileInfo, len(list))
	err = parallel.Chunks(ctx, len(list), 100, func(i int) error {
		journals[i], _ = os.Lstat(filepath.Join(l.o.dir(list[i].Name()), "journal.jsonl"))
		return nil
	})
	for i, st := range journals {
		if st == nil {
			continue // it never began, or is gone meanwhile
		}
		t := l.known[list[i].Name()]
		if t == nil {
			t = &Thread{ID: list[i].Name()}
		}
		size, changed := st.Size(), max(0, st.ModTime().UnixNano())
		if t.size == size && t.changed == changed && (t.end.Offset > 0 || t.Damage != "") {
			l.all = append(l.all, t)
			continue
		}
		fresh := *t
		fresh.size, fresh.changed, fresh.turns = size, changed, slices.Clone(t.turns)
		unread := size - t.end.Offset
		if unread <= 0 { // written to, and not longer: not what was read
			fresh.restart()
			unread = size
		}
		todo = append(todo, task{Thread: &fresh, unread: unread})
	}
	slices.Reverse(todo)
	return todo, err
}

// readAll reads what was added to journals, the newest first, as much as one search reads.
func (l *looker) readAll(ctx context.Context, todo []task) error {
	total := int64(0)
	for i := range todo {
		todo[i].most = min(todo[i].unread, mostUnread-total)
		total += todo[i].most
	}
	if total > slow && l.o.Say != nil {
		l.o.Say(fmt.Sprintf("reading the transcripts of %s: %d MB", words.Plural(len(todo), "thread"), total>>20))
	}
	return parallel.Each(ctx, len(todo), func(i int) error {
		err := l.read(ctx, &todo[i])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.done(todo[i].Thread, err)
		return nil
	})
}

// read reads what was added to one journal.
func (l *looker) read(ctx context.Context, t *task) error {
	if t.most == 0 && t.unread > 0 {
		return errRest
	}
	begun, err := l.o.Begun(ctx, l.o.dir(t.ID))
	if err != nil {
		return err
	}
	if t.Begun != begun { // new, or another one in its place
		t.restart()
		t.Begun = begun
	}
	return t.readOn(ctx, l.o.dir(t.ID), t.most)
}

// done takes in a thread that was read. What is wrong with one is noted, and ends no search.
func (l *looker) done(t *Thread, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var damage *journal.Damage
	switch {
	case fault.Is(err, fault.NotFound): // it never began, or is gone meanwhile
		return
	case errors.Is(err, errRest):
		l.left++
		if t.end.Offset == 0 {
			return
		}
		t.changed = 0 // the next look goes on
	case errors.As(err, &damage):
		t.Damage = words.Clip(fmt.Sprintf("damaged after record %d: %s", damage.Last.Seq, damage.Why), 400)
	case err != nil:
		l.trouble("thread %s is not searched: %s", t.ID, err)
		return
	}
	l.all, l.fresh = append(l.all, t), true
}

// trouble notes what is wrong with a thread; of many only how many there are.
func (l *looker) trouble(format string, args ...any) {
	if l.troubles++; l.troubles <= maxNotes {
		l.notes = append(l.notes, words.Clip(words.Printable(fmt.Sprintf(format, args...)), 400))
	}
}

// tell notes what concerns all.
func (l *looker) tell() {
	for _, t := range l.all {
		if t.Damage != "" {
			l.trouble("thread %s is searched in part: %s", t.ID, t.Damage)
		}
	}
	slices.Sort(l.notes)
	if l.troubles > maxNotes {
		l.notes = append(l.notes, "the same for "+words.Plural(l.troubles-maxNotes, "more thread"))
	}
	if l.left > 0 {
		l.notes = append(l.notes, fmt.Sprintf("one search reads only so much: %s of %d not searched to the end; the next search continues",
			words.Plural(l.left, "thread"), max(len(l.all), l.left)))
	}
}

// errRest ends reading that may not go further, errAll what came to the end.
var (
	errRest = errors.New("there is more")
	errAll  = errors.New("that was all")
)

// readOn reads a journal from where it was read to, at most so many bytes and one record, and never
// more than it had when it was looked at. Where that does not fit any more it is read from its
// beginning.
func (t *Thread) readOn(ctx context.Context, dir string, most int64) error {
	for {
		from := t.end
		end, err := journal.ReadFrom(ctx, dir, from, func(r journal.Record, at journal.Place) error {
			t.add(r, at)
			switch {
			case at.Offset >= t.size:
				return errAll
			case at.Offset-from.Offset >= most:
				return errRest
			}
			return nil
		})
		if errors.Is(err, errAll) {
			err = nil
		}
		t.Damage = ""
		var damage *journal.Damage
		if !errors.As(err, &damage) || end.Offset > from.Offset || from.Offset == 0 {
			return err
		}
		t.restart()
	}
}

// restart forgets what was read of a journal.
func (t *Thread) restart() { t.end, t.State, t.turns = journal.Place{}, State{}, nil }

// add takes a record in.
func (t *Thread) add(r journal.Record, at journal.Place) {
	n := len(t.turns)
	if n == 0 || t.turns[n-1].number != r.Turn && n < mostTurns {
		t.turns = append(t.turns, turn{number: r.Turn})
		n++
	}
	last := &t.turns[n-1]
	last.records++
	last.bytes += at.Offset - t.end.Offset
	last.time, last.sum = r.Time.UnixMicro(), at.Sum
	t.end = at
	t.State.add(r)
}

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
	maxNotes = 5        // threads with a fault that are named
	slow     = 64 << 20 // bytes from which on Say reports the work
)

// Further bounds, which only tests change.
var (
	mostUnread = int64(256 << 20) // bytes of journals that one search reads; the next search continues
	mostTurns  = 20_000           // of one thread; later records belong to the last of them
)

// looker looks at all journals once.
type looker struct {
	o     Options
	known map[string]*Thread // by id, from the table

	mu       sync.Mutex
	all      []*Thread
	notes    []string
	troubles int  // threads with a fault
	left     int  // threads that were not read to the end
	fresh    bool // a journal was read
}

// task is a thread with an unread part.
type task struct {
	*Thread
	unread, most int64 // bytes
}

// look returns the threads, ascending by id, and notes for the user.
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
		_ = place.Cache(file, encodeTable(l.all), 0o600) // a table that cannot be written is computed again
	}
	return l.all, l.notes, nil
}

// remembered reads the table. A damaged table counts as missing.
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

// unread adds the unchanged threads, and returns the others, the newest first.
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
			continue // it never began, or was removed meanwhile
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
		if unread <= 0 { // it was written to but is not longer, so the part that was read has changed
			fresh.restart()
			unread = size
		}
		todo = append(todo, task{Thread: &fresh, unread: unread})
	}
	slices.Reverse(todo)
	return todo, err
}

// readAll reads the new parts of journals, the newest first, up to the limit of one search.
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

// read reads the new part of one journal.
func (l *looker) read(ctx context.Context, t *task) error {
	if t.most == 0 && t.unread > 0 {
		return errRest
	}
	begun, err := l.o.Begun(ctx, l.o.dir(t.ID))
	if err != nil {
		return err
	}
	if t.Begun != begun { // a new thread, or another one in its place
		t.restart()
		t.Begun = begun
	}
	return t.readOn(ctx, l.o.dir(t.ID), t.most)
}

// done adds a thread that was read. A fault in a thread becomes a note and does not end the search.
func (l *looker) done(t *Thread, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var damage *journal.Damage
	switch {
	case fault.Is(err, fault.NotFound): // it never began, or was removed meanwhile
		return
	case errors.Is(err, errRest):
		l.left++
		if t.end.Offset == 0 {
			return
		}
		t.changed = 0 // makes the next look continue
	case errors.As(err, &damage):
		t.Damage = words.Clip(fmt.Sprintf("damaged after record %d: %s", damage.Last.Seq, damage.Why), 400)
	case err != nil:
		l.trouble("thread %s is not searched: %s", t.ID, err)
		return
	}
	l.all, l.fresh = append(l.all, t), true
}

// trouble notes a fault of a thread. After maxNotes it only counts.
func (l *looker) trouble(format string, args ...any) {
	if l.troubles++; l.troubles <= maxNotes {
		l.notes = append(l.notes, words.Clip(words.Printable(fmt.Sprintf(format, args...)), 400))
	}
}

// tell adds the notes about all threads.
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

// errRest stops a reading at its limit, errAll at the end.
var (
	errRest = errors.New("there is more")
	errAll  = errors.New("that was all")
)

// readOn continues to read a journal. It reads at most most bytes and one record, and nothing
// beyond the size at the look. If the journal no longer matches, it is read from its beginning.
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

// restart discards the state of a partly read journal.
func (t *Thread) restart() { t.end, t.State, t.turns = journal.Place{}, State{}, nil }

// add adds a record to the last turn, or begins a turn.
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

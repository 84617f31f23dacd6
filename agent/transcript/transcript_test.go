package transcript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/search"
)

// opened opens a shelf whose analysis takes nothing away.
func opened(t testing.TB, top, cache string, p parts) *Shelf {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: top, Cache: cache, Stem: func(w string) string { return w }, Begun: p.begun})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everything sees all, and says open of every status.
var everything = View{Sees: func(*Thread, bool) bool { return true }, Status: func(*Thread) string { return "open" }}

// found searches, and returns thread/turn of each hit with its lines.
func (s *Shelf) found(t testing.TB, query string, v View) (hits []string) {
	t.Helper()
	l := s.Listing()
	mem, part := &search.Mem{}, search.Part{}
	for i := range l.Len {
		terms, whole, err := l.Terms(i)
		if err != nil || !whole {
			t.Fatalf("%s: whole %v, %v", s.path(i), whole, err)
		}
		mem.Add(terms)
		part.Entry = append(part.Entry, int32(i))
	}
	part.Source = mem.Done()
	v.Fields = strings.Contains(query, ":")
	q, err := search.Parse(query, []string{"directive", "status", "thread", "body"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Rank(t.Context(), []search.Layer{s.Layer(part, v)}, search.Options{Stem: s.o.Stem})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Hits {
		f, ok := s.Show(int(part.Entry[h.Doc]), r)
		if !ok || h.Guess {
			continue
		}
		hit := fmt.Sprintf("%s/%d", f.ID[:10], f.Turn)
		for _, l := range f.Lines {
			hit += fmt.Sprintf(" %d:%s", l.Number, l.Text)
		}
		hits = append(hits, hit)
	}
	return hits
}

func wantHits(t *testing.T, s *Shelf, query string, want ...string) {
	t.Helper()
	if got := s.found(t, query, everything); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s found\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// short is how found names thread n.
func short(n int) string { return idOf(n)[:10] }

// TestWhatIsFound: prompts, answers, what tools were given and gave, messages and questions, each in
// its turn and record; and nothing that is about money, the loop or the gates.
func TestWhatIsFound(t *testing.T) {
	top := t.TempDir()
	w := begin(t, top, 1)
	w.add(0, "thread_started", `{"directive":"directive:acme/review","model":"modelname","epoch":1}`,
		"cognition_in", `{"text":"Find the parcel\nof Ann.","role":"rolename"}`)
	w.add(1, say("I look into\n\n  the depot.")...)
	w.add(1, "gate_verdict", `{"verdict":"allow","subject":"subjectname"}`,
		"tool_call_start", `{"tool":"execute tool:acme/find","call_id":"callname","input":{"place":{"of":["Hamburg\nAltona",7]}}}`,
		"tool_call_result", `{"call_id":"callname","output":" {\"shelf\":{\"text\":\"row\\tten\"},\"more\":[\"shelf nine\",true]}\n","error":"broken: drawer","duration_ms":1}`)
	w.add(2, "inbox_message", `{"id":"1","kind":"message","from":"ben","sent":"s","sig":"signame","text":"hurry up"}`,
		"turn_done", `{"next":"statename","state":{"a":"statename"}}`,
		"thread_completed", `{"cost":{"money":1},"text":"It is in Altona.","outputs":{"where":"nowhere else"}}`)
	s := opened(t, top, "", nil)
	id := short(1)
	wantHits(t, s, "parcel", id+"/0 2:Find the parcel")
	wantHits(t, s, "ann", id+"/0 2:of Ann.")
	wantHits(t, s, "depot", id+"/1 3:the depot.")
	wantHits(t, s, "find.hamburg", id+"/1 5:execute tool:acme/find 5:of: Hamburg", id+"/0 2:Find the parcel")
	wantHits(t, s, "altona", id+"/1 5:Altona")
	wantHits(t, s, "7", id+"/1 5:of: 7")
	wantHits(t, s, `"shelf nine"`, id+"/1 6:more: shelf nine")
	wantHits(t, s, "ten", id+"/1 6:text: row\tten")
	wantHits(t, s, "drawer", id+"/1 6:broken: drawer")
	wantHits(t, s, "hurry ben", id+"/2 7:ben 7:hurry up")
	wantHits(t, s, "nowhere", id+"/2 9:where: nowhere else")
	wantHits(t, s, "review", id+"/0 1:directive:acme/review")
	for _, word := range []string{"modelname", "rolename", "subjectname", "callname", "signame", "statename", "cost"} {
		wantHits(t, s, word)
	}
}

// TestFields: a query can name directive, status and thread, and words that name none do not find
// what a thread is.
func TestFields(t *testing.T) {
	top := t.TempDir()
	for n := range 3 {
		begin(t, top, n).add(1, say("the parcel\nof acme")...).add(2, say("the letter, completed")...)
	}
	p := parts{idOf(1): {Directive: "directive:acme/review"}, idOf(2): {Directive: "directive:acme/review-all"}}
	s := opened(t, top, "", p)
	v := everything
	v.Status = func(t *Thread) string { return map[string]string{idOf(1): "completed"}[t.ID] }
	for query, want := range map[string]string{
		"parcel":                              "2/1 1/1 0/1",
		"parcel AND status:completed":         "1/1",
		"status:completed":                    "1/2 1/1",
		"completed":                           "2/2 1/2 0/2",
		"parcel AND directive:acme/review":    "2/1 1/1",
		"parcel status:completed":             "1/1 1/2",
		`directive:"acme/review-all"`:         "2/1 2/2",
		"directive:rev* AND body:letter":      "2/2 1/2",
		"parcel NOT status:completed":         "2/1 0/1",
		"parcel AND thread:" + idOf(0):        "0/1",
		"parcel AND thread:" + short(2) + "*": "2/1",
		"status:completed OR directive:all":   "1/2 1/1 2/2 2/1",
	} {
		var got []string
		for _, h := range s.found(t, query, v) {
			for n := range 3 {
				if id, turn, _ := strings.Cut(strings.Fields(h)[0], "/"); id == short(n) {
					got = append(got, fmt.Sprintf("%d/%s", n, turn))
				}
			}
		}
		if strings.Contains(query, " OR ") {
			if len(got) != 4 {
				t.Errorf("%s: %v", query, got)
			}
		} else if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	if hits := s.found(t, "parcel AND directive:acme/review-all", v); len(hits) != 1 || strings.Contains(hits[0], "of acme") {
		t.Errorf("lines say words that were asked of a directive: %q", hits)
	}
	if _, err := search.Parse("directive:acme/review", []string{"body"}); err != nil {
		t.Errorf("of items directive: is a kind: %v", err)
	}
}

// TestSeesOnlyWhatMaySee: a thread that is hidden counts nowhere, and its open turn where that is.
func TestSeesOnlyWhatMaySee(t *testing.T) {
	top := t.TempDir()
	begin(t, top, 0).add(1, say("parcel hidden")...)
	begin(t, top, 1).add(1, say("parcel one")...).add(2, say("parcel two")...)
	begin(t, top, 2).add(1, say("parcel three")...).add(1, "thread_completed", `{"cost":{}}`)
	s := opened(t, top, "", nil)
	v := View{Status: everything.Status, Sees: func(t *Thread, open bool) bool { return t.ID != idOf(0) && !open }}
	for query, want := range map[string]string{"parcel": "2/1 1/1", "hidden": "", "two": "", "three": "2/1", "*": "2/1 1/1", "thread:" + idOf(0): ""} {
		got := ""
		for _, h := range s.found(t, query, v) {
			got += fmt.Sprintf(" %s", strings.NewReplacer(short(0), "0", short(1), "1", short(2), "2").Replace(strings.Fields(h)[0]))
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestGrows: what is added to a journal is read on, and nothing else of it; one that was cut, or
// is another one now, is read anew.
func TestGrows(t *testing.T) {
	top, cache := t.TempDir(), t.TempDir()
	w := begin(t, top, 1)
	w.add(1, say("first")...)
	file := filepath.Join(w.dir, "journal.jsonl")
	first := opened(t, top, cache, nil).spots[0].turn.sum
	head, _ := os.ReadFile(file)
	w.add(1, say("still first")...).add(2, say("second")...)
	s := opened(t, top, cache, nil)
	if len(s.spots) != 2 || s.spots[0].turn.sum == first || s.spots[1].from.Seq != 2 {
		t.Fatalf("%d turns", len(s.spots))
	}
	wantHits(t, s, "second", short(1)+"/2 3:second")

	// What is written while a look reads is for the next, and no reason to read all of it again.
	th := &Thread{ID: idOf(1), size: s.spots[1].from.Offset}
	if err := th.readOn(t.Context(), w.dir, 1<<20); err != nil || th.end.Offset != th.size {
		t.Errorf("%v, read to %d of %d", err, th.end.Offset, th.size)
	}

	// What was read is not read again: it could even be damaged.
	raw, _ := os.ReadFile(file)
	hurt := bytes.Replace(raw, []byte(`"text":"first"`), []byte(`"text":"worst"`), 1)
	if err := os.WriteFile(file, hurt, 0o600); err != nil {
		t.Fatal(err)
	}
	w.add(3, say("third")...)
	s = opened(t, top, cache, nil)
	if len(s.spots) != 3 || s.Notes != nil {
		t.Fatalf("%d turns, %v", len(s.spots), s.Notes)
	}
	if x := s.spots[0].read(t.Context(), w.dir); x.whole {
		t.Error("a turn that is not as it was is shown")
	}
	if x := s.spots[2].read(t.Context(), w.dir); !x.whole || x.body.String() != "third\n" {
		t.Errorf("%+v", x)
	}

	// One that was written to and did not grow is read anew.
	if err := os.Chtimes(file, began, began); err != nil {
		t.Fatal(err)
	}
	if s = opened(t, top, cache, nil); len(s.spots) != 0 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "damaged after record 0") {
		t.Errorf("%d turns, %v", len(s.spots), s.Notes)
	}

	// Another journal in its place.
	if err := os.WriteFile(file, head, 0o600); err != nil {
		t.Fatal(err)
	}
	s = opened(t, top, cache, nil)
	if len(s.spots) != 1 || s.spots[0].turn.sum != first {
		t.Errorf("%d turns of a journal that was cut", len(s.spots))
	}
	w.chain = journal.Chain{Thread: idOf(1)}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.add(1, say("a longer one, which is another")...).add(2, say("and its end")...)
	s = opened(t, top, cache, nil)
	wantHits(t, s, "longer", short(1)+"/1 1:a longer one, which is another")
	wantHits(t, s, "end", short(1)+"/2 2:and its end")

	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if s = opened(t, top, cache, nil); len(s.spots) != 0 {
		t.Errorf("%d turns of a thread that is gone", len(s.spots))
	}
}

// TestTornTailIsNoDamage: a line that is being written is nobody's trouble.
func TestTornTailIsNoDamage(t *testing.T) {
	top, cache := t.TempDir(), t.TempDir()
	w := begin(t, top, 1)
	w.add(1, say("kept")...)
	w.raw(`{"seq":2,"timesta`)
	for range 2 {
		s := opened(t, top, cache, nil)
		if len(s.Notes) > 0 {
			t.Error(s.Notes)
		}
		wantHits(t, s, "kept", short(1)+"/1 1:kept")
	}
}

// TestHostileJournals: what is wrong with one thread costs a line, and not the search.
func TestHostileJournals(t *testing.T) {
	top, cache := t.TempDir(), t.TempDir()
	begin(t, top, 0).add(1, say("good parcel")...)
	hurt := begin(t, top, 1).add(1, say("before parcel")...)
	hurt.raw("{\"seq\":2}\x1b[2J\n")
	hurt.add(1, say("behind parcel")...)
	loose := begin(t, top, 2).add(1, say("open parcel")...)
	if err := os.Chmod(loose.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	linked := begin(t, top, 3)
	if err := os.Symlink(filepath.Join(top, idOf(0), "journal.jsonl"), filepath.Join(linked.dir, "journal.jsonl")); err != nil {
		t.Fatal(err)
	}
	foreign := begin(t, top, 4).add(1, say("claimed parcel")...)
	copied := begin(t, top, 5)
	raw, _ := os.ReadFile(filepath.Join(foreign.dir, "journal.jsonl"))
	copied.raw(string(raw)) // of another thread
	begin(t, top, 6).raw(strings.Repeat("x", journal.MaxLine+10))
	begin(t, top, 7).raw(strings.Repeat("\x00", 100))
	if err := os.Symlink(filepath.Join(top, idOf(0)), filepath.Join(top, idOf(8))); err != nil {
		t.Fatal(err)
	}
	p := parts{idOf(4): {}}
	for range 2 {
		s := opened(t, top, cache, p)
		wantHits(t, s, "parcel", short(1)+"/1 1:before parcel", short(0)+"/1 1:good parcel")
		notes := strings.Join(s.Notes, "\n")
		for _, n := range []int{1, 2, 3, 4, 5} {
			if !strings.Contains(notes, idOf(n)) {
				t.Errorf("thread %d is not named:\n%s", n, notes)
			}
		}
		if len(s.Notes) != maxNotes+1 {
			t.Errorf("%d notes", len(s.Notes))
		}
		if strings.Contains(notes, "\x1b") || !strings.Contains(notes, "the same for 1 more thread") || strings.Contains(notes, idOf(7)) {
			t.Errorf("notes:\n%q", notes)
		}
	}
}

// TestBounds: of a turn the beginning is searched, of a thread so many turns are told apart, and one
// look reads so much.
func TestBounds(t *testing.T) {
	top, cache := t.TempDir(), t.TempDir()
	w := begin(t, top, 1)
	line := strings.Repeat("filler ", 100_000)
	w.add(1, say("parcel")...)
	for range 6 {
		w.add(1, say(line)...)
	}
	w.add(1, say("letter")...)
	w.add(2, say("stamp")...)
	s := opened(t, top, cache, nil)
	wantHits(t, s, "parcel", short(1)+"/1 1:parcel")
	wantHits(t, s, "letter")
	wantHits(t, s, "stamp", short(1)+"/2 9:stamp")
	if x := s.spots[0].read(t.Context(), w.dir); !x.cut || !x.whole || x.body.Len() > maxText+len(line) {
		t.Errorf("%d bytes, cut %v", x.body.Len(), x.cut)
	}
	many := begin(t, top, 2)
	defer func(was int) { mostTurns = was }(mostTurns)
	mostTurns = 50
	for i := range mostTurns + 5 {
		many.chainOnly(i)
	}
	many.flush()
	s = opened(t, top, cache, nil)
	if n := len(s.spots) - 2; n != mostTurns {
		t.Errorf("%d turns of one thread", n)
	}

	// A journal that may not be read to its end now is read on by the next look.
	th := &Thread{ID: idOf(1), size: 1 << 30}
	for i := range 3 {
		if err := th.readOn(t.Context(), w.dir, 1); err != errRest || th.end.Seq != int64(i+1) {
			t.Fatalf("%v at %d", err, th.end.Seq)
		}
	}
}

// TestMore: the look that reads more than one may tells so, and later ones go on until nothing
// is left.
func TestMore(t *testing.T) {
	top, cache := t.TempDir(), t.TempDir()
	for n := range 4 {
		begin(t, top, n).add(1, say("parcel")...).add(2, say("parcel")...).add(3, say("parcel")...)
	}
	defer func(was int64) { mostUnread = was }(mostUnread)
	mostUnread = 400 // half a journal
	turns, told := 0, 0
	for range 20 {
		s := opened(t, top, cache, nil)
		if len(s.spots) < turns || len(s.spots) > turns+4 {
			t.Fatalf("%d turns after %d", len(s.spots), turns)
		}
		if turns = len(s.spots); len(s.Notes) == 0 {
			break
		} else if !strings.Contains(s.Notes[0], "the next search continues") {
			t.Fatal(s.Notes)
		}
		told++
	}
	if turns != 12 || told < 4 {
		t.Errorf("%d turns, told %d times", turns, told)
	}
}

// TestTableIsOnlyRemembered: without it, with a damaged one, and where there is no place for it the
// same is found.
func TestTableIsOnlyRemembered(t *testing.T) {
	top, cache := t.TempDir(), t.TempDir()
	begin(t, top, 1).add(1, say("parcel")...)
	o := Options{Dir: top, Cache: cache}
	opened(t, top, cache, nil)
	raw, err := os.ReadFile(o.place())
	if st, serr := os.Stat(o.place()); err != nil || serr != nil || st.Mode().Perm()&0o077 != 0 {
		t.Fatal(err, st)
	}
	for i := range raw {
		hurt := bytes.Clone(raw)
		hurt[i] ^= 0x40
		if err := os.WriteFile(o.place(), hurt, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := parseTable(hurt); err == nil {
			t.Fatalf("byte %d may be anything", i)
		}
		if i%16 == 0 {
			wantHits(t, opened(t, top, cache, nil), "parcel", short(1)+"/1 1:parcel")
			if now, _ := os.ReadFile(o.place()); !bytes.Equal(now, raw) {
				t.Fatal("it was not made anew")
			}
		}
	}
	if err := os.RemoveAll(filepath.Dir(o.place())); err != nil {
		t.Fatal(err)
	}
	wantHits(t, opened(t, top, cache, nil), "parcel", short(1)+"/1 1:parcel")
	nowhere := filepath.Join(cache, "file")
	if err := os.WriteFile(nowhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantHits(t, opened(t, top, nowhere, nil), "parcel", short(1)+"/1 1:parcel")
	if sum := sha256.Sum256([]byte("turns of threads 1\n" + top)); !strings.Contains(o.place(), "threads-"+hex.EncodeToString(sum[:16])) {
		t.Error("the format says otherwise where it lies")
	}
}

// TestTableLies: a table whose checksum is right and that says what no journal can is refused, and
// takes no memory for what it claims.
func TestTableLies(t *testing.T) {
	top := t.TempDir()
	begin(t, top, 1).add(1, say("parcel")...).add(2, say("parcel")...)
	th := opened(t, top, "", nil).spots[0].thread
	raw := encodeTable([]*Thread{th})
	if _, err := parseTable(raw); err != nil {
		t.Fatal(err)
	}
	turns := len(raw) - 2*turnSize
	for what, change := range map[string]func([]byte){
		"threads":       func(b []byte) { binary.LittleEndian.PutUint32(b[12:], 1<<31) },
		"an id":         func(b []byte) { b[table.Head] = 'z' },
		"a state":       func(b []byte) { b[table.Head+26] = 64 },
		"an end":        func(b []byte) { b[table.Head+26] = 7 },
		"a size":        func(b []byte) { b[table.Head+27+7] = 0x80 },
		"a text":        func(b []byte) { binary.LittleEndian.PutUint16(b[table.Head+43:], 1<<15) },
		"turns":         func(b []byte) { binary.LittleEndian.PutUint32(b[turns-4:], 1<<31) },
		"fewer turns":   func(b []byte) { b[turns-4] = 1 },
		"no records":    func(b []byte) { b[turns+4] = 0 },
		"bytes":         func(b []byte) { b[turns+8+7] = 0x7F },
		"bytes of none": func(b []byte) { clear(b[turns+8 : turns+16]) },
	} {
		lie := bytes.Clone(raw)
		change(lie)
		if all, err := parseTable(sealed(lie)); err == nil {
			t.Errorf("%s: %+v", what, all[0])
		}
	}
	if _, err := parseTable(sealed(encodeTable([]*Thread{th, th}))); err == nil {
		t.Error("a thread may stand there twice")
	}
}

// TestStates: what a journal says last about its thread.
func TestStates(t *testing.T) {
	asks, answered := []string{"approval_requested", `{"question":"q","topic":"t"}`}, []string{"approval_answered", `{"question":"q","answer":"yes"}`}
	suspended, resumed := []string{"thread_suspended", `{"suspend_reason":"limit"}`}, []string{"thread_resumed", `{"epoch":2}`}
	for i, c := range []struct {
		records [][]string
		want    State
	}{
		{[][]string{say("a")}, State{}},
		{[][]string{asks}, State{Asks: true}},
		{[][]string{asks, answered}, State{}},
		{[][]string{asks, suspended}, State{Asks: true, Suspended: true}},
		{[][]string{asks, suspended, resumed}, State{Asks: true}},
		{[][]string{suspended, {"journal_repaired", `{"file":"f","offset":1,"bytes":1,"sha256":"` + strings.Repeat("0", 64) + `","why":"torn"}`}}, State{Suspended: true}},
		{[][]string{{"thread_completed", `{"cost":{}}`}}, State{End: Completed}},
		{[][]string{{"thread_error", `{"error_code":"c","message":"m"}`}}, State{End: Failed}},
		{[][]string{{"thread_cancelled", `{"reason":"r"}`}}, State{End: Cancelled}},
		{[][]string{{"thread_cancelled", `{"reason":"r","killed":true}`}}, State{End: Killed}},
	} {
		top, cache := t.TempDir(), t.TempDir()
		w := begin(t, top, i)
		for _, r := range c.records {
			w.add(1, r...)
		}
		for _, from := range []string{"journal", "table"} {
			if got := opened(t, top, cache, nil).spots[0].thread.State; got != c.want {
				t.Errorf("%v, of the %s: %+v, want %+v", c.records, from, got, c.want)
			}
		}
	}
}

// TestEnds: a search that is told to stop stops, and keeps nothing.
func TestEnds(t *testing.T) {
	top, cache := t.TempDir(), t.TempDir()
	begin(t, top, 1).add(1, say("parcel")...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := Options{Dir: top, Cache: cache, Begun: parts{}.begun}
	if _, err := Open(ctx, o); err != context.Canceled {
		t.Error(err)
	}
	if _, err := os.Stat(o.place()); err == nil {
		t.Error("something was kept")
	}
	if s, err := Open(t.Context(), Options{Dir: filepath.Join(top, "none")}); err != nil || s.Listing().Len != 0 {
		t.Error(err)
	}
}

// FuzzTable: no bytes are a table that says what no journal can.
func FuzzTable(f *testing.F) {
	top, cache := f.TempDir(), f.TempDir()
	w := begin(f, top, 1)
	w.add(1, say("parcel")...).add(2, say("parcel")...).add(2, "thread_completed", `{"cost":{}}`)
	s, err := Open(context.Background(), Options{Dir: top, Cache: cache, Begun: parts{}.begun})
	if err != nil {
		f.Fatal(err)
	}
	raw := encodeTable([]*Thread{s.spots[0].thread})
	f.Add(raw)
	f.Add(raw[:len(raw)-1])
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := parseTable(sealed(raw))
		if err != nil {
			return
		}
		for _, one := range all {
			if one.end.Offset < 0 || one.end.Offset > journal.MaxJournal || !journal.ValidID(one.ID) {
				t.Errorf("%+v", one)
			}
		}
		if again := encodeTable(all); !bytes.Equal(again, sealed(raw)) {
			t.Errorf("written again it is\n%x, it was\n%x", again, sealed(raw))
		}
	})
}

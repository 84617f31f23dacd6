package thread

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

// A model reads a transcript in pages that fit beside its work: what was said, asked for and
// answered, in the words of docs/format/transcript.md, each text only as far as the page goes.
// What a record says of money, of the loop and of the gates is left to people.

// retold are the members of each type of record that a model is shown.
var retold = func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(`
thread_started directive model
thread_resumed reason
thread_suspended suspend_reason detail question
thread_completed text outputs
thread_cancelled reason
thread_error error_code message
cognition_in role text
cognition_out text stop
tool_call_start call_id tool input
tool_call_result call_id output error unknown
approval_requested question topic text call_id
approval_answered question answer
limit_escalation_requested limit_code current_value current_max
error_classified error_code category
inbox_message kind from text
loop_detected count tool pattern
narrowed denied child_thread_id
child_thread_started child_thread_id child_directive
journal_repaired why bytes
warning text code
`) {
		if f := strings.Fields(line); len(f) > 0 {
			all[f[0]] = f[1:]
		}
	}
	return all
}()

// Bounds of a page, and of what is looked at for it.
const (
	pageRecords = 20
	mostRecords = 100
	pageBytes   = 12_000
	mostBytes   = 48_000
	leastBytes  = 1_000
	maxMember   = 16 << 20 // bytes of one text that is looked at
	around      = 160      // bytes of an excerpt, on each side of the word
)

// entry is one record in a page.
type entry struct {
	Seq     int64          `json:"seq"`
	Time    string         `json:"timestamp"`
	Turn    int            `json:"turn"`
	Type    string         `json:"event_type"`
	Payload map[string]any `json:"payload"`
	Left    int64          `json:"bytes_left_out,omitempty"` // of its texts
}

// look is what every look into a transcript answers besides.
type look struct {
	Thread  string `json:"thread_id"`
	Next    int64  `json:"next,omitempty"`    // where to go on; 0 where nothing is left
	Stopped string `json:"stopped,omitempty"` // why it ended early
	Damage  string `json:"damage,omitempty"`  // why nothing behind can be read
}

// page is a part of a transcript.
type page struct {
	look
	Records []entry `json:"records"`
}

// errFull ends a look that has what it wants.
var errFull = errors.New("it is full")

// scanRetold gives the records of a thread that are told, from a sequence number on. Nothing is kept
// of those before it, but all are verified.
func scanRetold(ctx context.Context, dir string, from int64, l *look, visit func(journal.Record, []string) error) error {
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	seen := from
	_, err := journal.Follow(within, dir, journal.FollowOptions{From: from}, func(r journal.Record) error {
		seen = r.Seq
		if members := retold[r.Type]; members != nil {
			return visit(r, members)
		}
		return nil
	})
	var damage *journal.Damage
	switch {
	case err == nil, errors.Is(err, errFull):
		return nil
	case errors.As(err, &damage):
		l.Damage = damage.Why
		return nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		l.Stopped, l.Next = "time", max(seen, 1)
		return nil
	}
	return err
}

// begins turns a parameter into the first sequence number: one below zero counts from the end.
func begins(dir string, from int64) (int64, error) {
	if from >= 0 {
		return max(from, 1), nil
	}
	last, err := journal.Last(dir)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return 0, err
	}
	return max(last.Seq+1+from, 1), nil
}

// within returns a number of a page, or its default where it is 0.
func within(name string, v, standard, least, most int) (int, error) {
	if v == 0 {
		return standard, nil
	}
	if v < least || v > most {
		return 0, fault.New(fault.Usage, "%s is %d, want %d to %d", name, v, least, most)
	}
	return v, nil
}

// readTranscript gives a page of a transcript.
func (w *chore) readTranscript(ctx context.Context) (any, error) {
	limit, err := within("limit", w.q.Limit, pageRecords, 1, mostRecords)
	if err != nil {
		return nil, err
	}
	most, err := within("bytes", w.q.Bytes, pageBytes, leastBytes, mostBytes)
	if err != nil {
		return nil, err
	}
	from, err := begins(w.dir, w.q.From)
	if err != nil {
		return nil, err
	}
	p := &page{look: look{Thread: filepath.Base(w.dir)}, Records: []entry{}}
	each, left := max(most/limit, leastBytes), most
	err = scanRetold(ctx, w.dir, from, &p.look, func(r journal.Record, members []string) error {
		if len(p.Records) == limit {
			p.Next = r.Seq
			return errFull
		}
		e, size := fitted(w.dir, r, members, min(each, most))
		if size > left && len(p.Records) > 0 {
			p.Next = r.Seq
			return errFull
		}
		p.Records, left = append(p.Records, e), left-size
		return nil
	})
	return p, err
}

// fitted renders a record so that it takes about that many bytes of a page: what must be
// escaped takes more than it has.
func fitted(dir string, r journal.Record, members []string, most int) (e entry, size int) {
	values := valuesOf(dir, r, members)
	for texts := most; ; texts /= 2 {
		e = entry{Seq: r.Seq, Time: r.Time.Format("2006-01-02T15:04:05.000000Z"), Turn: r.Turn, Type: r.Type, Payload: map[string]any{}}
		for _, m := range values {
			e.Payload[m.name] = m.shown(texts, &e.Left)
		}
		raw, err := encodeChore(e)
		if size = len(raw); err != nil || size <= most+512 || texts < 64 {
			return e, size
		}
	}
}

// value is one member of a record.
type value struct {
	name string
	text string // of a string; else the JSON
	json bool
}

// valuesOf reads those members of a record that it has. What cannot be read is told in its
// place.
func valuesOf(dir string, r journal.Record, members []string) (all []value) {
	p, err := journal.Members(dir, r)
	if err != nil {
		return []value{{name: "unreadable", text: err.Error()}}
	}
	for _, name := range members {
		raw, err := p.JSON(name, maxMember)
		switch {
		case fault.Is(err, fault.NotFound):
			continue
		case err != nil:
			all = append(all, value{name: name, text: "(it cannot be shown: " + err.Error() + ")"})
			continue
		}
		v := value{name: name, text: string(raw), json: true}
		if raw[0] == '"' && json.Unmarshal(raw, &v.text) == nil {
			v.json = false
		}
		all = append(all, v)
	}
	return all
}

// shown is a value in at most that many bytes. One that is no text and too long becomes the
// beginning of its JSON, as a text.
func (v value) shown(most int, left *int64) any {
	switch {
	case len(v.text) > most:
		head := upTo(v.text, most)
		*left += int64(len(v.text) - len(head))
		return head + "…"
	case v.json:
		return json.RawMessage(v.text)
	}
	return v.text
}

// UpTo is the beginning of a text, in whole characters.
func upTo(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:min(n, len(s))]
}

// wholePayload is the payload of a record with the members in it that lie in artifacts. One that cannot
// be read stays where it is.
func wholePayload(dir string, r journal.Record) json.RawMessage {
	if r.Live || len(artifactsOf(r)) == 0 {
		return r.Data
	}
	p, err := journal.Members(dir, r)
	var m map[string]json.RawMessage
	if err != nil || json.Unmarshal(r.Data, &m) != nil {
		return r.Data
	}
	for at := range m {
		name, moved := strings.CutSuffix(at, "_artifact")
		if !moved {
			continue
		}
		if raw, err := p.JSON(name, maxMember); err == nil {
			delete(m, at)
			m[name] = raw
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return r.Data
	}
	return raw
}

// hit is a place in a transcript.
type hit struct {
	Seq     int64  `json:"seq"`
	Turn    int    `json:"turn"`
	Type    string `json:"event_type"`
	Member  string `json:"member"`
	Excerpt string `json:"excerpt"`
}

// found are the places that a search found.
type found struct {
	look
	Hits []hit `json:"hits"`
}

// Bounds of a search.
const (
	pageHits = 10
	mostHits = 50
	mostText = 200 // bytes of the words
)

// searchTranscript finds the records of which one text has all words, in any case of letters.
func (w *chore) searchTranscript(ctx context.Context) (any, error) {
	limit, err := within("limit", w.q.Limit, pageHits, 1, mostHits)
	if err != nil {
		return nil, err
	}
	asked := strings.Fields(strings.ToLower(w.q.Words))
	if len(asked) == 0 || len(w.q.Words) > mostText {
		return nil, fault.New(fault.Usage, "words: want 1 to %d bytes", mostText)
	}
	from, err := begins(w.dir, w.q.From)
	if err != nil {
		return nil, err
	}
	f := &found{look: look{Thread: filepath.Base(w.dir)}, Hits: []hit{}}
	err = scanRetold(ctx, w.dir, from, &f.look, func(r journal.Record, members []string) error {
		for _, v := range valuesOf(w.dir, r, members) {
			excerpt, ok := excerptOf(v.text, asked)
			if !ok {
				continue
			}
			if len(f.Hits) == limit {
				f.Next = r.Seq
				return errFull
			}
			f.Hits = append(f.Hits, hit{r.Seq, r.Turn, r.Type, v.name, excerpt})
			return nil // a record is one hit
		}
		return nil
	})
	return f, err
}

// excerptOf returns what stands around the first of the words, which are in lower case, where a
// text has all of them.
func excerptOf(text string, asked []string) (excerpt string, ok bool) {
	lower := strings.ToLower(text)
	first := len(lower)
	for _, word := range asked {
		at := strings.Index(lower, word)
		if at < 0 {
			return "", false
		}
		first = min(first, at)
	}
	if len(lower) != len(text) { // letters whose small form is longer: the places are in that
		text = lower
	}
	from, to := max(first-around, 0), min(first+len(asked[0])+around, len(text))
	excerpt = strings.ToValidUTF8(text[from:to], "")
	if from > 0 {
		excerpt = "…" + excerpt
	}
	if to < len(text) {
		excerpt += "…"
	}
	return excerpt, true
}

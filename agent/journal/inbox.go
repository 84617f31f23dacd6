package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of an inbox.
const (
	MaxMessages = 1000
	MaxMessage  = 256 << 10 // bytes of one
	maxRaise    = 1 << 53   // of a number in it
	messageExt  = ".json"
)

// The kinds of messages.
const (
	KindMessage = "message" // for the model
	KindCancel  = "cancel"  // end after what is being done
	KindRaise   = "raise"   // more of a limit
	KindAnswer  = "answer"  // to a question
)

// Message is one message to a thread, as its sender signed it.
type Message struct {
	ID       string           // by NewID, so that messages are in the order of their times
	Thread   string           // to whom: an id
	From     string           // who signed it; what that means is for Check
	Kind     string           // one of the above
	Sent     time.Time        // to the second, UTC
	Text     string           // of a message; why, of the others
	Question string           // of an answer: the question's id
	Answer   string           // of an answer: yes or no
	Raise    map[string]int64 // of raise: what is added to which limit
	Sig      string           // over Signed, in a form that Check knows; not empty
}

// Check verifies the signature of a message: that m.From made m.Sig over signed, and may send
// such. Its error refuses the message.
type Check func(m Message, signed []byte) error

// Signed returns the bytes that the sender signs: the file without its member sig.
func (m Message) Signed() []byte { return m.encode(false) }

// Encode returns the file: one JSON object in the form of RFC 8785.
func (m Message) Encode() []byte { return m.encode(true) }

func (m Message) encode(withSig bool) []byte {
	var b []byte
	put := func(name, value string) {
		b = quote(append(quote(append(b, ','), name), ':'), value)
	}
	if m.Kind == KindAnswer {
		put("answer", m.Answer)
	}
	put("from", m.From)
	put("id", m.ID)
	put("kind", m.Kind)
	if m.Kind == KindAnswer {
		put("question", m.Question)
	}
	if m.Kind == KindRaise {
		b = append(b, `,"raise":{`...)
		for i, name := range slices.Sorted(maps.Keys(m.Raise)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(quote(b, name), ":%d", m.Raise[name])
		}
		b = append(b, '}')
	}
	put("sent", m.Sent.UTC().Format(time.RFC3339))
	if withSig {
		put("sig", m.Sig)
	}
	put("text", m.Text)
	put("thread", m.Thread)
	b = append(b, `,"v":1}`...)
	b[0] = '{'
	return b
}

// ParseMessage reads a file. What Encode would not have written, byte for byte, is
// fault.Malformed. It does not check the signature.
func ParseMessage(raw []byte) (Message, error) {
	var j struct {
		Answer   string           `json:"answer"`
		From     string           `json:"from"`
		ID       string           `json:"id"`
		Kind     string           `json:"kind"`
		Question string           `json:"question"`
		Raise    map[string]int64 `json:"raise"`
		Sent     string           `json:"sent"`
		Sig      string           `json:"sig"`
		Text     string           `json:"text"`
		Thread   string           `json:"thread"`
		V        int              `json:"v"`
	}
	if len(raw) > MaxMessage {
		return Message{}, fault.New(fault.Limit, "a message of %d bytes, at most %d", len(raw), MaxMessage)
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return Message{}, malformed("message: %w", err)
	}
	sent, err := time.Parse(time.RFC3339, j.Sent)
	if err != nil {
		return Message{}, malformed("message: %w", err)
	}
	m := Message{j.ID, j.Thread, j.From, j.Kind, sent, j.Text, j.Question, j.Answer, j.Raise, j.Sig}
	if err := m.valid(); err != nil {
		return Message{}, err
	}
	if !bytes.Equal(m.Encode(), raw) {
		return Message{}, malformed("message %s: not in canonical form", m.ID)
	}
	return m, nil
}

// valid refuses what no file may hold.
func (m Message) valid() error {
	switch {
	case !ValidID(m.ID) || !ValidID(m.Thread):
		return malformed("message %q to thread %q: want ids", words.Brief(m.ID), words.Brief(m.Thread))
	case m.From == "" || m.Sig == "":
		return malformed("message %s: without a sender, or not signed", m.ID)
	case m.Sent.Year() < 1970 || m.Sent.Year() > 9999 || m.Sent.Nanosecond() != 0:
		return malformed("message %s: sent at %s, want a whole second", m.ID, m.Sent)
	case !validText(m.From + m.Sig + m.Text + m.Question + m.Answer):
		return malformed("message %s: not in UTF-8", m.ID)
	}
	return m.validKind()
}

func (m Message) validKind() error {
	isAnswer, isRaise := m.Kind == KindAnswer, m.Kind == KindRaise
	switch {
	case !isAnswer && !isRaise && m.Kind != KindMessage && m.Kind != KindCancel:
		return malformed("message %s: kind %q", m.ID, words.Brief(m.Kind))
	case isAnswer && (!ValidID(m.Question) || m.Answer != "yes" && m.Answer != "no"):
		return malformed("message %s: answer %q to question %q", m.ID, words.Brief(m.Answer), words.Brief(m.Question))
	case !isAnswer && m.Question+m.Answer != "":
		return malformed("message %s: a %s with an answer", m.ID, m.Kind)
	case isRaise != (len(m.Raise) > 0) || len(m.Raise) > 16:
		return malformed("message %s: a %s that raises %d limits", m.ID, m.Kind, len(m.Raise))
	case m.Kind == KindMessage && m.Text == "":
		return malformed("message %s: without a text", m.ID)
	}
	for name, n := range m.Raise {
		if !isName(name) || n < 1 || n > maxRaise {
			return malformed("message %s: raises %q by %d", m.ID, words.Brief(name), n)
		}
	}
	return nil
}

// Put puts a signed message into the inbox of the thread in dir, durably: it is whole or not
// there, and on the disk when Put returns. A full inbox, or a message that is too large, is
// fault.Limit; an id that waits already fault.Conflict. Processes that put at the same moment
// may exceed the number of messages by their own number.
func Put(dir string, m Message) error {
	if err := m.valid(); err != nil {
		return err
	}
	raw := m.Encode()
	if len(raw) > MaxMessage {
		return fault.New(fault.Limit, "a message of %d bytes, at most %d", len(raw), MaxMessage)
	}
	if m.Thread != filepath.Base(dir) {
		return malformed("message %s is for thread %s, not for that in %s", m.ID, m.Thread, dir)
	}
	root, err := openSub(dir, inboxDir)
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := messageNames(root)
	switch {
	case err != nil:
		return err
	case len(names) >= MaxMessages:
		return fault.New(fault.Limit, "%d messages wait for thread %s already", len(names), m.Thread).Advise("wait until the thread reads them, or resume it")
	case slices.Contains(names, m.ID):
		return fault.New(fault.Conflict, "a message with the id %s waits already", m.ID)
	}
	return place.FileIn(root, m.ID+messageExt, raw, 0o600)
}

// messageNames returns the ids of what waits, sorted. Other files are passed over.
func messageNames(root *os.Root) ([]string, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, fault.New(fault.Failed, "list %s: %w", root.Name(), err)
	}
	defer d.Close()
	var ids []string
	for {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			if id, ok := strings.CutSuffix(name, messageExt); ok && ValidID(id) {
				ids = append(ids, id)
			}
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(ids)
			return ids, nil
		}
		if err != nil {
			return nil, fault.New(fault.Failed, "list %s: %w", root.Name(), err)
		}
	}
}

// Refused is a file in an inbox that is no message for the thread, and why.
type Refused struct {
	ID  string
	Err error
}

// List returns the messages that wait for the thread in dir, in the order of their ids, those
// that were consumed and not removed yet among them; and what is refused: files that are no
// message, or another thread's, or of which check says no. At most MaxMessages of both.
func List(dir string, check Check) ([]Message, []Refused, error) {
	root, err := openSub(dir, inboxDir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	ids, err := messageNames(root)
	if err != nil {
		return nil, nil, err
	}
	thread := filepath.Base(dir)
	var good []Message
	var bad []Refused
	for _, id := range ids[:min(len(ids), MaxMessages)] {
		m, err := readMessage(root, id, thread, check)
		switch {
		case errors.Is(err, fs.ErrNotExist): // consumed meanwhile
		case err != nil:
			bad = append(bad, Refused{id, err})
		default:
			good = append(good, m)
		}
	}
	return good, bad, nil
}

func readMessage(root *os.Root, id, thread string, check Check) (Message, error) {
	raw, err := place.ReadIn(root, id+messageExt, MaxMessage)
	if err != nil {
		return Message{}, err
	}
	m, err := ParseMessage(raw)
	switch {
	case err != nil:
		return Message{}, err
	case m.ID != id || m.Thread != thread:
		return Message{}, malformed("message %s to thread %s lies in the inbox of %s as %s", m.ID, m.Thread, thread, id)
	}
	return m, check(m, m.Signed())
}

// Inbox returns the messages that the thread has not consumed, in the order of their ids, and
// what is refused, of which the file stays until Discard. Those that were consumed before a
// crash are removed.
func (j *Journal) Inbox(check Check) ([]Message, []Refused, error) {
	all, bad, err := List(j.Dir(), check)
	if err != nil {
		return nil, nil, err
	}
	var fresh []Message
	for _, m := range all {
		if !j.wasConsumed(m.ID) {
			fresh = append(fresh, m)
		} else if err := j.Discard(m.ID); err != nil {
			return nil, nil, err
		}
	}
	return fresh, bad, nil
}

func (j *Journal) wasConsumed(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.consumed[id]
}

// Consume takes a message: its record is on the disk before its file is removed, so whatever
// happens it is there once. One that was consumed before is fault.Conflict, and has no second
// record. It is for one goroutine at a time.
func (j *Journal) Consume(m Message, at time.Time, turn int) (Record, error) {
	if err := m.valid(); err != nil {
		return Record{}, err
	}
	if j.wasConsumed(m.ID) {
		return Record{}, fault.New(fault.Conflict, "message %s was consumed before", m.ID)
	}
	r, err := j.Append(Record{Time: at, Turn: turn, Type: "inbox_message", Data: m.payload()}, true)
	if err != nil {
		return Record{}, err
	}
	j.mu.Lock()
	j.consumed[m.ID] = true
	j.mu.Unlock()
	return r, j.Discard(m.ID)
}

// payload is that of inbox_message.
func (m Message) payload() []byte {
	b := quote([]byte(`{"id":`), m.ID)
	b = quote(append(b, `,"kind":`...), m.Kind)
	b = quote(append(b, `,"from":`...), m.From)
	b = quote(append(b, `,"sent":`...), m.Sent.UTC().Format(time.RFC3339))
	b = quote(append(b, `,"sig":`...), m.Sig)
	if m.Text != "" {
		b = quote(append(b, `,"text":`...), m.Text)
	}
	if m.Kind == KindAnswer {
		b = quote(append(b, `,"question":`...), m.Question)
		b = quote(append(b, `,"answer":`...), m.Answer)
	}
	if m.Kind == KindRaise {
		raise, err := json.Marshal(m.Raise)
		if err != nil { // of names and numbers: cannot fail
			panic(err)
		}
		b = append(append(b, `,"raise":`...), raise...)
	}
	return append(b, '}')
}

// Discard removes a file from the inbox: that of a message that was consumed, or of one that
// was refused. One that is not there is no error.
func (j *Journal) Discard(id string) error {
	if !ValidID(id) {
		return malformed("discard message %q: no id", words.Brief(id))
	}
	root, err := openSub(j.Dir(), inboxDir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(id + messageExt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Failed, "remove message %s: %w", id, err)
	}
	return nil
}

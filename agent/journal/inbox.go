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
	MaxMessage  = 256 << 10 // bytes of one message
	maxRaise    = 1 << 53   // of a number in a message
	messageExt  = ".json"
)

// The kinds of messages.
const (
	KindMessage = "message" // for the model
	KindCancel  = "cancel"  // end after the current step
	KindRaise   = "raise"   // raise a limit
	KindAnswer  = "answer"  // to a question
)

// Message is one message to a thread, as its sender signed it.
type Message struct {
	ID       string           // by NewID, so that messages are in the order of their times
	Thread   string           // the receiver's id
	From     string           // the signer; see Check
	Kind     string           // one of the above
	Sent     time.Time        // to the second, UTC
	Text     string           // the text of a message, or the reason of the other kinds
	Question string           // of an answer: the question's id
	Answer   string           // of an answer: yes or no
	Raise    map[string]int64 // of raise: the amount to add, by limit
	Sig      string           // over Signed, in a form that Check knows; never empty
}

// Check verifies that m.From made m.Sig over signed, and may send such a message. Its error refuses
// the message.
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

// ParseMessage reads a file. It refuses (fault.Malformed) any file that Encode would write
// differently by a byte. It does not check the signature.
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

// valid refuses a message that no file may hold.
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

// Put puts a signed message into the inbox of the thread in dir. The message is on the disk when
// Put returns, and never stored in part. A full inbox or a message that is too large is
// fault.Limit; an id that waits already is fault.Conflict. Processes that put at the same moment
// may exceed MaxMessages by their own number.
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

// messageNames returns the ids of the waiting messages, sorted, and skips other files.
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

// Refused is a file in an inbox that is no valid message for the thread, and the reason.
type Refused struct {
	ID  string
	Err error
}

// List returns the messages in the inbox of the thread in dir, sorted by id, including consumed
// ones that are not removed yet. It also returns the refused files: files that are no message, that
// are for another thread, or that check refuses. It reads at most MaxMessages files.
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

// Inbox returns the messages that the thread has not consumed, sorted by id, and the refused files,
// which stay until Discard. It removes messages that were consumed before a crash.
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

// Consume takes a message. It syncs the record before it removes the file, so that a crash neither
// loses nor repeats the message. A message that was consumed before is fault.Conflict and gets no
// second record. Only one goroutine at a time may call Consume.
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

// payload returns the payload of an inbox_message record.
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
		if err != nil { // names and numbers always encode
			panic(err)
		}
		b = append(append(b, `,"raise":`...), raise...)
	}
	return append(b, '}')
}

// Discard removes a consumed or refused message's file from the inbox. A missing file is no error.
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

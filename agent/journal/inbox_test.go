package journal_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

var sender = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// checkSender takes what sender signed.
func checkSender(m journal.Message, signed []byte) error {
	sig, err := base64.StdEncoding.DecodeString(m.Sig)
	if err != nil || !ed25519.Verify(sender.Public().(ed25519.PublicKey), signed, sig) {
		return fault.New(fault.Untrusted, "message %s: not signed by %s", m.ID, m.From)
	}
	return nil
}

func message(n int, text string) journal.Message {
	m := journal.Message{ID: journal.NewID(at(n), [10]byte{byte(n)}), Thread: thread, From: "ann", Kind: journal.KindMessage, Sent: at(n).Truncate(time.Second), Text: text}
	return sign(m)
}

func sign(m journal.Message) journal.Message {
	m.Sig = base64.StdEncoding.EncodeToString(ed25519.Sign(sender, m.Signed()))
	return m
}

func TestInbox(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	raise := sign(journal.Message{ID: journal.NewID(at(3), [10]byte{}), Thread: thread, From: "ann", Kind: journal.KindRaise, Sent: at(0).Truncate(time.Second), Raise: map[string]int64{"spend": 5_000_000, "turns": 3}})
	must(t, journal.Put(dir, raise))
	must(t, journal.Put(dir, message(2, "two")))
	must(t, journal.Put(dir, message(1, "one \x01\u2028\"<")))
	if err := journal.Put(dir, message(1, "again")); !fault.Is(err, fault.Conflict) {
		t.Errorf("an id twice: %v", err)
	}
	got, bad, err := j.Inbox(checkSender)
	must(t, err)
	if len(got) != 3 || len(bad) != 0 || got[0].Text != "one \x01\u2028\"<" || got[2].Raise["spend"] != 5_000_000 {
		t.Fatalf("%+v, refused %v", got, bad)
	}
	for i, m := range got {
		r, err := j.Consume(m, at(9), 2)
		must(t, err)
		same(t, "record", r.Seq, i+1)
		if _, err := j.Consume(m, at(9), 2); !fault.Is(err, fault.Conflict) {
			t.Errorf("a second time: %v", err)
		}
	}
	got, _, _ = j.Inbox(checkSender)
	same(t, "left", len(got)+len(names(t, dir+"/inbox")), 0)

	// It died before the file was removed; or somebody put it there again.
	must(t, journal.Put(dir, message(1, "one")))
	must(t, j.Close())
	j = reopen(t, l, journal.Options{})
	if _, err := j.Consume(message(1, "one"), at(9), 2); !fault.Is(err, fault.Conflict) {
		t.Errorf("after a crash: %v", err)
	}
	got, bad, err = j.Inbox(checkSender)
	same(t, "after a crash", fmt.Sprint(got, bad, err, names(t, dir+"/inbox")), "[] [] <nil> []")
	same(t, "records", j.Chain().Seq, 3)
}

// TestInboxRefuses: what is no message of a known sender to this thread is named, and in
// nobody's way.
func TestInboxRefuses(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	write := func(name string, raw []byte) {
		must(t, os.WriteFile(filepath.Join(dir, "inbox", name), raw, 0o600))
	}
	id := func(n int) string { return journal.NewID(at(n), [10]byte{}) }
	write(id(1)+".json", []byte("{}"))
	write(id(2)+".json", message(9, "another's name").Encode())
	forged := message(3, "forged")
	forged.Text = "changed"
	forged.ID = id(3)
	write(id(3)+".json", forged.Encode())
	other := message(4, "x")
	other.ID, other.Thread = id(4), "01kdyak348041061050r3gg28b"
	write(id(4)+".json", sign(other).Encode())
	write(id(5)+".json", bytes.Repeat([]byte("x"), journal.MaxMessage+1))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "inbox", id(6)+".json")))
	write("notes.json", nil)
	write(".rye-tmp-x", nil)
	must(t, journal.Put(dir, message(7, "good")))
	got, bad, err := j.Inbox(checkSender)
	must(t, err)
	if len(got) != 1 || got[0].Text != "good" || len(bad) != 6 {
		t.Fatalf("%+v, refused %v", got, bad)
	}
	if !fault.Is(bad[2].Err, fault.Untrusted) {
		t.Errorf("a forged one: %v", bad[2].Err)
	}
	for _, b := range bad {
		must(t, j.Discard(b.ID))
	}
	same(t, "left", names(t, dir+"/inbox"), []string{".rye-tmp-x", message(7, "").ID + ".json", "notes.json"})
	if err := j.Discard("../journal"); !fault.Is(err, fault.Malformed) {
		t.Errorf("a name for an id: %v", err)
	}
}

func TestPutRefuses(t *testing.T) {
	dir := newDir(t)
	for name, change := range map[string]func(m *journal.Message){
		"no id":                   func(m *journal.Message) { m.ID = "x" },
		"another thread":          func(m *journal.Message) { m.Thread = "01kdyak348041061050r3gg28b" },
		"no sender":               func(m *journal.Message) { m.From = "" },
		"no signature":            func(m *journal.Message) { m.Sig = "" },
		"a kind that is none":     func(m *journal.Message) { m.Kind = "order" },
		"no text":                 func(m *journal.Message) { m.Text = "" },
		"no UTF-8":                func(m *journal.Message) { m.Text = "\xff" },
		"a part of a second":      func(m *journal.Message) { m.Sent = start },
		"an answer to nothing":    func(m *journal.Message) { m.Kind, m.Answer = journal.KindAnswer, "yes" },
		"an answer that is none":  func(m *journal.Message) { m.Kind, m.Question, m.Answer = journal.KindAnswer, m.ID, "maybe" },
		"a message with answer":   func(m *journal.Message) { m.Answer = "yes" },
		"a raise of nothing":      func(m *journal.Message) { m.Kind = journal.KindRaise },
		"a raise by less":         func(m *journal.Message) { m.Kind, m.Raise = journal.KindRaise, map[string]int64{"turns": -1} },
		"a raise of what is none": func(m *journal.Message) { m.Kind, m.Raise = journal.KindRaise, map[string]int64{"../x": 1} },
	} {
		m := message(1, "x")
		change(&m)
		if err := journal.Put(dir, m); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := journal.Put(dir, message(1, strings.Repeat("x", journal.MaxMessage))); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v", err)
	}
	same(t, "inbox", len(names(t, dir+"/inbox")), 0)
	for i := range journal.MaxMessages {
		must(t, os.WriteFile(filepath.Join(dir, "inbox", journal.NewID(at(i), [10]byte{})+".json"), nil, 0o600))
	}
	if err := journal.Put(dir, message(1, "x")); !fault.Is(err, fault.Limit) || fault.HintOf(err).IsZero() {
		t.Errorf("a full inbox: %v", err)
	}
}

// TestWatch: the thread is woken when something arrives.
func TestWatch(t *testing.T) {
	dir := newDir(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := journal.Watch(ctx, dir)
	must(t, err)
	<-c // at once
	for i := range 20 {
		must(t, journal.Put(dir, message(i, "x")))
		for <-c; ; <-c {
			all, _, err := journal.List(dir, checkSender)
			must(t, err)
			if len(all) == i+1 {
				break
			}
		}
	}
	cancel()
	for range c {
	}
	refuse := errors.New("no")
	_, bad, err := journal.List(dir, func(journal.Message, []byte) error { return refuse })
	if err != nil || len(bad) != 20 || !errors.Is(bad[0].Err, refuse) {
		t.Errorf("%d refused, %v", len(bad), err)
	}
}

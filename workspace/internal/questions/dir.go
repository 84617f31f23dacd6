// Package questions keeps what a person is asked until it is answered: one record for each
// question, beside the record of its project, whatever the way by which it is asked.
// Package question describes a record.
package questions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/question"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// Bounds of one directory. A caller that asks too much makes room by removing its own
// questions, so that it does not block others.
const (
	maxOpen    = 32   // questions of one caller
	maxUsed    = 256  // used ones, until they expire
	maxRecords = 1024 // records to read
)

// The names of a question's files, after its id.
const (
	questionFile = ".json"
	answerFile   = ".answer" // made once, by the first answer
	usedFile     = ".used"   // made once, by the agreed action
)

// dir is a directory of questions.
type dir string

// entry is one question in a directory.
type entry struct {
	question.Question
	in     dir
	answer *question.Answer // nil while there is none
	used   bool
}

// all returns the questions of a directory in the order of asking. It skips unreadable files.
func (d dir) all() (list []entry, err error) {
	names, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = place.Owned(string(d))
	}
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		id, ok := strings.CutSuffix(n.Name(), questionFile)
		if !ok || !question.ValidID(id) || len(list) == maxRecords {
			continue
		}
		e, err := d.entry(id)
		if err == nil {
			list = append(list, e)
		} else if fault.Is(err, fault.Auth) {
			return nil, err // another user's file
		}
	}
	return list, nil
}

// entry reads one question.
func (d dir) entry(id string) (entry, error) {
	e := entry{in: d}
	raw, err := d.read(id+questionFile, question.MaxFile)
	if err != nil {
		return e, err
	}
	if e.Question, err = question.Parse(raw); err != nil {
		return e, err
	}
	if e.ID != id {
		return e, fault.New(fault.Malformed, "question %s has another id in its file, %s", id, e.ID)
	}
	_, err = os.Lstat(e.path(usedFile))
	e.used = err == nil
	e.answer, err = e.answered()
	return e, err
}

// answered reads the answer to a question; nil when there is none. An unreadable answer, and
// one to another question, is a no.
func (e entry) answered() (*question.Answer, error) {
	raw, err := e.in.read(e.ID+answerFile, question.MaxAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := question.ParseAnswer(raw)
	if err != nil || a.Digest != e.Digest() {
		return &question.Answer{Digest: e.Digest()}, nil
	}
	return &a, nil
}

// read reads a file that no one but the user can have written.
func (d dir) read(name string, most int64) ([]byte, error) {
	path := filepath.Join(string(d), name)
	if _, err := os.Lstat(path); err != nil {
		return nil, err
	}
	if err := place.Trusted(path); err != nil {
		return nil, err
	}
	return place.Read(path, most)
}

func (e entry) path(file string) string { return filepath.Join(string(e.in), e.ID+file) }

// write writes the record, which only the user can read: parameters may be secret.
func (e entry) write() error { return place.File(e.path(questionFile), e.Encode(), 0o600) }

// reply answers a question, once: fault.Conflict when it was answered before.
func (e entry) reply(yes bool, now time.Time) error {
	err := once(e.path(answerFile), question.Answer{Yes: yes, At: now, Digest: e.Digest()}.Encode())
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Conflict, "question %s was answered already", e.ID)
	}
	return err
}

// use marks the answer to a question as used. A question that was removed since has no answer:
// the mark may have been removed with it.
func (e entry) use() error {
	err := once(e.path(usedFile), nil)
	if err == nil {
		_, err = os.Lstat(e.path(questionFile))
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Denied, "the answer to question %s is already used: it is valid once", e.ID).Advise("ask again")
	}
	return err
}

// once makes a file that does not exist yet.
func once(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// remove removes a question. The record goes first: without it the other files mean nothing.
func (e entry) remove() {
	for _, file := range []string{questionFile, answerFile, usedFile} {
		_ = os.Remove(e.path(file)) // remaining files expire
	}
}

// sweep removes answers without a question: it was withdrawn during the answer.
func (d dir) sweep() {
	for _, file := range []string{answerFile, usedFile} {
		left, _ := filepath.Glob(filepath.Join(string(d), "*"+file)) // remaining files mean nothing
		for _, path := range left {
			if _, err := os.Lstat(strings.TrimSuffix(path, file) + questionFile); errors.Is(err, fs.ErrNotExist) {
				_ = os.Remove(path)
			}
		}
	}
}

// over reports whether a question can have no effect any more.
func (e entry) over(now time.Time) bool { return e.used || !e.OpenAt(now) }

// makeRoom removes expired questions, the oldest used ones, and the oldest of a caller with too
// many. A question that was just used stays: other processes may have read its answer, and
// have to find the mark.
func makeRoom(all []entry, caller string, now time.Time) {
	var own, used []entry
	for _, e := range all {
		switch {
		case !e.OpenAt(now):
			e.remove()
		case e.used:
			used = append(used, e)
		case sameAsker(e.Caller, caller):
			own = append(own, e)
		}
	}
	for _, e := range used[:max(0, len(used)-maxUsed)] {
		e.remove()
	}
	for _, e := range own[:max(0, len(own)-maxOpen+1)] {
		e.remove()
	}
}

// sameAsker reports whether two callers share their room. The tools of a thread ask under their
// own names, and share their thread's room.
func sameAsker(a, b string) bool {
	a, _, _ = strings.Cut(a, "/")
	b, _, _ = strings.Cut(b, "/")
	return a == b
}

// open returns the questions that can still be answered, or have an unused answer.
func open(all []entry, now time.Time) []entry {
	return slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.over(now) })
}

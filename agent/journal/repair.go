package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

const badName = "journal.bad-"

// recover reads the journal, cuts off a torn tail or accepted damage, and records the cut. It can
// be interrupted anywhere and repeated: it stores the bytes before it cuts them off, and the next
// call records a stored file that no record names.
func (j *Journal) recover(ctx context.Context, o Options) error {
	var last Record
	named := map[string]bool{}
	chain, tail, err := scan(ctx, j.Dir(), j.file, func(r Record) error {
		if err := j.note(r, named); err != nil {
			return err
		}
		last = r
		if o.Visit != nil {
			return o.Visit(r)
		}
		return nil
	})
	var d *Damage
	why := "torn"
	if errors.As(err, &d) && o.Accept {
		tail, why, err = Tail{d.Offset, d.Bytes}, "damage", nil
	}
	if err != nil {
		return err
	}
	newest := ""
	if tail.Bytes > 0 {
		if newest, err = j.cut(tail); err != nil {
			return fault.Wrap(err, "cut off the torn end of the journal in %s", j.Dir())
		}
	}
	j.chain = chain
	st, err := j.file.Stat()
	if err != nil {
		return err
	}
	j.size = st.Size() // the offset that a record of the cut names
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	add := func(r Record) error {
		r.Time, r.Turn = now(), last.Turn
		r, err := j.Append(r, true)
		if err == nil && o.Visit != nil {
			err = o.Visit(r)
		}
		return err
	}
	if err := j.tell(named, newest, why, add); err != nil {
		return err
	}
	for _, name := range []string{inboxDir, artifactsDir} {
		if sub, err := openSub(j.Dir(), name); err == nil {
			tidy(sub, now())
			sub.Close()
		}
	}
	tidy(j.root, now())
	j.live.open(j.root, j.chain.Thread, j.chain.Seq)
	return j.sync(j.chain.Seq) // makes records durable that an earlier process did not sync
}

// note remembers the details of a record that opening needs.
func (j *Journal) note(r Record, named map[string]bool) error {
	var p struct{ ID, File string }
	switch {
	case !typeOf(r.Type).known:
		return fault.New(fault.Malformed, "record %d in %s is of the type %s, which this rye does not know", r.Seq, j.Dir(), r.Type).Advise("install a newer rye")
	case r.Type != "inbox_message" && r.Type != "journal_repaired":
		return nil
	}
	if err := json.Unmarshal(r.Data, &p); err != nil {
		return fault.New(fault.Malformed, "record %d in %s: %w", r.Seq, j.Dir(), err)
	}
	if r.Type == "inbox_message" {
		j.consumed[p.ID] = true
	} else {
		named[p.File] = true
	}
	return nil
}

// cut stores the tail in its own file, and then cuts it off.
func (j *Journal) cut(t Tail) (name string, err error) {
	names, err := j.badFiles()
	if err != nil {
		return "", err
	}
	n := 1
	if len(names) > 0 {
		newest := names[len(names)-1]
		same, err := j.isTail(newest, t)
		if err != nil {
			return "", err
		}
		if n = badNumber(newest) + 1; same { // an interrupted call had stored it already
			n--
		}
	}
	name = badName + strconv.Itoa(n)
	if err := j.keep(name, t); err != nil {
		return "", err
	}
	if err := j.truncate(t.Offset); err != nil {
		return "", err
	}
	return name, j.file.Sync()
}

// keep copies the tail into a file, durably.
func (j *Journal) keep(name string, t Tail) error {
	tmp := tempName + rand.Text()
	f, err := j.root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.NewSectionReader(j.file, t.Offset, t.Bytes))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = j.root.Rename(tmp, name)
	}
	if err != nil {
		j.root.Remove(tmp)
		return err
	}
	return syncRoot(j.root)
}

// isTail reports whether a kept file holds exactly the bytes of the tail.
func (j *Journal) isTail(name string, t Tail) (bool, error) {
	kept, err := j.digestOf(name)
	if err != nil {
		return false, err
	}
	h := sha256.New()
	_, err = io.Copy(h, io.NewSectionReader(j.file, t.Offset, t.Bytes))
	return err == nil && bytes.Equal(kept.sum, h.Sum(nil)), err
}

type keptFile struct {
	bytes int64
	sum   []byte
	lines bool // false for a torn tail
}

func (j *Journal) digestOf(name string) (k keptFile, err error) {
	f, err := openPlain(j.root, name, os.O_RDONLY)
	if err != nil {
		return k, err
	}
	defer f.Close()
	h, l := sha256.New(), &newlines{}
	if k.bytes, err = io.Copy(io.MultiWriter(h, l), f); err != nil {
		return k, err
	}
	k.sum, k.lines = h.Sum(nil), l.found
	return k, nil
}

// newlines records whether the written bytes have a newline.
type newlines struct{ found bool }

func (l *newlines) Write(b []byte) (int, error) {
	l.found = l.found || bytes.IndexByte(b, '\n') >= 0
	return len(b), nil
}

// tell appends a record for each kept file that no record names. It knows why the newest was cut if
// this call cut it. Any other file with a newline was damage, and without one a torn tail.
func (j *Journal) tell(named map[string]bool, newest, why string, add func(Record) error) error {
	names, err := j.badFiles()
	if err != nil || j.chain.Ended {
		return err
	}
	for _, name := range names {
		if named[name] {
			continue
		}
		k, err := j.digestOf(name)
		if err != nil {
			return err
		}
		because := why
		if name != newest {
			if because = "torn"; k.lines {
				because = "damage"
			}
		}
		data := fmt.Appendf(nil, `{"file":"%s","offset":%d,"bytes":%d,"sha256":"%x","why":"%s"}`, name, j.size, k.bytes, k.sum, because)
		if err := add(Record{Type: "journal_repaired", Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// badFiles returns the names of the kept files, oldest first.
func (j *Journal) badFiles() ([]string, error) {
	d, err := j.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(name string) bool { return badNumber(name) == 0 })
	slices.SortFunc(all, func(a, b string) int { return badNumber(a) - badNumber(b) })
	return all, nil
}

// badNumber returns the number in the name of a kept file, and 0 for any other name.
func badNumber(name string) int {
	digits, ok := strings.CutPrefix(name, badName)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || n > 1e6 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

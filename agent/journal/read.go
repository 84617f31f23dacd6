package journal

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
)

// Damage is the error of Open, Read and Follow for a journal whose records do not fit together:
// another program wrote into it, or the disk lost a part.
type Damage struct {
	Dir    string
	Offset int64 // valid bytes at the start of journal.jsonl
	Bytes  int64 // the bytes after them
	Last   Chain // after the last good line
	Why    string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("the journal in %s is damaged after record %d, at byte %d: %s", d.Dir, d.Last.Seq, d.Offset, d.Why)
}

func (d *Damage) fault() error {
	return fault.New(fault.Integrity, "%w", d).
		Advise("the records before it can be read; to resume without the %d bytes after it, a person passes --accept-damage", d.Bytes)
}

// Tail is the bytes after the last whole line of a journal. The zero value means none.
type Tail struct {
	Offset int64
	Bytes  int64
}

// Read verifies the journal of a thread and calls visit with each record in order; visit may keep
// the record. Read needs no lease and changes nothing. It returns a torn tail, which may be a line
// that is being written. Damage is a *Damage, fault.Integrity; the records before it were visited.
// Memory is bounded by the longest record. The Chain is the position after the last record.
func Read(ctx context.Context, dir string, visit func(Record) error) (Chain, Tail, error) {
	root, err := openDir(dir)
	if err != nil {
		return Chain{}, Tail{}, err
	}
	defer root.Close()
	f, err := openPlain(root, journalFile, os.O_RDONLY)
	if err != nil {
		return Chain{}, Tail{}, err
	}
	defer f.Close()
	return scan(ctx, dir, f, visit)
}

// Place is a position between two lines of a journal: the chain of the lines before it, and the
// offset of the next line. The zero Place is the beginning.
type Place struct {
	Chain
	Offset int64 // bytes of journal.jsonl
}

// ReadFrom is Read from the place where an earlier reading ended, and returns the place where it
// ends. It does not read the earlier lines again. If they changed, the sum of the first new line
// does not match. visit also gets the place after each record.
func ReadFrom(ctx context.Context, dir string, at Place, visit func(Record, Place) error) (Place, error) {
	root, err := openDir(dir)
	if err != nil {
		return at, err
	}
	defer root.Close()
	f, err := openPlain(root, journalFile, os.O_RDONLY)
	if err != nil {
		return at, err
	}
	defer f.Close()
	if at.Thread == "" {
		at.Thread = filepath.Base(dir)
	}
	if st, err := f.Stat(); err != nil || st.Size() < at.Offset {
		return at, damaged(dir, f, at.Chain, at.Offset, "records that this process read before are gone")
	}
	_, err = scanFrom(ctx, dir, f, &at, func(r Record) error { return visit(r, at) })
	return at, err
}

// Last returns the last whole record of a journal without reading the records before it. The record
// is not verified, and serves for a first look. Without a record, Last returns the zero Record.
func Last(dir string) (Record, error) {
	root, err := openDir(dir)
	if err != nil {
		return Record{}, err
	}
	defer root.Close()
	f, err := openPlain(root, journalFile, os.O_RDONLY)
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Record{}, err
	}
	end := make([]byte, min(st.Size(), 2*MaxLine)) // room for a torn line and the whole line before it
	n, err := f.ReadAt(end, st.Size()-int64(len(end)))
	if err != nil && !errors.Is(err, io.EOF) {
		return Record{}, err
	}
	end = end[:bytes.LastIndexByte(end[:n], '\n')+1]
	if len(end) == 0 {
		return Record{}, nil
	}
	line := end[bytes.LastIndexByte(end[:len(end)-1], '\n')+1 : len(end)-1]
	body, _, err := cutSum(line)
	if err != nil {
		return Record{}, fault.New(fault.Integrity, "the last line of the journal in %s: %w", dir, err)
	}
	return parseHead("seq", body)
}

// scan verifies a journal from its first line.
func scan(ctx context.Context, dir string, f *os.File, visit func(Record) error) (Chain, Tail, error) {
	at := Place{Chain: Chain{Thread: filepath.Base(dir)}}
	t, err := scanFrom(ctx, dir, f, &at, visit)
	return at.Chain, t, err
}

// scanFrom verifies a journal from at on. It moves at behind each record before it visits the
// record.
func scanFrom(ctx context.Context, dir string, f *os.File, at *Place, visit func(Record) error) (t Tail, err error) {
	l := &lines{f: f, at: at.Offset, most: MaxLine}
	for {
		if err := ctx.Err(); err != nil {
			return t, context.Cause(ctx)
		}
		line, err := l.next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errTooLong):
			_, t, err = endOf(dir, f, at.Chain, at.Offset)
			return t, err
		case err != nil:
			return t, fault.New(fault.Failed, "read the journal in %s: %w", dir, err)
		}
		r, err := at.Next(line)
		if err != nil {
			return t, damaged(dir, f, at.Chain, at.Offset, err.Error())
		}
		at.Offset = l.at
		if visit != nil {
			if err := visit(r); err != nil {
				return t, err
			}
		}
	}
}

// endOf examines the bytes after the last whole line. A crash leaves the beginning of a line, zero
// bytes, or both. Anything else is damage.
func endOf(dir string, f *os.File, c Chain, offset int64) (Chain, Tail, error) {
	st, err := f.Stat()
	if err != nil {
		return c, Tail{}, fault.New(fault.Failed, "read the journal in %s: %w", dir, err)
	}
	t := Tail{offset, st.Size() - offset}
	if t.Bytes <= 0 {
		return c, Tail{}, nil
	}
	head := make([]byte, min(t.Bytes, MaxLine))
	n, err := f.ReadAt(head, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return c, t, fault.New(fault.Failed, "read the journal in %s: %w", dir, err)
	}
	head = head[:n]
	begun := len(head)
	for begun > 0 && head[begun-1] == 0 {
		begun--
	}
	if t.Bytes > int64(n) { // too long for a partial line, so only zeros may follow
		zeros, err := zeroFrom(f, offset+int64(begun))
		if err != nil {
			return c, t, fault.New(fault.Failed, "read the journal in %s: %w", dir, err)
		}
		if begun == len(head) || !zeros {
			return c, t, damaged(dir, f, c, offset, "a line that never ends")
		}
	}
	next := c
	if begun > 0 && head[begun-1] != '\n' { // a newline means that the line was completed meanwhile
		if _, err := next.Next(head[:begun-1]); err == nil && head[begun-1] != '}' {
			return c, t, damaged(dir, f, c, offset, "its last record does not end in a newline")
		}
	}
	return c, t, nil
}

// zeroFrom reports whether a file has only zero bytes from an offset on.
func zeroFrom(f *os.File, at int64) (bool, error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.ReadAt(buf, at)
		for _, b := range buf[:n] {
			if b != 0 {
				return false, nil
			}
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

func damaged(dir string, f *os.File, c Chain, offset int64, why string) error {
	d := &Damage{Dir: dir, Offset: offset, Last: c, Why: why}
	if st, err := f.Stat(); err == nil {
		d.Bytes = st.Size() - offset
	}
	return d.fault()
}

func hexOf(sum []byte) string { return hex.EncodeToString(sum) }

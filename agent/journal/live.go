package journal

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/rye-os/rye/fault"
)

// Bounds of the droppable records.
const (
	MaxLiveLine = 64 << 10 // bytes; a longer one is dropped
	MaxLive     = 64 << 20 // bytes of live.jsonl; a full file is replaced by an empty one
)

const liveFileName = "live.jsonl"

// liveFile is the file of droppable records, open for writing; f is nil when it could not be
// opened.
type liveFile struct {
	root   *os.Root
	f      *os.File
	thread string
	size   int64
	broken bool // it ends within a line
}

// open opens the file after a journal whose last record has the number last. If the file has lines
// that came after lost records, it starts an empty one.
func (l *liveFile) open(root *os.Root, thread string, last int64) {
	l.root, l.thread = root, thread
	f, err := openPlain(root, liveFileName, os.O_RDWR|os.O_APPEND)
	if err != nil {
		l.begin()
		return
	}
	after, whole, size := lastLine(f)
	l.f, l.size, l.broken = f, size, !whole
	if after > last {
		l.begin()
	}
}

// begin starts an empty file. Readers of the old file can still read it to its end.
func (l *liveFile) begin() {
	l.close()
	if err := l.root.Remove(liveFileName); err != nil && !errors.Is(err, os.ErrNotExist) {
		return
	}
	f, err := l.root.OpenFile(liveFileName, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err == nil {
		l.f, l.size, l.broken = f, 0, false
	}
}

func (l *liveFile) close() {
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// lastLine returns the number in the last valid line, and whether the file ends with a whole line.
func lastLine(f *os.File) (after int64, whole bool, size int64) {
	st, err := f.Stat()
	if err != nil {
		return 0, false, 0
	}
	size = st.Size()
	l := &lines{f: f, at: max(0, size-2*MaxLiveLine), most: 2*MaxLiveLine + 1}
	for {
		line, err := l.next()
		if err != nil {
			return after, l.at == size, size
		}
		if r, err := parseLive(line); err == nil {
			after = r.Seq
		}
	}
}

// parseLive reads a line of live.jsonl, without its newline.
func parseLive(line []byte) (Record, error) {
	if len(line) >= MaxLiveLine || len(line) == 0 || line[len(line)-1] != '}' {
		return Record{}, malformed("not a line of %s", liveFileName)
	}
	r, err := parseHead("after", line[:len(line)-1])
	r.Data = slices.Clone(r.Data) // line is valid only until the next one is read
	if err == nil && !typeOf(r.Type).live {
		err = malformed("a record of type %s in %s", r.Type, liveFileName)
	}
	r.Live = true
	return r, err
}

// Live writes a droppable record, of which it takes Time, Turn, Type and Data. It never syncs. It
// drops a record that it cannot write, because the thread must go on without it.
func (j *Journal) Live(r Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.chain.Ended || j.live.root == nil {
		return
	}
	r.Seq, r.Thread, r.Live = j.chain.Seq, j.chain.Thread, true
	k := typeOf(r.Type)
	all, err := members(r.Data)
	if !k.live || err != nil || k.check(r.Type, all) != nil {
		return
	}
	if line, err := r.Line(); err == nil && len(line) <= MaxLiveLine {
		j.live.write(line)
	}
}

func (l *liveFile) write(line []byte) {
	if l.f == nil || l.size+int64(len(line)) > MaxLive {
		if l.begin(); l.f == nil {
			return
		}
	}
	if l.broken {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.f.Write(line)
	l.size += int64(n)
	l.broken = l.broken && n == 0 || err != nil && n > 0
}

// liveLines reads the file of droppable records while another process writes it. It switches to the
// new file when the writer starts one.
type liveLines struct {
	root *os.Root
	f    *os.File
	l    lines
	skip bool // inside a line that is too long
}

// next returns the next valid record; io.EOF when there is none now.
func (v *liveLines) next() (Record, error) {
	for {
		if v.f == nil && !v.open() {
			return Record{}, io.EOF
		}
		r, err := v.one()
		if !errors.Is(err, io.EOF) || !v.replaced() {
			return r, err
		}
		if r, err = v.one(); !errors.Is(err, io.EOF) { // lines written just before the replacement
			return r, err
		}
		v.close()
	}
}

func (v *liveLines) one() (Record, error) {
	for {
		if v.skip {
			found, err := v.l.skip()
			if err != nil || !found {
				return Record{}, errors.Join(err, io.EOF)
			}
			v.skip = false
		}
		line, err := v.l.next()
		switch {
		case errors.Is(err, errTooLong):
			v.skip = true
			continue
		case errors.Is(err, io.EOF):
			return Record{}, io.EOF
		case err != nil:
			return Record{}, fault.New(fault.Failed, "read %s in %s: %w", liveFileName, v.root.Name(), err)
		}
		if r, err := parseLive(line); err == nil {
			return r, nil
		}
	}
}

func (v *liveLines) open() bool {
	f, err := openPlain(v.root, liveFileName, os.O_RDONLY)
	if err != nil {
		return false
	}
	v.f, v.l, v.skip = f, lines{f: f, most: MaxLiveLine}, false
	return true
}

// replaced reports whether another file has the name now.
func (v *liveLines) replaced() bool {
	is, err := v.root.Lstat(liveFileName)
	if err != nil {
		return false // the writer is about to make the new file
	}
	st, err := v.f.Stat()
	return err == nil && !os.SameFile(st, is)
}

func (v *liveLines) close() {
	if v.f != nil {
		v.f.Close()
		v.f = nil
	}
}

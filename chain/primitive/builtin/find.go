package builtin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/secrets"
)

// Bounds of answers. The hundreds are RYE OS's.
const (
	maxHits      = 100
	maxListed    = 1000
	maxHitChars  = 500     // of a matching line
	maxGrepBytes = 2 << 30 // read in one search
	maxRegexp    = 1000    // bytes
)

func notFound(path string) error {
	return fault.New(fault.NotFound, "%s: there is no such file or directory", path)
}

type globParams struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

type globAnswer struct {
	Success   bool     `json:"success"`
	Files     []string `json:"files"` // paths below the project, sorted
	Count     int      `json:"count"`
	Truncated bool     `json:"truncated"`
	Stopped   string   `json:"stopped,omitempty"` // why the search is incomplete
}

// glob finds files by a pattern.
func glob(ctx context.Context, in Input) (any, error) {
	var q globParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	pat, err := parsePattern(q.Pattern)
	if err != nil {
		return nil, err
	}
	t, p, err := lookAt(in, q.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if !p.info.IsDir() {
		return nil, fault.New(fault.Usage, "%s: it is a file, not a directory", q.Path)
	}
	a := &globAnswer{Success: true, Files: []string{}}
	w := newWalker(ctx, t)
	w.enter = func(rel string) bool {
		return pat.mayHold(rel) && (!skip(rel) || pat.names(path.Base(rel)))
	}
	w.file = func(_ *os.Root, _, rel string, _ fs.FileMode) bool {
		if !pat.match(rel) {
			return true
		}
		if len(a.Files) == maxHits {
			a.Truncated = true
			return false
		}
		a.Files = append(a.Files, join(p.rel, rel))
		return true
	}
	w.dir(p.dir, p.rel, "", 0)
	a.Count, a.Stopped = len(a.Files), w.stopped
	a.Truncated = a.Truncated || w.stopped != ""
	return a, nil
}

type grepParams struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Include string `json:"include"`
}

type grepAnswer struct {
	Success   bool   `json:"success"`
	Matches   []hit  `json:"matches"`
	Count     int    `json:"count"`
	Searched  int    `json:"files_searched"`
	Binary    int    `json:"binary_files_skipped,omitempty"`
	Secret    int    `json:"secret_files_skipped,omitempty"` // named like secret files, and not given by path
	Truncated bool   `json:"truncated"`
	Stopped   string `json:"stopped,omitempty"`
}

type hit struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Column int    `json:"column"` // of the match, in characters from 1
	Text   string `json:"text"`
}

// search is one run of grep.
type search struct {
	re     *regexp.Regexp
	only   *pattern // include; nil is every file
	base   bool     // include matches names and not paths
	answer *grepAnswer
	walk   *walker
	bytes  int64
	buf    []byte
	r      *bufio.Reader
}

// grep finds lines by a regular expression in RE2's syntax. Its time is linear in the text for
// every expression.
func grep(ctx context.Context, in Input) (any, error) {
	var q grepParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	if q.Pattern == "" || len(q.Pattern) > maxRegexp {
		return nil, fault.New(fault.Usage, "parameters: pattern has %d bytes, want 1 to %d", len(q.Pattern), maxRegexp)
	}
	s := &search{answer: &grepAnswer{Success: true, Matches: []hit{}}, base: !strings.Contains(q.Include, "/")}
	var err error
	if s.re, err = regexp.Compile(q.Pattern); err != nil {
		return nil, fault.New(fault.Usage, "parameters: pattern: %w", err).Advise("the syntax is RE2's: github.com/google/re2/wiki/Syntax")
	}
	if q.Include != "" {
		if s.only, err = parsePattern(q.Include); err != nil {
			return nil, err
		}
	}
	t, p, err := lookAt(in, q.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	s.walk = newWalker(ctx, t)
	s.walk.enter = func(rel string) bool { return !skip(rel) }
	if p.info.IsDir() {
		s.walk.file = func(d *os.Root, name, rel string, m fs.FileMode) bool {
			if secrets.Named(rel) {
				s.answer.Secret++
				return true
			}
			return s.file(d, name, rel, join(p.rel, rel), m)
		}
		s.walk.dir(p.dir, p.rel, "", 0)
	} else {
		if err := regular(q.Path, p.info); err != nil {
			return nil, err
		}
		s.only = nil
		s.file(p.dir, p.name, p.rel, p.rel, 0)
	}
	a := s.answer
	a.Count, a.Stopped = len(a.Matches), s.walk.stopped
	a.Truncated = a.Truncated || a.Stopped != ""
	return a, nil
}

// file searches one file; false ends the search.
func (s *search) file(d *os.Root, name, rel, full string, m fs.FileMode) bool {
	if s.only != nil {
		if s.base {
			rel = name
		}
		if !s.only.match(rel) {
			return true
		}
	}
	if !m.IsRegular() {
		return true
	}
	info, err := d.Lstat(name)
	if err != nil {
		return true
	}
	f, _, err := (&place{dir: d, name: name, info: info}).openFile(full)
	if err != nil {
		return true // gone, a link by now, or not readable for us
	}
	defer f.Close()
	if s.r == nil {
		s.r = bufio.NewReaderSize(nil, 64<<10)
	}
	if s.bytes += info.Size(); s.bytes > maxGrepBytes {
		return s.walk.stop("too many bytes")
	}
	s.r.Reset(io.LimitReader(f, maxGrepBytes))
	if head, _ := s.r.Peek(8 << 10); isText(full, head) != nil {
		s.answer.Binary++
		return true
	}
	s.answer.Searched++
	return s.lines(full)
}

func (s *search) lines(full string) bool {
	for number := 1; ; number++ {
		line, err := nextLine(s.r, s.buf[:0])
		if line == nil || err != nil && !errors.Is(err, io.EOF) {
			return true
		}
		s.buf = line
		if number%1024 == 0 && (s.walk.ctx.Err() != nil || time.Now().After(s.walk.until)) {
			return s.walk.stop("out of time")
		}
		at := s.re.FindIndex(line)
		if at == nil {
			continue
		}
		a := s.answer
		if len(a.Matches) == maxHits {
			a.Truncated = true
			return false
		}
		a.Matches = append(a.Matches, hit{full, number, utf8.RuneCount(line[:at[0]]) + 1, around(line, at[0])})
	}
}

// around returns a line, or the part with the match of a long line.
func around(line []byte, at int) string {
	from := 0
	if utf8.RuneCount(line) > maxHitChars && at > maxHitChars/2 {
		from = at - maxHitChars/4
		for from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
	}
	s, _ := clip(line[from:], maxHitChars)
	if from > 0 {
		s = strings.TrimLeft(more(utf8.RuneCount(line[:from])), " ") + " " + s
	}
	return s
}

type lsParams struct {
	Path string `json:"path"`
}

type lsAnswer struct {
	Success   bool    `json:"success"`
	Path      string  `json:"path"`
	Entries   []entry `json:"entries"`
	Count     int     `json:"count"`
	Truncated bool    `json:"truncated"`
}

type entry struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // file, directory, link, pipe, socket, device
	Size     *int64 `json:"size,omitempty"`
	Modified string `json:"modified,omitempty"` // RFC 3339, UTC, seconds
	Exec     bool   `json:"executable,omitempty"`
	Target   string `json:"target,omitempty"` // of a link
}

// list shows the entries of a directory, or one file.
func list(ctx context.Context, in Input) (any, error) {
	var q lsParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	_, p, err := lookAt(in, q.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	a := &lsAnswer{Success: true, Path: p.rel, Entries: []entry{}}
	if !p.info.IsDir() {
		a.Entries, a.Count = append(a.Entries, describe(p.dir, p.name)), 1
		return a, nil
	}
	all, complete, err := readDir(p.dir, maxWide)
	if err != nil {
		return nil, err
	}
	a.Truncated = !complete || len(all) > maxListed
	for _, e := range all[:min(len(all), maxListed)] {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a.Entries = append(a.Entries, describe(p.dir, e.Name()))
	}
	a.Count = len(a.Entries)
	return a, nil
}

func describe(d *os.Root, name string) entry {
	e := entry{Name: strings.ToValidUTF8(name, "\uFFFD"), Type: "unknown"}
	info, err := d.Lstat(name)
	if err != nil {
		return e // gone meanwhile
	}
	e.Type, e.Modified = kind(info.Mode()), info.ModTime().UTC().Format(time.RFC3339)
	switch {
	case info.Mode().IsRegular():
		size := info.Size()
		e.Size, e.Exec = &size, info.Mode()&0o111 != 0
	case e.Type == "link":
		e.Target, _ = d.Readlink(name)
		e.Target = strings.ToValidUTF8(e.Target, "\uFFFD")
	}
	return e
}

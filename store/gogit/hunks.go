package gogit

import (
	"strings"

	fdiff "github.com/go-git/go-git/v5/plumbing/format/diff"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/utils/diff"

	"github.com/rye-os/rye/fault"
)

// hunksOf compares the two sides of a change line by line, in the unified format. If the files
// cannot be compared, the result is one line like the head of a hunk, so that the other files
// are shown.
func hunksOf(c *object.Change) ([]string, error) {
	var texts [2]string
	from, to, err := c.Files()
	for i, f := range [...]*object.File{from, to} {
		binary := false
		if f != nil && err == nil {
			binary, err = f.IsBinary()
		}
		if binary {
			return []string{"@@ not text @@"}, nil
		}
		if f != nil && err == nil {
			texts[i], err = f.Contents()
		}
	}
	switch {
	case fault.Is(err, fault.Limit):
		return []string{"@@ too large to be compared @@"}, nil
	case err != nil:
		return nil, asFault(err, "compare %s", nameOf(c))
	}
	return unified(texts[0], texts[1])
}

func nameOf(c *object.Change) string {
	if c.To.Name == "" {
		return c.From.Name
	}
	return c.To.Name
}

// unified returns the hunks between two texts, with as few lines as possible.
func unified(old, now string) (lines []string, err error) {
	var was, is side
	for _, d := range diff.DoWithTimeout(old, now, 0) { // a timeout would make the result a guess
		for line := range strings.Lines(d.Text) {
			if d.Type <= 0 { // -1 is removed, 0 unchanged, 1 added
				was.add(line, d.Type < 0)
			}
			if d.Type >= 0 {
				is.add(line, d.Type > 0)
			}
		}
	}
	was.slide()
	is.slide()
	var text strings.Builder
	if err := fdiff.NewUnifiedEncoder(&text, fdiff.DefaultContextLines).Encode(patch(chunksOf(was, is))); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@ ") { // after it go-git puts a line that git would not choose
			line = line[:3+strings.Index(line[3:], " @@")+3]
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// side is one of two compared texts: its lines, and which of them the other text lacks.
type side struct {
	lines   []string
	changed []bool
}

func (s *side) add(line string, changed bool) {
	s.lines, s.changed = append(s.lines, line), append(s.changed, changed)
}

// slide moves each run of changed lines down while the text stays the same. For a repeated
// line, either copy may be the added one; git also marks the second.
func (s *side) slide() {
	for i := 0; i < len(s.lines); i++ {
		if !s.changed[i] {
			continue
		}
		first, end := i, s.endOfRun(i)
		for end < len(s.lines) && s.lines[first] == s.lines[end] {
			s.changed[first], s.changed[end] = false, true
			first, end = first+1, s.endOfRun(end)
		}
		i = end
	}
}

func (s *side) endOfRun(i int) int {
	for i < len(s.lines) && s.changed[i] {
		i++
	}
	return i
}

// chunksOf combines two sides into removed, added and unchanged chunks.
func chunksOf(was, is side) (all []fdiff.Chunk) {
	for i, j := 0, 0; i < len(was.lines) || j < len(is.lines); {
		end := was.endOfRun(i)
		all, i = appendChunk(all, fdiff.Delete, was.lines[i:end]), end
		end = is.endOfRun(j)
		all, j = appendChunk(all, fdiff.Add, is.lines[j:end]), end
		n := 0
		for i+n < len(was.lines) && j+n < len(is.lines) && !was.changed[i+n] && !is.changed[j+n] {
			n++
		}
		all, i, j = appendChunk(all, fdiff.Equal, was.lines[i:i+n]), i+n, j+n
	}
	return all
}

func appendChunk(all []fdiff.Chunk, op fdiff.Operation, lines []string) []fdiff.Chunk {
	if len(lines) == 0 {
		return all
	}
	return append(all, chunk{op, strings.Join(lines, "")})
}

type chunk struct {
	op   fdiff.Operation
	text string
}

func (c chunk) Content() string       { return c.text }
func (c chunk) Type() fdiff.Operation { return c.op }

// patch is the patch of one file, without its name.
type patch []fdiff.Chunk

func (p patch) FilePatches() []fdiff.FilePatch { return []fdiff.FilePatch{p} }
func (p patch) Message() string                { return "" }
func (p patch) IsBinary() bool                 { return false }
func (p patch) Files() (from, to fdiff.File)   { return nil, nil }
func (p patch) Chunks() []fdiff.Chunk          { return p }

package objects

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// readBlock reads the metadata of a file in a language without literals of its
// own: the first comment block that has a line "version: ...", or, if no block has
// one, the first with another field of the header. A block is a run of lines that
// begin with the line comment at column 1, or a /* */ or <!-- --> comment that
// begins its line.
func (p *parser) readBlock() error {
	p.dialect = dialectOurs
	c, ok := comments[p.ext]
	if !ok {
		return nil
	}
	var other []commentLine
	for i := 0; i < min(len(p.body), MaxMetaSize); {
		lines, next := commentBlock(p.body, i, c)
		if next-i > maxBlock && lines != nil {
			return fault.New(fault.Limit, "%s: a comment of more than %d bytes where metadata is looked for", p.path, maxBlock)
		}
		if at := fieldLine(lines, "version"); at >= 0 {
			if law := fieldLine(other, "needs", "limits", "tier", "executor_id"); law >= 0 { // a person would read it and rye would not
				m := p.at(other[law].off)
				return p.bad(m, "a field of the header in a comment above the one with version:").Advise("put both into one comment")
			}
			return p.blockFields(lines)
		}
		if other == nil && fieldLine(lines, headers...) >= 0 {
			other = lines
		}
		i = next
	}
	if other != nil {
		return p.blockFields(other)
	}
	return nil
}

// headers are the fields that make a comment without version: the header of a tool. Words that
// stand in comments of other files too, such as author and license, are not among them.
var headers = []string{"executor_id", "needs", "description", "config_schema", "input_schema", "limits", "tier", "tool_type", "deps"}

// maxBlock bounds a comment that could be metadata, in bytes, including comment marks
// and indents. Of a longer one rye parses only the beginning, and refuses it.
const maxBlock = 4 * MaxMetaSize

// commentLine is a line of a comment: its text and the offset of the text.
type commentLine struct {
	text []byte
	off  int
}

// commentBlock returns the lines of the block that begins at i (nil when the line is
// not a comment) and the offset of the line after the block.
func commentBlock(body []byte, i int, c comment) (lines []commentLine, next int) {
	if i == 0 && bytes.HasPrefix(body, []byte("#!")) {
		return nil, lineEnd(body, 0)
	}
	if c.close != "" {
		return longComment(body, i, c.open, c.close)
	}
	if c == slash && bytes.HasPrefix(body[i:], []byte("/*")) {
		return longComment(body, i, "/*", "*/")
	}
	next = i
	for next < len(body) && next-i <= maxBlock && bytes.HasPrefix(body[next:], []byte(c.open)) {
		end := lineEnd(body, next)
		at := next + len(c.open)
		if at < end && body[at] == ' ' {
			at++
		}
		lines = append(lines, commentLine{body[at:end], at})
		next = end
	}
	if next == i {
		next = lineEnd(body, i)
	}
	return lines, next
}

// longComment returns the lines between open and closing, without the star at the
// beginning of each line, as in /** ... */.
func longComment(body []byte, i int, open, closing string) (lines []commentLine, next int) {
	if !bytes.HasPrefix(body[i:], []byte(open)) {
		return nil, lineEnd(body, i)
	}
	start := i + len(open)
	n := bytes.Index(body[start:], []byte(closing))
	if n < 0 {
		return nil, len(body)
	}
	end := start + n
	for start < end && body[start] == '*' {
		start++
	}
	for at := start; at < end && at-i <= maxBlock; {
		stop := min(lineEnd(body, at), end)
		text := at
		if open == "/*" {
			text += len(star(body[at:stop]))
		}
		if at == start && text < stop && body[text] == ' ' {
			text++
		}
		lines = append(lines, commentLine{body[text:stop], text})
		at = stop
	}
	return lines, lineEnd(body, end)
}

// star returns the leading blanks, star and blank of a line of a /* comment.
func star(line []byte) []byte {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if i == len(line) || line[i] != '*' {
		return nil
	}
	i++
	if i < len(line) && line[i] == ' ' {
		i++
	}
	return line[:i]
}

// fieldLine returns the index of the first line that begins with one of the fields, or -1.
func fieldLine(lines []commentLine, fields ...string) int {
	return slices.IndexFunc(lines, func(l commentLine) bool {
		name, _, ok := bytes.Cut(l.text, []byte(":"))
		return ok && slices.Contains(fields, string(name))
	})
}

// blockFields reads the lines as YAML. Errors and fields have their places in the file.
func (p *parser) blockFields(lines []commentLine) error {
	var b strings.Builder
	for _, l := range lines {
		b.Write(l.text)
		if !bytes.HasSuffix(l.text, []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	first := max(fieldLine(lines, "version"), fieldLine(lines, headers...), 0)
	return p.yamlFields([]byte(b.String()), mark{p.at(lines[0].off).line, markOf(p.body, lines[first].off).col})
}

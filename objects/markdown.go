package objects

import (
	"bytes"
	"strings"
)

// fence is a fenced block, in offsets into the body.
type fence struct {
	start      int // of the opening line
	text, end  int
	after      int // of the line after the closing one
	terminated bool
}

// findFence returns the first block of three backticks whose info string is
// exactly info. Like RYE OS, it skips blocks inside a fence of four or more
// backticks, which are examples.
func findFence(body []byte, info string) (fence, bool) {
	outer := 0 // backticks of the open outer fence
	for i := 0; i < len(body); {
		next := lineEnd(body, i)
		line := bytes.TrimRight(body[i:next], " \t\r\n")
		ticks := 0
		for ticks < len(line) && line[ticks] == '`' {
			ticks++
		}
		switch {
		case ticks >= 4 && outer == 0:
			outer = ticks
		case ticks >= 4 && ticks >= outer && ticks == len(line):
			outer = 0
		case ticks == 3 && outer == 0 && string(line[3:]) == info:
			return closeFence(body, i, next), true
		}
		i = next
	}
	return fence{}, false
}

// closeFence finds the line of three backticks that ends the block.
func closeFence(body []byte, start, text int) fence {
	for i := text; i < len(body); {
		next := lineEnd(body, i)
		if string(bytes.TrimRight(body[i:next], " \t\r\n")) == "```" {
			return fence{start, text, i, next, true}
		}
		i = next
	}
	return fence{start, text, len(body), len(body), false}
}

// lineEnd returns the offset after the line feed of the line that contains offset i.
func lineEnd(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(b)
}

// frontMatter returns the offsets of the text between the "---" of line 1 and
// the next line that is "---", and the offset after that line.
func frontMatter(body []byte) (text, end, after int, ok bool) {
	first := lineEnd(body, 0)
	if string(bytes.TrimRight(body[:first], " \t\r\n")) != "---" {
		return 0, 0, 0, false
	}
	for i := first; i < len(body); {
		next := lineEnd(body, i)
		if string(bytes.TrimRight(body[i:next], " \t\r\n")) == "---" {
			return first, i, next, true
		}
		i = next
	}
	return 0, 0, 0, false
}

// readFrontMatter reads "---" metadata with prose below it, and reports whether the
// file has that form.
func (p *parser) readFrontMatter(m *Meta) (done bool, err error) {
	text, end, after, ok := frontMatter(p.body)
	if !ok {
		if bytes.HasPrefix(p.body, []byte("---\n")) || bytes.HasPrefix(p.body, []byte("---\r\n")) {
			return false, p.bad(p.at(0), "front matter that begins with --- and never ends")
		}
		return false, nil
	}
	p.dialect = dialectOurs
	m.Prose = strings.TrimSpace(string(p.body[after:]))
	return true, p.yamlFields(p.body[text:end], mark{p.at(text).line, 1})
}

// readMarkdown reads front matter or, without it, the first yaml fence. The prose is
// the text after it, or before a fence that ends the file. Without both, all of the
// file is prose.
func (p *parser) readMarkdown(m *Meta) error {
	if done, err := p.readFrontMatter(m); done || err != nil {
		return err
	}
	f, ok := findFence(p.body, "yaml")
	if !ok {
		m.Prose = strings.TrimSpace(string(p.body))
		return nil
	}
	if !f.terminated {
		return p.bad(p.at(f.start), "a yaml fence that never ends")
	}
	p.dialect = dialectFence
	m.Prose = strings.TrimSpace(string(p.body[f.after:]))
	if m.Prose == "" {
		m.Prose = strings.TrimSpace(string(p.body[:f.start]))
	}
	return p.yamlFields(p.body[f.text:f.end], mark{p.at(f.text).line, 1})
}
